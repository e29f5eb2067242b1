from functools import partial
from unittest.mock import patch

import pytest
import torch
from torch import Tensor
from torch.nn.attention import flex_attention as pytorch

from labml_nn.transformers.memory import flex
from labml_nn.transformers.memory import score_functions as page
from labml_nn.transformers.memory.flex import FlexAttention
from labml_nn.transformers.mha import causal_mask
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.memory.test_score_functions import CASES, everywhere_else, vectors
from tests.labml_nn.transformers.seam import D_MODEL, HEADS, SEQ_LEN_K, at_the_seam, equals
from tests.oracles.compare import largest

# Without it, each new pair of functions is traced for a second, with the same numbers in the end.
UNTRACED = "torch.nn.attention.flex_attention._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG"
attention = partial(FlexAttention, HEADS, D_MODEL)


def of_each_head(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    return (i + j + h) % 2 == 0


def from_flex() -> float:
    r"""FlexAttention holds all scores where it isn't compiled, as we do."""
    worst = 0.0
    with patch(UNTRACED, True):
        for case in [*CASES, (None, of_each_head)]:
            mine = flex.flex(*vectors(), *case, compiled=False)
            worst = max(worst, largest([mine], [page.attend(*vectors(), *case)[0]]))
    return worst


def kernel_from_module() -> float:
    r"""The module with its kernel, which isn't compiled for this, and the one without."""
    options = {"score_mod": page.soft_cap(0.7), "mask_mod": page.sliding_window(4)}
    worst = 0.0
    for mask in (None, seam.some_mask(SEQ_LEN_K, idle=True), causal_mask(SEQ_LEN_K)):
        one, other = (seam.randomised(attention(**options, kernel=k)) for k in (True, False))
        x = seam.text().detach()
        with (
            torch.no_grad(),
            patch(UNTRACED, True),
            patch("torch.compile", lambda function: function),
        ):
            found = seam.attend(one, x, mask)
        worst = max(worst, largest([found], [seam.attend(other, x, mask)]))
        assert one.attn is None
        assert other.attn.shape == (SEQ_LEN_K, SEQ_LEN_K, 3, HEADS)
    return worst


ORACLES = {
    "FlexAttention, not compiled": from_flex,
    "FlexAttention, not compiled, in the module": kernel_from_module,
    "a loop over heads, positions and sequences": lambda: seam.from_loops(
        seam.randomised(attention(mask_mod=page.causal)),
        seam.some_mask(SEQ_LEN_K, idle=True),
        visible=seam.some_mask(SEQ_LEN_K, idle=True) & causal_mask(SEQ_LEN_K),
    ),
    "multi-head attention": lambda: seam.from_module(
        seam.randomised(attention()), seam.some_mask(SEQ_LEN_K)
    ),
}
test_it_equals_what_others_compute = equals(ORACLES)


# Its functions of scores are in single precision at least, so halves don't go through.
IDLE = partial(seam.check_idle, types=(torch.float64,))
test_at_the_seam = at_the_seam(
    partial(attention, score_mod=page.alibi(HEADS)),
    {},
    but=(seam.check_device, seam.check_dropout, seam.check_idle),
    and_also=(IDLE,),
)
test_dropout_is_refused = seam.refuses(attention, "got {dropout_prob=}$", [{"dropout_prob": 0.1}])


@pytest.mark.parametrize(
    ("mask_mod", "shape"),
    [(page.causal, (1, 1)), (of_each_head, (1, 2)), (everywhere_else, (3, 2))],
)
def test_there_are_as_many_block_masks_as_needed(
    mask_mod: page.MaskFunction, shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    monkeypatch.setattr(torch, "compile", lambda function: function)
    monkeypatch.setattr(
        pytorch, "flex_attention", lambda q, *_, block_mask, **__: seen.append(block_mask) or q
    )
    with patch.object(pytorch, "create_block_mask", wraps=pytorch.create_block_mask) as create:
        flex.flex(*vectors(), None, mask_mod)
    assert seen[0].shape == (*shape, 7, 11)
    assert create.call_args.kwargs["device"] == torch.device("cpu")


def test_only_the_kernel_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    r"""Compiling takes a minute, so it is only asked for."""
    seen = []
    monkeypatch.setattr(torch, "compile", lambda one: seen.append(one) or (lambda q, *_, **__: q))
    x = seam.text().detach()
    seam.attend(seam.randomised(attention()), x)
    assert seen == []
    seam.attend(seam.randomised(attention(kernel=True)), x)
    assert seen == [pytorch.flex_attention]
