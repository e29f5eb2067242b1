r"""Attention that is given its rotary positions, in the forms that published code has for them."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from wrongline.attention_tests import find_mistakes
from wrongline.command import main
from wrongline.pasted import check
from wrongline.pasted_models import best_way

WIDTH, HEADS = 24, 3
Turn = Callable[..., Tensor]


def complex_pairs(x: Tensor, freqs_cis: Tensor) -> Tensor:
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * freqs_cis.view(1, x.shape[1], 1, -1)).flatten(-2)


def real_pairs(x: Tensor, freqs_cos: Tensor, freqs_sin: Tensor) -> Tensor:
    assert freqs_cos.shape == (x.shape[1], x.shape[-1] // 2)
    one, two = x.unflatten(-1, (-1, 2)).unbind(-1)
    cos, sin = freqs_cos[:, None], freqs_sin[:, None]
    return torch.stack([one * cos - two * sin, one * sin + two * cos], -1).flatten(-2)


def halves(x: Tensor, position_embeddings: tuple[Tensor, Tensor]) -> Tensor:
    cos, sin = position_embeddings
    assert cos.dim() == 3
    one, two = x.chunk(2, -1)
    return x * cos[:, :, None] + torch.cat([-two, one], -1) * sin[:, :, None]


def last_axis(x: Tensor, rope: Tensor) -> Tensor:
    one, two = x.unflatten(-1, (-1, 2)).unbind(-1)
    table = rope.view(1, x.shape[1], 1, -1, 2)
    cos, sin = table.unbind(-1)
    return torch.stack([one * cos - two * sin, two * cos + one * sin], -1).flatten(-2)


class Turned(nn.Module):
    r"""The caller's tables, and a cache in the module, as Llama's attention has it."""

    def __init__(self, turn: Turn, scale: float = math.sqrt(WIDTH // HEADS)) -> None:
        super().__init__()
        self.turn, self.scale, self.n_heads = turn, scale, HEADS
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.cache_k = torch.zeros(5, 16, HEADS, WIDTH // HEADS)

    def mixed(self, x: Tensor, start_pos: int, mask: Tensor, *tables: Any) -> Tensor:
        q, k, v = (layer(x).unflatten(-1, (HEADS, -1)) for layer in (self.wq, self.wk, self.wv))
        q = self.turn(q, *tables)
        self.cache_k[: len(x), start_pos : start_pos + x.shape[1]] = self.turn(k, *tables)
        k = self.cache_k[: len(x), : start_pos + x.shape[1]]
        scores = q.transpose(1, 2) @ k.permute(0, 2, 3, 1) / self.scale + mask
        return self.wo((scores.softmax(-1) @ v.transpose(1, 2)).transpose(1, 2).flatten(2))


class Complex(Turned):
    def forward(self, x: Tensor, start_pos: int, freqs_cis: Tensor, mask: Tensor) -> Tensor:
        return self.mixed(x, start_pos, mask, freqs_cis)


class Pairs(Turned):
    def forward(self, x: Tensor, freqs_cos: Tensor, freqs_sin: Tensor, mask: Tensor) -> Tensor:
        return self.mixed(x, 0, mask, freqs_cos, freqs_sin)


class Halves(Turned):
    def forward(self, x: Tensor, mask: Tensor, position_embeddings: Any = None) -> Tensor:
        return self.mixed(x, 0, mask, position_embeddings)


class LastAxis(Turned):
    def forward(self, x: Tensor, rope: Tensor, mask: Tensor) -> Tensor:
        return self.mixed(x, 0, mask, rope)


@pytest.mark.parametrize(
    ("kind", "turn"),
    [(Complex, complex_pairs), (Pairs, real_pairs), (Halves, halves), (LastAxis, last_axis)],
)
def test_tables_that_turn_nothing_are_given(kind: type[Turned], turn: Turn) -> None:
    for scale, said in ((math.sqrt(WIDTH // HEADS), ""), (1.0, "the scores are not scaled")):
        attention = kind(turn, scale)
        way, refused = best_way(attention, {})
        assert way is not None, refused
        found = find_mistakes(attention, HEADS, WIDTH, way)
        assert found.get("comparison", "") == said
        assert [*found] == (["comparison"] if said else [])
        assert "- right: sequences_apart" in found.table


def test_what_runs_without_tables_is_called_without_them() -> None:
    class Plain(Turned):
        def forward(self, x: Tensor, mask: Tensor, rope: Tensor | None = None) -> Tensor:
            assert rope is None
            return self.mixed(x, 0, mask)

    way, _ = best_way(Plain(lambda x: x), {})
    assert way is not None and way.angles == ()


def test_the_page_says_what_was_given() -> None:
    text = """
class Attention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x, rope):
        cos, sin = rope
        return self.out(x.cumsum(1))
"""
    told = [one["assumed"]["notes"] for one in check(text, {}) if "assumed" in one]
    assert told == [[], ["With 0 for the angles or places of `rope`"]]


def test_options_of_a_layer_are_no_configuration(tmp_path: Path) -> None:
    path = tmp_path / "layer_with_options.py"
    path.write_text("""
from typing import TypedDict
import torch
from torch import nn

class LayerArgs(TypedDict, total=False):
    is_causal: bool

class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.out = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, hidden_states):
        return self.out(hidden_states.cumsum(1))
""")
    assert main([f"{path}:Attention"]) == 0
