r"""The notebook of LoRA: two texts, one function that trains, and nothing forgotten."""

import re
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from labml_nn.fine_tuning import lora_experiment as page
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer


def test_both_texts_have_one_alphabet_and_their_last_tenth_is_held_out() -> None:
    first, second = "To be, or not to be.\n" * 10, "x = {1: [2]}  # a_b\n" * 10
    tokenizer, parts = page.two_texts(first, second)
    expected = first[:189], first[189:], second[:180], second[180:]
    assert tuple(map(tokenizer.decode, parts)) == expected
    assert len(tokenizer) == 101


def test_the_notebook_adapts_the_base_and_takes_the_adapter_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = partial(AutoregressiveTransformer, d_model=8, heads=2, n_layers=1, d_ff=16)
    monkeypatch.setattr(page, "AutoregressiveTransformer", small)
    monkeypatch.setattr(plt, "show", lambda: plt.close("all"))
    texts = [tmp_path / "first.txt", tmp_path / "second.txt"]
    for path, line in zip(texts, ("the quick brown fox\n", "return x + 1\n"), strict=True):
        path.write_text(line * 60, encoding="utf-8")
    page.notebook(*map(str, texts), steps=20, sample_length=20, rank=3)
    shown = capsys.readouterr().out
    losses = dict(re.findall(r"^(.+): validation loss (.+)$", shown, flags=re.M))
    assert list(losses) == ["base", "full", "LoRA", "LoRA taken off"]
    assert losses["base"] == losses["LoRA taken off"] != losses["LoRA"]
    assert len(set(losses.values())) == 3


def test_the_losses_of_the_example_fall() -> None:
    first, second = page.example()
    assert first[-1] < first[0] and second[-1] < second[0]
