import pytest
import torch
from torch import Tensor

from labml_nn.basics.strides import Strided, add, in_order


def drawn(*shape: int) -> tuple[Strided, Tensor]:
    r"""The same numbers, as ours and as PyTorch's."""
    numbers = torch.randn(shape, dtype=torch.double)
    return Strided(numbers.flatten(), shape, in_order(shape)), numbers


def same(ours: Strided, theirs: Tensor) -> None:
    r"""The elements, and how they are read."""
    assert torch.equal(ours.read(), theirs)
    assert (ours.shape, ours.strides) == (tuple(theirs.shape), theirs.stride())
    assert ours.offset == theirs.storage_offset()


def test_strides_are_those_of_pytorch() -> None:
    x, y = drawn(2, 3, 5)
    same(x, y)
    same(x.transpose(0, 2), y.transpose(0, 2))
    same(x.select(1, 2), y.select(1, 2))
    same(x.transpose(0, 1).select(0, 1), y.transpose(0, 1)[1])
    same(x.select(2, 4).transpose(0, 1), y[:, :, 4].t())
    same(x.view((6, 5)), y.view(6, 5))
    same(x.select(1, 0).expand((7, 2, 5)), y[:, 0].expand(7, 2, 5))


def test_nothing_is_copied() -> None:
    x, _ = drawn(2, 3)
    transposed, column = x.transpose(0, 1), x.select(1, 2)
    x.memory[5] = 9.0
    assert transposed.read()[2, 1] == column.read()[1] == 9.0


@pytest.mark.parametrize(
    ("one", "other"), [((2, 3), (3,)), ((2, 1, 5), (3, 1)), ((1,), (2, 3)), ((2, 3), (2, 3))]
)
def test_sums_of_different_shapes_are_those_of_pytorch(
    one: tuple[int, ...], other: tuple[int, ...]
) -> None:
    (a, x), (b, y) = drawn(*one), drawn(*other)
    assert torch.equal(add(a, b), x + y)


def test_what_does_not_fit_is_an_error_where_it_is_one_in_pytorch() -> None:
    (a, x), (b, y) = drawn(2, 3), drawn(2)
    with pytest.raises(ValueError, match="a size of 2 cannot be expanded to 3"):
        add(a, b)
    with pytest.raises(RuntimeError):
        x + y
    with pytest.raises(ValueError, match=r"strides \(1, 3\)"):
        a.transpose(0, 1).view((6,))
    with pytest.raises(RuntimeError):
        x.t().view(6)
    with pytest.raises(ValueError, match="different numbers of elements"):
        a.view((4,))
