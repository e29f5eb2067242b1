r"""One number for each window: the largest, the mean, or a norm."""

import math
from collections.abc import Callable
from typing import Any

from torch import _random
from torch._dtypes import FLOATING, int64
from torch._joining import stack
from torch._making import arange, tensor
from torch._raw import filled
from torch._tape import no_grad
from torch._tensor import Tensor
from torch.nn._windows import numbers, pad, windows

# For each place of the output along an axis: the places of the input in its window.
Places = list[list[int]]


def _with_batch(input: Tensor, axes: int, name: str) -> Tensor:
    r"""Images of a batch; a single one becomes a batch of one."""
    if len(input.shape) not in (axes + 1, axes + 2):
        raise RuntimeError(
            f"{name}{axes}d: Expected {axes + 1}D or {axes + 2}D input, but got input of size: "
            f"{list(input.shape)}"
        )
    if 0 in input.shape[len(input.shape) - axes - 1 :]:
        raise RuntimeError(
            f"{name}{axes}d(): Expected {axes + 1}D or {axes + 2}D (batch mode) tensor with "
            f"optional 0 dim batch size for input, but got: {list(input.shape)}"
        )
    return input if len(input.shape) == axes + 2 else input.unsqueeze(0)


def _count(size: int, kernel: int, stride: int, padding: int, dilation: int, ceil: bool) -> int:
    r"""How many windows there are along an axis."""
    free = size + 2 * padding - dilation * (kernel - 1) - 1
    count = (-(-free // stride) if ceil else free // stride) + 1
    # The last window must begin inside, or in the padding before.
    if ceil and (count - 1) * stride >= size + padding:
        count -= 1
    if count <= 0:
        raise RuntimeError(
            f"Given input size: {size}. Calculated output size: {count}. Output size is too small"
        )
    return count


def _settings(
    axes: int, kernel_size: Any, stride: Any, padding: Any, dilation: Any = 1
) -> tuple[tuple[int, ...], ...]:
    kernels = numbers(kernel_size, axes, "kernel_size")
    empty = stride is None or isinstance(stride, (list, tuple)) and not stride
    strides = kernels if empty else numbers(stride, axes, "stride")
    paddings = numbers(padding, axes, "padding")
    dilations = numbers(dilation, axes, "dilation")
    if min(strides) <= 0:
        raise RuntimeError("stride should not be zero")
    if min(kernels) <= 0:
        raise RuntimeError("kernel size should be greater than zero, but got " + str(min(kernels)))
    if min(dilations) <= 0:
        raise RuntimeError("dilation should be greater than zero, but got " + str(min(dilations)))
    for kernel, before, step in zip(kernels, paddings, dilations, strict=True):
        if before < 0:
            raise RuntimeError(f"pad must be non-negative, but got pad: {before}")
        if before > ((kernel - 1) * step + 1) // 2:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={before}, "
                f"kernel_size={kernel} and dilation={step}"
            )
    return kernels, strides, paddings, dilations


def _largest(input: Tensor, places: list[Places]) -> tuple[Tensor, Tensor]:
    r"""The largest of each window, and where it is among all places of its channel."""
    axes = len(places)
    first = len(input.shape) - axes
    sizes = input.shape[first:]
    with no_grad():
        seen = input
        at = arange(math.prod(sizes)).view(sizes)
        for axis, lists in enumerate(places):
            flat = tensor([place for one in lists for place in one], dtype=int64)
            # Along each axis: windows, and the places in a window behind it.
            shape = (len(lists), len(lists[0]) if lists else 1)
            seen = seen.index_select(first + 2 * axis, flat).unflatten(first + 2 * axis, shape)
            at = at.index_select(2 * axis, flat).unflatten(2 * axis, shape)
        order = [*range(0, 2 * axes, 2), *range(1, 2 * axes, 2)]
        seen = seen.permute(*range(first), *(first + one for one in order)).flatten(-axes)
        at = at.permute(order).flatten(-axes)
        best = seen.argmax(-1, keepdim=True)
        indices = at.expand(seen.shape).gather(-1, best).squeeze(-1)
    values = input.flatten(-axes).gather(-1, indices.flatten(-axes)).view(indices.shape)
    return values, indices


def _filled_up(places: Places) -> Places:
    r"""Windows of one length: a place that is named twice changes no largest number."""
    longest = max(map(len, places), default=0)
    return [one + one[-1:] * (longest - len(one)) for one in places]


def _max_pool(axes: int, always: bool) -> Callable[..., Any]:
    def pool(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        r"""The largest of each window."""
        kernels, strides, paddings, dilations = _settings(
            axes, kernel_size, stride, padding, dilation
        )
        images = _with_batch(input, axes, "max_pool")
        places = []
        for size, kernel, step, before, apart in zip(
            images.shape[2:], kernels, strides, paddings, dilations, strict=True
        ):
            count = _count(size, kernel, step, before, apart, ceil_mode)
            starts = (place * step - before for place in range(count))
            ranges = (range(start, start + kernel * apart, apart) for start in starts)
            places.append(_filled_up([[at for at in one if 0 <= at < size] for one in ranges]))
        values, indices = _largest(images, places)
        if len(input.shape) == axes + 1:
            values = values.squeeze(0)
            indices = indices.squeeze(0)
        return (values, indices) if always or return_indices else values

    pool.__name__ = f"max_pool{axes}d" + "_with_indices" * always
    return pool


max_pool1d, max_pool2d, max_pool3d = (_max_pool(axes, False) for axes in (1, 2, 3))
max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices = (
    _max_pool(axes, True) for axes in (1, 2, 3)
)


def _avg_pool(
    axes: int,
    input: Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> Tensor:
    kernels, strides, paddings, _ = _settings(axes, kernel_size, stride, padding)
    if divisor == 0:
        raise RuntimeError("divisor must be not zero")
    if input.dtype.kind != FLOATING and input.dtype is not int64:
        raise NotImplementedError(f"\"avg_pool{axes}d\" not implemented for '{input.dtype}'")
    images = _with_batch(input, axes, "avg_pool")
    ends: list[int] = []
    divisors = filled((), 1, input.dtype)
    for axis, (size, kernel, step, before) in enumerate(
        zip(images.shape[2:], kernels, strides, paddings, strict=True)
    ):
        count = _count(size, kernel, step, before, 1, ceil_mode)
        ends = [before, (count - 1) * step + kernel - before - size, *ends]
        starts = [place * step - before for place in range(count)]
        stops = [min(start + kernel, size + before) for start in starts]
        if not count_include_pad:
            stops = [min(stop, size) for stop in stops]
            starts = [max(start, 0) for start in starts]
        lengths = [stop - start for start, stop in zip(starts, stops, strict=True)]
        shape = [-1, *[1] * (axes - 1 - axis)]
        divisors = divisors * tensor(lengths, dtype=input.dtype).view(shape)
    sums = windows(pad(images, ends), kernels, strides).flatten(-axes).sum(-1)
    out = sums / (divisors if divisor is None else divisor)
    out = out if out.dtype is input.dtype else out.to(input.dtype)
    return out if len(input.shape) == axes + 2 else out.squeeze(0)


def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    r"""The mean of each window."""
    return _avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    r"""The mean of each window."""
    return _avg_pool(
        2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def avg_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    r"""The mean of each window."""
    return _avg_pool(
        3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def _lp_pool(axes: int) -> Callable[..., Tensor]:
    means = (avg_pool1d, avg_pool2d, avg_pool3d)[axes - 1]

    def pool(
        input: Tensor,
        norm_type: float,
        kernel_size: Any,
        stride: Any = None,
        ceil_mode: bool = False,
    ) -> Tensor:
        r"""The norm of each window."""
        count = math.prod(numbers(kernel_size, axes, "kernel_size"))
        out = means(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
        return (out.sign() * out.abs().relu() * count).pow(1.0 / norm_type)

    pool.__name__ = f"lp_pool{axes}d"
    return pool


lp_pool1d, lp_pool2d, lp_pool3d = (_lp_pool(axes) for axes in (1, 2, 3))


def _check_output(input: Tensor, output_size: Any) -> None:
    if not isinstance(output_size, int) and 1 < len(output_size) >= len(input.shape):
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")


def _wanted(output_size: Any, sizes: tuple[int, ...]) -> list[int]:
    r"""The sizes of an output; None keeps that of the input."""
    listed = [output_size] * len(sizes) if isinstance(output_size, int) else [*output_size]
    if len(listed) != len(sizes):
        raise RuntimeError(f"output_size must have {len(sizes)} elements, but got {len(listed)}")
    counts = [size if count is None else count for count, size in zip(listed, sizes, strict=True)]
    if min(counts) < 0:
        raise RuntimeError("elements of output_size must be greater than or equal to 0")
    return counts


def _adaptive(size: int, count: int) -> Places:
    r"""So many windows that cover an axis, of nearly one length."""
    return [
        [*range(place * size // count, -(-(place + 1) * size // count))] for place in range(count)
    ]


def _adaptive_avg_pool(axes: int) -> Callable[..., Tensor]:
    def pool(input: Tensor, output_size: Any) -> Tensor:
        r"""So many windows that cover the input, and their means."""
        _check_output(input, output_size)
        out = _with_batch(input, axes, "adaptive_avg_pool")
        for axis, count in enumerate(_wanted(output_size, out.shape[2:])):
            parts = [
                out.narrow(2 + axis, one[0], len(one)).mean(2 + axis)
                for one in _adaptive(out.shape[2 + axis], count)
            ]
            out = stack(parts, 2 + axis) if parts else out.narrow(2 + axis, 0, 0)
        return out if len(input.shape) == axes + 2 else out.squeeze(0)

    pool.__name__ = f"adaptive_avg_pool{axes}d"
    return pool


adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (
    _adaptive_avg_pool(axes) for axes in (1, 2, 3)
)


def _adaptive_max_pool(axes: int, always: bool) -> Callable[..., Any]:
    def pool(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
        r"""So many windows that cover the input, and their largest numbers."""
        _check_output(input, output_size)
        images = _with_batch(input, axes, "adaptive_max_pool")
        counts = _wanted(output_size, images.shape[2:])
        pairs = zip(images.shape[2:], counts, strict=True)
        places = [_filled_up(_adaptive(size, count)) for size, count in pairs]
        values, indices = _largest(images, places)
        if len(input.shape) == axes + 1:
            values = values.squeeze(0)
            indices = indices.squeeze(0)
        return (values, indices) if always or return_indices else values

    pool.__name__ = f"adaptive_max_pool{axes}d" + "_with_indices" * always
    return pool


adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (
    _adaptive_max_pool(axes, False) for axes in (1, 2, 3)
)
(
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d_with_indices,
) = (_adaptive_max_pool(axes, True) for axes in (1, 2, 3))


def _max_unpool(axes: int) -> Callable[..., Tensor]:
    def unpool(
        input: Tensor,
        indices: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        output_size: Any = None,
    ) -> Tensor:
        r"""The largest numbers at the places where a pooling found them, with zeros around."""
        kernels = numbers(kernel_size, axes, "kernel_size")
        strides = kernels if stride is None else numbers(stride, axes, "stride")
        paddings = numbers(padding, axes, "padding")
        if indices.dtype is not int64:
            raise RuntimeError(f"elements in indices should be type int64 but got: {indices.dtype}")
        if input.shape != indices.shape:
            raise RuntimeError(
                f"Expected shape of indices to be same as that of the input tensor "
                f"({list(input.shape)}) but got indices tensor with shape: {list(indices.shape)}"
            )
        if output_size is None:
            steps = zip(input.shape[-axes:], kernels, strides, paddings, strict=True)
            sizes = [(size - 1) * s - 2 * p + k for size, k, s, p in steps]
        else:
            sizes = [*output_size][-axes:]
        lead = input.shape[: len(input.shape) - axes]
        count = math.prod(sizes)
        flat = indices.flatten(-axes)
        if flat.numel() and not 0 <= int(flat.min()) <= int(flat.max()) < count:
            raise RuntimeError(f"found an invalid max index: {int(flat.max())} (of {count} places)")
        empty = filled((*lead, count), 0, input.dtype)
        return empty.scatter(-1, flat, input.flatten(-axes)).view(*lead, *sizes)

    unpool.__name__ = f"max_unpool{axes}d"
    return unpool


max_unpool1d, max_unpool2d, max_unpool3d = (_max_unpool(axes) for axes in (1, 2, 3))


def _fractional_max_pool(axes: int, always: bool) -> Callable[..., Any]:
    def pool(
        input: Tensor,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:
        r"""Windows at random distances, and their largest numbers."""
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"fractional_max_pool{axes}d requires specifying either an output_size or an "
                "output_ratio"
            )
        images = _with_batch(input, axes, "fractional_max_pool")
        sizes = images.shape[2:]
        kernels = numbers(kernel_size, axes, "kernel_size")
        if output_size is None:
            ratios = output_ratio
            if isinstance(ratios, (int, float)):
                ratios = (ratios,) * axes
            output_size = [int(size * one) for size, one in zip(sizes, ratios, strict=True)]
        counts = numbers(output_size, axes, "output_size")
        samples = _random_samples
        if samples is not None and samples.dtype is not input.dtype:
            raise RuntimeError("Expect _random_samples to have the same dtype as input")
        if samples is None:
            samples = _random.rand(*images.shape[:2], axes, dtype=input.dtype)
        rows = []
        for image, of_image in zip(images, samples.tolist(), strict=True):
            channels = []
            for channel, shifts in zip(image, of_image, strict=True):
                # Of an image, the last axis takes the first number.
                shifts = [*reversed(shifts)] if axes == 2 else shifts
                settings = zip(sizes, counts, kernels, shifts, strict=True)
                channels.append(_largest(channel, [_at_random(*one) for one in settings]))
            rows.append([stack([one[part] for one in channels]) for part in (0, 1)])
        values, indices = (stack([one[part] for one in rows]) for part in (0, 1))
        if len(input.shape) == axes + 1:
            values = values.squeeze(0)
            indices = indices.squeeze(0)
        return (values, indices) if always or return_indices else values

    pool.__name__ = f"fractional_max_pool{axes}d" + "_with_indices" * always
    return pool


def _at_random(size: int, count: int, kernel: int, shift: float) -> Places:
    r"""Windows that begin at equal distances from a random place, rounded down."""
    if count + kernel - 1 > size:
        raise RuntimeError(f"output size {count} too large relative to input size {size}")
    alpha = (size - kernel) / (count - 1) if count > 1 else 0.0
    starts = [int((place + shift) * alpha) - int(shift * alpha) for place in range(count - 1)]
    return [[*range(start, start + kernel)] for start in [*starts, size - kernel]]


fractional_max_pool2d, fractional_max_pool3d = (
    _fractional_max_pool(axes, False) for axes in (2, 3)
)
fractional_max_pool2d_with_indices, fractional_max_pool3d_with_indices = (
    _fractional_max_pool(axes, True) for axes in (2, 3)
)
