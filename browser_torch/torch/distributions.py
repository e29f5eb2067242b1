r"""Distributions: what is drawn, and how likely it is."""

import math
import sys
from typing import Any

from torch import _elementwise, _indexing, _random
from torch._absent import absent
from torch._making import as_tensor, ones_like, zeros_like
from torch._shapes import Size, broadcast
from torch._tape import no_grad
from torch._tensor import Tensor


def _together(*values: Any) -> list[Tensor]:
    r"""Numbers and tensors as tensors of one shape."""
    tensors = [one if isinstance(one, Tensor) else as_tensor(float(one)) for one in values]
    shape: Any = ()
    for one in tensors:
        shape = broadcast(shape, one.shape)
    return [one.expand(shape) for one in tensors]


class Distribution:
    r"""What all of them have: the shape of a batch of them, and that of one draw."""

    has_rsample = False

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), **options: Any) -> None:
        self.batch_shape = Size(batch_shape)
        self.event_shape = Size(event_shape)

    def _shape(self, sample_shape: Any) -> tuple[int, ...]:
        return (*sample_shape, *self.batch_shape, *self.event_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        r"""Draws so that gradients reach the parameters, where that can be."""
        raise NotImplementedError

    def sample(self, sample_shape: Any = ()) -> Tensor:
        r"""Draws."""
        with no_grad():
            return self.rsample(sample_shape)

    @property
    def stddev(self) -> Tensor:
        r"""The root of the variance."""
        return self.variance.sqrt()


class Normal(Distribution):
    r"""The bell."""

    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: Any = None) -> None:
        self.loc, self.scale = _together(loc, scale)
        super().__init__(self.loc.shape)

    mean = property(lambda self: self.loc)
    mode = mean
    stddev = property(lambda self: self.scale)
    variance = property(lambda self: self.scale.square())

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        r"""Draws, with gradients."""
        noise = _random.normal(zeros_like(self.loc).expand(self._shape(sample_shape)), 1.0)
        return self.loc + noise * self.scale

    def sample(self, sample_shape: Any = ()) -> Tensor:
        r"""Draws."""
        shape = self._shape(sample_shape)
        with no_grad():
            return _random.normal(self.loc.expand(shape), self.scale.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        r"""The logarithm of the density."""
        far = (value - self.loc) ** 2 / (2 * self.scale**2)
        return -far - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def entropy(self) -> Tensor:
        r"""How uncertain a draw is, in nats."""
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    def cdf(self, value: Tensor) -> Tensor:
        r"""How likely a draw is to be smaller."""
        return 0.5 * (1 + ((value - self.loc) / self.scale / math.sqrt(2)).erf())


class Uniform(Distribution):
    r"""The same density between two ends."""

    has_rsample = True

    def __init__(self, low: Any, high: Any, validate_args: Any = None) -> None:
        self.low, self.high = _together(low, high)
        super().__init__(self.low.shape)

    mean = property(lambda self: (self.high + self.low) / 2)
    variance = property(lambda self: (self.high - self.low).square() / 12)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        r"""Draws, with gradients."""
        drawn = _random.rand(*self._shape(sample_shape), dtype=self.low.dtype)
        return self.low + drawn * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        r"""The logarithm of the density."""
        inside = (self.low <= value) & (self.high > value)
        return inside.to(self.low.dtype).log() - (self.high - self.low).log()

    def entropy(self) -> Tensor:
        r"""How uncertain a draw is, in nats."""
        return (self.high - self.low).log()


class Exponential(Distribution):
    r"""How long one waits for what comes at a rate."""

    has_rsample = True

    def __init__(self, rate: Any, validate_args: Any = None) -> None:
        (self.rate,) = _together(rate)
        super().__init__(self.rate.shape)

    mean = property(lambda self: self.rate.reciprocal())
    variance = property(lambda self: self.rate.pow(-2))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        r"""Draws, with gradients."""
        return zeros_like(self.rate.expand(self._shape(sample_shape))).exponential_() / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        r"""The logarithm of the density."""
        return self.rate.log() - self.rate * value

    def entropy(self) -> Tensor:
        r"""How uncertain a draw is, in nats."""
        return 1.0 - self.rate.log()


def _check_one(probs: Any, logits: Any) -> None:
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


class Bernoulli(Distribution):
    r"""1 with a probability, else 0."""

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        _check_one(probs, logits)
        (given,) = _together(logits if probs is None else probs)
        self.probs = given.sigmoid() if probs is None else given
        eps = 1.1920928955078125e-07
        inside = self.probs.clamp(min=eps, max=1 - eps)
        self.logits = given if probs is None else inside.log() - (-inside).log1p()
        super().__init__(given.shape)

    mean = property(lambda self: self.probs)
    variance = property(lambda self: self.probs * (1 - self.probs))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        r"""Draws."""
        with no_grad():
            return _random.bernoulli(self.probs.expand(self._shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        r"""The logarithm of the probability."""
        return -self._cross_entropy(value)

    def entropy(self) -> Tensor:
        r"""How uncertain a draw is, in nats."""
        return self._cross_entropy(self.probs)

    def _cross_entropy(self, value: Tensor) -> Tensor:
        from torch.nn.functional import binary_cross_entropy_with_logits

        logits, value = _together(self.logits, value)
        return binary_cross_entropy_with_logits(logits, value, reduction="none")


class Categorical(Distribution):
    r"""One of several, each with its probability."""

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: Any = None) -> None:
        _check_one(probs, logits)
        given = logits if probs is None else probs
        if not given.shape:
            kind = "logits" if probs is None else "probs"
            raise ValueError(f"`{kind}` parameter must be at least one-dimensional.")
        if probs is None:
            self.logits = logits - logits.logsumexp(-1, keepdim=True)
            self.probs = self.logits.softmax(-1)
        else:
            if bool((probs < 0).any()):
                raise ValueError(
                    f"Expected parameter probs (Tensor of shape {tuple(probs.shape)}) of "
                    f"distribution Categorical(probs: {probs.shape}) to satisfy the constraint "
                    f"Simplex(), but found invalid values:\n{probs}"
                )
            self.probs = probs / probs.sum(-1, keepdim=True)
            eps = 1.1920928955078125e-07
            self.logits = self.probs.clamp(min=eps, max=1 - eps).log()
        super().__init__(given.shape[:-1])

    @property
    def param_shape(self) -> Size:
        r"""The shape of the probabilities."""
        return self.probs.shape

    @property
    def mode(self) -> Tensor:
        r"""The most likely one."""
        return self.probs.argmax(-1)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        r"""Draws numbers."""
        with no_grad():
            flat = self.probs.reshape(-1, self.probs.shape[-1])
            count = math.prod(sample_shape)
            drawn = _random.multinomial(flat, count, True).t()
            return drawn.reshape(self._shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        r"""The logarithm of the probability."""
        value = value.long().unsqueeze(-1)
        shape = broadcast(value.shape[:-1], self.logits.shape[:-1])
        logits = self.logits.expand(*shape, self.logits.shape[-1])
        return _indexing.gather(logits, -1, value.expand(*shape, 1)).squeeze(-1)

    def entropy(self) -> Tensor:
        r"""How uncertain a draw is, in nats."""
        lowest = -3.4028234663852886e38
        return -(self.logits.clamp(min=lowest) * self.probs).sum(-1)


class Multinomial(Distribution):
    r"""How often each of several comes in a number of draws."""

    def __init__(
        self,
        total_count: int = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: Any = None,
    ) -> None:
        self._one = Categorical(probs, logits)
        self.total_count = total_count
        self.probs, self.logits = self._one.probs, self._one.logits
        super().__init__(self.probs.shape[:-1], self.probs.shape[-1:])

    mean = property(lambda self: self.probs * self.total_count)
    variance = property(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape: Any = ()) -> Tensor:
        r"""Draws counts."""
        drawn = self._one.sample((self.total_count, *sample_shape))
        drawn = drawn.permute([*range(1, len(drawn.shape)), 0])
        counts = zeros_like(self.probs.detach().expand(self._shape(sample_shape))).clone()
        return counts.scatter_add_(-1, drawn, ones_like(drawn).to(counts.dtype))


class MultivariateNormal(Distribution):
    r"""The bell in several dimensions."""

    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: Any = None,
    ) -> None:
        from torch.linalg import cholesky, inv

        if precision_matrix is not None:
            covariance_matrix = inv(precision_matrix)
        self.loc = loc
        self.scale_tril = cholesky(covariance_matrix) if scale_tril is None else scale_tril
        self.covariance_matrix = self.scale_tril @ self.scale_tril.mT
        super().__init__(broadcast(loc.shape[:-1], self.scale_tril.shape[:-2]), self.loc.shape[-1:])

    mean = property(lambda self: self.loc)
    mode = mean

    @property
    def variance(self) -> Tensor:
        r"""That of each dimension."""
        return self.scale_tril.square().sum(-1).expand(*self.batch_shape, *self.event_shape)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        r"""Draws, with gradients."""
        noise = _random.normal(zeros_like(self.loc).expand(self._shape(sample_shape)), 1.0)
        return self.loc + (self.scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        r"""The logarithm of the density."""
        from torch.linalg import solve_triangular

        far = value - self.loc
        whole = solve_triangular(self.scale_tril, far.unsqueeze(-1), upper=False).squeeze(-1)
        size = self.event_shape[0]
        half = self.scale_tril.diagonal(0, -2, -1).log().sum(-1)
        return -0.5 * (size * math.log(2 * math.pi) + whole.square().sum(-1)) - half


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    r"""How many nats more `q` needs for draws of `p`."""
    if isinstance(p, Normal) and isinstance(q, Normal):
        ratio = (p.scale / q.scale) ** 2
        return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())
    if isinstance(p, Categorical) and isinstance(q, Categorical):
        parts = p.probs * (p.logits - q.logits)
        return _elementwise.where(p.probs == 0, zeros_like(parts), parts).sum(-1)
    raise NotImplementedError(
        f"kl_divergence of {type(p).__name__} and {type(q).__name__} is not in the browser's "
        "torch: use the mean of p.log_prob(x) - q.log_prob(x) over draws of p."
    )


for _file in (
    "bernoulli categorical distribution exponential kl multinomial multivariate_normal normal "
    "uniform"
).split():
    # PyTorch's `torch.distributions.normal` has `Normal`; here each of the names has all.
    sys.modules[f"{__name__}.{_file}"] = sys.modules[__name__]
    globals()[_file] = sys.modules[__name__]

__getattr__ = absent(
    "module 'torch.distributions'", lambda: list(globals()), {"Beta": "Uniform or Normal"}
)
