r"""Random numbers: those that PyTorch draws from the same seed."""

import bisect
import math
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate
from typing import Any

from torch._dtypes import (
    FLOATING,
    INTEGRAL,
    Default,
    cpu,
    dtype,
    float64,
    int32,
    int64,
    scalar_name,
)
from torch._making import check_device, tensor, with_grad
from torch._memory import Operation, bits, run
from torch._raw import Binary, Unary, binary, cast, copy_into, unary
from torch._shapes import Shape, as_int, broadcast, shape_of_arguments
from torch._tape import check_in_place, overwrite, record
from torch._tensor import Tensor, alias_of, method, new

_SEED, _UNIFORM, _NORMAL, _INTEGERS, _PERMUTATION, _UNIFORM_53 = range(6)
_DEFAULT_SEED = 67280421310721


class Generator:
    r"""A source of random numbers with a state of its own."""

    def __init__(self, device: Any = "cpu") -> None:
        check_device(device)
        self.device = cpu
        self._state = new((625,), int32)
        # Normal numbers are made in pairs; this is the second of one.
        self._next: float | None = None
        self.manual_seed(_DEFAULT_SEED)

    def manual_seed(self, seed: int) -> "Generator":
        r"""Begins the numbers that belong to a seed."""
        seed = as_int(seed)
        self._seed, self._next = seed, None
        self.draw(_SEED, new((0,), int64), seed & 0xFFFFFFFF)
        return self

    def seed(self) -> int:
        r"""Begins with a seed that nobody knows."""
        return self.manual_seed(secrets.randbits(52))._seed

    def initial_seed(self) -> int:
        r"""The seed with which it began."""
        return self._seed

    def get_state(self) -> Tensor:
        r"""The state as a tensor of bytes, to come back to."""
        saved = new((2520,), _uint8())
        pending = -math.inf if self._next is None else self._next
        raw = saved._storage.bytes()
        raw[:2500] = self._state._storage.bytes()[:2500]
        raw[2504:2512] = bits(pending).to_bytes(8, "little", signed=True)
        raw[2512:2520] = (self._seed & (2**64 - 1)).to_bytes(8, "little")
        return saved

    def set_state(self, new_state: Tensor) -> "Generator":
        r"""Comes back to a state."""
        from torch._memory import _FLOAT

        if new_state.dtype.name != "uint8":
            raise TypeError("RNG state must be a torch.ByteTensor")
        if new_state.numel() != 2520:
            raise RuntimeError("RNG state is wrong size")
        raw = new_state._storage.bytes()
        self._state._storage.bytes()[:2500] = raw[:2500]
        pending = _FLOAT.unpack(raw[2504:2512])[0]
        self._next = None if pending == -math.inf else pending
        self._seed = int.from_bytes(raw[2512:2520], "little")
        return self

    def draw(self, what: int, target: Tensor, first: int = 0, second: int = 0) -> Tensor:
        r"""Fills a tensor."""
        run(Operation.RANDOM, (what, first, second), self._state, target)
        return target

    def uniform_53(self, count: int) -> Tensor:
        r"""Numbers from 0 to 1 in double precision."""
        return self.draw(_UNIFORM_53, new((count,), float64))


def _uint8() -> dtype:
    from torch._dtypes import uint8

    return uint8


default_generator = Generator()


def manual_seed(seed: int) -> Generator:
    r"""Begins the random numbers that belong to a seed."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    r"""Begins with a seed that nobody knows."""
    return default_generator.seed()


def initial_seed() -> int:
    r"""The seed with which the random numbers began."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    r"""The state of the random numbers."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    r"""Comes back to a state of the random numbers."""
    default_generator.set_state(new_state)


@contextmanager
def fork_rng(devices: Any = (), enabled: bool = True, **options: Any) -> Iterator[None]:
    r"""What is drawn within leaves no trace outside."""
    state = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(state)


def _uniform(shape: Shape, d: dtype, low: float, high: float, generator: Any) -> Tensor:
    made = new(shape, d.work)
    source = generator or default_generator
    return cast(source.draw(_UNIFORM, made, bits(float(low)), bits(float(high))), d)


def _normal(shape: Shape, d: dtype, mean: float, std: float, generator: Any) -> Tensor:
    source = generator or default_generator
    made, limits = new(shape, d.work), (bits(float(mean)), bits(float(std)))
    count = made.numel()
    if count >= 16 and d.work is d:
        return source.draw(_NORMAL, made, *limits)
    if count >= 16:
        # With sixteen bits PyTorch draws whole blocks of sixteen; the last one ends at the end.
        blocks = source.draw(_NORMAL, new((-(-count // 16) * 16,), d.work), *limits)
        flat, whole = made.view(-1), count // 16 * 16
        copy_into(flat[:whole], blocks[:whole])
        copy_into(flat[count - 16 :], blocks[-16:])
        return cast(made, d)
    values = []
    for _ in range(count):
        if source._next is None:
            angle, size = source.uniform_53(2).tolist()
            radius, turn = math.sqrt(-2 * math.log1p(-size)), 2 * math.pi * angle
            source._next = radius * math.sin(turn)
            values.append(radius * math.cos(turn) * std + mean)
        else:
            values.append(source._next * std + mean)
            source._next = None
    copy_into(made, tensor(values, dtype=made.dtype).view(shape))
    return cast(made, d)


def _floating(name: str, d: dtype | None) -> dtype:
    d = d or Default.dtype
    if d.kind != FLOATING:
        raise NotImplementedError(f"\"{name}\" not implemented for '{scalar_name(d)}'")
    return d


def rand(
    *size: Any,
    dtype: dtype | None = None,
    device: Any = None,
    generator: Generator | None = None,
    requires_grad: bool = False,
    **named: Any,
) -> Tensor:
    r"""Uniform numbers from 0 to 1."""
    check_device(device)
    shape = shape_of_arguments(size or (named.pop("size"),))
    d = _floating("check_uniform_bounds", dtype)
    return with_grad(_uniform(shape, d, 0, 1, generator), requires_grad)


def randn(
    *size: Any,
    dtype: dtype | None = None,
    device: Any = None,
    generator: Generator | None = None,
    requires_grad: bool = False,
    **named: Any,
) -> Tensor:
    r"""Normal numbers of mean 0 and variance 1."""
    check_device(device)
    shape = shape_of_arguments(size or (named.pop("size"),))
    d = _floating("normal_kernel_cpu", dtype)
    return with_grad(_normal(shape, d, 0, 1, generator), requires_grad)


def rand_like(input: Tensor, *, dtype: dtype | None = None, **options: Any) -> Tensor:
    r"""Uniform numbers in the shape of a tensor."""
    return rand(input.shape, dtype=dtype or input.dtype)


def randn_like(input: Tensor, *, dtype: dtype | None = None, **options: Any) -> Tensor:
    r"""Normal numbers in the shape of a tensor."""
    return randn(input.shape, dtype=dtype or input.dtype)


def randint(
    *args: Any,
    low: Any = None,
    high: Any = None,
    size: Any = None,
    generator: Generator | None = None,
    dtype: dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    r"""Integers from `low` up to `high`, which is left out."""
    check_device(device)
    given = list(args)
    if given and isinstance(given[-1], (tuple, list)):
        size = given.pop()
    if len(given) == 2:
        low, high = given
    elif len(given) == 1:
        low, high = (low, given[0]) if high is None else (given[0], high)
    if size is None or high is None:
        raise TypeError("randint() received an invalid combination of arguments")
    first, last = as_int(low or 0), as_int(high)
    if last <= first:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={first} >= to={last}"
        )
    made = new(shape_of_arguments((tuple(size),)), int64)
    # In 64 bits with a sign, 2 to the 63 is the lowest number.
    width = (last - first + 2**63) % 2**64 - 2**63
    (generator or default_generator).draw(_INTEGERS, made, first, width)
    return with_grad(cast(made, dtype or int64), requires_grad)


def randint_like(input: Tensor, *args: Any, **options: Any) -> Tensor:
    r"""Integers in the shape of a tensor."""
    return randint(*args, tuple(input.shape), dtype=options.get("dtype") or input.dtype)


def randperm(
    n: int,
    *,
    generator: Generator | None = None,
    dtype: dtype | None = None,
    device: Any = None,
) -> Tensor:
    r"""The numbers below `n` in a random order."""
    check_device(device)
    if n < 0:
        raise RuntimeError(f"n must be non-negative, got {n}")
    made = new((as_int(n),), int64)
    (generator or default_generator).draw(_PERMUTATION, made)
    return cast(made, dtype or int64)


def bernoulli_of(shape: Shape, p: float, d: dtype, generator: Generator | None = None) -> Tensor:
    r"""Ones with a probability, else zeros."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    drawn = (generator or default_generator).uniform_53(math.prod(shape))
    return cast(binary(Binary.LESS, drawn, float(p)), d).view(shape)


@method
def bernoulli(input: Tensor, p: float | None = None, *, generator: Any = None) -> Tensor:
    r"""Ones with the probability that each element tells."""
    if p is not None:
        return bernoulli_of(input.shape, p, input.dtype, generator)
    if input.dtype.kind != FLOATING:
        raise NotImplementedError(
            f"\"bernoulli_tensor_cpu_p_\" not implemented for '{scalar_name(input.dtype)}'"
        )
    probabilities = alias_of(input)
    if bool(((probabilities < 0) | (probabilities > 1)).any()):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    drawn = _uniform(input.shape, input.dtype, 0, 1, generator)
    out = cast(binary(Binary.LESS, drawn, probabilities), input.dtype)
    return record(out, (input,), lambda gradient: (gradient * 0,), "Bernoulli")


def _exponential(shape: Shape, d: dtype, rate: float, generator: Any) -> Tensor:
    drawn = (generator or default_generator).uniform_53(math.prod(shape))
    logarithm = unary(Unary.LOGARITHM_OF_1_MORE, unary(Unary.NEGATIVE, drawn))
    values = binary(Binary.DIVIDE, unary(Unary.NEGATIVE, logarithm), float(rate))
    return cast(values, d).view(shape)


def _check_probabilities(input: Tensor) -> None:
    if input.dtype.kind != FLOATING:
        raise RuntimeError(
            "multinomial only supports floating-point dtypes for input, got: "
            f"{scalar_name(input.dtype)}"
        )
    if not (~(input < 0) & input.isfinite()).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (input.sum(-1) == 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


@method
def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None
) -> Tensor:
    r"""Places, each as likely as its element tells."""
    if len(input.shape) not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > input.shape[-1]:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        )
    probabilities = alias_of(input)
    _check_probabilities(probabilities)
    if not replacement or num_samples == 1:
        exponential = _exponential(input.shape, input.dtype, 1.0, generator)
        raced = binary(Binary.DIVIDE, probabilities, exponential)
        if num_samples == 1:
            return raced.argmax(-1, keepdim=True)
        return raced.topk(num_samples)[1]
    rows = []
    for row in probabilities.reshape(-1, input.shape[-1]).tolist():
        sums = list(accumulate(row))
        drawn = (generator or default_generator).uniform_53(num_samples).tolist()
        rows.append([bisect.bisect_right(sums, one * sums[-1]) for one in drawn])
    return tensor(rows, dtype=int64).view(*input.shape[:-1], num_samples)


def normal(
    mean: Any, std: Any = 1.0, size: Any = None, *, generator: Any = None, **options: Any
) -> Tensor:
    r"""Normal numbers of a mean and a standard deviation, or of one for each element."""
    if isinstance(mean, Tensor) or isinstance(std, Tensor):
        if size is not None:
            raise TypeError("normal() received an invalid combination of arguments")
        given = [one for one in (mean, std) if isinstance(one, Tensor)]
        shape = broadcast(given[0].shape, given[-1].shape)
        noise = _normal(shape, Default.dtype, 0, 1, generator)
        return _drawn_from(noise, mean, std, given)
    _check_deviation(std)
    return _normal(shape_of_arguments((tuple(size),)), Default.dtype, mean, std, generator)


def _drawn_from(noise: Tensor, mean: Any, std: Any, given: list[Tensor]) -> Tensor:
    r"""What is drawn has no gradient for what it is drawn from: zeros."""
    shift, scale = (alias_of(one) if isinstance(one, Tensor) else one for one in (mean, std))
    shapes = [one.shape for one in given]

    def backward(gradient: Tensor) -> list[Tensor]:
        return [new(shape, gradient.dtype) for shape in shapes]

    return record(noise * scale + shift, given, backward, "Normal")


def _check_deviation(std: float) -> None:
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")


# In place
def _fill_with(self: Tensor, values: Tensor) -> Tensor:
    check_in_place(self)
    return overwrite(self, values, "Random")


def _uniform_(
    self: Tensor, a: float = 0.0, b: float = 1.0, *, generator: Generator | None = None, **to: Any
) -> Tensor:
    a, b = to.get("from", a), to.get("to", b)
    if a > b:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={a} > to={b}"
        )
    if self.dtype.kind != FLOATING:
        raise NotImplementedError(
            f"\"check_uniform_bounds\" not implemented for '{scalar_name(self.dtype)}'"
        )
    check_in_place(self)
    return _fill_with(self, _uniform(self.shape, self.dtype, a, b, generator))


def _normal_(
    self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    _check_deviation(std)
    check_in_place(self)
    return _fill_with(self, _normal(self.shape, self.dtype, mean, std, generator))


def _bernoulli_(self: Tensor, p: Any = 0.5, *, generator: Generator | None = None) -> Tensor:
    check_in_place(self)
    if isinstance(p, Tensor):
        return _fill_with(self, bernoulli(p.expand(self.shape), generator=generator).to(self.dtype))
    return _fill_with(self, bernoulli_of(self.shape, p, self.dtype, generator))


def _exponential_(
    self: Tensor, lambd: float = 1.0, *, generator: Generator | None = None
) -> Tensor:
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    check_in_place(self)
    return _fill_with(self, _exponential(self.shape, self.dtype, lambd, generator))


def _random_(
    self: Tensor, low: int = 0, high: int | None = None, *, generator: Generator | None = None
) -> Tensor:
    if high is None:
        d = self.dtype
        largest = 2 ** (8 * d.itemsize - d.is_signed) if d.kind == INTEGRAL else 2**24
        low, high = 0, low or largest
    check_in_place(self)
    drawn = randint(low, high, tuple(self.shape), generator=generator)
    return _fill_with(self, drawn.to(self.dtype))


for _name, _function in (
    ("uniform_", _uniform_),
    ("normal_", _normal_),
    ("bernoulli_", _bernoulli_),
    ("exponential_", _exponential_),
    ("random_", _random_),
):
    method(_function, _name)
