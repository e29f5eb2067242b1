r"""Attention one head at a time against PyTorch's, against loops, and against its claims."""

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from labml_nn.transformers.ways import one_head_at_a_time
from labml_nn.transformers.ways.one_head_at_a_time import (
    Head,
    OneHeadAtATime,
    leaves_range_by,
    multiplications,
)
from labml_nn.transformers.ways.seam import CausalAtTheSeam
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

MAX_LEN = 11


def attention(dtype: torch.dtype = torch.float64, dropout_prob: float = 0.0) -> OneHeadAtATime:
    r"""An attention without dropout, unless it is asked for."""
    torch.manual_seed(1)
    return OneHeadAtATime(HEADS, D_MODEL, dropout_prob, max_len=MAX_LEN).to(dtype)


def layers(module: OneHeadAtATime) -> list[Layer]:
    r"""The projections of all heads, one below the other, and the one that mixes them."""
    found = []
    for name in ("query", "key", "value"):
        parts = [getattr(head, name) for head in module.heads]
        weight, bias = (torch.cat([getattr(one, kind) for one in parts]) for kind in KINDS)
        found.append((weight, bias))
    return [*found, (module.projection.weight, module.projection.bias)]


KINDS = ("weight", "bias")


def from_pytorch() -> float:
    r"""Outputs and gradients of PyTorch's module."""
    module, x = attention(), sequences()
    theirs, _ = by_pytorch(x, layers(module), causal())
    return difference(module(x), theirs, [x, *module.parameters()])


def from_loops() -> float:
    r"""Outputs and gradients of loops over numbers."""
    module, x = attention(), sequences()
    theirs = by_loops(x, layers(module), causal())
    return difference(module(x), theirs, [x, *module.parameters()])


def from_kernel() -> float:
    r"""Output and gradients of PyTorch's function, of a single head of another width."""
    torch.manual_seed(1)
    head, x = Head(3, D_MODEL, MAX_LEN, 0.0).double(), sequences()
    qkv = (layer(x) for layer in (head.query, head.key, head.value))
    theirs = nn.functional.scaled_dot_product_attention(*qkv, is_causal=True)
    return difference(head(x), theirs, [x, *head.parameters()])


ORACLES: dict[str, Callable[[], float]] = {
    "torch.nn.MultiheadAttention": from_pytorch,
    "a loop over numbers": from_loops,
    "F.scaled_dot_product_attention": from_kernel,
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_equals_its_oracle_with_gradients(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


def test_weights_of_a_head_are_those_of_pytorch() -> None:
    module, x = attention(), sequences()
    _, weights = by_pytorch(x, layers(module), causal())
    for number, head in enumerate(module.heads):
        assert_near(head.get_weights(x), weights[:, number])


def test_no_output_depends_on_a_later_position() -> None:
    module, x = attention(), sequences()
    for position in range(SEQ_LEN):
        changed = x.detach().clone()
        changed[:, position] += 1
        differs = (module(changed) != module(x)).any(dim=2).all(dim=0)
        assert torch.equal(differs, causal()[:, position])


@pytest.mark.parametrize("seq_len", [1, 2, MAX_LEN])
def test_a_beginning_is_attended_to_as_in_the_whole(seq_len: int) -> None:
    module, x = attention(), sequences(MAX_LEN)
    assert_near(module(x[:, :seq_len]), module(x)[:, :seq_len])


def test_sequences_of_a_batch_do_not_see_one_another() -> None:
    module, x = attention(), sequences()
    for b in range(BATCH_SIZE):
        assert_near(module(x)[b : b + 1], module(x[b : b + 1]))


def test_dropout_acts_on_the_weights_in_training_only() -> None:
    module, x = attention(dropout_prob=0.5), sequences()
    without = attention()(x)
    assert not torch.equal(module(x), module(x))
    assert torch.equal(module.eval()(x), without)
    everything = attention(dropout_prob=1.0)
    assert torch.equal(everything(x), everything.projection.bias.expand_as(x))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_results_have_the_type_of_the_inputs_and_are_near_the_exact_ones(
    dtype: torch.dtype,
) -> None:
    exact = attention()(sequences(dtype=dtype).double())
    module, x = attention(dtype), sequences(dtype=dtype)
    output = module(x)
    assert output.dtype == dtype
    assert_near(output.double(), exact, 8 * torch.finfo(dtype).eps)
    found = gradients(output, [x, *module.parameters()])
    assert all(one.isfinite().all() for one in found)


def test_scores_do_not_overflow_in_16_bits() -> None:
    head = Head(64, 64, MAX_LEN, 0.0)
    for layer in (head.query, head.key):
        nn.init.eye_(layer.weight)
        nn.init.zeros_(layer.bias)
    x = torch.full((1, 2, 64), 64, dtype=torch.float16)
    assert (x * x).sum(dtype=torch.float32) / 2 > torch.finfo(torch.float16).max
    assert head.half().get_weights(x)[0].tolist() == [[1, 0], [0.5, 0.5]]


def test_numbers_are_never_read_on_the_way() -> None:
    r"""A tensor on the meta device has none: reading one is an error, as it is a wait on a GPU."""
    x = torch.empty(BATCH_SIZE, SEQ_LEN, D_MODEL, dtype=torch.float64, device="meta")
    assert attention().to("meta")(x).shape == x.shape


def test_a_compiled_module_gives_the_same() -> None:
    module, x = attention(), sequences()
    assert_near(torch.compile(module, backend="aot_eager")(x), module(x))


@pytest.mark.parametrize(("d_model", "heads"), [(30, 4), (30, 0), (30, -3), (0, 2), (2, 4)])
def test_a_width_that_heads_do_not_divide_is_refused(d_model: int, heads: int) -> None:
    with pytest.raises(ValueError, match=f"d_model={d_model} and heads={heads}$"):
        OneHeadAtATime(heads, d_model, max_len=MAX_LEN)


def test_one_feature_is_enough_and_a_tenth_of_the_weights_is_dropped_if_nothing_is_said() -> None:
    module = OneHeadAtATime(1, 1, max_len=1)
    assert module(torch.zeros(2, 1, 1)).shape == (2, 1, 1)
    assert [module.heads[0].dropout.p, Head(1, 1, 1).dropout.p] == [0.1, 0.1]


@pytest.mark.parametrize("shape", [(5, 14), (3, 5, 14, 1), (3, 5, 7), (3, 12, 14)])
def test_an_input_of_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"seq_len, 14\] with at most 11 positions") as caught:
        attention()(torch.zeros(shape, dtype=torch.float64))
    assert str(list(shape)) in str(caught.value)


def test_the_parameters_are_these_and_the_triangle_is_not_saved() -> None:
    shapes = {name: list(one.shape) for name, one in attention().state_dict().items()}
    expected = {"projection.weight": [D_MODEL, D_MODEL], "projection.bias": [D_MODEL]}
    for head in range(HEADS):
        for name in ("query", "key", "value"):
            expected[f"heads.{head}.{name}.weight"] = [D_K, D_MODEL]
            expected[f"heads.{head}.{name}.bias"] = [D_K]
    assert shapes == expected
    triangle = attention().heads[0].lower_triangle
    assert torch.equal(triangle, causal(MAX_LEN))


def test_saved_weights_give_the_same_numbers_in_another_attention() -> None:
    other = OneHeadAtATime(HEADS, D_MODEL, 0.0, max_len=SEQ_LEN).double()
    assert not torch.equal(other(sequences()), attention()(sequences()))
    other.load_state_dict(attention().state_dict())
    assert torch.equal(other(sequences()), attention()(sequences()))


def test_heads_differ_from_one_another() -> None:
    one, other = attention().heads
    assert not torch.equal(one.query.weight, other.query.weight)


def test_a_head_brings_nothing_from_outside_its_values() -> None:
    torch.manual_seed(3)
    head, x = Head(D_K, D_MODEL, MAX_LEN).double(), 3 * sequences()
    assert leaves_range_by(head, x).item() <= 1e-12

    # What comes later does not count: with the past exchanged for the future it is outside.
    head.lower_triangle = head.lower_triangle.mT
    assert leaves_range_by(head, x).item() > 0.1


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_range_has_two_ends(sign: float) -> None:
    head, x = Head(1, 1, 2).double(), torch.tensor([[[1.0], [2.0]]], dtype=torch.float64)
    nn.init.constant_(head.value.weight, sign)
    nn.init.zeros_(head.value.bias)
    head.get_weights = lambda x: torch.tensor([[[1.5, 0.0], [0.0, 1.25]]], dtype=x.dtype)
    assert leaves_range_by(head, x).item() == pytest.approx(0.5)


@pytest.mark.parametrize("heads", [1, 2, 7, 14])
def test_many_heads_cost_as_much_as_one(heads: int) -> None:
    module = OneHeadAtATime(heads, D_MODEL, 0.0, max_len=MAX_LEN)
    assert multiplications(heads, D_MODEL, SEQ_LEN) == multiplications(1, D_MODEL, SEQ_LEN)
    with FlopCounterMode(display=False) as counted:
        module(torch.zeros(1, SEQ_LEN, D_MODEL))
    # A multiplication and an addition are two.
    assert counted.get_total_flops() == 2 * multiplications(heads, D_MODEL, SEQ_LEN)
    assert sum(one.numel() for one in module.parameters()) == 4 * (D_MODEL * D_MODEL + D_MODEL)


def test_each_layer_of_the_transformer_gets_an_attention_of_its_own() -> None:
    make = one_head_at_a_time.in_transformer(
        d_model=D_MODEL, heads=HEADS, seq_len=MAX_LEN, dropout_prob=0.3
    )["self_attn"]
    one, other = make(), make()
    assert isinstance(one, CausalAtTheSeam)
    first, second = one.attention.heads[0], other.attention.heads[0]
    assert not torch.equal(first.query.weight, second.query.weight)
    assert (len(one.attention.heads), one.attention.max_len) == (HEADS, MAX_LEN)
    assert first.dropout.p == 0.3


def test_the_example_shows_all_heads_and_one() -> None:
    output, first, outside = one_head_at_a_time.example(3, 5, 2, 7, 11)
    assert output.shape == (3, 5, 14)
    assert first.shape == (3, 5, 7)
    assert outside < 1e-5
