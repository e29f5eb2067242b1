from pathlib import Path

import pytest
from torch import nn

from labml_nn.transformers.mistakes.command import guess, load, main

WRONG = """
import torch
from torch import nn


class MyAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.qkv = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.out = nn.Linear(config.n_embd, config.n_embd)
        self.heads = config.n_head

    def forward(self, x):
        b, n, d = x.shape
        parts = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (z.view(b, n, self.heads, -1).transpose(1, 2) for z in parts)
        weights = (q @ k.transpose(-2, -1) * (d // self.heads) ** -0.5).softmax(dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(b, n, d))


class MyModel(nn.Module):
    def __init__(self, vocab_size, n_embd, dropout=0.1):
        super().__init__()
        self.table = nn.Embedding(vocab_size, n_embd)
        self.head = nn.Linear(n_embd, vocab_size)

    def forward(self, tokens):
        return self.head(self.table(tokens))


class Odd(nn.Module):
    def __init__(self, colour):
        super().__init__()
"""


def file(tmp_path: Path) -> Path:
    path = tmp_path / "my_file.py"
    path.write_text(WRONG, encoding="utf-8")
    return path


def test_an_attention_is_made_by_guesses_and_its_mistake_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([f"{file(tmp_path)}:MyAttention"]) == 1
    printed = capsys.readouterr().out
    assert "MyAttention(config=sizes)" in printed
    assert "* comparison: there is no causal mask" in printed
    assert printed.endswith("2 of the tests fail\n")


def test_a_model_is_told_from_an_attention(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([f"{file(tmp_path)}:MyModel"]) == 0
    assert "MyModel(vocab_size=64, n_embd=24, dropout=0.0)" in capsys.readouterr().out
    said = "dict(vocab_size=64, n_embd=8)"
    assert main([f"{file(tmp_path)}:MyModel", "--arguments", said]) == 0
    assert capsys.readouterr().out == "all tests pass\n"


def test_a_class_of_the_transformers_library_is_tiny(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["transformers:RoFormerForCausalLM"]) == 0
    assert main(["transformers:XLNetLMHeadModel"]) == 1
    assert "sees the future" in capsys.readouterr().out


def test_what_can_not_be_made_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = file(tmp_path)
    for name in ("nothing", f"{path}:Missing", "no_such_module:Class", f"{path}:Odd"):
        assert main([name]) == 2
    assert "Odd wants colour" in capsys.readouterr().err
    assert load("torch.nn:Linear") is nn.Linear
    assert guess(nn.MultiheadAttention) == {"embed_dim": 24, "num_heads": 3, "dropout": 0.0}
