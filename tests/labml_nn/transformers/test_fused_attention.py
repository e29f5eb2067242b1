from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from labml_nn.transformers.fused_attention import FusedAttention
from labml_nn.transformers.mha import causal_mask
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.seam import D_MODEL, HEADS, SEQ_LEN_K, at_the_seam, equals
from tests.oracles.compare import difference

attention = partial(FusedAttention, HEADS, D_MODEL)


def from_pytorch(is_causal: bool) -> float:
    r"""Its mask is true where nothing may be seen."""
    module, x = seam.randomised(attention(is_causal=is_causal)), seam.text()
    other = seam.joined(module, nn.MultiheadAttention(D_MODEL, HEADS))
    mask = causal_mask(SEQ_LEN_K)
    theirs, _ = other(x, x, x, attn_mask=~mask[..., 0], need_weights=False)
    mine = seam.attend(module, x, None if is_causal else mask)
    return difference(mine, theirs, [x, module.output.weight], [x, other.out_proj.weight])


ORACLES = {
    "torch.nn.MultiheadAttention": lambda: max(map(from_pytorch, [True, False])),
    "multi-head attention": lambda: max(
        seam.from_module(seam.randomised(attention()), mask) for mask in seam.MASKS
    ),
}
test_it_equals_what_others_compute = equals(ORACLES)
test_at_the_seam = at_the_seam(attention, {})


def test_a_mask_besides_the_flag_is_refused() -> None:
    with pytest.raises(ValueError, match="pass no mask"):
        seam.attend(seam.randomised(attention(is_causal=True)), seam.text(), causal_mask(SEQ_LEN_K))


@pytest.mark.parametrize("n_keys, n_values", [(5, 3), (3, 5)])
def test_a_cpu_takes_the_number_of_keys_from_the_values(n_keys: int, n_values: int) -> None:
    r"""The two more keys lie behind the three: here they are those that were cut off."""
    query, keys, values = torch.randn(3, 1, 1, 5, 8).unbind()
    values = values[:, :, :n_values]
    found = F.scaled_dot_product_attention(query, keys[:, :, :n_keys], values)
    assert torch.equal(found, F.scaled_dot_product_attention(query, keys[:, :, :n_values], values))
