r"""Parts of a tensor: by numbers and slices, which are views, and by tensors of indices."""

from typing import Any

from torch._dtypes import FLOATING, INTEGRAL, bool_, int32, int64, scalar_name
from torch._elementwise import check_mask, masked_fill, where
from torch._making import tensor
from torch._memory import IndexOutOfRange, Operation, run
from torch._raw import (
    Binary,
    binary,
    cast,
    contiguous,
    contiguous_copy,
    copy_into,
    filled,
    scalar,
    view_of_parts,
)
from torch._shapes import Shape, as_int, broadcast, expanded_strides, wrap_axis
from torch._tape import Mode, check_in_place, overwrite, record, record_view
from torch._tensor import Tensor, alias_of, method, new, unfilled, view_of

READ, WRITE, ACCUMULATE = range(3)


def _is_index(one: Any) -> bool:
    r"""Whether it picks by a tensor of indices, and not by a number."""
    return isinstance(one, Tensor) and (bool(one.shape) or one.dtype is bool_)


def _listed(one: Any) -> Tensor:
    r"""A list of numbers as a tensor of indices."""
    if any(isinstance(part, Tensor) and part.numel() != 1 for part in one):
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return tensor(one)


def _normal(key: Any, axes: int) -> list[Any]:
    r"""A key as a list that names every axis, and new ones."""
    parts = list(key) if isinstance(key, tuple) else [key]
    parts = [_listed(one) if isinstance(one, (list, tuple, range)) else one for one in parts]
    parts = [one.long() if isinstance(one, Tensor) and one.shape == (0,) else one for one in parts]
    used = 0
    for one in parts:
        if isinstance(one, Tensor) and one.dtype is bool_:
            used += len(one.shape)
        elif one is not None and one is not Ellipsis and not isinstance(one, bool):
            used += 1
    if used > axes:
        raise IndexError(f"too many indices for tensor of dimension {axes}")
    whole = [slice(None)] * (axes - used)
    for place, one in enumerate(parts):
        if one is Ellipsis:
            rest = [slice(None) if other is Ellipsis else other for other in parts[place + 1 :]]
            return [*parts[:place], *whole, *rest]
    return [*parts, *whole]


def _place(number: Any, size: int, axis: int) -> int:
    place = as_int(number)
    if not -size <= place < size:
        raise IndexError(f"index {place} is out of bounds for dimension {axis} with size {size}")
    return place + size if place < 0 else place


def _as_indices(one: Tensor, source: Tensor, axis: int) -> list[Tensor]:
    r"""A mask is as many tensors of indices as it has axes."""
    if one.dtype.kind == FLOATING:
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    if one.dtype is not bool_ and one.dtype.name != "uint8":
        return [cast(alias_of(one), int64)]
    for place, size in enumerate(one.shape):
        if source.shape[axis + place] != size:
            raise IndexError(
                f"The shape of the mask {list(one.shape)} at index {place} does not match the "
                f"shape of the indexed tensor {list(source.shape)} at index {axis + place}"
            )
    return list(one.nonzero().unbind(1))


def _parts(source: Tensor, key: Any) -> tuple[Tensor, list[tuple[int, Tensor]]]:
    r"""The view that numbers and slices give, and which of its axes are picked by which indices."""
    shape, strides, offset, axis = [], [], source._offset, 0
    picks: list[tuple[int, Tensor]] = []
    for one in _normal(key, len(source.shape)):
        if one is None:
            shape.append(1)
            strides.append(0)
        elif isinstance(one, bool):
            shape.append(int(one))
            strides.append(0)
        elif isinstance(one, slice):
            start, stop, step = _slice(one, source.shape[axis])
            count = max(0, -(-(stop - start) // step))
            shape.append(count)
            strides.append(source._strides[axis] * step)
            offset += start * source._strides[axis] if count else 0
            axis += 1
        elif _is_index(one):
            for index in _as_indices(one, source, axis):
                picks.append((len(shape), index))
                shape.append(source.shape[axis])
                strides.append(source._strides[axis])
                axis += 1
        else:
            offset += _number(one, source.shape[axis], axis) * source._strides[axis]
            axis += 1
    view = view_of(source, tuple(shape), tuple(strides), offset)
    return view, picks


def _number(one: Any, size: int, axis: int) -> int:
    try:
        return _place(one, size, axis)
    except TypeError:
        if isinstance(one, str):
            raise TypeError("new(): invalid data type 'str'") from None
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are "
            f"valid indices (got {type(one).__name__})"
        ) from None


def _slice(one: slice, size: int) -> tuple[int, int, int]:
    if one.step is not None and as_int(one.step) <= 0:
        raise ValueError("step must be greater than zero")
    try:
        return one.indices(size)
    except TypeError:
        raise TypeError(
            "slice indices must be integers or None or have an __index__ method"
        ) from None


def _run_index(mode: int, values: Tensor, table: Tensor, indices: list[Tensor]) -> None:
    r"""The kernel, with PyTorch's words for an index that is out of range."""
    try:
        run(Operation.INDEX, (mode,), values, table, *indices)
    except IndexOutOfRange as wrong:
        raise IndexError(
            f"index {wrong.index} is out of bounds for dimension {wrong.which} with size "
            f"{table.shape[wrong.which]}"
        ) from None


def _lead(indices: list[Tensor]) -> tuple[Shape, list[Tensor]]:
    r"""All indices in one shape."""
    lead: Shape = ()
    try:
        for one in indices:
            lead = broadcast(lead, one.shape)
    except RuntimeError:
        shapes = ", ".join(str(list(one.shape)) for one in indices)
        raise IndexError(
            f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        ) from None
    return lead, [
        view_of(one, lead, expanded_strides(one.shape, one._strides, lead), one._offset)
        for one in indices
    ]


def _accumulated(mode: int, values: Tensor, table: Tensor, indices: list[Tensor]) -> None:
    r"""The kernel adds numbers of few types; the others are added in another type."""
    if values.dtype.kind == 3:
        values, table = view_of_parts(values), view_of_parts(table)
    if table.dtype.work is table.dtype and table.dtype is not bool_:
        _run_index(mode, values, table, indices)
        return
    work = table.dtype.work if table.dtype is not bool_ else int64
    wide = cast(table, work)
    _run_index(mode, cast(values, work), wide, indices)
    copy_into(table, wide)


def take_rows(table: Tensor, picks: list[tuple[int, Tensor]], name: str) -> Tensor:
    r"""What tensors of indices pick from a tensor."""
    axes = [axis for axis, _ in picks]
    together = axes == list(range(axes[0], axes[0] + len(axes)))
    rest = [axis for axis in range(len(table.shape)) if axis not in axes]
    moved = table if axes == list(range(len(axes))) else table.permute(*axes, *rest)
    lead, indices = _lead([index for _, index in picks])
    inner = moved.shape[len(picks) :]
    out = new((*lead, *inner), table.dtype)
    _run_index(READ, out, moved, indices)
    shape = moved.shape

    def backward(gradient: Tensor) -> tuple[Tensor]:
        whole = filled(shape, 0, gradient.dtype)
        _accumulated(ACCUMULATE, gradient, whole, indices)
        return (whole,)

    record(out, (moved,), backward, name, indices)
    if together and axes[0]:
        # The picked axes stand where the first of them was.
        before, count = axes[0], len(lead)
        order = [
            *range(count, count + before),
            *range(count),
            *range(count + before, len(out.shape)),
        ]
        out = out.permute(order)
    return out


@method
def __getitem__(self: Tensor, key: Any) -> Tensor:
    view, picks = _parts(self, key)
    view = _slice_as_view(self, view, key)
    return take_rows(view, picks, "Index") if picks else view


def _slice_as_view(source: Tensor, view: Tensor, key: Any) -> Tensor:
    shape = source.shape

    def backward(gradient: Tensor) -> tuple[Tensor]:
        whole = filled(shape, 0, gradient.dtype)
        place, _ = _parts(whole, _without_indices(key))
        copy_into(place, gradient)
        return (whole,)

    return record_view(view, source, backward, "Slice")


def _without_indices(key: Any) -> Any:
    r"""The key with the whole axis for each tensor of indices."""
    parts: list[Any] = []
    for one in key if isinstance(key, tuple) else (key,):
        one = _listed(one) if isinstance(one, (list, tuple, range)) else one
        if not _is_index(one):
            parts.append(one)
        else:
            parts += [slice(None)] * (len(one.shape) if one.dtype is bool_ else 1)
    return tuple(parts)


@method
def __setitem__(self: Tensor, key: Any, value: Any) -> None:
    if not isinstance(value, Tensor):
        if not isinstance(value, (int, float, complex)):
            raise TypeError(f"can't assign a {type(value).__name__} to a torch.{_class_name(self)}")
        value = scalar(value, self.dtype) if not _too_large(value, self) else tensor(value)
    view, picks = _parts(self, key)
    if not (picks or view.shape != self.shape or view._strides != self._strides):
        view = self
    else:
        view = _slice_as_view(self, view, key)
    if picks:
        _put(view, picks, value)
        return
    # Leading axes of size 1 too many are dropped.
    while len(value.shape) > len(view.shape) and value.shape[0] == 1:
        value = value.reshape(value.shape[1:])
    if value.shape != view.shape:
        _check_assigned(value.shape, view.shape)
    copy_(view, value)


def _class_name(one: Tensor) -> str:
    return f"{scalar_name(one.dtype)}Tensor"


def _too_large(value: Any, target: Tensor) -> bool:
    r"""Whether a number doesn't go into the type of a tensor as it is."""
    return isinstance(value, float) and target.dtype.kind < FLOATING and value != value


def _check_assigned(shape: Shape, target: Shape) -> None:
    if len(shape) > len(target) or any(
        size not in (1, other)
        for size, other in zip(reversed(shape), reversed(target), strict=False)
    ):
        expanded_strides(shape, (0,) * len(shape), target)


@method
def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    r"""Takes over the elements of another tensor."""
    if broadcast(self.shape, src.shape) != self.shape:
        raise RuntimeError(
            f"output with shape {list(self.shape)} doesn't match the broadcast shape "
            f"{list(broadcast(self.shape, src.shape))}"
        )
    if Mode.grad and src.requires_grad and self.dtype.kind >= FLOATING:
        wide = src if src.shape == self.shape else src.expand(self.shape)
        wide = wide if wide.dtype is self.dtype else wide.to(self.dtype)
        if wide is src:
            wide = src.view_as(src) if src._node is None else src
        return overwrite(self, wide, "Copy")
    return overwrite(self, cast(alias_of(src), self.dtype), "Copy")


@method
def fill_(self: Tensor, value: Any) -> Tensor:
    r"""One number into every element."""
    if isinstance(value, Tensor):
        if value.shape:
            raise RuntimeError(
                "fill_ only supports 0-dimension value tensor but got tensor with "
                f"{len(value.shape)} dimensions."
            )
        return copy_(self, value)
    from torch._elementwise import check_value

    check_value(value, self)
    return overwrite(self, scalar(value, self.dtype), "Fill")


@method
def zero_(self: Tensor) -> Tensor:
    r"""Zeros into every element."""
    return fill_(self, 0)


def _put(target: Tensor, picks: list[tuple[int, Tensor]], value: Tensor) -> None:
    r"""Writes where tensors of indices tell."""
    axes = [axis for axis, _ in picks]
    together = axes == list(range(axes[0], axes[0] + len(axes)))
    lead, indices = _lead([index for _, index in picks])
    rest = [axis for axis in range(len(target.shape)) if axis not in axes]
    before = axes[0] if together else 0
    inner = [target.shape[axis] for axis in rest]
    shape = (*inner[:before], *lead, *inner[before:])
    if value.dtype is not target.dtype and value.shape:
        raise RuntimeError(
            "Index put requires the source and destination dtypes match, got "
            f"{scalar_name(target.dtype)} for the destination and {scalar_name(value.dtype)} for "
            "the source."
        )
    try:
        expanded_strides(value.shape, value._strides, shape)
    except RuntimeError:
        if not (len(value.shape) > len(shape) and value.numel() == 1):
            raise RuntimeError(
                f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast to "
                f"indexing result of shape {list(shape)}"
            ) from None
        value = value.reshape(())
    values = cast(value, target.dtype) if value.dtype is not target.dtype else value
    values = values if values.shape == shape else values.expand(shape)
    count = len(lead)
    order = [
        *range(before, before + count),
        *range(before),
        *range(before + count, len(shape)),
    ]
    values = values.permute(order)
    table = target.permute(*axes, *rest)
    if Mode.grad and (value.requires_grad or target.requires_grad):
        changed = index_put_values(table, indices, values, accumulate=False)
        back = sorted(range(len(table.shape)), key=[*axes, *rest].__getitem__)
        overwrite(target, changed.permute(back), "IndexPut")
        return
    check_in_place(target)
    _run_index(WRITE, values, table, indices)
    target._counter.version += 1


def index_put_values(
    table: Tensor, indices: list[Tensor], values: Tensor, accumulate: bool
) -> Tensor:
    r"""A copy of the table in which the values are written, or added, at places."""
    out = contiguous_copy(table)
    if accumulate:
        _accumulated(ACCUMULATE, values, out, indices)
    else:
        _run_index(WRITE, values, out, indices)

    def backward(gradient: Tensor) -> tuple[Tensor, Tensor]:
        of_values = new(values.shape, gradient.dtype)
        _run_index(READ, of_values, gradient, indices)
        if accumulate:
            return gradient, of_values
        of_table = contiguous_copy(gradient)
        nothing = scalar(0, gradient.dtype)
        zeros = view_of(nothing, values.shape, (0,) * len(values.shape), 0)
        _run_index(WRITE, zeros, of_table, indices)
        return of_table, of_values

    return record(out, (table, values), backward, "IndexPut", indices)


@method
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    r"""A copy with values written, or added, at places."""
    parts: list[Tensor] = []
    for one in indices:
        parts += _as_indices(one, input, len(parts))
    lead, wide = _lead(parts)
    shape = (*lead, *input.shape[len(parts) :])
    return index_put_values(input, wide, values.expand(shape), accumulate)


def _check_along(name: str, input: Tensor, index: Tensor, axis: int, values: Shape | None) -> None:
    if index.dtype not in (int64, int32) and index.numel():
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    if index.numel() and max(1, len(index.shape)) != max(1, len(input.shape)):
        raise RuntimeError(
            "Index tensor must have the same number of dimensions as "
            f"{'input' if name == 'gather' else 'self'} tensor"
        )
    for other, size in enumerate(index.shape):
        too_large = other != axis and size > (input.shape or (1,))[other]
        if too_large or values is not None and size > values[other]:
            raise RuntimeError(
                f"Size does not match at dimension {other} expected index {list(index.shape)} to "
                f"be no larger than self {list(input.shape)} apart from dimension {axis}"
            )


def _run_gather(mode: int, axis: int, values: Tensor, table: Tensor, index: Tensor) -> None:
    index = cast(index, int64)
    if not index.shape:
        values, table, index = (
            view_of(one, (1,), (1,), one._offset) for one in (values, table, index)
        )
    try:
        run(Operation.GATHER, (mode, axis), values, table, index)
    except IndexOutOfRange as wrong:
        raise RuntimeError(
            f"index {wrong.index} is out of bounds for dimension {wrong.which} with size "
            f"{table.shape[wrong.which]}"
        ) from None


@method
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    r"""One element for each index, along an axis."""
    axis = wrap_axis(dim, len(input.shape))
    _check_along("gather", input, index, axis, None)
    out = new(index.shape, input.dtype)
    if index.numel() and len(index.shape) == len(input.shape):
        _run_gather(READ, axis, out, input, index)
    elif index.numel():
        # One of both is a single number.
        return gather(input.reshape(-1), 0, index.reshape(-1)).view(index.shape)
    shape = input.shape

    def backward(gradient: Tensor) -> tuple[Tensor]:
        zeros = filled(shape, 0, gradient.dtype)
        return (zeros.scatter_add(axis, index, gradient) if index.numel() else zeros,)

    return record(out, (input,), backward, "Gather", (index,))


def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    r"""`gather`, with shapes that are broadcast."""
    if dim is None:
        return take_along_dim(input.reshape(-1), indices.reshape(-1), 0)
    axis = wrap_axis(dim, len(input.shape))
    shape = list(broadcast(_without(input.shape, axis), _without(indices.shape, axis)))
    wide, places = shape.copy(), shape.copy()
    wide[axis], places[axis] = input.shape[axis], indices.shape[axis]
    indices = where(indices < 0, indices + input.shape[axis], indices)
    return gather(input.expand(wide), axis, indices.expand(places))


def _without(shape: Shape, axis: int) -> Shape:
    return (*shape[:axis], 1, *shape[axis + 1 :])


def _scatter(input: Tensor, dim: int, index: Tensor, src: Any, add: bool) -> Tensor:
    axis = wrap_axis(dim, len(input.shape))
    name = "scatter_add" if add else "scatter"
    if not isinstance(src, Tensor):
        src = filled(index.shape, src, input.dtype)
    _check_along(name, input, index, axis, src.shape)
    if src.dtype is not input.dtype:
        raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")
    if src.shape != index.shape:
        src = src[tuple(slice(0, size) for size in index.shape)]
    out = contiguous_copy(input)
    work = out.dtype.work if out.dtype is not bool_ else int64
    if add and work is not out.dtype:
        wide = cast(out, work)
        _run_gather(ACCUMULATE, axis, cast(alias_of(src), work), wide, index)
        out = cast(wide, input.dtype)
    else:
        _run_gather(ACCUMULATE if add else WRITE, axis, src, out, index)

    def backward(gradient: Tensor) -> tuple[Tensor, Tensor]:
        kept = gradient if add else _scatter(gradient, axis, index, 0, False)
        return kept, gather(gradient, axis, index)

    return record(out, (input, src), backward, name.capitalize(), (index,))


@method
def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Any = None,
    *,
    value: Any = None,
    reduce: Any = None,
) -> Tensor:
    r"""A copy with values written at the places of an index."""
    if reduce not in (None, "add"):
        raise NotImplementedError(
            f"scatter with reduce='{reduce}' is not in the browser's torch: use 'add' or none."
        )
    return _scatter(input, dim, index, value if src is None else src, reduce == "add")


@method
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    r"""A copy with values added at the places of an index."""
    return _scatter(input, dim, index, src, True)


def _check_selected(index: Tensor, input: Tensor, axis: int) -> None:
    r"""`index_select` knows no negative indices."""
    size = input.shape[axis] if input.shape else 1
    for one in (index.amin(), index.amax()) if index.numel() else ():
        if not 0 <= int(one) < size:
            if len(input.shape) == 2 and axis == 1:
                raise RuntimeError(
                    f"INDICES element is out of DATA bounds, id={int(one)} axis_dim={size}"
                )
            raise IndexError("index out of range in self")


@method
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    r"""Slices along an axis."""
    axis = wrap_axis(dim, len(input.shape))
    if index.dtype.kind != INTEGRAL or index.dtype.itemsize < 4:
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if len(index.shape) > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if not index.shape:
        index = index.reshape(1)
    _check_selected(index, input, axis)
    if not input.shape:
        return input.reshape(1)[cast(alias_of(index), int64)].reshape(())
    return take_rows(input, [(axis, cast(alias_of(index), int64))], "IndexSelect")


def _rows_of(input: Tensor, dim: int, index: Tensor, source: Tensor) -> tuple[int, Tensor]:
    r"""An index of one axis, repeated for `scatter`."""
    axis = wrap_axis(dim, len(input.shape))
    if len(index.shape) > 1:
        raise IndexError("index_add_(): Index is supposed to be a vector")
    shape = [-1 if other == axis else 1 for other in range(len(input.shape))]
    return axis, cast(index, int64).reshape(shape).expand(source.shape)


@method
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    r"""A copy with slices added."""
    axis, places = _rows_of(input, dim, index, source)
    return _scatter(input, axis, places, source * alpha if alpha != 1 else source, True)


@method
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    r"""A copy with slices written."""
    axis, places = _rows_of(input, dim, index, source)
    return _scatter(input, axis, places, source, False)


@method
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    r"""A copy with slices full of one number."""
    axis = wrap_axis(dim, len(input.shape))
    if not input.shape:
        return index_fill(input.reshape(1), 0, index, value).reshape(())
    hit = filled((input.shape[axis],), False, bool_)
    hit[index] = True
    shape = [-1 if other == axis else 1 for other in range(len(input.shape))]
    return masked_fill(input, hit.view(shape), value)


@method
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    r"""The elements where a mask holds."""
    if mask.dtype is not bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    shape = broadcast(input.shape, mask.shape)
    return input.expand(shape)[mask.expand(shape)].reshape(-1)


@method
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    r"""A copy with the elements of a source, one after another, where a mask holds."""
    check_mask(mask)
    shape = broadcast(input.shape, mask.shape)
    out = input.expand(shape).clone()
    mask = mask.expand(shape)
    count = int(mask.sum())
    if count > source.numel():
        raise RuntimeError("masked_scatter: expected source to have enough elements")
    out[mask] = source.flatten()[:count]
    return out


@method
def take(input: Tensor, index: Tensor) -> Tensor:
    r"""Elements by their number, as if the tensor had one axis."""
    return input.reshape(-1)[index]


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    r"""Rows of a table."""
    if not isinstance(input, Tensor):
        raise TypeError(
            "embedding(): argument 'indices' (position 2) must be Tensor, not "
            f"{type(input).__name__}"
        )
    if input.dtype.name not in ("int64", "int32"):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
            f"Long, Int; but got torch.{_class_name(input)} instead (while checking arguments for "
            "embedding)"
        )
    if len(weight.shape) != 2:
        raise RuntimeError("'weight' must be 2-D")
    index = contiguous(cast(alias_of(input), int64))
    out = unfilled((*index.shape, weight.shape[1]), weight.dtype)
    try:
        run(Operation.INDEX, (READ,), out, weight, index)
        if index.numel() and bool(binary(Binary.LESS, index, 0).any()):
            raise IndexOutOfRange(0, -1)
    except IndexOutOfRange:
        raise IndexError("index out of range in self") from None
    shape = weight.shape

    def backward(gradient: Tensor) -> tuple[Tensor]:
        whole = filled(shape, 0, gradient.dtype)
        _accumulated(ACCUMULATE, gradient, whole, [index])
        if padding_idx is not None:
            whole[padding_idx] = 0
        return (whole,)

    return record(out, (weight,), backward, "Embedding", (index,))
