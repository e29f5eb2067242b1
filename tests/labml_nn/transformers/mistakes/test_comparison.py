r"""The comparison finds the matrices of many ways to write attention, and names what is wrong."""

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import GPT2Config
from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

from labml_nn.transformers.mistakes import comparison
from labml_nn.transformers.mistakes.comparison import (
    Matrix,
    find_weights,
    of_torch,
    off,
    orders,
    roughen,
    same_as_torch,
)
from labml_nn.transformers.mistakes.right_attention import RightAttention

BATCH_SIZE, SEQ_LEN, HEADS, D_K = 2, 7, 3, 4
D_MODEL = HEADS * D_K
CAUSAL = torch.ones(SEQ_LEN, SEQ_LEN, dtype=torch.bool).tril()


def inputs() -> Tensor:
    return torch.randn(BATCH_SIZE, SEQ_LEN, D_MODEL, generator=torch.Generator().manual_seed(1))


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor = CAUSAL, scale: float = 0.5) -> Tensor:
    r"""With heads side by side in, and side by side out."""
    q, k, v = (t.unflatten(-1, (HEADS, D_K)).transpose(1, 2) for t in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, mask, scale=scale).transpose(1, 2).flatten(2)


class Fused(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.c_attn = nn.Linear(D_MODEL, 3 * D_MODEL, bias=False)
        self.c_proj = nn.Linear(D_MODEL, D_MODEL)

    def forward(self, x: Tensor) -> Tensor:
        return self.c_proj(attend(*self.c_attn(x).chunk(3, dim=-1)))


class Listed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linears = nn.ModuleList(nn.Linear(D_MODEL, D_MODEL) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        *three, last = self.linears
        return last(attend(*(layer(x) for layer in three)))


class Head(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(D_MODEL, D_K) for _ in range(3))


class ByHeads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.ModuleList(Head() for _ in range(HEADS))
        self.proj = nn.Linear(D_MODEL, D_MODEL, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            torch.cat([getattr(head, name)(x) for head in self.heads], dim=-1)
            for name in ("query", "key", "value")
        )
        return self.proj(attend(q, k, v))


class Raw(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.ParameterList(torch.zeros(D_MODEL, D_MODEL) for _ in range(4))
        self.gain = nn.Parameter(torch.ones(5))

    def forward(self, x: Tensor) -> Tensor:
        *three, last = self.w
        return attend(*(x @ weight for weight in three)) @ last


class HuggingFace(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        config = GPT2Config(n_embd=D_MODEL, n_head=HEADS, attn_implementation="eager")
        self.attention = GPT2Attention(config, layer_idx=0)

    def forward(self, x: Tensor) -> Tensor:
        mask = torch.zeros(1, 1, SEQ_LEN, SEQ_LEN).masked_fill(~CAUSAL, -math.inf)
        return self.attention(x, attention_mask=mask)[0]


class Theirs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(D_MODEL, HEADS, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.attention(x, x, x, attn_mask=~CAUSAL)[0]


WAYS: list[Callable[[], nn.Module]] = [
    Fused,
    Listed,
    ByHeads,
    Raw,
    HuggingFace,
    Theirs,
    lambda: RightAttention(D_MODEL, HEADS),
]


@pytest.mark.parametrize("way", WAYS)
@torch.no_grad()
def test_an_attention_is_the_same_however_it_is_written(way: Callable[[], nn.Module]) -> None:
    module = roughen(way()).eval()
    matrices = find_weights(module, D_MODEL)
    assert len(matrices) == 4
    assert same_as_torch(module(inputs()), inputs(), matrices, HEADS) == ""
    said = same_as_torch(1.01 * module(inputs()), inputs(), matrices, HEADS)
    assert "differs from torch.nn.MultiheadAttention with the same weights by 0.01" in said


def four() -> list[Matrix]:
    generator = torch.Generator().manual_seed(2)
    return [
        (
            torch.randn(D_MODEL, D_MODEL, generator=generator) / 2,
            torch.randn(D_MODEL, generator=generator),
        )
        for _ in range(4)
    ]


def with_mistake(
    mask: Tensor = CAUSAL, scale: float = 0.5, three: tuple[int, int, int] = (0, 1, 2)
) -> str:
    matrices, x = four(), inputs()
    q, k, v = (F.linear(x, *matrices[number]) for number in three)
    output = F.linear(attend(q, k, v, mask, scale), *matrices[3])
    return same_as_torch(output, x, matrices, HEADS)


def test_a_mistake_is_called_by_its_name() -> None:
    every = torch.ones_like(CAUSAL)
    assert with_mistake() == ""
    assert "divided by the root of the whole width" in with_mistake(scale=D_MODEL**-0.5)
    assert "are not scaled" in with_mistake(scale=1.0)
    assert "multiplied by the root" in with_mistake(scale=2.0)
    assert "divided by the width and not by its root" in with_mistake(scale=0.25)
    assert "no causal mask" in with_mistake(mask=every)
    assert "off by one" in with_mistake(mask=every.tril(1))
    assert "upside down" in with_mistake(mask=~CAUSAL)
    assert "one projection is used" in with_mistake(three=(2, 2, 2))
    assert "one projection is used" in with_mistake(three=(0, 0, 0))
    two = with_mistake(mask=every, scale=D_MODEL**-0.5)
    assert "no causal mask in evaluation, and the scores are divided by the root of" in two
    assert "next position, and the scores are not sc" in with_mistake(mask=every.tril(1), scale=1.0)
    assert "none of the usual" in with_mistake(scale=0.4)
    assert "none of the usual" in with_mistake(three=(0, 0, 1))


@pytest.mark.parametrize("other", [1, 2, 4, 6, 12])
def test_other_heads_are_counted(other: int) -> None:
    matrices = four()
    output = of_torch(matrices, other, inputs(), CAUSAL)
    said = same_as_torch(output, inputs(), matrices, HEADS)
    assert said.endswith(f"there are {other} heads, not {HEADS}")


@pytest.mark.parametrize("n", [0, 2, 3, 5])
def test_any_other_number_of_matrices_is_said(n: int) -> None:
    matrices = (four() + four())[:n]
    said = same_as_torch(inputs(), inputs(), matrices, HEADS)
    assert said.startswith(f"found {n} matrices of {D_MODEL} x {D_MODEL}")
    assert "`weights`" in said


def test_the_first_position_tells_the_value_and_the_output() -> None:
    matrices, x = four(), inputs()
    some = orders(matrices, x, of_torch(matrices, HEADS, x, CAUSAL))
    assert len(some) == 2
    for order in some:
        assert order[2][0].equal(matrices[2][0])
        assert order[3][0].equal(matrices[3][0])
    assert len(orders(matrices, x, x)) == 48


def test_how_far_off_is_relative_and_nan_is_infinitely_far() -> None:
    assert off(torch.tensor([1.0, 3.0]), torch.tensor([1.0, 4.0])) == pytest.approx(0.25)
    assert off(torch.tensor([math.nan]), torch.tensor([1.0])) == math.inf
    assert off(torch.tensor([1.0]), torch.tensor([math.nan])) == math.inf
    assert off(torch.zeros(2), torch.zeros(2)) == 0


def test_weights_get_some_size_the_same_each_time() -> None:
    first, second = (roughen(nn.Linear(400, 30)) for _ in range(2))
    assert first.weight.equal(second.weight)
    assert first.weight.std().item() == pytest.approx(1.5 / math.sqrt(400), rel=0.05)
    norm = roughen(nn.LayerNorm(2000))
    assert norm.weight.mean().item() == pytest.approx(1.0, abs=0.03)
    assert norm.bias.std().item() == pytest.approx(0.3, rel=0.1)
    assert norm.weight.requires_grad


def test_the_example_tells_heads_apart() -> None:
    result = comparison.example()
    assert result["itself"] == ""
    assert "there are 2 heads, not 1" in result["one head"]
