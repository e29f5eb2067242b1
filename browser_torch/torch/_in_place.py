r"""Operations whose result takes the place of their argument."""

from collections.abc import Callable
from typing import Any

from torch._raw import dense_copy
from torch._tape import Mode, check_in_place, overwrite
from torch._tensor import Tensor

_NAMES = """
abs add addcdiv addcmul addmm baddbmm bitwise_and bitwise_not bitwise_or bitwise_xor ceil clamp
clamp_max clamp_min clip cos cumprod cumsum div divide eq erf exp exp2 expm1 floor floor_divide
fmod ge gt index_add index_copy index_fill index_put le lerp log log10 log1p log2 logical_and
logical_not logical_or logical_xor lt masked_fill masked_scatter mul multiply nan_to_num ne neg
negative pow reciprocal relu remainder round rsqrt scatter scatter_add sigmoid sign sin sqrt
square sub subtract tan tanh tril triu true_divide trunc
""".split()


def _as_it_was(tensor: Tensor) -> Tensor:
    r"""A copy at the same place in the graph: derivatives may need what is overwritten."""
    copy = dense_copy(tensor, tensor.dtype)
    copy._node, copy._slot, copy.requires_grad = tensor._node, tensor._slot, tensor.requires_grad
    return copy


def _in_place(name: str) -> Callable[..., Tensor]:
    function = getattr(Tensor, name)

    def change(self: Tensor, *args: Any, **options: Any) -> Tensor:
        check_in_place(self)
        before = _as_it_was(self) if Mode.grad else self
        return overwrite(self, function(before, *args, **options), name.capitalize())

    change.__name__ = f"{name}_"
    return change


for _name in _NAMES:
    setattr(Tensor, f"{_name}_", _in_place(_name))


def _operator(name: str) -> Callable[..., Any]:
    change = getattr(Tensor, name)

    def operate(self: Tensor, other: Any) -> Any:
        if not isinstance(other, (Tensor, int, float, complex)):
            return NotImplemented
        return change(self, other)

    return operate


for _sign, _name in (
    ("iadd", "add_"),
    ("isub", "sub_"),
    ("imul", "mul_"),
    ("itruediv", "div_"),
    ("ifloordiv", "floor_divide_"),
    ("imod", "remainder_"),
    ("ipow", "pow_"),
    ("iand", "bitwise_and_"),
    ("ior", "bitwise_or_"),
    ("ixor", "bitwise_xor_"),
):
    setattr(Tensor, f"__{_sign}__", _operator(_name))


def _other_look(name: str) -> Callable[..., Tensor]:
    r"""Only shape and strides change."""
    function = getattr(Tensor, name)

    def change(self: Tensor, *args: Any) -> Tensor:
        view = function(self, *args)
        self.shape, self._strides, self._offset = view.shape, view._strides, view._offset
        if view._node is not None:
            self._node = view._node
        self._counter.version += 1
        return self

    change.__name__ = f"{name}_"
    return change


for _name in ("squeeze", "unsqueeze", "transpose", "t", "swapaxes"):
    setattr(Tensor, f"{_name}_", _other_look(_name))
