r"""Attention one head at a time against PyTorch's, against loops, and against its claims."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from labml_nn.transformers.ways import one_head_at_a_time
from labml_nn.transformers.ways.one_head_at_a_time import (
    Head,
    OneHeadAtATime,
    answer,
    causal_attention,
)
from tests.labml_nn.transformers.seam import equals
from tests.labml_nn.transformers.ways.oracles import (
    D_MODEL,
    HEADS,
    Layer,
    by_loops,
    by_pytorch,
    causal,
    check_device,
    check_nothing_leaks,
    check_saved,
    difference,
    sequences,
)

# The words of the page: the cat sat.
KEYS = [[2.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0]]
VALUES = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]


def attention() -> OneHeadAtATime:
    r"""In double precision."""
    torch.manual_seed(1)
    return OneHeadAtATime(HEADS, D_MODEL).double()


def layers(module: OneHeadAtATime) -> list[Layer]:
    r"""The projections of all heads, one below the other, and the one that mixes them."""
    found = []
    for name in ("query", "key", "value"):
        parts = [getattr(head, name) for head in module.heads]
        found.append(
            (torch.cat([one.weight for one in parts]), torch.cat([one.bias for one in parts]))
        )
    return [*found, (module.projection.weight, module.projection.bias)]


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
    head, x = Head(D_MODEL, 3).double(), sequences()
    qkv = (layer(x) for layer in (head.query, head.key, head.value))
    theirs = nn.functional.scaled_dot_product_attention(*qkv, is_causal=True)
    return difference(head(x), theirs, [x, *head.parameters()])


ORACLES: dict[str, Callable[[], float]] = {
    "torch.nn.MultiheadAttention": from_pytorch,
    "a loop over numbers": from_loops,
    "F.scaled_dot_product_attention": from_kernel,
}
test_equals_its_oracle_with_gradients = equals(ORACLES)


def test_by_hand_the_numbers_are_those_of_the_page() -> None:
    weights, mean = answer([0.0, 2.0, 0.0, 0.0], KEYS, VALUES)
    assert [round(one, 2) for one in weights] == [0.11, 0.79, 0.11]
    assert [round(one, 2) for one in mean] == [0.79, 0.11]
    _, mean = answer([0.0] * 4, KEYS, VALUES)
    assert [round(one, 2) for one in mean] == [0.33, 0.33]


def test_the_last_of_all_queries_is_the_one_by_hand() -> None:
    query, key, value = torch.randn(3, 1, 5, 7, dtype=torch.float64)[..., :4]
    _, mean = answer(query[0, -1].tolist(), key[0].tolist(), value[0].tolist())
    assert causal_attention(query, key, value)[0, -1].tolist() == pytest.approx(mean)


def test_an_answer_lies_between_the_values() -> None:
    query, key, value = torch.randn(3, 2, 5, 3)
    found = causal_attention(9 * query, key, value)
    assert (found >= value.cummin(dim=1).values - 1e-5).all()
    assert (found <= value.cummax(dim=1).values + 1e-5).all()
    torch.testing.assert_close(found[:, 0], value[:, 0])


def test_no_output_depends_on_a_later_position() -> None:
    check_nothing_leaks(attention())


def test_it_works_on_another_device() -> None:
    check_device(attention())


def test_saved_weights_give_the_same() -> None:
    check_saved(lambda: OneHeadAtATime(HEADS, D_MODEL))


@pytest.mark.parametrize("heads", [1, 7])
def test_any_number_of_heads_has_as_many_weights(heads: int) -> None:
    def size(module: nn.Module) -> int:
        return sum(p.numel() for p in module.parameters())

    assert size(OneHeadAtATime(heads, D_MODEL)) == 4 * (D_MODEL * D_MODEL + D_MODEL)


def test_the_parameters_are_these() -> None:
    shapes = {name: tuple(p.shape) for name, p in attention().state_dict().items()}
    expected: dict[str, tuple[int, ...]] = {}
    for head in range(2):
        for layer in ("query", "key", "value"):
            expected[f"heads.{head}.{layer}.weight"] = (7, 14)
            expected[f"heads.{head}.{layer}.bias"] = (7,)
    assert shapes == expected | {"projection.weight": (14, 14), "projection.bias": (14,)}


def test_a_width_that_heads_do_not_divide_is_refused() -> None:
    with pytest.raises(ValueError, match="got heads=4, d_model=30$"):
        OneHeadAtATime(4, 30)


def test_the_example_attends_with_all_heads() -> None:
    found: Tensor = one_head_at_a_time.example(2, 3, 5, 7)
    assert found.shape == (2, 3, 35)
