import io
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import torch

from labml_nn.training.data import prepare, tiny_shakespeare
from labml_nn.training.loop import evaluate
from labml_nn.transformers.basic import autoregressive_experiment as page
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer


def trained(seed: int) -> tuple[AutoregressiveTransformer, float]:
    tokenizer, training, validation = prepare("the quick brown fox; " * 100, seq_len=11)
    torch.manual_seed(seed)
    model = AutoregressiveTransformer(len(tokenizer), 10, 5, 2, 17, 11)
    page.fit(model, training, steps=60, seq_len=11, batch_size=3, seed=seed)
    return model, evaluate(model, validation, 11)


def test_the_recipe_learns_and_the_same_seed_gives_the_same_bits() -> None:
    (one, loss), (same, _), (other, _) = trained(1), trained(1), trained(2)
    assert loss < 2.0
    weights, again = one.state_dict(), same.state_dict()
    assert all(torch.equal(weights[name], again[name]) for name in weights)
    assert not torch.equal(one.generator.projection.weight, other.generator.projection.weight)


def test_a_text_is_a_file_the_sources_of_pytorch_or_tiny_shakespeare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("Zürich", encoding="utf-8")
    assert page.read_text(str(tmp_path / "mine.txt")) == "Zürich"
    # Some editors write a mark first, which is no part of the text.
    (tmp_path / "mine.txt").write_text("Zürich", encoding="utf-8-sig")
    assert page.read_text(str(tmp_path / "mine.txt")) == "Zürich"
    assert "class MultiheadAttention" in page.read_text("python")

    def served(content: bytes) -> None:
        monkeypatch.setattr(page, "urlopen", lambda address, timeout: io.BytesIO(content))

    served(tiny_shakespeare().encode())
    assert page.read_text("shakespeare") == tiny_shakespeare()
    served(b"something else")
    with pytest.raises(ValueError, match="not the one that was expected"):
        page.read_text("shakespeare")

    def offline(address: str, timeout: float) -> None:
        raise OSError("no network")

    monkeypatch.setattr(page, "urlopen", offline)
    assert page.read_text("shakespeare") == page.read_text("python")
    assert "no network" in capsys.readouterr().out


@pytest.mark.parametrize("content", ["Zürich".encode("latin-1"), "Zürich".encode("utf-16")])
def test_of_a_text_that_cannot_be_read_the_file_and_the_remedy_are_told(
    tmp_path: Path, content: bytes
) -> None:
    file = tmp_path / "mine.txt"
    file.write_bytes(content)
    # A file that isn't there, and a folder.
    for path in (file, tmp_path / "other.txt", tmp_path):
        with pytest.raises(ValueError, match=f"{path}' can't be read .*saved as UTF-8"):
            page.read_text(str(path))


def test_the_notebook_trains_shows_and_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(plt, "show", lambda: plt.close("all"))
    (tmp_path / "text.txt").write_text("First Citizen:\nROMEO:\n" * 40, encoding="utf-8")
    page.notebook(str(tmp_path / "text.txt"), steps=2, sample_length=11)
    shown = capsys.readouterr().out
    assert "parameters on cpu" in shown
    assert "step 2 of 2" in shown
    assert "validation loss" in shown
