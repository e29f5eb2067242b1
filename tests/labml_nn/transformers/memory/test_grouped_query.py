r"""Grouped heads against loops, PyTorch's kernel and Llama."""

import math
from collections.abc import Callable
from unittest.mock import patch

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaAttention

from labml_nn.transformers.memory import grouped_query
from labml_nn.transformers.memory.grouped_query import GroupedQueryAttention, group_heads
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from tests.labml_nn.transformers.memory.at_the_seam import (
    BATCH_SIZE,
    D_K,
    D_MODEL,
    HEADS,
    SEQ_LEN,
    attend,
    check_at_the_seam,
    from_loops,
    from_module,
    parameters_of_heads,
    randomise,
    shapes,
    some_mask,
    text,
)
from tests.oracles.compare import difference


def attention(key_heads: int = 2) -> GroupedQueryAttention:
    return randomise(GroupedQueryAttention(HEADS, D_MODEL, 0.0, key_heads=key_heads))


def from_kernel(key_heads: int) -> float:
    r"""PyTorch's kernel has groups of its own, and divides by the root itself."""
    module, x, mask = attention(key_heads), text(), some_mask()
    q, k, v = (
        part.linear(x).unflatten(-1, (-1, D_K)).permute(1, 2, 0, 3)
        for part in (module.query, module.key, module.value)
    )
    visible = mask.permute(2, 0, 1)[:, None]
    mean = F.scaled_dot_product_attention(q, k, v, visible, enable_gqa=True)
    theirs = module.output(mean.permute(2, 0, 1, 3).reshape(SEQ_LEN, BATCH_SIZE, D_MODEL))
    variables = [x, *module.parameters()]
    return difference(attend(module, x, mask), theirs, variables, variables)


def softmax_in_double(x: Tensor, dim: int, dtype: torch.dtype | None = None) -> Tensor:
    r"""Llama's softmax has 32 bits; here it keeps the bits that come in."""
    return x.softmax(dim=dim)


def from_llama(key_heads: int) -> float:
    r"""Under a causal mask; turned by angles of zero, because there are no positions here."""
    module, x = attention(key_heads), text()
    config = LlamaConfig(
        hidden_size=D_MODEL,
        num_attention_heads=HEADS,
        num_key_value_heads=key_heads,
        attention_bias=True,
        attn_implementation="eager",
    )
    other = LlamaAttention(config, 0).double().eval()
    names = {"q_proj": "query.linear", "k_proj": "key.linear", "v_proj": "value.linear"}
    names = {
        f"{theirs}.{part}": f"{mine}.{part}"
        for theirs, mine in (names | {"o_proj": "output"}).items()
        for part in ("weight", "bias")
    }
    mine = dict(module.named_parameters())
    other.load_state_dict({name: mine[names[name]].detach() for name in names})
    theirs = dict(other.named_parameters())

    unrotated = torch.ones(1, SEQ_LEN, D_K).double(), torch.zeros(1, SEQ_LEN, D_K).double()
    hidden = ~causal_mask(SEQ_LEN)[..., 0]
    bias = torch.zeros(hidden.shape).double().masked_fill(hidden, -math.inf)[None, None]
    with patch("torch.nn.functional.softmax", softmax_in_double):
        output, _ = other(x.transpose(0, 1), unrotated, bias)
    return difference(
        attend(module, x, causal_mask(SEQ_LEN)),
        output.transpose(0, 1),
        [x, *(mine[names[name]] for name in names)],
        [x, *(theirs[name] for name in names)],
    )


ORACLES: dict[str, Callable[[], float]] = {
    "a loop over heads, positions and sequences": lambda: from_loops(
        attention(), some_mask(), some_mask()
    ),
    "F.scaled_dot_product_attention, enable_gqa": lambda: max(map(from_kernel, [1, 2, 3, 6])),
    "Hugging Face Llama": lambda: max(map(from_llama, [1, 2, 3, 6])),
    "multi-head attention, with as many heads": lambda: from_module(
        attention(HEADS), MultiHeadAttention(HEADS, D_MODEL, 0.0).double(), some_mask()
    ),
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


def test_at_the_seam() -> None:
    check_at_the_seam(lambda: GroupedQueryAttention(HEADS, D_MODEL, 0.0, key_heads=2))


def test_only_keys_and_values_have_fewer_parameters() -> None:
    assert shapes(attention(2)) == parameters_of_heads(2 * D_K)
    assert shapes(GroupedQueryAttention(HEADS, D_MODEL)) == parameters_of_heads(D_K)


@pytest.mark.parametrize("key_heads", [4, 0, -2, 12])
def test_heads_that_make_no_groups_are_refused(key_heads: int) -> None:
    with pytest.raises(ValueError, match=f"got key_heads={key_heads} and heads=6$"):
        GroupedQueryAttention(HEADS, D_MODEL, key_heads=key_heads)


def test_conversion_takes_the_mean_of_each_group() -> None:
    plain = randomise(MultiHeadAttention(HEADS, D_MODEL, 0.25))
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
    x = text(torch.float32)
    for other in (grouped, group_heads(plain, 2)):
        assert (attend(plain, x, some_mask()) - attend(other, x, some_mask())).abs().max() < 1e-5


def test_in_a_transformer_all_heads_share_one() -> None:
    made = grouped_query.in_transformer(d_model=D_MODEL, heads=HEADS, dropout_prob=0.5)[
        "self_attn"
    ]()
    assert (made.key_heads, made.heads, made.dropout.p) == (1, HEADS, 0.5)
