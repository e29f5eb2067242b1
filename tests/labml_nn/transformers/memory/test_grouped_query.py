from functools import partial

import pytest
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaAttention

from labml_nn.transformers.memory.grouped_query import GroupedQueryAttention, group_heads
from labml_nn.transformers.mha import MultiHeadAttention
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.seam import D_K, D_MODEL, HEADS
from tests.oracles.compare import largest

attention = partial(GroupedQueryAttention, HEADS, D_MODEL)


def from_kernel(key_heads: int) -> float:
    r"""PyTorch's kernel has groups of its own, and divides by the root itself."""
    module = seam.randomised(attention(key_heads=key_heads))
    return seam.from_kernel(module, seam.some_mask(idle=True), enable_gqa=True)


def from_llama(key_heads: int) -> float:
    config = LlamaConfig(**seam.CONFIG | {"num_key_value_heads": key_heads})
    ours = seam.randomised(attention(key_heads=key_heads))
    return seam.from_hugging_face(ours, LlamaAttention(config, 0))


ORACLES = {
    "F.scaled_dot_product_attention, enable_gqa": lambda: max(map(from_kernel, [1, 2, 3, 6])),
    "Hugging Face Llama": lambda: max(map(from_llama, [1, 2, 3, 6])),
}
test_it_equals_what_others_compute = seam.equals(ORACLES)
test_at_the_seam = seam.at_the_seam(partial(attention, key_heads=2))
test_heads_that_make_no_groups_are_refused = seam.refuses(
    attention, "got {key_heads=} and heads=6$", [{"key_heads": n} for n in (4, 0, -2, 12)]
)


@pytest.mark.parametrize("bias", [True, False])
def test_conversion_takes_the_mean_of_each_group(bias: bool) -> None:
    plain = seam.randomised(MultiHeadAttention(HEADS, D_MODEL, 0.25, bias))
    grouped = group_heads(plain, 2).double()
    expected = plain.state_dict()
    for name in expected:
        if name.startswith(("key.", "value.")):
            groups = expected[name].unflatten(0, (2, 3, D_K))
            expected[name] = groups.mean(dim=1).flatten(end_dim=1)
    found = grouped.state_dict()
    assert list(found) == list(expected)
    assert largest(list(found.values()), list(expected.values())) < 1e-6
    assert grouped.dropout.p == 0.25


def test_there_is_one_head_of_keys_as_a_rule() -> None:
    assert seam.shapes(attention()) == seam.shapes_of_heads(D_K)
