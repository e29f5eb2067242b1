r"""
---
title: Strides
summary: What a tensor is - numbers in a row, and how many steps apart neighbours are.
know: autograd.py
terms:
  stride: How many places apart in memory two neighbours along an axis are.
  view: A tensor that reads the memory of another one by a shape and strides of its own.
  broadcasting: An axis of size 1 is read again and again, as if it were larger.
---

Take `[[0, 1, 2], [3, 4, 5]]`. As a list of lists, each row lies somewhere else in memory, and to
transpose it you build new rows, number by number. Attention transposes all the time: it moves the
axis of the heads in front of that of the positions, and back.

A tensor moves nothing. In its memory lies one row, `0 1 2 3 4 5`. One step to the right is 1 place
further, one step down 3 places: the *strides* are (3, 1), the *shape* is (2, 3). Swap both, to (1,
3) and (3, 2), and the same six numbers read as `[[0, 3], [1, 4], [2, 5]]`. That is the transpose.

With strides, and an *offset* where the tensor begins, the element $(i, j)$ lies at

$$
\text{offset} + i \cdot \text{stride}_0 + j \cdot \text{stride}_1
$$

**In:** a row of numbers. **Out:** tensors of any shape over the same row, made without
touching a number: a transpose, a part, a broadcast.

Think of a street of houses and a postman's rule. “Every house, in order” and “every third house,
then begin again one house further” visit the same houses. Only the rule differs.

The stand-in for PyTorch that runs this site's lessons in your browser is built like this class,
with the [graph](autograd.py) that finds its gradients.
"""

from itertools import product
from math import prod

import torch
from torch import Tensor


class Strided:
    r"""
    ## A tensor

    Memory, and how to read it. Several of them can share one memory.
    """

    def __init__(
        self, memory: Tensor, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0
    ) -> None:
        r"""
        * `memory` is the row of numbers
        * `shape` has the size of each axis
        * `strides` has, for each axis, the places between neighbours
        * `offset` is the place of the first element
        """
        # Nothing is checked here: a wrong stride can make `read` give other numbers. PyTorch checks
        # that no stride is negative or leads out of the memory.
        self.memory = memory
        self.shape = shape
        self.strides = strides
        self.offset = offset

    def read(self) -> Tensor:
        r"""
        ### All elements

        The index of the last axis changes first, as in print.
        """
        # Every combination of indices, and the formula for its place.
        places = [
            self.offset
            + sum(index * stride for index, stride in zip(at, self.strides, strict=True))
            for at in product(*map(range, self.shape))
        ]

        # `places` is a list of integers. Only now numbers are copied, into memory of their own.
        return self.memory[places].view(self.shape)

    def transpose(self, a: int, b: int) -> "Strided":
        r"""
        ### Two axes change places

        For a matrix of a million numbers this is as quick as for one of four.
        """
        # Lists, because tuples can't be changed.
        shape = list(self.shape)
        strides = list(self.strides)

        # Shape (2, 3) with strides (3, 1) becomes shape (3, 2) with strides (1, 3): what was a step
        # down is a step to the right. The numbers stay where they are.
        shape[a], shape[b] = shape[b], shape[a]
        strides[a], strides[b] = strides[b], strides[a]
        return Strided(self.memory, tuple(shape), tuple(strides), self.offset)

    def select(self, axis: int, index: int) -> "Strided":
        r"""
        ### One index of an axis

        What `x[index]` gives for the first axis.
        """
        # The axis is gone; the others keep their sizes and strides.
        shape = self.shape[:axis] + self.shape[axis + 1 :]
        strides = self.strides[:axis] + self.strides[axis + 1 :]

        # The tensor begins at the index now. Column 1 has the shape (2,), the stride (3,) and the
        # offset 1: it reads 1 and 4.
        return Strided(self.memory, shape, strides, self.offset + index * self.strides[axis])

    def expand(self, shape: tuple[int, ...]) -> "Strided":
        r"""
        ### Broadcasting

        Shapes are aligned at the right. A missing axis, or one of size 1, is read as often as it
        has to be.
        """
        # A stride of 0 stays where it is: every index along the axis is the same number. To add
        # something in place would add it again and again, so PyTorch refuses.
        strides = [0] * (len(shape) - len(self.shape))
        for size, wanted, stride in zip(
            self.shape, shape[len(strides) :], self.strides, strict=True
        ):
            # Only a size of 1 can grow: with two numbers for three places, which goes where?
            if size not in (1, wanted):
                raise ValueError(f"a size of {size} cannot be expanded to {wanted}")
            strides.append(stride if size == wanted else 0)
        return Strided(self.memory, shape, tuple(strides), self.offset)

    def view(self, shape: tuple[int, ...]) -> "Strided":
        r"""
        ### Another shape

        Only if the elements lie in the order in which they are read, with the strides of
        `in_order`. (PyTorch allows a little more. An axis can be cut in two in any tensor. Two axes
        can be joined where a step of the first is as long as all steps of the second together. And
        the stride of an axis of size 1 counts for nothing.)
        """
        # After a transpose they don't, and no stride says how far the next element is. That is the
        # error “view size is not compatible”; a copy with `read` puts them in order.
        if self.strides != in_order(self.shape):
            raise ValueError(f"strides {self.strides} are not those of {self.shape} in order")

        # No element may be missing, and none may be left.
        if prod(shape) != prod(self.shape):
            raise ValueError(f"{self.shape} and {shape} have different numbers of elements")

        # The same row of numbers is cut elsewhere.
        return Strided(self.memory, shape, in_order(shape), self.offset)


def in_order(shape: tuple[int, ...]) -> tuple[int, ...]:
    r"""
    ## Strides without gaps

    Neighbours along the last axis are neighbours in memory.
    """
    # A step along an axis passes all elements of the axes behind it.
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def add(x: Strided, y: Strided) -> Tensor:
    r"""
    ## A sum of different shapes

    Both operands are expanded to one shape. `read` copies them, to keep this short. PyTorch's
    kernels read both where they are, by their strides.
    """
    # The shorter shape gets axes of size 1 in front.
    axes = max(len(x.shape), len(y.shape))
    a = (1,) * (axes - len(x.shape)) + x.shape
    b = (1,) * (axes - len(y.shape)) + y.shape

    # For each axis the larger size; `expand` raises an error if the smaller one isn't 1.
    shape = tuple(max(sizes) for sizes in zip(a, b, strict=True))

    # The addition itself gets two tensors of one shape.
    return x.expand(shape).read() + y.expand(shape).read()


def example(rows: int = 2, columns: int = 3) -> tuple[Tensor, ...]:
    r"""
    ## Example

    Six numbers, read in three ways from the same memory, and a sum.

    ### Exercises

    ??? question "What are the strides of the transpose of a `[2, 3]` matrix in order?"
        Before, they are 3 and 1; after, 1 and 3. The next column of the transpose is the next row
        of the matrix, three places further.

    ??? question "A change of one element of `x.transpose(0, 1)` changes `x`. Why?"
        Both read the same memory. Nothing was copied; there is only one such element.

    ??? question "After `transpose(0, 1)`, our `view` is an error. What is it after a second one?"
        It works. The second transpose puts the strides in order again, though nothing has moved.
        (Attention, too, transposes twice, but has matrix products in between. Their result is a
        new tensor in the transposed order, so to join the heads usually takes a copy.)

    ??? question "Which stride has the bias in `x + bias`, for `x` of 7 rows?"
        0 for the axis of rows: each row reads the same bias. Its gradient is the sum over the rows,
        because each number was used seven times.
    """
    # The memory, and a matrix over it.
    memory = torch.arange(rows * columns)
    matrix = Strided(memory, (rows, columns), in_order((rows, columns)))

    # Another order of the axes, a column, and the column added to each row of the transpose.
    transposed = matrix.transpose(0, 1)
    column = matrix.select(1, 1)
    total = add(transposed, column)

    # Read as tensors of PyTorch. The transpose is `[columns, rows]`.
    return matrix.read(), transposed.read(), column.read(), total
