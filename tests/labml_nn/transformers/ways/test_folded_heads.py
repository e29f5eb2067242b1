r"""Attention with folded heads against PyTorch's, against loops, and against its claims."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import nn

from labml_nn.transformers.ways import folded_heads
from labml_nn.transformers.ways.folded_heads import (
    NarrowSelfAttention,
    cut_into_heads,
    fold,
    step_by_step,
    unfold,
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

VISIBLE = {True: causal(), False: torch.ones(SEQ_LEN, SEQ_LEN, dtype=torch.bool)}
both = pytest.mark.parametrize("is_causal", [True, False], ids=["causal", "whole"])


def attention(
    is_causal: bool, dtype: torch.dtype = torch.float64, dropout_prob: float = 0.0
) -> NarrowSelfAttention:
    r"""An attention without dropout, unless it is asked for."""
    torch.manual_seed(1)
    return NarrowSelfAttention(HEADS, D_MODEL, dropout_prob, causal=is_causal).to(dtype)


def layers(module: NarrowSelfAttention) -> list[Layer]:
    r"""The four projections."""
    four = (module.query, module.key, module.value, module.output)
    return [(one.weight, one.bias) for one in four]


def from_pytorch() -> float:
    r"""Outputs and gradients of PyTorch's module, with and without the mask."""
    found, x = [], sequences()
    for is_causal, visible in VISIBLE.items():
        module = attention(is_causal)
        theirs, _ = by_pytorch(x, layers(module), visible)
        found.append(difference(module(x), theirs, [x, *module.parameters()]))
    return max(found)


def from_loops() -> float:
    r"""Outputs and gradients of loops over numbers, with and without the mask."""
    found, x = [], sequences()
    for is_causal, visible in VISIBLE.items():
        module = attention(is_causal)
        theirs = by_loops(x, layers(module), visible)
        found.append(difference(module(x), theirs, [x, *module.parameters()]))
    return max(found)


ORACLES: dict[str, Callable[[], float]] = {
    "torch.nn.MultiheadAttention": from_pytorch,
    "a loop over numbers": from_loops,
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_equals_its_oracle_with_gradients(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


def test_it_is_not_causal_unless_asked() -> None:
    torch.manual_seed(1)
    module = NarrowSelfAttention(HEADS, D_MODEL, 0.0).double()
    assert torch.equal(module(sequences()), attention(False)(sequences()))


@both
def test_the_steps_lead_to_the_output(is_causal: bool) -> None:
    module, x = attention(is_causal, dropout_prob=0.5).eval(), sequences()
    steps = step_by_step(module, x)
    assert_near(steps["output"], module(x))
    assert list(steps)[-1] == "output"


def test_the_steps_are_those_of_a_loop_over_sequences_and_heads() -> None:
    module, x = attention(True), sequences()
    steps = step_by_step(module, x)
    _, weights = by_pytorch(x, layers(module), causal())
    projected = [x @ weight.T + bias for weight, bias in layers(module)[:3]]
    assert_near(steps["projected"], projected[0])
    for b in range(BATCH_SIZE):
        for head in range(HEADS):
            n, features = b * HEADS + head, slice(head * D_K, (head + 1) * D_K)
            query, key, value = (one[b, :, features] for one in projected)
            assert_near(steps["cut"][b, :, head], query)
            assert_near(steps["folded"][n], query)
            assert_near(steps["scores"][n], query @ key.T / math.sqrt(D_K))
            assert_near(steps["weights"][n], weights[b, head])
            assert_near(steps["means"][n], weights[b, head] @ value)
            assert_near(steps["unfolded"][b, :, features], steps["means"][n])


def test_heads_of_a_sequence_are_neighbours_in_the_batch() -> None:
    x = torch.arange(BATCH_SIZE * SEQ_LEN * D_MODEL).view(BATCH_SIZE, SEQ_LEN, D_MODEL)
    folded = fold(cut_into_heads(x, HEADS))
    assert list(folded.shape) == [BATCH_SIZE * HEADS, SEQ_LEN, D_K]
    for n in range(BATCH_SIZE * HEADS):
        b, head = divmod(n, HEADS)
        assert torch.equal(folded[n], x[b, :, head * D_K : (head + 1) * D_K])
    assert torch.equal(unfold(folded, HEADS), x)


def test_without_the_transpose_the_shapes_are_the_same_and_the_numbers_are_not() -> None:
    x = torch.arange(SEQ_LEN * D_MODEL).view(1, SEQ_LEN, D_MODEL)
    cut = cut_into_heads(x, HEADS)
    wrong = cut.reshape(HEADS, SEQ_LEN, D_K)
    assert wrong.shape == fold(cut).shape
    assert not torch.equal(wrong, fold(cut))


@both
def test_outputs_depend_on_what_they_may_see(is_causal: bool) -> None:
    module, x = attention(is_causal), sequences()
    for position in range(SEQ_LEN):
        changed = x.detach().clone()
        changed[:, position] += 1
        differs = (module(changed) != module(x)).any(dim=2).all(dim=0)
        assert torch.equal(differs, VISIBLE[is_causal][:, position])


@both
def test_sequences_of_a_batch_do_not_see_one_another(is_causal: bool) -> None:
    module, x = attention(is_causal), sequences()
    for b in range(BATCH_SIZE):
        assert_near(module(x)[b : b + 1], module(x[b : b + 1]))


def test_dropout_acts_on_the_weights_in_training_only() -> None:
    module, x = attention(True, dropout_prob=0.5), sequences()
    without = attention(True)(x)
    assert not torch.equal(module(x), module(x))
    assert torch.equal(module.eval()(x), without)
    everything = attention(True, dropout_prob=1.0)
    assert torch.equal(everything(x), everything.output.bias.expand_as(x))


@both
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_results_have_the_type_of_the_inputs_and_are_near_the_exact_ones(
    is_causal: bool, dtype: torch.dtype
) -> None:
    exact = attention(is_causal)(sequences(dtype=dtype).double())
    module, x = attention(is_causal, dtype), sequences(dtype=dtype)
    output = module(x)
    assert output.dtype == dtype
    assert_near(output.double(), exact, 8 * torch.finfo(dtype).eps)
    found = gradients(output, [x, *module.parameters()])
    assert all(one.isfinite().all() for one in found)


def test_scores_do_not_overflow_in_16_bits() -> None:
    module = NarrowSelfAttention(1, 64, 0.0)
    for layer in (module.query, module.key):
        nn.init.eye_(layer.weight)
        nn.init.zeros_(layer.bias)
    x = torch.full((1, 2, 64), 64, dtype=torch.float16)
    assert (x * x).sum(dtype=torch.float32) / 2 > torch.finfo(torch.float16).max
    steps = step_by_step(module.half(), x)
    assert steps["scores"].isfinite().all()
    assert module(x).isfinite().all()


def test_numbers_are_never_read_on_the_way() -> None:
    r"""A tensor on the meta device has none: reading one is an error, as it is a wait on a GPU."""
    x = torch.empty(BATCH_SIZE, SEQ_LEN, D_MODEL, dtype=torch.float64, device="meta")
    assert attention(True).to("meta")(x).shape == x.shape


def test_a_compiled_module_gives_the_same() -> None:
    module, x = attention(True), sequences()
    assert_near(torch.compile(module, backend="aot_eager")(x), module(x))


@pytest.mark.parametrize(("d_model", "heads"), [(30, 4), (30, 0), (30, -3), (0, 2), (2, 4)])
def test_a_width_that_heads_do_not_divide_is_refused(d_model: int, heads: int) -> None:
    with pytest.raises(ValueError, match=f"d_model={d_model} and heads={heads}$"):
        NarrowSelfAttention(heads, d_model)


def test_one_feature_is_enough_and_a_tenth_of_the_weights_is_dropped_if_nothing_is_said() -> None:
    module = NarrowSelfAttention(1, 1)
    assert module(torch.zeros(2, 3, 1)).shape == (2, 3, 1)
    assert module.dropout.p == 0.1


@pytest.mark.parametrize("shape", [(5, 14), (3, 5, 14, 1), (3, 5, 7)])
def test_an_input_of_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"\[batch_size, seq_len, 14\]") as caught:
        attention(True)(torch.zeros(shape, dtype=torch.float64))
    assert str(list(shape)) in str(caught.value)


def test_the_parameters_are_these() -> None:
    shapes = {name: list(one.shape) for name, one in attention(True).state_dict().items()}
    names = ("query", "key", "value", "output")
    weights = {f"{name}.weight": [D_MODEL, D_MODEL] for name in names}
    assert shapes == weights | {f"{name}.bias": [D_MODEL] for name in names}


def test_saved_weights_give_the_same_numbers_in_another_attention() -> None:
    other = NarrowSelfAttention(HEADS, D_MODEL, 0.0, causal=True).double()
    assert not torch.equal(other(sequences()), attention(True)(sequences()))
    other.load_state_dict(attention(True).state_dict())
    assert torch.equal(other(sequences()), attention(True)(sequences()))


def test_each_layer_of_the_transformer_gets_a_causal_attention_of_its_own() -> None:
    make = folded_heads.in_transformer(d_model=D_MODEL, heads=HEADS, dropout_prob=0.3)["self_attn"]
    one, other = make(), make()
    assert isinstance(one, CausalAtTheSeam)
    assert not torch.equal(one.attention.query.weight, other.attention.query.weight)
    assert (one.attention.heads, one.attention.causal) == (HEADS, True)
    assert one.attention.dropout.p == 0.3


def test_the_example_shows_the_shape_of_each_step() -> None:
    shapes = {name: list(one.shape) for name, one in folded_heads.example(3, 5, 2, 7).items()}
    assert shapes == {
        "projected": [3, 5, 14],
        "cut": [3, 5, 2, 7],
        "folded": [6, 5, 7],
        "scores": [6, 5, 5],
        "weights": [6, 5, 5],
        "means": [6, 5, 7],
        "unfolded": [3, 5, 14],
        "output": [3, 5, 14],
    }
