r"""Attention with the batch first against PyTorch's, against loops, and against its claims."""

import inspect
import itertools
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from labml_nn.transformers import mha
from labml_nn.transformers.ways import batch_first
from labml_nn.transformers.ways.batch_first import (
    BatchFirstAtTheSeam,
    MultiHeadAttention,
    ScaledDotProductAttention,
    can_be_joined,
    check_mask,
    products_one_by_one,
)
from tests.labml_nn.transformers.ways.oracles import (
    BATCH_SIZE,
    D_K,
    D_MODEL,
    HEADS,
    SEQ_LEN,
    Layer,
    assert_near,
    by_loops,
    by_pytorch,
    causal,
    difference,
    gradients,
    sequences,
)

ALL = torch.ones(SEQ_LEN, SEQ_LEN, dtype=torch.bool)
WHOLE = [BATCH_SIZE, HEADS, SEQ_LEN, SEQ_LEN]


def attention(dtype: torch.dtype = torch.float64, dropout: float = 0.0) -> MultiHeadAttention:
    r"""An attention without dropout, unless it is asked for."""
    torch.manual_seed(1)
    return MultiHeadAttention(D_MODEL, HEADS, dropout).to(dtype)


def layers(module: MultiHeadAttention) -> list[Layer]:
    r"""The four projections."""
    return [(one.weight, one.bias) for one in (module.W_q, module.W_k, module.W_v, module.W_o)]


def padding() -> Tensor:
    r"""Each sequence ends at a length of its own."""
    lengths = torch.tensor([SEQ_LEN, 2, 3])
    return (torch.arange(SEQ_LEN) < lengths[:, None])[:, None, None]


def any_mask() -> Tensor:
    r"""A mask for each sequence and each head, in which every query sees a key."""
    visible = torch.rand(WHOLE, generator=torch.Generator().manual_seed(3)) < 0.4
    visible[..., 1] = True
    return visible


def with_idle() -> Tensor:
    r"""The same, but a query of one head sees nothing, and one of all heads."""
    visible = any_mask()
    visible[1, 0, 2] = False
    visible[2, :, 0] = False
    return visible


MASKS = [ALL, causal(), padding(), any_mask()]


def from_pytorch() -> float:
    r"""Outputs, weights and gradients of PyTorch's module."""
    module, x = attention(), sequences()
    found = []
    for visible in MASKS:
        mine = torch.cat([one.flatten() for one in module(x, visible)])
        theirs = torch.cat([one.flatten() for one in by_pytorch(x, layers(module), visible)])
        found.append(difference(mine, theirs, [x, *module.parameters()]))
    return max(found)


def from_loops() -> float:
    r"""Outputs and gradients of loops over numbers, also where a query sees nothing."""
    module, x, visible = attention(), sequences(), with_idle()
    output, _ = module(x, visible)
    expected = by_loops(x, layers(module), visible)
    return difference(output, expected, [x, *module.parameters()])


def from_kernel() -> float:
    r"""Outputs and gradients of PyTorch's function, of the inner module alone."""
    generator = torch.Generator().manual_seed(5)
    shape = [3, BATCH_SIZE, HEADS, SEQ_LEN, D_K]
    qkv = torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)
    mean, _ = ScaledDotProductAttention(0.0)(*qkv, any_mask())
    theirs = nn.functional.scaled_dot_product_attention(*qkv, any_mask())
    return difference(mean, theirs, [qkv])


ORACLES: dict[str, Callable[[], float]] = {
    "torch.nn.MultiheadAttention": from_pytorch,
    "a loop over numbers": from_loops,
    "F.scaled_dot_product_attention": from_kernel,
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_equals_its_oracle_with_gradients(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


def test_no_mask_shows_everything() -> None:
    module, x = attention(), sequences()
    for one, other in zip(module(x), module(x, ALL), strict=True):
        assert_near(one, other)


def test_it_is_called_as_the_courses_call_it() -> None:
    assert list(inspect.signature(MultiHeadAttention).parameters) == [
        "embed_dim",
        "num_heads",
        "dropout",
    ]
    assert list(inspect.signature(MultiHeadAttention.forward).parameters) == ["self", "x", "mask"]
    output, weights = attention()(sequences())
    assert list(output.shape) == [BATCH_SIZE, SEQ_LEN, D_MODEL]
    assert list(weights.shape) == WHOLE


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_idle_queries_get_zero_and_gradients_stay_finite(dtype: torch.dtype) -> None:
    module, x = attention(dtype), sequences(dtype=dtype)
    output, weights = module(x, with_idle())
    assert torch.equal(output[2, 0], module.W_o.bias)
    assert not weights[~with_idle()].any()
    assert_near(weights.sum(dim=-1), with_idle().any(dim=-1).to(dtype), 4 * torch.finfo(dtype).eps)
    found = gradients(output, [x, *module.parameters()])
    assert all(gradient.isfinite().all() for gradient in found)


def test_idle_queries_bring_no_nan_on_the_way_either() -> None:
    module, x = attention(), sequences()
    with pytest.warns(UserWarning, match="Anomaly Detection"), torch.autograd.detect_anomaly():
        output, _ = module(x, with_idle())
        output.sum().backward()
    assert x.grad.isfinite().all()


def test_hidden_keys_may_be_as_large_as_they_like() -> None:
    r"""Where a query is idle, its scores may even be infinite."""
    module = ScaledDotProductAttention(0.0)
    query, key, value = (torch.randn(1, 1, 2, D_K) for _ in range(3))
    query, key = (query * 1e20).requires_grad_(), (key * 1e20).requires_grad_()
    value.requires_grad_()
    nothing = torch.zeros(2, 2, dtype=torch.bool)
    mean, weights = module(query, key, value, nothing)
    assert not mean.any()
    assert not weights.any()
    assert all(one.isfinite().all() for one in gradients(mean, [query, key, value]))


def test_a_hidden_key_gets_no_weight_however_little_the_visible_ones_fit() -> None:
    query = torch.full((1, 1, 1, 3), 1e10)
    key = torch.cat([-query, torch.zeros_like(query)], dim=2)
    value = torch.randn(1, 1, 2, 3)
    mean, _ = ScaledDotProductAttention(0.0)(query, key, value, torch.tensor([[True, False]]))
    assert torch.equal(mean, value[:, :, :1])


def test_scores_do_not_overflow_in_16_bits() -> None:
    x = torch.full((1, 1, 2, 64), 64, dtype=torch.float16)
    assert (x * x).sum(dtype=torch.float32) / 2 > torch.finfo(torch.float16).max
    _, weights = ScaledDotProductAttention(0.0)(x, x, x)
    assert torch.equal(weights, torch.full_like(weights, 0.5))


def test_no_output_depends_on_a_later_position() -> None:
    module, x = attention(), sequences()
    before = module(x, causal())[0]
    for position in range(SEQ_LEN):
        changed = x.detach().clone()
        changed[:, position] += 1
        differs = (module(changed, causal())[0] != before).any(dim=2).all(dim=0)
        assert differs.tolist() == [other >= position for other in range(SEQ_LEN)]


def test_what_is_in_the_padding_does_not_matter() -> None:
    module, x = attention(), sequences()
    changed = x.detach().clone()
    changed[1, 2:] += 100
    before, after = (module(one, padding())[0] for one in (x, changed))
    assert torch.equal(before[1, :2], after[1, :2])
    assert_near(before[1, :2], module(x[1:2, :2])[0][0])


def test_sequences_of_a_batch_do_not_see_one_another() -> None:
    module, x = attention(), sequences()
    together, _ = module(x, any_mask())
    for b in range(BATCH_SIZE):
        alone, _ = module(x[b : b + 1], any_mask()[b : b + 1])
        assert_near(together[b : b + 1], alone)


def test_dropout_acts_on_weights_in_training_only_and_not_on_those_returned() -> None:
    module, x = attention(dropout=0.5), sequences()
    without, weights = attention()(x)
    output, returned = module(x)
    assert not torch.equal(output, without)
    assert not torch.equal(output, module(x)[0])
    assert torch.equal(returned, weights)
    output, returned = module.eval()(x)
    assert torch.equal(output, without)
    assert torch.equal(returned, weights)


def test_when_every_weight_is_dropped_the_bias_remains() -> None:
    module = attention(dropout=1.0)
    output, _ = module(sequences())
    assert torch.equal(output, module.W_o.bias.expand_as(output))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_results_have_the_type_of_the_inputs_and_are_near_the_exact_ones(
    dtype: torch.dtype,
) -> None:
    exact = attention()(sequences(dtype=dtype).double(), with_idle())
    found = attention(dtype)(sequences(dtype=dtype), with_idle())
    for one, other in zip(found, exact, strict=True):
        assert one.dtype == dtype
        assert_near(one.double(), other, 8 * torch.finfo(dtype).eps)


def test_numbers_are_never_read_on_the_way() -> None:
    r"""A tensor on the meta device has none: reading one is an error, as it is a wait on a GPU."""
    x = torch.empty(BATCH_SIZE, SEQ_LEN, D_MODEL, dtype=torch.float64, device="meta")
    output, _ = attention().to("meta")(x, causal().to("meta"))
    assert output.shape == x.shape


def test_a_compiled_module_gives_the_same() -> None:
    module, x = attention(), sequences()
    compiled = torch.compile(module, backend="aot_eager")
    assert_near(compiled(x, with_idle())[0], module(x, with_idle())[0])


@pytest.mark.parametrize(("embed_dim", "heads"), [(30, 4), (30, 0), (30, -3), (0, 2), (2, 4)])
def test_a_width_that_heads_do_not_divide_is_refused(embed_dim: int, heads: int) -> None:
    with pytest.raises(ValueError, match=f"embed_dim={embed_dim} and num_heads={heads}$"):
        MultiHeadAttention(embed_dim, heads)


def test_one_feature_is_enough_and_a_tenth_of_the_weights_is_dropped_if_nothing_is_said() -> None:
    module = MultiHeadAttention(1, 1)
    assert module(torch.zeros(2, 3, 1))[0].shape == (2, 3, 1)
    assert [module.attention.dropout.p, ScaledDotProductAttention().dropout.p] == [0.1, 0.1]


@pytest.mark.parametrize("shape", [(5, 14), (3, 5, 14, 1), (3, 5, 7)])
def test_an_input_of_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"\[batch_size, seq_len, 14\]"):
        attention()(torch.zeros(shape, dtype=torch.float64))


@pytest.mark.parametrize(
    "shape",
    [
        (3, 5),
        (5,),
        (5, 3),
        (1, 5),
        (3, 5, 5),
        (3, 2, 5, 1),
        (2, 2, 5, 5),
        (3, 3, 5, 5),
        (3, 1, 3, 5),
    ]
    + [(1, 3, 2, 5, 5), (7, 5), ()],
    ids=str,
)
def test_a_mask_of_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"\[5, 5\] or \[3, 2, 5, 5\]"):
        attention()(sequences(), torch.ones(shape, dtype=torch.bool))


@pytest.mark.parametrize("shape", [(5, 5), (1, 1, 5, 5), (3, 2, 1, 5), (1, 2, 5, 5)], ids=str)
def test_a_mask_that_can_be_stretched_is_taken(shape: tuple[int, ...]) -> None:
    check_mask(torch.ones(shape, dtype=torch.bool), 3, 2, 5)


def test_a_mask_of_numbers_is_refused() -> None:
    with pytest.raises(ValueError, match=r"torch\.float64.*expected torch\.bool"):
        attention()(sequences(), ALL.double())


def test_the_parameters_are_these() -> None:
    shapes = {name: list(one.shape) for name, one in attention().state_dict().items()}
    weights = {f"W_{name}.weight": [D_MODEL, D_MODEL] for name in "qkvo"}
    biases = {f"W_{name}.bias": [D_MODEL] for name in "qkvo"}
    assert shapes == weights | biases


def test_saved_weights_give_the_same_numbers_in_another_attention() -> None:
    other = MultiHeadAttention(D_MODEL, HEADS, 0.0).double()
    assert not torch.equal(other(sequences())[0], attention()(sequences())[0])
    other.load_state_dict(attention().state_dict())
    assert torch.equal(other(sequences())[0], attention()(sequences())[0])


def test_one_product_is_the_products_one_by_one() -> None:
    query, key = torch.randn(2, BATCH_SIZE, HEADS, SEQ_LEN, D_K, dtype=torch.float64)
    assert_near(products_one_by_one(query, key), torch.matmul(query, key.transpose(2, 3)))


def a_view_joins(x: Tensor) -> bool:
    r"""Whether PyTorch makes one axis of the last two without a copy."""
    try:
        x.view(*x.shape[:2], -1)
    except RuntimeError:
        return False
    return True


@pytest.mark.parametrize("shape", [(2, 3, 5, 7), (3, 1, 5, 2), (3, 2, 1, 5), (5, 3, 2, 1)], ids=str)
@pytest.mark.parametrize("step", [1, 2])
def test_axes_can_be_joined_where_a_view_does_not_fail(shape: tuple[int, ...], step: int) -> None:
    wide = torch.randn(*shape[:3], shape[3] * step)
    for order in itertools.permutations(range(4)):
        for x in (wide.permute(order)[..., ::step], wide[..., ::step].permute(order)):
            assert can_be_joined(x) == a_view_joins(x)


def test_heads_that_come_from_a_product_cannot_be_joined_without_a_copy() -> None:
    mean = torch.randn(BATCH_SIZE, HEADS, SEQ_LEN, D_K).transpose(1, 2)
    assert not can_be_joined(mean)
    assert can_be_joined(mean.contiguous())


def test_a_view_without_the_transpose_has_the_right_shape_and_other_numbers() -> None:
    mean = torch.arange(HEADS * SEQ_LEN * D_K).view(1, HEADS, SEQ_LEN, D_K)
    right = mean.transpose(1, 2).contiguous().view(1, SEQ_LEN, HEADS * D_K)
    wrong = mean.view(1, SEQ_LEN, HEADS * D_K)
    assert wrong.shape == right.shape
    assert right[0, 0].tolist() == [*range(D_K), *range(SEQ_LEN * D_K, SEQ_LEN * D_K + D_K)]
    assert not torch.equal(wrong, right)


@pytest.mark.parametrize(
    "mask",
    [None, causal()[..., None], padding()[:, 0, 0].T[None], any_mask()[:, 0].permute(1, 2, 0)],
    ids=["none", "causal", "padding", "each its own"],
)
def test_at_the_seam_it_is_the_attention_of_the_site(mask: Tensor | None) -> None:
    module, x = attention(), sequences().transpose(0, 1)
    other = mha.MultiHeadAttention(HEADS, D_MODEL, dropout_prob=0.0).double()
    theirs = (other.query.linear, other.key.linear, other.value.linear, other.output)
    for (weight, bias), linear in zip(layers(module), theirs, strict=True):
        linear.load_state_dict({"weight": weight, "bias": bias})
    found = BatchFirstAtTheSeam(module)(query=x, key=x, value=x, mask=mask)
    assert_near(found, other(query=x, key=x, value=x, mask=mask))


def test_each_layer_of_the_transformer_gets_an_attention_of_its_own() -> None:
    make = batch_first.in_transformer(d_model=D_MODEL, heads=HEADS, dropout_prob=0.3)["self_attn"]
    one, other = make(), make()
    assert not torch.equal(one.attention.W_q.weight, other.attention.W_q.weight)
    assert one.attention.num_heads == HEADS
    assert one.attention.attention.dropout.p == 0.3


def test_the_example_gives_the_same_at_the_seam_but_for_dropout() -> None:
    torch.manual_seed(7)
    output, weights, padded, same, products = batch_first.example(3, 5, 2, 7)
    assert output.shape == padded.shape == same.transpose(0, 1).shape == (3, 5, 14)
    assert_near(weights.sum(dim=-1), torch.ones(3, 2, 5), 1e-6)
    assert not weights.triu(1).any()
    assert products.shape == weights.shape
    assert torch.equal(padded[0, 0], padded[0, 1])
