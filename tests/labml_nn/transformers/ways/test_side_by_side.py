r"""The four ways with one set of weights: what makes them equal, and what would be noticed."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from labml_nn.transformers.ways import side_by_side
from labml_nn.transformers.ways.side_by_side import (
    NAMES_IN,
    four_ways,
    largest_differences,
    outputs_and_gradients,
)
from tests.labml_nn.transformers.ways.oracles import (
    D_MODEL,
    HEADS,
    SEQ_LEN,
    assert_near,
    by_pytorch,
    causal,
    sequences,
)

NAMES = list(NAMES_IN)


def ways() -> dict[str, nn.Module]:
    r"""All four in double precision."""
    torch.manual_seed(1)
    return {name: way.double() for name, way in four_ways(HEADS, D_MODEL, SEQ_LEN).items()}


def sequence_first() -> Tensor:
    r"""What goes in."""
    return sequences().detach().transpose(0, 1).contiguous()


def largest(differences: dict[str, dict[str, Tensor]]) -> float:
    r"""The largest of all."""
    return max(one.item() for found in differences.values() for one in found.values())


def from_each_other() -> float:
    r"""Outputs and gradients of the three ways and the first."""
    return largest(largest_differences(ways(), HEADS, sequence_first()))


def from_pytorch() -> float:
    r"""Outputs, and all gradients of each way, and those of PyTorch's module."""
    all_ways, x = ways(), sequence_first().requires_grad_()
    weights = {name: one.clone() for name, one in all_ways["sequence first"].state_dict().items()}
    shared = [one.requires_grad_() for one in weights.values()]
    layers = [
        (weights[f"{name}.weight"], weights[f"{name}.bias"])
        for name in ("query.linear", "key.linear", "value.linear", "output")
    ]
    output, _ = by_pytorch(x.transpose(0, 1), layers, causal())
    output = output.transpose(0, 1)
    count = torch.linspace(-1, 1, output.numel()).double().view(output.shape)
    expected = [output, *torch.autograd.grad((output * count).sum(), [x, *shared])]
    found = outputs_and_gradients(all_ways, HEADS, x)
    assert len(found) == 4
    return max(
        (one - other).abs().max().item()
        for tensors in found.values()
        for one, other in zip(tensors, expected, strict=True)
    )


ORACLES: dict[str, Callable[[], float]] = {
    "torch.nn.MultiheadAttention": from_pytorch,
    "the other three ways": from_each_other,
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_equals_its_oracle_with_gradients(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


def test_there_are_four_and_the_first_is_not_the_fast_one() -> None:
    found = ways()
    assert list(found) == NAMES
    assert len({type(getattr(way, "attention", way)) for way in found.values()}) == 4
    assert not found["sequence first"].fused


@pytest.mark.parametrize("name", NAMES[1:])
def test_all_weights_get_to_the_others_and_none_is_made_up(name: str) -> None:
    found = ways()
    first = found["sequence first"].state_dict()
    named = NAMES_IN[name](first, HEADS)
    assert named.keys() == found[name].state_dict().keys()
    assert sum(one.numel() for one in named.values()) == sum(one.numel() for one in first.values())


@pytest.mark.parametrize("name", NAMES[1:])
def test_a_single_weight_that_differs_is_seen(name: str) -> None:
    found = ways()
    weights = found["sequence first"].state_dict()
    for parameter in weights:
        changed = {**weights, parameter: weights[parameter] + 1e-3}
        found[name].load_state_dict(NAMES_IN[name](changed, HEADS))
        x = sequence_first()
        mask = causal()[..., None]
        one, other = (found[way](query=x, key=x, value=x, mask=mask) for way in (name, NAMES[0]))
        # The softmax doesn't see what is added to all scores of a query alike: keys need no bias.
        assert torch.allclose(one, other, atol=1e-9) == (parameter == "key.linear.bias")


def test_a_difference_of_outputs_and_one_of_gradients_are_told_apart() -> None:
    found, x = ways(), sequence_first()
    at_one_place = torch.zeros_like(x)
    at_one_place[2, 1, 3] = -1e-3
    handle = found["batch first"].register_forward_hook(lambda *call: call[2] + at_one_place)
    shifted = largest_differences(found, HEADS, x)["batch first"]
    handle.remove()
    assert shifted["output"].item() == pytest.approx(1e-3)
    assert shifted["gradients"].item() < 1e-10

    found["batch first"].register_forward_hook(
        lambda *call: call[2] + 2 * (call[2] - call[2].detach())
    )
    steeper = largest_differences(found, HEADS, x)["batch first"]
    assert steeper["output"].item() < 1e-10
    assert steeper["gradients"].item() > 0.1


def test_nothing_is_left_on_what_was_given() -> None:
    found, x = ways(), sequence_first()
    results = outputs_and_gradients(found, HEADS, x)
    assert not x.requires_grad
    assert not any(one.requires_grad for tensors in results.values() for one in tensors)
    assert all(one.grad is None for way in found.values() for one in way.parameters())


def test_each_way_is_called_with_the_weights_of_the_first() -> None:
    found, x = ways(), sequence_first()
    everything = outputs_and_gradients(found, HEADS, x)
    for name, way in found.items():
        inputs = x.clone().requires_grad_()
        output = way(query=inputs, key=inputs, value=inputs, mask=causal()[..., None])
        assert_near(output, everything[name][0])
        assert len(everything[name]) == 2 + len(found["sequence first"].state_dict())


@pytest.mark.parametrize(("seq_len", "heads", "d_k"), [(1, 1, 1), (2, 3, 1), (7, 5, 2)])
def test_the_example_proves_it_for_other_sizes(seq_len: int, heads: int, d_k: int) -> None:
    found = side_by_side.example(seq_len, 3, heads, d_k)
    assert list(found) == NAMES
    assert largest(found) < 1e-10
    assert all(one.dtype == torch.float64 for each in found.values() for one in each.values())


def test_in_single_precision_they_are_equal_to_rounding() -> None:
    torch.manual_seed(1)
    found = largest_differences(four_ways(HEADS, D_MODEL, SEQ_LEN), HEADS, sequence_first().float())
    assert largest(found) < 1e-4
