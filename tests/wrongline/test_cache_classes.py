r"""Caches that the caller makes, of a class that the model's file doesn't know."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.wrongline.others import WIDTH, Small, texts
from wrongline.cache_classes import classes_beside
from wrongline.cache_tests import cache_agrees
from wrongline.command import main
from wrongline.made_caches import marks
from wrongline.verdicts import NotTried
from wrongline.whole import Whole


class MovedByTheCaller(Small):
    r"""As Mamba and Megatron have it: the call fills a dictionary, the caller counts."""

    off = 0

    def forward(self, tokens: Tensor, inference_params: Any = None) -> Tensor:
        if inference_params is None:
            return super().forward(tokens)
        first, memory = inference_params.seqlen_offset, inference_params.key_value_memory_dict
        x = self.embed(tokens, max(0, first - self.off))
        rows = (inference_params.max_batch_size, inference_params.max_seqlen, WIDTH)
        memory.setdefault("rows", torch.zeros(rows))[:, first : first + tokens.shape[1]] = x
        past = memory["rows"][:, : first + tokens.shape[1]]
        return self.head(x + self.mixing(past, new=tokens.shape[1]))


def test_a_cache_whose_place_the_caller_moves_on_is_made() -> None:
    assert cache_agrees(Whole(MovedByTheCaller(), texts(), texts())) == ""
    model = MovedByTheCaller()
    model.off = 1
    said = cache_agrees(Whole(model, texts(), texts()))
    assert said.startswith("token by token, the logits at position 1")


class OfAnotherKind(Small):
    def forward(self, tokens: Tensor, kv_cache: Any = None) -> Tensor:
        first = 0 if kv_cache is None else kv_cache.get_pos()
        x = self.embed(tokens, first)
        past = x if kv_cache is None else kv_cache.insert_kv(x)
        return self.head(x + self.mixing(past, new=tokens.shape[1]))


def test_how_to_hand_over_a_cache_that_nobody_can_make_is_said() -> None:
    said = cache_agrees(Whole(OfAnotherKind(), texts(), texts()))
    assert isinstance(said, NotTried)
    assert said.startswith("`kv_cache` is an object that the caller makes, with get_pos, insert_kv")

    class Rows:
        def __init__(self) -> None:
            self.rows = torch.zeros(3, 0, WIDTH)

        def get_pos(self) -> int:
            return self.rows.shape[1]

        def insert_kv(self, x: Tensor) -> Tensor:
            self.rows = torch.cat([self.rows, x], dim=1)
            return self.rows

    def read(model: Any, parts: list[Tensor]) -> Tensor:
        cache = Rows()
        return torch.cat([model(part, kv_cache=cache) for part in parts], dim=1)

    assert cache_agrees(Whole(OfAnotherKind(), texts(), texts(), read=read)) == ""


def test_a_cache_whose_tensor_is_replaced_again_and_again_is_never_as_it_was() -> None:
    cache = {"keys": torch.zeros(3)}
    before = marks(cache)
    # Python would give the number of a tensor that is gone to a new one.
    changed = []
    for _ in range(50):
        cache["keys"] = torch.zeros(3)
        changed.append(marks(cache) != before)
    assert all(changed)


MODEL = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, vocab_size, n_embd, n_head, n_kv_head, n_layer):
        super().__init__()
        self.n_embd, self.n_head, self.n_kv_head = n_embd, n_head, n_kv_head
        self.n_layer = n_layer
        self.table = nn.Embedding(vocab_size, n_embd)
        self.keys = nn.Linear(n_embd, n_embd // n_head * n_kv_head)
        self.head = nn.Linear(n_embd // n_head, vocab_size)

    def forward(self, idx, kv_cache=None):
        keys = self.keys(self.table(idx)).unflatten(-1, (self.n_kv_head, -1))
        if kv_cache is None:
            return self.head(keys.cumsum(1).sum(2))
        sums = kv_cache.add(keys)
        return self.head(sums.sum(2))
"""
ENGINE = """
from __future__ import annotations
import torch
import a_library_that_is_not_there
from elsewhere import PRECISION

raise SystemExit("it was run")

class KVCache:
    def __init__(self, batch_size, num_heads, seq_len, head_dim, num_layers, device, dtype):
        self.sum = torch.zeros(batch_size, 1, num_heads, head_dim, device=device, dtype=dtype)

    def add(self, keys: ANameOfThatLibrary):
        sums = self.sum + keys.cumsum(1)
        self.sum = sums[:, -1:]SHAPE
        return sums
"""


@pytest.mark.parametrize("mistake, status", [("", 0), (" * 0.5", 1)])
def test_the_class_of_a_cache_may_stand_in_a_file_beside_the_model(
    mistake: str, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "engine.py").write_text(ENGINE.replace("SHAPE", mistake))
    (tmp_path / "broken.py").write_text("class OtherCache(:")
    assert [one.__name__ for one in classes_beside(f"{tmp_path}/model.py")] == ["KVCache"]
    assert main([f"{tmp_path}/model.py:Model", "--only", "cache_agrees"]) == status
    said = capsys.readouterr().out
    assert ("token by token" if status else "a cache by `kv_cache`") in said
