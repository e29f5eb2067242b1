import math

import pytest
import torch
from torch import Tensor

from labml_nn.transformers.mistakes import decoding as page
from labml_nn.transformers.mistakes.right_attention import RightAttention

BATCH_SIZE, SEQ_LEN, HEADS, D_K = 3, 7, 5, 2
D_MODEL = HEADS * D_K


def made(kind: type[RightAttention]) -> RightAttention:
    torch.manual_seed(1)
    return kind(HEADS, D_MODEL).double()


def inputs() -> Tensor:
    torch.manual_seed(2)
    return torch.randn(BATCH_SIZE, SEQ_LEN, D_MODEL, dtype=torch.float64)


@pytest.mark.parametrize("n_new", [1, 2, 3, SEQ_LEN])
def test_decoding_is_the_whole_position_by_position(n_new: int) -> None:
    module, x = made(page.RightDecoding), inputs()
    assert (module.decode(x, n_new) - made(RightAttention)(x)).abs().max() < 1e-10


@pytest.mark.parametrize("kind", [page.CausalFromTheTop.make(), page.NewestForgotten.make()])
def test_a_mistake_shows_after_the_first_call_only(kind: type[page.RightDecoding]) -> None:
    module, x = made(kind), inputs()
    assert (module.decode(x, SEQ_LEN) - module(x)).abs().max() < 1e-10
    # Two positions at a time, if nobody says otherwise.
    difference = (module.decode(x) - module(x)).abs().amax(dim=(0, 2))
    assert difference[:2].max() < 1e-10
    assert difference[2:].min() > 1e-3


def test_from_the_top_a_single_new_query_sees_the_first_key_alone() -> None:
    module, x = made(page.CausalFromTheTop.make()), inputs()
    first = module.output(module.value(x[:, :1]))
    assert (module.decode(x, 1) - first).abs().max() < 1e-10
    assert page.seen_by_one_query(5).tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]


def test_a_finite_mask_is_beaten_by_a_real_score_below_it() -> None:
    assert page.beaten_mask().tolist() == [0.0, 1.0]
    assert page.beaten_mask(-9_000.0).tolist() == [1.0, 0.0]
    # In half precision a billion is infinite, and no number to fill with.
    assert page.minus_a_billion(torch.float16).item() == -math.inf
    assert page.minus_a_billion(torch.bfloat16).item() == pytest.approx(-1e9, rel=0.01)


def test_pytorchs_attention_is_nan_on_padding_if_asked_for_weights() -> None:
    x = torch.randn(BATCH_SIZE, SEQ_LEN, D_MODEL)
    assert page.padding_in_torch(x, need_weights=True).isnan().all()
    assert page.padding_in_torch(x, need_weights=False).isfinite().all()
