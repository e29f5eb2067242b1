r"""Optimizers."""

import math
from functools import lru_cache
from typing import Any

from torch._absent import absent
from torch._dtypes import float32
from torch._making import zeros_like
from torch._memory import Operation, bits, run
from torch._raw import contiguous, fill
from torch._tensor import Tensor
from torch.optim import lr_scheduler
from torch.optim.optimizer import Optimizer

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "RMSprop", "Adagrad", "Adadelta", "lr_scheduler"]


def _check_rate(lr: Any) -> None:
    if not 0.0 <= float(lr):
        raise ValueError(f"Invalid learning rate: {lr}")


@lru_cache
def _as_bits(*numbers: float) -> tuple[int, ...]:
    r"""Numbers as a kernel takes them; those of a group are the same for all its parameters."""
    return tuple(bits(float(one)) for one in numbers)


class Adam(Optimizer):
    r"""Steps of about one size, whatever the size of the gradient."""

    decoupled = False

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        _check_rate(lr)
        if not 0.0 <= eps:
            raise ValueError(f"Invalid epsilon value: {eps}")
        for place, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {place}: {beta}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if amsgrad:
            raise NotImplementedError(
                "optim.Adam with amsgrad is not in the browser's torch: use it without."
            )
        defaults = dict(
            lr=lr,
            betas=betas,
            eps=eps,
            weight_decay=weight_decay,
            amsgrad=amsgrad,
            maximize=maximize,
            foreach=foreach,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=self.decoupled,
        )
        super().__init__(params, defaults)

    def update(
        self, parameter: Tensor, gradient: Tensor, group: dict[str, Any], state: dict[str, Any]
    ) -> None:
        r"""A step along the running mean, divided by the root of the mean of squares."""
        if not state:
            from torch._making import tensor

            state["step"] = tensor(0.0)
            state["exp_avg"] = zeros_like(parameter)
            state["exp_avg_sq"] = zeros_like(parameter)
        counted = state["step"]
        beta1, beta2 = group["betas"]
        rate, decay = float(group["lr"]), group["weight_decay"]
        gradient = -gradient if group["maximize"] else gradient
        if decay and not self.decoupled:
            gradient, decay = gradient + parameter.detach() * decay, 0.0
        mean, squares = state["exp_avg"], state["exp_avg_sq"]
        single = parameter.dtype is float32 and counted.dtype is float32
        if single and parameter.is_contiguous() and mean.is_contiguous():
            numbers = _as_bits(rate, beta1, beta2, group["eps"], decay)
            run(Operation.ADAMW, numbers, parameter, contiguous(gradient), mean, squares, counted)
            parameter._counter.version += 1
            return
        steps = counted.item() + 1
        fill(counted, steps)
        corrections = 1 - beta1**steps, 1 - beta2**steps
        parameter.mul_(1 - rate * decay)
        mean.lerp_(gradient, 1 - beta1)
        squares.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        size = squares.sqrt() / math.sqrt(corrections[1]) + group["eps"]
        parameter.addcdiv_(mean, size, value=-rate / corrections[0])


class AdamW(Adam):
    r"""Adam whose weight decay is a step of its own."""

    decoupled = True

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, **options)


class SGD(Optimizer):
    r"""A step against the gradient, or its running sum."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        _check_rate(lr)
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = dict(
            lr=lr,
            momentum=momentum,
            dampening=dampening,
            weight_decay=weight_decay,
            nesterov=nesterov,
            maximize=maximize,
            foreach=foreach,
            differentiable=differentiable,
            fused=fused,
        )
        super().__init__(params, defaults)

    def update(
        self, parameter: Tensor, gradient: Tensor, group: dict[str, Any], state: dict[str, Any]
    ) -> None:
        r"""A step."""
        gradient = -gradient if group["maximize"] else gradient
        if group["weight_decay"]:
            gradient = gradient + parameter.detach() * group["weight_decay"]
        momentum = group["momentum"]
        if momentum:
            if "momentum_buffer" in state:
                buffer = state["momentum_buffer"]
                buffer.mul_(momentum).add_(gradient, alpha=1 - group["dampening"])
            else:
                buffer = state["momentum_buffer"] = gradient.clone()
            gradient = gradient + buffer * momentum if group["nesterov"] else buffer
        parameter.add_(gradient, alpha=-float(group["lr"]))


class RMSprop(Optimizer):
    r"""A step divided by the root of the running mean of squares."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
    ) -> None:
        _check_rate(lr)
        defaults = dict(lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay, momentum=momentum)
        super().__init__(params, defaults)

    def update(
        self, parameter: Tensor, gradient: Tensor, group: dict[str, Any], state: dict[str, Any]
    ) -> None:
        r"""A step."""
        if group["weight_decay"]:
            gradient = gradient + parameter.detach() * group["weight_decay"]
        if not state:
            state["square_avg"] = zeros_like(parameter)
            state["momentum_buffer"] = zeros_like(parameter)
        squares, alpha = state["square_avg"], group["alpha"]
        squares.mul_(alpha).addcmul_(gradient, gradient, value=1 - alpha)
        step = gradient / (squares.sqrt() + group["eps"])
        if group["momentum"]:
            step = state["momentum_buffer"].mul_(group["momentum"]).add_(step)
        parameter.add_(step, alpha=-float(group["lr"]))


class Adagrad(Optimizer):
    r"""A step divided by the root of the sum of all squares."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
    ) -> None:
        _check_rate(lr)
        defaults = dict(lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay)
        super().__init__(params, defaults)
        self.initial = initial_accumulator_value

    def update(
        self, parameter: Tensor, gradient: Tensor, group: dict[str, Any], state: dict[str, Any]
    ) -> None:
        r"""A step."""
        if group["weight_decay"]:
            gradient = gradient + parameter.detach() * group["weight_decay"]
        if not state:
            state["step"], state["sum"] = 0, zeros_like(parameter) + self.initial
        state["step"] += 1
        rate = float(group["lr"]) / (1 + (state["step"] - 1) * group["lr_decay"])
        squares = state["sum"].addcmul_(gradient, gradient)
        parameter.addcdiv_(gradient, squares.sqrt() + group["eps"], value=-rate)


class Adadelta(Optimizer):
    r"""Steps as large as those before them, however large the gradient is."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
    ) -> None:
        _check_rate(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        super().__init__(params, dict(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay))

    def update(
        self, parameter: Tensor, gradient: Tensor, group: dict[str, Any], state: dict[str, Any]
    ) -> None:
        r"""A step."""
        if group["weight_decay"]:
            gradient = gradient + parameter.detach() * group["weight_decay"]
        if not state:
            state["square_avg"] = zeros_like(parameter)
            state["acc_delta"] = zeros_like(parameter)
        squares, steps, rho, eps = (
            state["square_avg"],
            state["acc_delta"],
            group["rho"],
            group["eps"],
        )
        squares.mul_(rho).addcmul_(gradient, gradient, value=1 - rho)
        step = (steps + eps).sqrt() / (squares + eps).sqrt() * gradient
        steps.mul_(rho).addcmul_(step, step, value=1 - rho)
        parameter.add_(step, alpha=-float(group["lr"]))


__getattr__ = absent("module 'torch.optim'", lambda: list(globals()), {})

# As in PyTorch: the module is imported, and not an attribute.
del optimizer  # noqa: F821
