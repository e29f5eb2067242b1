r"""Linear biases against loops, against Hugging Face, and against what their page claims."""

import math
from collections.abc import Callable
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers.models.bloom.modeling_bloom import _get_alibi_slopes, build_alibi_tensor

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.positions import alibi
from labml_nn.transformers.positions.alibi import AlibiAttention, slopes
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.positions.at_the_seam import POSITIONS
from tests.labml_nn.transformers.seam import BATCH_SIZE, D_K, D_MODEL, HEADS, SEQ_LEN_K
from tests.oracles.compare import difference

# Six heads are no power of two.
attention = partial(AlibiAttention, HEADS, D_MODEL)


def score(q: Tensor, k: Tensor, i: int, j: int, h: int) -> Tensor:
    r"""The formula of the page for one pair."""
    return seam.dot(q, k, i, j, h) - [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8][h] * abs(i - j)


def bloom() -> float:
    r"""It adds the slope times the place of the key, which for the softmax is the same."""
    module, x = seam.randomised(attention()), seam.text()
    found = seam.attend(module, x, causal_mask(SEQ_LEN_K))

    ones = torch.ones(BATCH_SIZE, SEQ_LEN_K, dtype=torch.long)
    theirs = build_alibi_tensor(ones, HEADS, torch.float64).view(BATCH_SIZE, HEADS, 1, SEQ_LEN_K)
    future = torch.full((SEQ_LEN_K, SEQ_LEN_K), -math.inf, dtype=torch.float64).triu(1)
    q, k, v = (
        part.linear(x).view(SEQ_LEN_K, BATCH_SIZE, HEADS, D_K).permute(1, 2, 0, 3)
        for part in (module.query, module.key, module.value)
    )
    mean = F.scaled_dot_product_attention(q, k, v, theirs + future)
    expected = module.output(mean.permute(2, 0, 1, 3).flatten(start_dim=2))
    variables = [x, *module.parameters()]
    return difference(found, expected, variables, variables)


ORACLES: dict[str, Callable[[], float]] = {
    "a loop over scalars": lambda: seam.from_loops(seam.randomised(attention()), None, score),
    "a loop over scalars, with a mask": lambda: seam.from_loops(
        seam.randomised(attention()), seam.some_mask(), score
    ),
    "Hugging Face BLOOM": bloom,
}
test_it_equals_what_others_compute = seam.equals(ORACLES)
test_at_the_seam = seam.at_the_seam(attention, {}, and_also=POSITIONS)


@pytest.mark.parametrize("heads", [1, 2, 3, 4, 8, 12, 31, 32, 33])
def test_slopes_are_those_of_bloom(heads: int) -> None:
    assert slopes(heads) == pytest.approx(_get_alibi_slopes(heads, "cpu").tolist())


def test_slopes_are_those_of_the_page() -> None:
    assert slopes(4) == [1 / 4, 1 / 16, 1 / 64, 1 / 256]
    assert slopes(2) == [1 / 16, 1 / 256]


def test_penalties_are_those_of_the_page() -> None:
    module = AlibiAttention(8, 8)
    nothing = torch.zeros(4, 1, 8, 1)
    scores = module.get_scores(nothing, nothing)[..., 0, 0]
    assert scores[3].tolist() == [-1.5, -1.0, -0.5, 0.0]
    assert torch.equal(scores, scores.T)


def test_without_slopes_it_is_plain_attention() -> None:
    module, given = seam.randomised(attention()), seam.inputs()
    plain = MultiHeadAttention(HEADS, D_MODEL).double().eval()
    plain.load_state_dict(module.state_dict())
    module.slopes.zero_()
    assert torch.equal(module(**given), plain(**given))


def test_in_a_transformer_nothing_is_added_to_tokens() -> None:
    assert (
        type(seam.made_for_the_transformer(alibi.in_transformer, positions=True)) is AlibiAttention
    )


def test_the_example_has_a_whole_and_an_end() -> None:
    whole, end = alibi.example(7, 2, 3, 5, 2)
    assert whole.shape == (7, 3, 10)
    assert end.shape == (2, 3, 10)
