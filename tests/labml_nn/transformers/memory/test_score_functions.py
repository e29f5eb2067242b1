r"""Attention from two functions against PyTorch's kernel and against loops."""

import math
from collections import Counter
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from labml_nn.transformers.memory import score_functions
from labml_nn.transformers.memory.score_functions import (
    add_distance,
    by_hand,
    cap_softly,
    everywhere,
    see_a_window,
    see_everything,
    see_the_past,
)
from tests.oracles import onnx_cases

BATCH_SIZE, HEADS, SEQ_LEN_Q, SEQ_LEN_K, D_K = 3, 2, 7, 11, 5

each_score_function = pytest.mark.parametrize(
    "score_mod", [None, cap_softly(0.7), add_distance(HEADS)], ids=["none", "cap", "distance"]
)


def vectors(dtype: torch.dtype = torch.float64) -> list[Tensor]:
    r"""A query, a key and a value with gradients."""
    generator = torch.Generator().manual_seed(1)
    return [
        torch.randn(BATCH_SIZE, HEADS, n, D_K, generator=generator).to(dtype).requires_grad_()
        for n in (SEQ_LEN_Q, SEQ_LEN_K, SEQ_LEN_K)
    ]


def with_gradients(output: Tensor, variables: list[Tensor]) -> list[Tensor]:
    r"""The output, and gradients of a sum in which each of its numbers counts differently."""
    generator = torch.Generator().manual_seed(4)
    weights = torch.randn(output.shape, generator=generator).to(output.dtype)
    return [output, *torch.autograd.grad((output * weights).sum(), variables)]


def furthest(mine: list[Tensor], theirs: list[Tensor]) -> float:
    r"""The largest absolute difference between two lists of tensors."""
    found = [(a - b).detach().abs().max() for a, b in zip(mine, theirs, strict=True)]
    return max(one.nan_to_num(nan=torch.inf).item() for one in found)


def from_kernel() -> float:
    r"""Distances and masks can be added to the scores, so PyTorch's kernel can do these."""
    parts, worst = vectors(), 0.0
    bias = torch.tensor(
        [
            [[-(2.0 ** (-8 * (h + 1) / HEADS)) * (i - j) for j in range(11)] for i in range(7)]
            for h in range(HEADS)
        ],
        dtype=torch.float64,
    )
    masks = {
        see_everything: [[True for j in range(11)] for i in range(7)],
        see_the_past: [[j <= i for j in range(11)] for i in range(7)],
        see_a_window(3): [[j in (i - 2, i - 1, i) for j in range(11)] for i in range(7)],
    }
    for mask_mod, seen in masks.items():
        for score_mod, added in ((add_distance(HEADS), bias), (None, torch.zeros_like(bias))):
            mean, _ = by_hand(*parts, score_mod, mask_mod)
            hidden = added.masked_fill(~torch.tensor(seen), -math.inf)
            theirs = F.scaled_dot_product_attention(*parts, hidden, scale=1.0)
            found = with_gradients(mean, parts), with_gradients(theirs, parts)
            worst = max(worst, furthest(*found))
    return worst


def from_loops() -> float:
    r"""The cap, one number at a time."""
    parts = vectors()
    mean, weights = by_hand(*parts, cap_softly(0.7), see_a_window(4))
    query, key, value = (part.tolist() for part in parts)
    worst = 0.0
    for b in range(BATCH_SIZE):
        for h in range(HEADS):
            for i in range(SEQ_LEN_Q):
                exps = {}
                for j in range(max(0, i - 3), i + 1):
                    score = sum(x * y for x, y in zip(query[b][h][i], key[b][h][j], strict=True))
                    exps[j] = math.exp(0.7 * math.tanh(score / 0.7))
                for j in range(SEQ_LEN_K):
                    weight = exps.get(j, 0.0) / sum(exps.values())
                    worst = max(worst, abs(weight - weights[b, h, i, j].item()))
                for d in range(D_K):
                    total = sum(e * value[b][h][j][d] for j, e in exps.items())
                    worst = max(worst, abs(total / sum(exps.values()) - mean[b, h, i, d].item()))
    return worst


def reason_against(case: onnx_cases.Case) -> str:
    r"""Why a case of ONNX's can't be said with two functions, or nothing."""
    reasons = {
        "wants the scores or the weights": "qk_matmul_output" in case.outputs,
        "fewer heads of keys than of queries": onnx_cases.grouped(case),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def said(case: onnx_cases.Case, dtype: torch.dtype) -> Tensor:
    r"""A case of ONNX's. The numbers of a mask are added by the score function, after the cap."""
    query, key, value = (part.to(dtype) for part in onnx_cases.heads_first(case))
    shape = (*query.shape[:3], key.shape[2])
    given = onnx_cases.added(case, dtype)
    given = torch.zeros(shape, dtype=dtype) if given is None else given.expand(shape)
    cap = case.attributes.get("softcap", 0)
    capped = cap_softly(cap) if cap else lambda score, b, h, i, j: score
    score_mod, mask_mod = {
        True: (capped, lambda b, h, i, j: given[b, h, i, j]),
        False: (lambda score, *at: capped(score, *at) + given[at], None),
    }[given.dtype == torch.bool]
    mean, _ = by_hand(query * onnx_cases.scale_of(case), key, value, score_mod, mask_mod)
    return onnx_cases.heads_last(case, mean)


ONNX = onnx_cases.cases("Attention")
SAID = [case for case in ONNX if not reason_against(case)]


ORACLES: dict[str, Callable[[], float]] = {
    "F.scaled_dot_product_attention": from_kernel,
    "a loop over scalars": from_loops,
    "ONNX Attention": lambda: max(
        furthest([said(case, torch.float64)], [onnx_cases.in_double(case)]) for case in SAID
    ),
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


@pytest.mark.parametrize("case", SAID, ids=lambda case: case.name)
def test_it_gives_what_a_case_of_onnx_says(case: onnx_cases.Case) -> None:
    assert onnx_cases.near(case, "Y", said(case, case.inputs["Q"].dtype))


def test_all_cases_of_onnx_but_these_can_be_said() -> None:
    assert len(ONNX) == 93
    assert Counter(map(reason_against, ONNX)) == {
        "": 59,
        "wants the scores or the weights": 18,
        "fewer heads of keys than of queries": 16,
    }


@each_score_function
def test_gradients_are_those_of_finite_differences(score_mod: Callable | None) -> None:
    def attend(*parts: Tensor) -> Tensor:
        return by_hand(*parts, score_mod, see_a_window(3))[0]

    assert torch.autograd.gradcheck(attend, tuple(vectors()), fast_mode=True)


def test_functions_are_asked_with_the_numbers_of_text_head_query_and_key() -> None:
    query, key, _ = vectors()
    b, h, i, j = everywhere(query, key)
    places = b * 1000 + h * 100 + i * 10 + j
    assert places.shape == (BATCH_SIZE, HEADS, SEQ_LEN_Q, SEQ_LEN_K)
    assert places[2, 1, 4, 3] == 2143
    assert places[0, 0, 6, 10] == 70


def test_a_query_that_sees_nothing_gets_zero_and_gives_finite_gradients() -> None:
    parts = vectors()

    def not_the_third(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return (i != 2) | (b != 1)

    mean, weights = by_hand(*parts, None, not_the_third)
    output, *found = with_gradients(mean, parts)
    assert not output[1, :, 2].any()
    assert not weights[1, :, 2].any()
    assert output[0, :, 2].any()
    assert not found[0][1, :, 2].any()
    assert all(gradient.isfinite().all() for gradient in found)
    nothing, _ = by_hand(*parts, lambda score, b, h, i, j: score - math.inf, None)
    assert not nothing.any()
    assert all(gradient.isfinite().all() for gradient in with_gradients(nothing, parts))


def test_the_cap_is_never_passed_and_small_scores_stay() -> None:
    scores = torch.tensor([-1e6, -3.0, 1e-4, 3.0, 1e6], dtype=torch.float64)
    capped = cap_softly(2.0)(scores, *[torch.zeros(())] * 4)
    assert capped.abs().max() <= 2
    assert (capped.diff() > 0).all()
    assert abs(capped[2] - 1e-4) < 1e-11


def test_distances_count_alone_and_slopes_fall_from_head_to_head() -> None:
    zero = torch.zeros((), dtype=torch.float64)
    b, h, i, j = (torch.tensor(n) for n in (0, 0, 9, 5))
    for heads in (1, 2, 3, 8):
        slopes = [
            -add_distance(heads)(zero, b, torch.tensor(head), i, i - 1).item()
            for head in range(heads)
        ]
        expected = [2.0 ** (-8 * (head + 1) / heads) for head in range(heads)]
        assert slopes == pytest.approx(expected, rel=1e-12)
    mod = add_distance(2)
    assert mod(zero, b, h, i, j) == mod(zero, b, h, i + 7, j + 7) == -4 * 2.0**-4
    assert mod(zero, b, h, i, i) == 0


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@each_score_function
def test_each_type_stays(score_mod: Callable | None, dtype: torch.dtype) -> None:
    parts = vectors(dtype)
    mean, weights = by_hand(*parts, score_mod, see_the_past)
    assert mean.dtype == weights.dtype == dtype
    exact, _ = by_hand(*(part.double() for part in parts), score_mod, see_the_past)
    assert (mean - exact).abs().max() < 16 * torch.finfo(dtype).eps


def test_a_score_function_may_give_another_type() -> None:
    mean, weights = by_hand(
        *vectors(torch.bfloat16), lambda score, b, h, i, j: score.double(), see_the_past
    )
    assert mean.dtype == weights.dtype == torch.bfloat16


def test_automatic_mixed_precision_gives_16_bits() -> None:
    parts = vectors(torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        mean, _ = by_hand(*parts, cap_softly(0.7), see_the_past, 0.5)
    assert mean.dtype == torch.bfloat16


def test_to_see_everything_is_to_see_each_key_with_each_query() -> None:
    query, key, _ = vectors()
    seen = see_everything(*everywhere(query, key))
    assert seen.shape == (SEQ_LEN_Q, SEQ_LEN_K)
    assert seen.all()


def test_weights_are_dropped_from_the_mean_and_not_from_the_weights() -> None:
    parts = vectors()
    torch.manual_seed(2)
    dropped, weights = by_hand(*parts, None, None, 0.5)
    mean, whole = by_hand(*parts, None, None)
    assert torch.equal(weights, whole)
    assert not torch.equal(dropped, mean)
    zero, _ = by_hand(*parts, None, None, 1.0)
    assert not zero.any()


def test_the_example_hides_the_future() -> None:
    torch.manual_seed(7)
    one, weights, other = score_functions.example()
    assert one.shape == other.shape == (3, 5, 7, 2)
    assert not weights.triu(1).any()


@each_score_function
def test_numbers_are_never_read_on_the_way(score_mod: Callable | None) -> None:
    r"""A tensor on the meta device has none: reading one is an error, as it is a wait on a GPU."""
    parts = [part.to("meta") for part in vectors()]
    mean, weights = by_hand(*parts, score_mod, see_a_window(3))
    assert (mean.device.type, weights.device.type) == ("meta", "meta")
