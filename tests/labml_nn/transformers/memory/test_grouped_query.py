r"""Grouped heads against loops, PyTorch's kernel and Llama."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaAttention

from labml_nn.transformers.memory import grouped_query
from labml_nn.transformers.memory.grouped_query import GroupedQueryAttention, group_heads
from labml_nn.transformers.mha import MultiHeadAttention
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.seam import BATCH_SIZE, D_K, D_MODEL, HEADS, SEQ_LEN_K
from tests.oracles.compare import difference

attention = partial(GroupedQueryAttention, HEADS, D_MODEL)


def from_kernel(key_heads: int) -> float:
    r"""PyTorch's kernel has groups of its own, and divides by the root itself."""
    module, mask = (
        seam.randomised(attention(key_heads=key_heads)),
        seam.some_mask(SEQ_LEN_K, idle=True),
    )
    x = seam.text()
    q, k, v = (
        part.linear(x).unflatten(-1, (-1, D_K)).permute(1, 2, 0, 3)
        for part in (module.query, module.key, module.value)
    )
    visible = mask.permute(2, 0, 1)[:, None]
    mean = F.scaled_dot_product_attention(q, k, v, visible, enable_gqa=True)
    theirs = module.output(mean.permute(2, 0, 1, 3).reshape(SEQ_LEN_K, BATCH_SIZE, D_MODEL))
    variables = [x, *module.parameters()]
    return difference(seam.attend(module, x, mask), theirs, variables, variables)


def from_llama(key_heads: int) -> float:
    r"""Under a causal mask; turned by angles of zero, because there are no positions here."""
    config = LlamaConfig(
        hidden_size=D_MODEL,
        num_attention_heads=HEADS,
        num_key_value_heads=key_heads,
        attention_bias=True,
        attn_implementation="eager",
    )
    ours = seam.randomised(attention(key_heads=key_heads))
    return seam.from_hugging_face(ours, LlamaAttention(config, 0))


ORACLES: dict[str, Callable[[], float]] = {
    "a loop over heads, positions and sequences": lambda: seam.from_loops(
        seam.randomised(attention(key_heads=2)), seam.some_mask(idle=True)
    ),
    "F.scaled_dot_product_attention, enable_gqa": lambda: max(map(from_kernel, [1, 2, 3, 6])),
    "Hugging Face Llama": lambda: max(map(from_llama, [1, 2, 3, 6])),
    "multi-head attention, with as many heads": lambda: seam.from_module(
        seam.randomised(attention(key_heads=HEADS)),
        MultiHeadAttention(HEADS, D_MODEL).double().eval(),
        seam.some_mask(SEQ_LEN_K),
    ),
}
test_it_equals_what_others_compute = seam.equals(ORACLES)
test_at_the_seam = seam.at_the_seam(partial(attention, key_heads=2))


def test_only_keys_and_values_have_fewer_parameters() -> None:
    assert seam.shapes(attention(key_heads=2)) == seam.shapes_of_heads(2 * D_K)
    assert seam.shapes(attention()) == seam.shapes_of_heads(D_K)


@pytest.mark.parametrize("key_heads", [4, 0, -2, 12])
def test_heads_that_make_no_groups_are_refused(key_heads: int) -> None:
    with pytest.raises(ValueError, match=f"got key_heads={key_heads} and heads=6$"):
        GroupedQueryAttention(HEADS, D_MODEL, key_heads=key_heads)


def test_conversion_takes_the_mean_of_each_group() -> None:
    plain = seam.randomised(MultiHeadAttention(HEADS, D_MODEL, 0.25))
    weights, found = plain.state_dict(), group_heads(plain, 2).double()
    for head in range(2):
        for feature in range(D_K):
            rows = [(3 * head + member) * D_K + feature for member in range(3)]
            for name in ("key.linear.weight", "value.linear.bias"):
                mean = sum(weights[name][row] for row in rows) / 3
                got = found.state_dict()[name][head * D_K + feature]
                assert (got - mean).abs().max() < 1e-6
    assert (found.query.linear.weight - weights["query.linear.weight"]).abs().max() < 1e-6
    assert found.dropout.p == 0.25


@pytest.mark.parametrize("bias", [True, False])
def test_conversion_of_heads_that_are_alike_changes_nothing(bias: bool) -> None:
    grouped = GroupedQueryAttention(HEADS, D_MODEL, 0.0, bias, key_heads=2)
    weights = grouped.state_dict()
    for name in list(weights):
        if name.startswith(("key.", "value.")):
            heads = weights[name].unflatten(0, (2, D_K))
            weights[name] = heads.repeat_interleave(3, dim=0).flatten(end_dim=1)
    plain = MultiHeadAttention(HEADS, D_MODEL, 0.0, bias)
    plain.load_state_dict(weights)
    x = seam.text(torch.float32)
    for other in (grouped, group_heads(plain, 2)):
        assert (
            seam.attend(plain, x, seam.some_mask(SEQ_LEN_K))
            - seam.attend(other, x, seam.some_mask(SEQ_LEN_K))
        ).abs().max() < 1e-5


def test_in_a_transformer_all_heads_share_one() -> None:
    assert seam.made_for_the_transformer(grouped_query.in_transformer).key_heads == 1
