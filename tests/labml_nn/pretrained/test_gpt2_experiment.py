import json
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import torch
from transformers import GPT2LMHeadModel

from labml_nn.pretrained import gpt2_experiment as page
from labml_nn.pretrained.checkpoint import read_file
from labml_nn.pretrained.gpt2 import load_gpt2
from tests.labml_nn.pretrained.folders import in_double

TOKENS = torch.arange(12)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    torch.manual_seed(1)
    page.random_folder(tmp_path, seq_len=97)
    return tmp_path


def test_transformers_loads_a_random_folder_and_computes_the_same(folder: Path) -> None:
    theirs = GPT2LMHeadModel.from_pretrained(folder).eval()
    with torch.no_grad():
        ours = load_gpt2(folder)(TOKENS[:, None])[:, 0]
        torch.testing.assert_close(ours, theirs(TOKENS[None]).logits[0], rtol=0, atol=1e-5)
    tensors = read_file(folder / "model.safetensors")
    assert tensors["wte.weight"].std().item() == pytest.approx(0.2, abs=0.01)
    assert not any(x.any() for name, x in tensors.items() if name.endswith("bias"))
    assert theirs.config.layer_norm_epsilon == 1e-5
    assert json.loads((folder / "vocab.json").read_text())["<|endoftext|>"] == 256


def test_losses_are_those_of_transformers_and_other_tables_give_other_ones(folder: Path) -> None:
    losses = page.losses_of(folder, TOKENS)
    theirs = GPT2LMHeadModel.from_pretrained(folder).eval()
    with torch.no_grad(), in_double():
        expected = theirs.double()(TOKENS[None], labels=TOKENS[None]).loss.item()
    assert losses["all right"] == pytest.approx(expected, abs=1e-5)
    assert len({round(loss, 5) for loss in losses.values()}) == len(page.TABLES) == 4
    assert list(losses) == list(page.TABLES)


def test_what_is_downloaded_is_pinned() -> None:
    assert set(page.FILES) == {"config.json", "merges.txt", "vocab.json", "model.safetensors"}
    assert page.ADDRESS.startswith("https://huggingface.co/openai-community/gpt2/resolve/607a30d7")
    # All weights and twelve masks of 1,024 times 1,024 numbers, with 4 bytes each, and a header.
    assert page.FILES["model.safetensors"][0] - 4 * (124_439_808 + 12 * 1024**2) == 14_291
    assert all(len(checksum) == 64 for _, checksum in page.FILES.values())


def test_the_notebook_writes_from_a_random_folder_or_from_one_of_yours(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(plt, "show", lambda: None)
    monkeypatch.chdir(folder)
    for place in ("random", str(folder)):
        page.notebook(place, prompt="Two", sample_length=3, seed=2)
        said = capsys.readouterr().out
        assert said.count(": loss ") == len(page.TABLES)
        assert "\nTwo" in said
        names = [label.get_text() for label in plt.gca().get_yticklabels()]
        assert names == list(page.TABLES)[::-1]
        plt.close("all")
    assert (folder / "random" / "vocab.json").exists()

    # It downloads if no folder is named.
    def fetch(place: Path, address: str, files: object) -> None:
        assert (address, files) == (page.ADDRESS, page.FILES)
        page.random_folder(place, 97)

    monkeypatch.setattr(page, "fetch", fetch)
    page.notebook(sample_length=2)
    assert (folder / "gpt2" / "config.json").exists()
    plt.close("all")
