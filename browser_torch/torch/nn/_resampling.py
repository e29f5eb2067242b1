r"""Images in other sizes: more or fewer places, and values between places."""

import math
from collections.abc import Callable
from itertools import product
from typing import Any

from torch._dtypes import FLOATING, int64
from torch._elementwise import where
from torch._joining import stack
from torch._making import arange, linspace, ones, tensor
from torch._tensor import Tensor
from torch.nn._pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

# The modes that know how many axes they are for.
AXES = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}
MEANS = (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)
# How cubic curves bend; PyTorch has this number for images.
BEND = -0.75


def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    r"""More or fewer places along the last axes."""
    axes = len(input.shape) - 2
    if mode in ("nearest", "nearest-exact", "area"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | "
                "bilinear | bicubic | trilinear"
            )
    elif mode not in AXES or AXES[mode] != axes:
        raise NotImplementedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported (got "
            f"{len(input.shape)}D) for the modes: nearest | linear | bilinear | bicubic | "
            f"trilinear | area | nearest-exact (got {mode})"
        )
    if antialias:
        raise NotImplementedError(
            "functional.interpolate with antialias is not in the browser's torch: use "
            "avg_pool2d before it."
        )
    sizes, factors = _sizes(input, axes, size, scale_factor)
    if recompute_scale_factor:
        if size is not None:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        factors = [None] * axes
    if min(sizes) <= 0 or 0 in input.shape[1:]:
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input {list(input.shape)} "
            f"and output {sizes}"
        )
    if mode == "area":
        return MEANS[axes - 1](input, sizes)
    out = input
    for axis, (wanted, factor) in enumerate(zip(sizes, factors, strict=True)):
        out = _resampled(out, 2 + axis, wanted, factor, mode, bool(align_corners))
    return out


def _sizes(
    input: Tensor, axes: int, size: Any, scale_factor: Any
) -> tuple[list[int], list[float | None]]:
    r"""The sizes of the result, and the factors that were given for them."""
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    given = scale_factor if size is None else size
    listed = [*given] if isinstance(given, (list, tuple)) else [given] * axes
    if len(listed) != axes:
        what = "scale_factor" if size is None else "size"
        raise ValueError(
            f"Input and output must have the same number of spatial dimensions, but got input "
            f"with spatial dimensions of {list(input.shape[2:])} and {what} of {listed}."
        )
    if size is not None:
        return [int(one) for one in listed], [None] * axes
    pairs = zip(input.shape[2:], listed, strict=True)
    return [math.floor(float(one) * factor) for one, factor in pairs], listed


def _resampled(
    input: Tensor, axis: int, wanted: int, factor: float | None, mode: str, aligned: bool
) -> Tensor:
    r"""One axis in another size."""
    size = input.shape[axis]
    step = 1 / factor if factor else size / wanted
    places = arange(wanted)
    if mode.startswith("nearest"):
        shift = 0.5 if mode == "nearest-exact" else 0.0
        nearest = ((places + shift) * step).floor().long().clamp(max=size - 1)
        return input.index_select(axis, nearest)
    if aligned:
        at = places * ((size - 1) / (wanted - 1) if wanted > 1 else 0.0)
    else:
        at = (places + 0.5) * step - 0.5
        at = at if mode == "bicubic" else at.clamp(min=0)
    low = at.floor()
    part = (at - low).to(input.dtype)
    taps = _cubic(part) if mode == "bicubic" else [1 - part, part]
    first = -1 if mode == "bicubic" else 0
    out: Any = 0
    for place, weight in enumerate(taps, first):
        rows = input.index_select(axis, (low.long() + place).clamp(0, size - 1))
        out = out + rows * weight.view([-1, *[1] * (len(input.shape) - 1 - axis)])
    return out


def _cubic(part: Tensor) -> list[Tensor]:
    r"""What four neighbours count between the second and the third of them."""

    def near(x: Tensor) -> Tensor:
        return ((BEND + 2) * x - (BEND + 3)) * x * x + 1

    def far(x: Tensor) -> Tensor:
        return ((BEND * x - 5 * BEND) * x + 8 * BEND) * x - 4 * BEND

    return [far(part + 1), near(part), near(1 - part), far(2 - part)]


def upsample(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    r"""The old name of `interpolate`."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    r"""More places, each with the value of the nearest."""
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    r"""More places, with values between those at the corners."""
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


# Values at any places
def affine_grid(theta: Tensor, size: Any, align_corners: bool | None = None) -> Tensor:
    r"""Where each place of a turned and moved image comes from, from -1 to 1."""
    if theta.dtype.kind != FLOATING:
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    axes = len(size) - 2
    if axes not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {size}."
        )
    if tuple(theta.shape[1:]) != (axes, axes + 1) or len(theta.shape) != 3:
        raise ValueError(
            f"Expected a batch of {axes}D affine matrices of shape Nx{axes}x{axes + 1} for size "
            f"{size}. Got {theta.shape}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    sizes = size[2:]
    rows = []
    for axis, count in enumerate(sizes):
        row = linspace(-1, 1, count, dtype=theta.dtype)
        row = row if count > 1 else row * 0
        row = row if align_corners else row * (count - 1) / count
        rows.append(row.view([-1, *[1] * (axes - 1 - axis)]).expand(sizes))
    corners = stack([*reversed(rows), ones(sizes, dtype=theta.dtype)], -1)
    out = corners.reshape(1, -1, axes + 1) @ theta.transpose(1, 2)
    return out.view(size[0], *sizes, axes)


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    r"""The values of images at places that go from -1 to 1, between the pixels if need be."""
    _check_grid(input, grid, mode, padding_mode)
    sizes = input.shape[2:]
    aligned = bool(align_corners)
    # The last axis of the grid begins with the last axis of the image.
    places = [
        ((one + 1) / 2 * (size - 1)) if aligned else ((one + 1) * size - 1) / 2
        for one, size in zip(reversed(grid.unbind(-1)), sizes, strict=True)
    ]

    def inside(at: list[Tensor]) -> list[Tensor]:
        if padding_mode == "zeros":
            return at
        pairs = zip(at, sizes, strict=True)
        if padding_mode == "reflection":
            pairs = [(_reflected(one, size, aligned), size) for one, size in pairs]
        return [one.clamp(0, size - 1) for one, size in pairs]

    if mode == "nearest":
        # Its derivative by the grid is 0.
        flat = where(tensor(False), grid.sum(), 0.0)
        return _at(input, [one.round() for one in inside(places)]) + flat
    places = places if mode == "bicubic" else inside(places)
    lows = [one.detach().floor() for one in places]
    parts = [one - low for one, low in zip(places, lows, strict=True)]
    taps = [_cubic(one) if mode == "bicubic" else [1 - one, one] for one in parts]
    first = -1 if mode == "bicubic" else 0
    out: Any = 0
    for steps in product(range(len(taps[0])), repeat=len(sizes)):
        corner = [low + first + step for low, step in zip(lows, steps, strict=True)]
        weight = math.prod(tap[step] for tap, step in zip(taps, steps, strict=True))
        corner = inside(corner) if mode == "bicubic" else corner
        out = out + _at(input, corner) * weight.unsqueeze(1)
    return out


def _check_grid(input: Tensor, grid: Tensor, mode: str, padding_mode: str) -> None:
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'"
        )
    axes = len(input.shape) - 2
    if axes not in (2, 3) or len(grid.shape) != axes + 2:
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but "
            f"got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if input.shape[0] != grid.shape[0] or grid.shape[-1] != axes:
        raise RuntimeError(
            f"grid_sampler(): expected grid and input to have same batch size and grid to have "
            f"size {axes} in last dimension, but got input with sizes {list(input.shape)} and "
            f"grid with sizes {list(grid.shape)}"
        )
    if 0 in input.shape[2:]:
        raise RuntimeError(
            "grid_sampler(): expected input to have non-empty spatial dimensions, but input has "
            f"sizes {list(input.shape)}"
        )
    if mode == "bicubic" and axes != 2:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if input.dtype is not grid.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype} but found {grid.dtype}")


def _reflected(at: Tensor, size: int, aligned: bool) -> Tensor:
    r"""Places outside of an image, as in mirrors at its ends."""
    low, span = (0.0, size - 1) if aligned else (-0.5, size)
    if span <= 0:
        return at * 0
    way = (at - low).abs()
    turns = (way.detach() / span).floor()
    rest = way - turns * span
    return where(turns % 2 == 0, rest, span - rest) + low


def _at(input: Tensor, places: list[Tensor]) -> Tensor:
    r"""The values at whole places, and 0 outside."""
    flat: Any = 0
    known: Any = True
    for one, size in zip(places, input.shape[2:], strict=True):
        whole = one.detach()
        known = known & (whole >= 0) & (whole <= size - 1)
        # What is no number is nowhere.
        whole = where(whole == whole, whole, 0.0).clamp(0, size - 1)
        flat = flat * size + whole.to(int64)
    shape = (input.shape[0], input.shape[1], flat[0].numel())
    wide = flat.flatten(1).unsqueeze(1).expand(shape)
    values = input.flatten(2).gather(2, wide).view(*shape[:2], *flat.shape[1:])
    return where(known.unsqueeze(1), values, 0.0)


# Channels become places, and back
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    r"""Larger images of fewer channels."""
    if len(input.shape) < 3:
        raise RuntimeError(
            "pixel_shuffle expects input to have at least 3 dimensions, but got input with "
            f"{len(input.shape)} dimension(s)"
        )
    if upscale_factor <= 0:
        raise RuntimeError(
            f"pixel_shuffle expects a positive upscale_factor, but got {upscale_factor}"
        )
    *lead, channels, height, width = input.shape
    factor = upscale_factor
    if channels % factor**2:
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            f"of upscale_factor, but input.size(-3)={channels} is not divisible by {factor**2}"
        )
    parts = input.reshape(*lead, channels // factor**2, factor, factor, height, width)
    first = len(lead)
    order = [*range(first), first, first + 3, first + 1, first + 4, first + 2]
    shape = (*lead, channels // factor**2, height * factor, width * factor)
    return parts.permute(order).reshape(shape)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    r"""Smaller images of more channels."""
    if len(input.shape) < 3:
        raise RuntimeError(
            "pixel_unshuffle expects input to have at least 3 dimensions, but got input with "
            f"{len(input.shape)} dimension(s)"
        )
    if downscale_factor <= 0:
        raise RuntimeError(
            f"pixel_unshuffle expects a positive downscale_factor, but got {downscale_factor}"
        )
    *lead, channels, height, width = input.shape
    factor = downscale_factor
    for name, size in (("height", height), ("width", width)):
        if size % factor:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                f"{size} is not divisible by {factor}"
            )
    parts = input.reshape(*lead, channels, height // factor, factor, width // factor, factor)
    first = len(lead)
    order = [*range(first), first, first + 2, first + 4, first + 1, first + 3]
    shape = (*lead, channels * factor**2, height // factor, width // factor)
    return parts.permute(order).reshape(shape)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    r"""Channels of all groups in turn."""
    if len(input.shape) < 3:
        raise RuntimeError(
            "channel_shuffle expects input with > 2 dims, but got input with sizes "
            f"{list(input.shape)}"
        )
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. {groups}")
    if input.shape[1] % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {input.shape[1]} channels and "
            f"{groups} groups."
        )
    parts = input.unflatten(1, (groups, input.shape[1] // groups))
    return parts.transpose(1, 2).flatten(1, 2)


native_channel_shuffle: Callable[..., Tensor] = channel_shuffle
