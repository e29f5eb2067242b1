from functools import partial

import pytest
import torch
from torch import Tensor
from transformers.models.bloom.modeling_bloom import _get_alibi_slopes, build_alibi_tensor

from labml_nn.transformers.mha import causal_mask
from labml_nn.transformers.positions.alibi import AlibiAttention, slopes
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.positions.at_the_seam import check_decoding
from tests.labml_nn.transformers.seam import BATCH_SIZE, D_MODEL, HEADS, SEQ_LEN_K

# Six heads are no power of two.
attention = partial(AlibiAttention, HEADS, D_MODEL)


def score(q: Tensor, k: Tensor, i: int, j: int, h: int) -> Tensor:
    return seam.dot(q, k, i, j, h) - [1 / 4, 1 / 16, 1 / 64, 1 / 256, 1 / 2, 1 / 8][h] * abs(i - j)


def bloom() -> float:
    r"""It adds the slope times the place of the key, which for the softmax is the same."""
    ones = torch.ones(BATCH_SIZE, SEQ_LEN_K, dtype=torch.long)
    added = build_alibi_tensor(ones, HEADS, torch.float64).view(BATCH_SIZE, HEADS, 1, SEQ_LEN_K)
    return seam.from_kernel(seam.randomised(attention()), causal_mask(SEQ_LEN_K), added)


ORACLES = {
    "a loop over scalars": lambda: seam.from_loops(
        seam.randomised(attention()), seam.some_mask(), score
    ),
    "Hugging Face BLOOM": bloom,
}
test_it_equals_what_others_compute = seam.equals(ORACLES)
test_at_the_seam = seam.at_the_seam(attention, {}, and_also=(check_decoding,))


@pytest.mark.parametrize("heads", [1, 2, 3, 4, 8, 12, 31, 32, 33])
def test_slopes_are_those_of_bloom(heads: int) -> None:
    assert slopes(heads) == pytest.approx(_get_alibi_slopes(heads, "cpu").tolist())


def test_penalties_are_those_of_the_page() -> None:
    module = AlibiAttention(8, 8)
    nothing = torch.zeros(4, 1, 8, 1)
    scores = module.get_scores(nothing, nothing)[..., 0, 0]
    assert scores[3].tolist() == [-1.5, -1.0, -0.5, 0.0]
    assert torch.equal(scores, scores.T)
