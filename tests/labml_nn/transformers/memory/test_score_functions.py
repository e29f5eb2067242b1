import math
from itertools import product

import pytest
import torch
from torch import Tensor

from labml_nn.transformers.memory import score_functions as page
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import gradients, largest

BATCH_SIZE, HEADS, SEQ_LEN_Q, SEQ_LEN_K, D_K = 3, 2, 7, 11, 5


def vectors() -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    lengths = (SEQ_LEN_Q, SEQ_LEN_K, SEQ_LEN_K)
    return [torch.randn(BATCH_SIZE, HEADS, n, D_K, generator=generator).double() for n in lengths]


def everywhere_else(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    r"""Another mask for each sequence and head, and one query that sees nothing."""
    return ((i + 2 * j + b + h) % 3 > 0) & (i != 3)


CASES: list[tuple[page.ScoreFunction | None, page.MaskFunction | None]] = [
    (None, None),
    (page.alibi(HEADS), page.causal),
    (page.soft_cap(0.7), page.sliding_window(3)),
    (page.alibi(HEADS), everywhere_else),
    (page.soft_cap(0.7), None),
]


def from_loops() -> float:
    r"""A score at a time, with the functions called for that one alone."""
    query, key, value = vectors()
    worst = 0.0
    for score_mod, mask_mod in CASES:
        mine, weights = page.attend(query, key, value, score_mod, mask_mod)
        for b, h, i in product(range(BATCH_SIZE), range(HEADS), range(SEQ_LEN_Q)):
            exps = torch.zeros(SEQ_LEN_K).double()
            for j in range(SEQ_LEN_K):
                at = [torch.tensor(n) for n in (b, h, i, j)]
                score = query[b, h, i] @ key[b, h, j] / math.sqrt(D_K)
                score = score if score_mod is None else score_mod(score, *at)
                if mask_mod is None or mask_mod(*at):
                    exps[j] = score.exp()
            expected = exps / (exps.sum() or 1)
            found = [weights[b, h, i], mine[b, h, i]]
            worst = max(worst, largest(found, [expected, expected @ value[b, h]]))
    return worst


ORACLES = {"a loop over sequences, heads and positions": from_loops}
test_it_equals_what_others_compute = equals(ORACLES)


def test_one_function_for_one_score_and_for_all() -> None:
    at = page.indices(torch.zeros(1, 1, 4, 1), torch.zeros(1, 1, 4, 1))
    assert page.causal(*at).equal(torch.ones(4, 4, dtype=torch.bool).tril())
    assert page.sliding_window(2)(*at).int().tolist()[2:] == [[0, 1, 1, 0], [0, 0, 1, 1]]


def test_slopes_and_cap_are_those_on_the_page() -> None:
    head = torch.arange(4)
    zero, two = torch.tensor(0), torch.tensor(2)
    penalties = -page.alibi(4)(torch.zeros(4), zero, head, two, zero)
    assert penalties.tolist() == [2 / 4, 2 / 16, 2 / 64, 2 / 256]
    assert page.soft_cap(50.0)(torch.tensor(100.0), zero, zero, zero, zero).item() == pytest.approx(
        48.2, abs=0.05
    )


def test_a_score_function_that_hides_all_keys_leaves_their_mean() -> None:
    query, key, value = vectors()
    lowest = torch.finfo(value.dtype).min
    mean, _ = page.attend(query, key, value, lambda score, *at: torch.full_like(score, lowest))
    torch.testing.assert_close(mean, value.mean(2, keepdim=True).expand_as(mean))
    nothing, _ = page.attend(query, key, value, None, lambda b, h, i, j: (i < 0) & (j < 0))
    assert not nothing.any()


def test_a_query_that_sees_nothing_has_finite_gradients() -> None:
    parts = [part.requires_grad_() for part in vectors()]
    mean, _ = page.attend(*parts, page.alibi(HEADS), everywhere_else)
    assert all(one.isfinite().all() for one in gradients(mean, parts))


def test_indices_are_on_the_device_of_the_query() -> None:
    query, key, _ = (part.to("meta") for part in vectors())
    assert {one.device for one in page.indices(query, key)} == {query.device}
