import copy
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from labml_nn.optimizers.muon import Muon
from labml_nn.training.joined import (
    forget_gradients,
    gather_gradients,
    in_stacks,
    join,
    load_state_by_part,
    parameters_in,
    parts_of,
    side_by_side,
    state_by_part,
)

# Shapes that are prime and unlike, a stack, a scalar, and two of one shape that lie apart.
SHAPES = [(7, 5), (3, 7, 5), (), (16, 4), (11,), (7, 5)]


def make_model(dtype: torch.dtype = torch.float32) -> nn.ParameterList:
    generator = torch.Generator().manual_seed(1)
    values = [torch.randn(shape, generator=generator, dtype=dtype) for shape in SHAPES]
    return nn.ParameterList(nn.Parameter(value) for value in values)


def loss_of(model: nn.ParameterList, number: int) -> Tensor:
    return sum((p * (number + index)).sin().sum() for index, p in enumerate(model, 1))


def adamw(parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    return torch.optim.AdamW(parameters, 0.1, weight_decay=0.2)


def steps_apart(
    model: nn.ParameterList, optimizer: torch.optim.Optimizer, numbers: range
) -> list[Tensor]:
    r"""What PyTorch does, parameter by parameter."""
    for number in numbers:
        optimizer.zero_grad()
        loss_of(model, number).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 3.0)
        optimizer.step()
    return [one.detach() for one in model]


def steps_joined(
    model: nn.ParameterList, optimizer: torch.optim.Optimizer, numbers: range
) -> list[Tensor]:
    wholes = parameters_in([optimizer])
    for number in numbers:
        forget_gradients(wholes)
        loss_of(model, number).backward()
        gather_gradients(wholes)
        nn.utils.clip_grad_norm_(wholes, 3.0)
        optimizer.step()
    return [one.detach() for one in model]


def assert_same(ours: list[Tensor], theirs: list[Tensor]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_adamw_over_one_vector_is_adamw_over_each() -> None:
    joined, apart = make_model(torch.float64), make_model(torch.float64)
    optimizer = adamw(side_by_side(joined))
    assert len(parameters_in([optimizer])) == 1
    assert_same(
        steps_joined(joined, optimizer, range(5)), steps_apart(apart, adamw([*apart]), range(5))
    )


def test_muon_over_stacks_is_muon_over_each() -> None:
    def matrices(model: nn.ParameterList) -> list[nn.Parameter]:
        return [one for one in model if one.dim() > 1]

    joined, apart = make_model(torch.float64), make_model(torch.float64)
    optimizer = Muon(in_stacks(matrices(joined)), dtype=torch.float64)
    assert [list(one.shape) for one in parameters_in([optimizer])] == [[5, 7, 5], [1, 16, 4]]
    ours = steps_joined(joined, optimizer, range(3))
    # Only these have gradients that count.
    others = nn.ParameterList(matrices(apart))
    plain = Muon([*others], dtype=torch.float64)
    for number in range(3):
        plain.zero_grad()
        loss_of(apart, number).backward()
        nn.utils.clip_grad_norm_(others.parameters(), 3.0)
        plain.step()
    assert_same(ours, [one.detach() for one in apart])


def test_what_a_parameter_holds_is_a_part_of_the_whole() -> None:
    model = make_model()
    before = [one.detach().clone() for one in model]
    whole = join([*model])
    assert whole.shape == (sum(one.numel() for one in model),)
    for one, value in zip(model, before, strict=True):
        assert one.detach().equal(value)
    with torch.no_grad():
        whole.zero_()
    assert all(not one.any() for one in model)
    # Those of a multiple of 64 bytes come first, and so begin on one.
    assert [one.numel() % 16 for one in parts_of(whole)] == [0, 3, 9, 1, 11, 3]
    assert (model[3].data_ptr() - whole.data_ptr()) % 64 == 0


def test_gradients_add_up_until_they_are_forgotten() -> None:
    model = make_model()
    whole = join([*model])
    forget_gradients([whole])
    loss_of(model, 1).backward()
    gather_gradients([whole])
    once = whole.grad.clone()
    assert once.any()
    loss_of(model, 1).backward()
    gather_gradients([whole])
    torch.testing.assert_close(whole.grad, 2 * once)
    forget_gradients([whole])
    assert not whole.grad.any()
    assert not any(one.grad.any() for one in model)


def test_gradients_that_were_forgotten_in_another_way_arrive_all_the_same() -> None:
    model = make_model()
    whole = join([*model])
    forget_gradients([whole])
    loss_of(model, 1).backward()
    expected = whole.grad.clone()
    for forget in (True, False):
        model.zero_grad(set_to_none=forget)
        loss_of(model, 1).backward()
        gather_gradients([whole])
        assert whole.grad.equal(expected)


def test_who_had_no_part_in_the_loss_has_a_gradient_of_zero() -> None:
    model = make_model()
    whole = join([*model])
    forget_gradients([whole])
    loss_of(model, 1).backward()
    model.zero_grad()
    model[0].sum().backward()
    gather_gradients([whole])
    assert whole.grad.sum() == model[0].numel() == whole.grad.count_nonzero()


MEMORIES: dict[str, Callable[[list[nn.Parameter]], torch.optim.Optimizer]] = {
    "AdamW": adamw,
    "Muon": lambda parameters: Muon(parameters, dtype=torch.float64),
}


@pytest.mark.parametrize("name", MEMORIES)
def test_the_state_is_that_of_an_optimizer_of_the_parts(name: str) -> None:
    make = MEMORIES[name]
    joined, apart = make_model(torch.float64), make_model(torch.float64)
    if name == "Muon":
        joined, apart = (nn.ParameterList(p for p in m if p.dim() > 1) for m in (joined, apart))
    wholes = in_stacks(joined) if name == "Muon" else side_by_side(joined)
    optimizer, plain = make(wholes), make([*apart])
    assert state_by_part(optimizer, joined)["state"] == {}
    steps_joined(joined, optimizer, range(3))
    steps_apart(apart, plain, range(3))
    ours, theirs = state_by_part(optimizer, joined), plain.state_dict()
    assert ours["param_groups"] == theirs["param_groups"]
    assert list(ours["state"]) == sorted(theirs["state"])
    torch.testing.assert_close(ours["state"], theirs["state"], rtol=1e-12, atol=1e-12)

    # And either goes on from the state of the other.
    onward, plainly = copy.deepcopy(ours), copy.deepcopy(theirs)
    plain.load_state_dict(onward)
    load_state_by_part(optimizer, joined, plainly)
    assert_same(
        steps_joined(joined, optimizer, range(3, 5)), steps_apart(apart, plain, range(3, 5))
    )


def test_groups_are_numbered_one_after_the_other() -> None:
    model = make_model()
    groups = [
        {"params": side_by_side([model[1], model[3]]), "lr": 0.5},
        {"params": side_by_side([])},
        {"params": side_by_side([model[0], model[2], model[4], model[5]])},
    ]
    optimizer = adamw(groups)
    steps_joined(model, optimizer, range(1))
    state = state_by_part(optimizer, model)
    assert [group["params"] for group in state["param_groups"]] == [[0, 1], [], [2, 3, 4, 5]]
    shapes = [list(one["exp_avg"].shape) for one in state["state"].values()]
    assert shapes == [[3, 7, 5], [16, 4], [7, 5], [], [11], [7, 5]]
    assert state["param_groups"][0]["lr"] == 0.5


def test_an_optimizer_whose_parameters_were_moved_says_so() -> None:
    model = make_model()
    wholes = side_by_side(model)
    again = side_by_side(model)
    for late in (wholes, again):
        forget_gradients(late)
        loss_of(model, 1).backward()
    gather_gradients(again)
    with pytest.raises(RuntimeError, match="joined by another one: make the optimizer after"):
        gather_gradients(wholes)
    model.double()
    with pytest.raises(RuntimeError, match="have been moved"):
        gather_gradients(again)


def test_shards_and_parameters_on_a_card_stay_apart() -> None:
    model = make_model()
    model[1].full_tensor = lambda: model[1]
    assert side_by_side(model) == in_stacks(model) == [*model]
    elsewhere = [nn.Parameter(one.to("meta")) for one in make_model()]
    assert side_by_side(elsewhere) == in_stacks(elsewhere) == elsewhere
    wholes = [*make_model()]
    assert [parts_of(one) for one in wholes] == [[one] for one in wholes]


def test_gradients_of_what_was_never_joined_are_forgotten_as_well() -> None:
    model = make_model()
    loss_of(model, 1).backward()
    forget_gradients([*model])
    assert [one.grad for one in model] == [None] * len(SHAPES)


def in_groups(model: nn.ParameterList) -> torch.optim.Optimizer:
    r"""The second group holds what comes first in the model."""
    return adamw([{"params": side_by_side(model[3:])}, {"params": side_by_side(model[:3])}])


def test_each_group_gets_its_own_memory_back() -> None:
    first, second = make_model(torch.float64), make_model(torch.float64)
    ours, theirs = in_groups(first), in_groups(second)
    steps_joined(first, ours, range(2))
    second.load_state_dict(first.state_dict())
    load_state_by_part(theirs, second, copy.deepcopy(state_by_part(ours, first)))
    assert_same(steps_joined(second, theirs, range(2, 4)), steps_joined(first, ours, range(2, 4)))


def test_who_remembers_nothing_yet_can_be_loaded() -> None:
    first, second = make_model(torch.float64), make_model(torch.float64)
    ours, theirs = in_groups(first), in_groups(second)
    load_state_by_part(theirs, second, state_by_part(ours, first))
    assert len(theirs.state) == 0
    assert_same(steps_joined(second, theirs, range(2)), steps_joined(first, ours, range(2)))
