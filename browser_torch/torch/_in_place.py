r"""Operations whose result takes the place of their argument."""

from collections.abc import Callable
from typing import Any

from torch._raw import Binary, binary_into, dense_copy
from torch._shapes import is_contiguous
from torch._tape import Mode, check_in_place, overwrite
from torch._tensor import Tensor

_NAMES = """
abs absolute acos acosh add addbmm addcdiv addcmul addmm addmv addr arccos arccosh arcsin arcsinh
arctan arctan2 arctanh asin asinh atan atan2 atanh baddbmm bitwise_and bitwise_left_shift
bitwise_not bitwise_or bitwise_right_shift bitwise_xor ceil clamp clamp_max clamp_min clip
copysign cos cosh cumprod cumsum deg2rad digamma div divide eq erf erfc erfinv exp exp2 expm1 fix
floor floor_divide fmod frac gcd ge greater greater_equal gt heaviside hypot index_add
index_copy index_fill index_put index_reduce lcm ldexp le lerp less less_equal lgamma log log10
log1p log2 logical_and logical_not logical_or logical_xor logit lt masked_fill masked_scatter mul
multiply nan_to_num ne neg negative not_equal pow put rad2deg reciprocal relu remainder renorm
round rsqrt scatter scatter_add scatter_reduce sgn sigmoid sign sin sinc sinh sqrt square sub
subtract tan tanh tril triu true_divide trunc xlogy
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


def _check_overlap(target: Tensor, other: Tensor) -> None:
    r"""An operand that is a part of the target would change while it is read."""
    if other is target or other._storage is not target._storage:
        return
    # As PyTorch, which looks no further if there are gaps between the elements.
    if not all(_is_dense(one) for one in (target, other)):
        return
    start, begin = target.data_ptr(), other.data_ptr()
    end, stop = start + target.nbytes, begin + other.nbytes
    same = start == begin and end == stop and target._strides == other._strides
    if not same and start < stop and begin < end:
        raise RuntimeError(
            "unsupported operation: some elements of the input tensor and the written-to tensor "
            "refer to a single memory location. Please clone() the tensor before performing the "
            "operation."
        )


def _is_dense(tensor: Tensor) -> bool:
    r"""Whether its elements fill a piece of memory, in whatever order of the axes."""
    axes = sorted(zip(tensor._strides, tensor.shape, strict=True))
    strides, sizes = zip(*axes, strict=True) if axes else ((), ())
    return is_contiguous(sizes[::-1], strides[::-1])


def _at_once(name: str, operation: Binary) -> Callable[..., Tensor]:
    r"""Without a graph there is nothing to keep: the kernel can write where it has read."""
    through_the_graph = getattr(Tensor, name)

    def change(self: Tensor, other: Any, **options: Any) -> Tensor:
        if isinstance(other, Tensor):
            _check_overlap(self, other)
        if Mode.grad or options:
            return through_the_graph(self, other, **options)
        check_in_place(self)
        if not binary_into(operation, self, other):
            return through_the_graph(self, other)
        self._counter.version += 1
        return self

    change.__name__ = name
    return change


for _name, _operation in (
    ("add_", Binary.ADD),
    ("sub_", Binary.SUBTRACT),
    ("mul_", Binary.MULTIPLY),
    ("div_", Binary.DIVIDE),
):
    setattr(Tensor, _name, _at_once(_name, _operation))


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


for _name in ("squeeze", "unsqueeze", "transpose", "t", "swapaxes", "swapdims"):
    setattr(Tensor, f"{_name}_", _other_look(_name))
