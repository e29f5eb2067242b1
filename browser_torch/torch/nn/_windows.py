r"""Windows of a tensor: padding, convolutions, and what takes windows apart and together."""

import math
from collections.abc import Callable
from typing import Any

from torch._dtypes import bool_, int64
from torch._joining import cat
from torch._making import arange, full
from torch._products import einsum
from torch._raw import filled
from torch._tensor import Tensor


def numbers(value: Any, count: int, name: str) -> tuple[int, ...]:
    r"""One number for each axis, from one for all or a list."""
    if isinstance(value, int):
        return (value,) * count
    listed = tuple(value)
    if len(listed) == 1:
        return listed * count
    if len(listed) != count:
        raise RuntimeError(
            f"{name} must either be a single int, or a tuple of {count} ints, but got "
            f"{list(listed)}"
        )
    return listed


def pad(input: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    r"""More at the ends of the last axes; a negative number takes away."""
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) // 2 > len(input.shape):
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(pad)} and input of dimension {len(input.shape)}"
        )
    if mode != "constant":
        if value is not None and value != 0:
            raise ValueError(f"Padding mode '{mode}' doesn't take in value argument")
        return _pad_from_inside(input, pad, mode)
    out = input
    for place in range(0, len(pad), 2):
        axis = len(input.shape) - 1 - place // 2
        out = _pad_axis(out, axis, pad[place], pad[place + 1], 0 if value is None else value)
    return out.clone() if out is input else out


def _pad_axis(input: Tensor, axis: int, before: int, after: int, value: float) -> Tensor:
    size = input.shape[axis]
    if size + before + after < 0:
        raise RuntimeError(
            f"The input size {size}, plus negative padding {before} and {after}, resulted in a "
            "negative output size, which is invalid."
        )
    if before < 0 or after < 0:
        start = max(0, -before)
        input = input.narrow(axis, start, size - start - max(0, -after))
    parts = [input]
    for count, place in ((before, 0), (after, 2)):
        if count > 0:
            shape = [*input.shape[:axis], count, *input.shape[axis + 1 :]]
            parts.insert(place, full(shape, value, dtype=input.dtype))
    return cat(parts, axis) if len(parts) > 1 else input


def _pad_from_inside(input: Tensor, pad: Any, mode: str) -> Tensor:
    if mode not in ("replicate", "circular", "reflect"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    axes = len(pad) // 2
    if len(input.shape) not in (axes + 1, axes + 2) or axes > 3:
        raise NotImplementedError(
            "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now"
        )
    if 0 in input.shape[len(input.shape) - axes - 1 :]:
        raise RuntimeError(
            f"Expected {axes + 1}D or {axes + 2}D (batch mode) tensor with possibly 0 batch size "
            f"and other non-zero dimensions for input, but got: {list(input.shape)}"
        )
    out = input
    for place in range(0, len(pad), 2):
        axis = len(input.shape) - 1 - place // 2
        size = out.shape[axis]
        before = pad[place]
        after = pad[place + 1]
        if mode == "reflect" and max(before, after) >= size:
            raise RuntimeError(
                "Padding size should be less than the corresponding input dimension, but got: "
                f"padding ({before}, {after}) at dimension {axis} of input {list(input.shape)}"
            )
        if mode == "circular" and max(before, after) > size:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if size + before + after < (0 if mode == "circular" else 1):
            raise RuntimeError(
                "Negative padding value is resulting in an empty dimension: input size "
                f"{size}, padding ({before}, {after})"
            )
        places = arange(-before, size + after)
        if mode == "replicate":
            places = places.clamp(0, size - 1)
        elif mode == "circular":
            # What is taken away isn't repeated.
            first = max(0, -before)
            last = size - max(0, -after)
            places = first + (places - first) % (last - first)
        else:
            period = max(1, 2 * (size - 1))
            places = (size - 1) - (places % period - (size - 1)).abs()
        out = out.index_select(axis, places)
    return out


def windows(
    input: Tensor, sizes: tuple[int, ...], strides: tuple[int, ...], dilations: Any = 1
) -> Tensor:
    r"""
    Views of the last axes: for each place one of windows, and behind all of them the axes inside.
    """
    axes = len(sizes)
    first = len(input.shape) - axes
    for axis, apart in enumerate(numbers(dilations, axes, "dilation")):
        reach = apart * (sizes[axis] - 1) + 1
        input = input.unfold(first + axis, reach, strides[axis])
        if apart > 1:
            input = input[..., ::apart]
    return input


# Convolutions
def _check_types(input: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    for name, one in (("weight", weight), ("bias", bias)):
        if one is not None and one.dtype is not input.dtype:
            raise RuntimeError(
                f"Input type ({input.dtype}) and {name} type ({one.dtype}) should be the same"
            )
    if input.dtype is bool_:
        raise RuntimeError("\"slow_conv2d_cpu\" not implemented for 'Bool'")


def _with_batch(
    input: Tensor, weight: Tensor, bias: Tensor | None, axes: int, groups: int, transposed: bool
) -> Tensor:
    r"""Images of a batch that fit the weights; a single one becomes a batch of one."""
    name = f"conv_transpose{axes}d" if transposed else f"conv{axes}d"
    if len(weight.shape) != axes + 2:
        raise RuntimeError(
            f"expected {axes + 2}-dimensional weight for {axes + 2}-dimensional input "
            f"{list(input.shape)}, but got weight of size {list(weight.shape)} instead"
        )
    if len(input.shape) not in (axes + 1, axes + 2):
        raise RuntimeError(
            f"Expected {axes + 1}D (unbatched) or {axes + 2}D (batched) input to {name}, but "
            f"got input of size: {list(input.shape)}"
        )
    _check_types(input, weight, bias)
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if weight.shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size {list(weight.shape)} instead"
        )
    images = input if len(input.shape) == axes + 2 else input.unsqueeze(0)
    channels = weight.shape[0] if transposed else weight.shape[1] * groups
    if images.shape[1] != channels:
        raise RuntimeError(
            f"Given {'transposed=1' if transposed else f'groups={groups}'}, weight of size "
            f"{list(weight.shape)}, expected input{list(images.shape)} to have {channels} "
            f"channels, but got {images.shape[1]} channels instead"
        )
    made = weight.shape[1] * groups if transposed else weight.shape[0]
    if bias is not None and tuple(bias.shape) != (made,):
        raise RuntimeError(
            f"Given {'transposed=1' if transposed else f'groups={groups}'}, weight of size "
            f"{list(weight.shape)}, expected bias to be 1-dimensional with {made} elements, but "
            f"got bias of size {list(bias.shape)} instead"
        )
    return images


def _settings(axes: int, *given: tuple[str, Any]) -> list[tuple[int, ...]]:
    r"""Strides, paddings and dilations of a convolution."""
    found = []
    for name, value in given:
        if not isinstance(value, int) and len(value) not in (1, axes):
            raise RuntimeError(
                f"expected {name} to be a single integer value or a list of {axes} values to match "
                f"the convolution dimensions, but got {name}={list(value)}"
            )
        found.append(numbers(value, axes, name))
        if name == "padding" and min(found[-1]) < 0:
            raise RuntimeError("negative padding is not supported")
        if name in ("stride", "dilation") and min(found[-1]) <= 0:
            raise RuntimeError(f"non-positive {name} is not supported")
    return found


def _products(images: Tensor, weight: Tensor, strides: Any, dilations: Any, groups: int) -> Tensor:
    r"""Each window times the weights."""
    axes = len(weight.shape) - 2
    for axis, apart in enumerate(dilations):
        size = images.shape[2 + axis]
        reach = apart * (weight.shape[2 + axis] - 1) + 1
        if size < reach:
            raise RuntimeError(
                f"Calculated padded input size per channel: ({size}). Kernel size: ({reach}). "
                "Kernel size can't be greater than actual input size"
            )
    seen = windows(images, tuple(weight.shape[2:]), strides, dilations)
    places = "xyz"[:axes]
    inside = "uvw"[:axes]
    return einsum(
        f"bgc{places}{inside},goc{inside}->bgo{places}",
        seen.unflatten(1, (groups, images.shape[1] // groups)),
        weight.unflatten(0, (groups, weight.shape[0] // groups)),
    ).flatten(1, 2)


def _finished(out: Tensor, bias: Tensor | None, single: bool) -> Tensor:
    if bias is not None:
        out = out + bias.view(-1, *[1] * (len(out.shape) - 2))
    out = out.contiguous()
    return out.squeeze(0) if single else out


def _convolution(axes: int) -> Callable[..., Tensor]:
    def convolve(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        r"""Windows of the input times the weights."""
        images = _with_batch(input, weight, bias, axes, groups, False)
        strides, dilations = _settings(axes, ("stride", stride), ("dilation", dilation))
        if padding == "same":
            if max(strides) > 1:
                raise RuntimeError("padding='same' is not supported for strided convolutions")
            sizes = [d * (k - 1) for d, k in zip(dilations, weight.shape[2:], strict=True)]
            ends = [one for size in reversed(sizes) for one in (size // 2, size - size // 2)]
        elif isinstance(padding, str) and padding != "valid":
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        else:
            (widths,) = _settings(axes, ("padding", 0 if padding == "valid" else padding))
            ends = [one for width in reversed(widths) for one in (width, width)]
        padded = pad(images, ends) if any(ends) else images
        out = _products(padded, weight, strides, dilations, groups)
        return _finished(out, bias, len(input.shape) == axes + 1)

    convolve.__name__ = f"conv{axes}d"
    return convolve


conv1d, conv2d, conv3d = (_convolution(axes) for axes in (1, 2, 3))


def _transposed_convolution(axes: int) -> Callable[..., Tensor]:
    def convolve(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
    ) -> Tensor:
        r"""Each number times the weights, added up where they overlap."""
        images = _with_batch(input, weight, bias, axes, groups, True)
        strides, widths, more, dilations = _settings(
            axes,
            ("stride", stride),
            ("padding", padding),
            ("output_padding", output_padding),
            ("dilation", dilation),
        )
        ends: list[int] = []
        for axis in range(axes):
            step = strides[axis]
            size = images.shape[2 + axis]
            if more[axis] >= max(step, dilations[axis]):
                raise RuntimeError(
                    "output padding must be smaller than either stride or dilation, but got "
                    f"output_padding: {more[axis]} stride: {step} dilation: {dilations[axis]}"
                )
            if step > 1:
                # Zeros between the numbers, and none after the last.
                apart = pad(images.unsqueeze(3 + axis), [0, 0] * (axes - 1 - axis) + [0, step - 1])
                images = apart.flatten(2 + axis, 3 + axis)
                images = images.narrow(2 + axis, 0, max((size - 1) * step + 1, 0))
            reach = dilations[axis] * (weight.shape[2 + axis] - 1)
            before = reach - widths[axis]
            ends = [before, before + more[axis], *ends]
        turned = weight.unflatten(0, (groups, weight.shape[0] // groups)).transpose(1, 2)
        turned = turned.flatten(0, 1).flip(*range(2, 2 + axes))
        out = _products(pad(images, ends), turned, (1,) * axes, dilations, groups)
        return _finished(out, bias, len(input.shape) == axes + 1)

    convolve.__name__ = f"conv_transpose{axes}d"
    return convolve


conv_transpose1d, conv_transpose2d, conv_transpose3d = (
    _transposed_convolution(axes) for axes in (1, 2, 3)
)


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    r"""Convolution along the first axis; the batch is the second one, channels are the last."""
    if len(input.shape) != 3 or len(weight.shape) != 3:
        raise RuntimeError("Input must have 3 dims: time, batch, in_channel")
    return conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad).permute(2, 0, 1)


# Windows as columns
def unfold(
    input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    r"""The windows of images, each as a column."""
    sizes, dilations, widths, strides = (
        numbers(one, 2, name)
        for one, name in (
            (kernel_size, "kernel_size"),
            (dilation, "dilation"),
            (padding, "padding"),
            (stride, "stride"),
        )
    )
    _check_columns(sizes, dilations, strides)
    if len(input.shape) not in (3, 4) or 0 in input.shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(input.shape)}"
        )
    images = input if len(input.shape) == 4 else input.unsqueeze(0)
    padded = pad(images, (widths[1], widths[1], widths[0], widths[0]))
    for axis in range(2):
        if padded.shape[2 + axis] < dilations[axis] * (sizes[axis] - 1) + 1:
            raise RuntimeError(
                f"Given input with spatial size {tuple(images.shape[2:])}, kernel_size={sizes}, "
                f"dilation={dilations}, padding={widths}, calculated shape of the array of sliding "
                "blocks is not positive"
            )
    seen = windows(padded, sizes, strides, dilations)
    out = seen.permute(0, 1, 4, 5, 2, 3).flatten(4).flatten(1, 3)
    return out if len(input.shape) == 4 else out.squeeze(0)


def fold(
    input: Tensor,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Tensor:
    r"""Images from columns of windows, which are added up where they overlap."""
    wanted, sizes, dilations, widths, strides = (
        numbers(one, 2, name)
        for one, name in (
            (output_size, "output_size"),
            (kernel_size, "kernel_size"),
            (dilation, "dilation"),
            (padding, "padding"),
            (stride, "stride"),
        )
    )
    _check_columns(sizes, dilations, strides)
    if len(input.shape) not in (2, 3):
        raise RuntimeError(
            f"Input Error: Only unbatched (2D) or batched (3D) input Tensors are supported (got "
            f"{len(input.shape)}D)"
        )
    columns = input if len(input.shape) == 3 else input.unsqueeze(0)
    padded = [size + 2 * width for size, width in zip(wanted, widths, strict=True)]
    rows = []
    for size, kernel, apart, step in zip(padded, sizes, dilations, strides, strict=True):
        count = (size - apart * (kernel - 1) - 1) // step + 1
        rows.append(arange(kernel).view(-1, 1) * apart + arange(count) * step)
    # For each place in a window and each window, where in the padded image it is.
    at = rows[0].view(rows[0].shape[0], 1, -1, 1) * padded[1] + rows[1].unsqueeze(0).unsqueeze(2)
    area = sizes[0] * sizes[1]
    if columns.shape[1] % area:
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={columns.shape[1]} and kernel_size={sizes}."
        )
    if columns.shape[2] != at.numel() // area:
        raise RuntimeError(
            f"Given output_size={wanted}, kernel_size={sizes}, dilation={dilations}, "
            f"padding={widths}, stride={strides}, expected size of input's dimension 2 to match "
            f"the calculated number of sliding blocks {rows[0].shape[1]} * {rows[1].shape[1]} = "
            f"{at.numel() // area}, but got input.size(2)={columns.shape[2]}."
        )
    channels = columns.shape[1] // area
    flat = columns.reshape(columns.shape[0], channels, at.numel())
    empty = filled((columns.shape[0], channels, math.prod(padded)), 0, input.dtype)
    image = empty.index_add(2, at.flatten().to(int64), flat).unflatten(2, padded)
    out = image.narrow(2, widths[0], wanted[0]).narrow(3, widths[1], wanted[1]).contiguous()
    return out if len(input.shape) == 3 else out.squeeze(0)


def _check_columns(*settings: tuple[int, ...]) -> None:
    for name, one in zip(("kernel", "dilation", "stride"), settings, strict=True):
        if min(one) <= 0:
            raise RuntimeError(
                f"{name} size should be greater than zero, but got {name}_height: {one[0]} "
                f"{name}_width: {one[1]}"
            )
