r"""A file of somebody's package is loaded with its neighbours, and its model reads long texts."""

from pathlib import Path

import pytest

from wrongline.command import main

BLOCK = """
import torch
from torch import nn
from FOLDER.parts import Config, mix

class Model(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.places = nn.Embedding(config.block_size, config.n_embd)
        self.tokens = nn.Embedding(config.vocab_size, config.n_embd)
        self.head = nn.Linear(config.n_embd, config.vocab_size)

    def forward(self, idx):
        return self.head(mix(self.tokens(idx) + self.places.weight[: idx.shape[1]]))
"""
PARTS = """
from dataclasses import dataclass

@dataclass
class Config:
    vocab_size: int = 50257
    n_embd: int = 768
    block_size: int = 1024

def mix(x):
    return x.cumsum(1)LEAK
"""
LEAK = " + (0.1 * x[:, :64].mean(1, True) if x.shape[1] > 64 else 0)"


def package(folder: Path, name: str, begins: str = "", leak: str = "") -> str:
    inside = folder / name
    inside.mkdir()
    (inside / "__init__.py").write_text(begins)
    (inside / "parts.py").write_text(PARTS.replace("LEAK", leak))
    (inside / "model.py").write_text(BLOCK.replace("FOLDER", name))
    return f"{inside}/model.py:Model"


def test_a_package_may_import_the_file_or_what_is_not_installed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main([package(tmp_path, "imports_its_model", "from imports_its_model.model import Model")])
        == 0
    )
    # Its tokenizer needs a library, and the model doesn't.
    begins = "import a_library_that_is_not_there\nfrom lacks_a_library.parts import mix"
    assert main([package(tmp_path, "lacks_a_library", begins)]) == 0
    # This model needs what the package would have had.
    place = package(tmp_path, "needs_a_library", "from a_library_that_is_not_there import mix")
    model = tmp_path / "needs_a_library/model.py"
    model.write_text(f"from needs_a_library import mix\n{model.read_text()}")
    capsys.readouterr()
    assert main([place]) == 2
    assert capsys.readouterr().err.startswith("No module named 'a_library_that_is_not_there'")


def test_a_leak_within_a_part_of_a_long_text_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([package(tmp_path, "leaks_far", leak=LEAK)]) == 1
    assert "the model sees the future" in capsys.readouterr().out
