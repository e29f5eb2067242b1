r"""FlexAttention's kernel, not compiled, against all scores at once."""

from collections.abc import Callable
from unittest.mock import patch

import pytest
import torch
from torch import Tensor, nn
from torch.nn.attention import flex_attention as pytorch

from labml_nn.transformers.memory import flex
from labml_nn.transformers.memory.flex import FlexAttention
from labml_nn.transformers.memory.score_functions import (
    MaskFunction,
    alibi,
    attend,
    causal,
    sliding_window,
    soft_cap,
)
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from tests.labml_nn.transformers.memory import at_the_seam
from tests.labml_nn.transformers.memory.at_the_seam import (
    D_MODEL,
    HEADS,
    SEQ_LEN,
    check_at_the_seam,
    from_loops,
    from_module,
    parameters_of_heads,
    randomise,
    shapes,
    some_mask,
    text,
)
from tests.labml_nn.transformers.memory.test_score_functions import (
    CASES,
    UNTRACED,
    everywhere_else,
    vectors,
)
from tests.oracles.compare import largest


def attention(**options: object) -> FlexAttention:
    return randomise(FlexAttention(HEADS, D_MODEL, **options))


def of_each_head(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    return (i + j + h) % 2 == 0


def from_flex() -> float:
    r"""FlexAttention holds all scores where it isn't compiled, as we do."""
    worst = 0.0
    with patch(UNTRACED, True):
        for case in [*CASES, (None, of_each_head)]:
            mine = flex.flex(*vectors(), *case, compiled=False)
            worst = max(worst, largest([mine], [attend(*vectors(), *case)[0]]))
    return worst


def kernel_from_module() -> float:
    r"""The module with its kernel, which isn't compiled for this, and the one without."""
    options = {"score_mod": soft_cap(0.7), "mask_mod": sliding_window(4)}
    worst = 0.0
    for mask in (None, some_mask(), causal_mask(SEQ_LEN)):
        one, other = attention(**options, kernel=True), attention(**options)
        x = text().detach()
        with (
            torch.no_grad(),
            patch(UNTRACED, True),
            patch("torch.compile", lambda function: function),
        ):
            found = at_the_seam.attend(one, x, mask)
        worst = max(worst, largest([found], [at_the_seam.attend(other, x, mask)]))
        assert one.attn is None
        assert other.attn.shape == (SEQ_LEN, SEQ_LEN, 3, HEADS)
    return worst


ORACLES: dict[str, Callable[[], float]] = {
    "FlexAttention, not compiled": from_flex,
    "FlexAttention, not compiled, in the module": kernel_from_module,
    "a loop over heads, positions and sequences": lambda: from_loops(
        attention(mask_mod=causal), some_mask() & causal_mask(SEQ_LEN), some_mask()
    ),
    "multi-head attention": lambda: from_module(
        attention(), MultiHeadAttention(HEADS, D_MODEL, 0.0).double(), some_mask()
    ),
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


def test_at_the_seam() -> None:
    check_at_the_seam(lambda: FlexAttention(HEADS, D_MODEL, score_mod=alibi(HEADS)))


def test_on_a_cpu_there_is_no_backward_pass() -> None:
    parts = [part.requires_grad_() for part in vectors()]
    with pytest.raises(NotImplementedError, match="backward on CPU"):
        flex.flex(*parts, None, None, compiled=False)


@pytest.mark.parametrize(
    ("mask_mod", "shape"),
    [(causal, (1, 1)), (of_each_head, (1, 2)), (everywhere_else, (3, 2))],
)
def test_there_are_as_many_block_masks_as_needed(
    mask_mod: MaskFunction, shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    monkeypatch.setattr(torch, "compile", lambda function: function)
    monkeypatch.setattr(
        pytorch, "flex_attention", lambda q, *_, block_mask, **__: seen.append(block_mask) or q
    )
    flex.flex(*vectors(), None, mask_mod)
    assert seen[0].shape == (*shape, 7, 11)


def test_only_the_kernel_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    r"""Compiling takes a minute, so it is only asked for."""
    seen = []
    monkeypatch.setattr(torch, "compile", lambda one: seen.append(one) or (lambda q, *_, **__: q))
    x = text().detach()
    at_the_seam.attend(attention(), x)
    assert seen == []
    at_the_seam.attend(attention(kernel=True), x)
    assert seen == [pytorch.flex_attention]


def test_dropout_is_refused() -> None:
    with pytest.raises(ValueError, match="got dropout_prob=0.1$"):
        FlexAttention(HEADS, D_MODEL, 0.1)


def test_it_has_the_parameters_of_multi_head_attention() -> None:
    assert shapes(attention(score_mod=soft_cap(2.0))) == parameters_of_heads()
    made = flex.in_transformer(d_model=D_MODEL, heads=HEADS, seq_len=7, dropout_prob=0.5)
    assert made["self_attn"]().score_mod is not None
    assert made["positions"] is nn.Identity
