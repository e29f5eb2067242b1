r"""How far outputs are apart, what becomes of weights, and which matrices are found."""

import math

import pytest
import torch
from torch import Tensor, nn

from wrongline.comparison import Matrix, find_weights, off, roughen

D_MODEL, N_HEADS = 12, 3


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_how_far_off_is_relative_to_the_largest_number(size: float) -> None:
    expected = size * torch.tensor([2.0, -5.0])
    assert off(size * torch.tensor([1.0, -4.5]), expected) == pytest.approx(1 / 5)
    assert off(size * torch.tensor([2.0, -6.5]), expected) == pytest.approx(1.5 / 5)


def test_what_is_no_number_is_as_far_off_as_can_be_and_zeros_are_zeros() -> None:
    expected = torch.tensor([2.0, -5.0])
    for number in (math.nan, math.inf, -math.inf):
        assert off(torch.tensor([2.0, number]), expected) == math.inf
    assert off(torch.zeros(3), torch.zeros(3)) == 0.0
    assert off(torch.ones(3), torch.zeros(3)) > 1e6


def test_weights_get_some_size_the_same_each_time() -> None:
    state = torch.get_rng_state()
    module = nn.Sequential(nn.Linear(100, 400), nn.LayerNorm(4000)).double()
    before = [weight.detach().clone() for weight in module.parameters()]
    torch.set_rng_state(state)
    assert roughen(module) is module
    assert torch.get_rng_state().equal(state)
    weight, bias, gain, shift = module.parameters()
    # Whatever matrices were, scores of a hundred features have a size of 1.5.
    assert weight.std().item() == pytest.approx(1.5 / 10, rel=0.02)
    assert abs(weight.mean().item()) < 0.01
    for found, old in ((bias, before[1]), (gain, before[2]), (shift, before[3])):
        assert (found - old).std().item() == pytest.approx(0.3, rel=0.1)
    # Another module of these shapes, with other weights: the same matrix, and the same noise.
    other = roughen(nn.Sequential(nn.Linear(100, 400), nn.LayerNorm(4000)).double())
    assert other[0].weight.equal(weight)
    assert other[1].weight.equal(gain)


def test_the_default_device_of_the_caller_does_not_matter() -> None:
    plain, under = (nn.Linear(3, 5) for _ in range(2))
    roughen(plain)
    with torch.device("meta"):
        roughen(under)
    assert torch.equal(plain.weight, under.weight)


def same(found: list[Matrix], expected: list[tuple[Tensor, Tensor]]) -> bool:
    r"""Whether these are the weights and biases, in this order, without a graph."""
    flat = [z for matrix in found for z in matrix]
    assert not any(z.requires_grad for z in flat)
    known = [z for matrix in expected for z in matrix]
    assert [(z.shape, z.dtype) for z in flat] == [(z.shape, z.dtype) for z in known]
    return all(map(torch.equal, flat, known))


def linear(*, n_out: int = D_MODEL, bias: bool = True) -> nn.Linear:
    return nn.Linear(D_MODEL, n_out, bias=bias)


def test_four_layers_are_found_with_biases_or_without() -> None:
    layers = nn.ModuleDict(
        {"q": linear(), "k": linear(bias=False), "v": linear(n_out=4), "o": linear()}
    ).double()
    zeros = torch.zeros(D_MODEL, dtype=torch.float64)
    assert same(
        find_weights(layers, D_MODEL),
        [
            (layers["q"].weight, layers["q"].bias),
            (layers["k"].weight, zeros),
            (layers["v"].weight, layers["v"].bias),
            (layers["o"].weight, layers["o"].bias),
        ],
    )


def test_one_matrix_for_three_projections_is_cut_into_three() -> None:
    attention = roughen(nn.MultiheadAttention(D_MODEL, N_HEADS))
    weights = attention.in_proj_weight.split(D_MODEL)
    biases = attention.in_proj_bias.split(D_MODEL)
    output = (attention.out_proj.weight, attention.out_proj.bias)
    assert same(find_weights(attention, D_MODEL), [*zip(weights, biases, strict=True), output])


def test_smaller_matrices_stay_whole() -> None:
    layers = nn.Sequential(linear(), linear(n_out=20))
    assert [len(weight) for weight, _ in find_weights(layers, D_MODEL)] == [12, 20]


def test_heads_of_a_list_are_put_together() -> None:
    class Head(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.q, self.k = linear(n_out=4), linear(n_out=4)

    heads = nn.ModuleList(Head() for _ in range(N_HEADS))
    expected = [
        (torch.cat([one.weight for one in all_of]), torch.cat([one.bias for one in all_of]))
        for all_of in ([head.q for head in heads], [head.k for head in heads])
    ]
    assert same(find_weights(nn.ModuleDict({"heads": heads}), D_MODEL), expected)


class Turned(nn.Module):
    r"""A layer in the manner of GPT-2: the features that come out are on the last axis."""

    def __init__(self, n_out: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(D_MODEL, n_out))
        self.bias = nn.Parameter(torch.randn(n_out))


def test_matrices_that_are_the_other_way_round_are_turned() -> None:
    layers = nn.Sequential(Turned(3 * D_MODEL), Turned(D_MODEL))
    parts = zip(layers[0].weight.t().split(D_MODEL), layers[0].bias.split(D_MODEL), strict=True)
    assert same(find_weights(layers, D_MODEL), [*parts, (layers[1].weight.t(), layers[1].bias)])


def test_matrices_may_have_any_name() -> None:
    module = nn.Module()
    module.w_q = nn.Parameter(torch.randn(D_MODEL, D_MODEL))
    assert same(find_weights(module, D_MODEL), [(module.w_q, torch.zeros(D_MODEL))])


@pytest.mark.parametrize(
    "other",
    [
        nn.LayerNorm(D_MODEL),
        nn.Linear(5, 7, bias=False),
        nn.Conv1d(D_MODEL, D_MODEL, D_MODEL),
        nn.ParameterDict({"scale": nn.Parameter(torch.tensor(1.0))}),
        nn.Sequential(nn.Linear(D_MODEL, 7), nn.ReLU(), nn.Linear(7, D_MODEL)),
    ],
    ids=["a gain", "another matrix", "three axes", "a number", "layers in a row"],
)
def test_with_a_weight_that_is_no_matrix_of_the_formula_none_is_found(other: nn.Module) -> None:
    assert find_weights(nn.ModuleList([linear()]), D_MODEL) != []
    assert find_weights(nn.ModuleDict({"q": linear(), "other": other}), D_MODEL) == []


def test_a_bias_that_does_not_fit_leaves_its_matrix_out() -> None:
    module = linear()
    module.bias = nn.Parameter(torch.zeros(7))
    assert find_weights(module, D_MODEL) == []
