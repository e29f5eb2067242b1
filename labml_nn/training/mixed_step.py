r"""
---
title: A Step in Sixteen Bits
summary: What the training loop takes, so that a GPU multiplies with 16-bit numbers.
know: device.py
---

A GPU multiplies 16-bit numbers several times as fast as 32-bit ones, and [there are two
formats](device.py). In `bfloat16` a gradient of $10^{-9}$ is $10^{-9}$; a step needs nothing else.
In `float16` it is zero, an *underflow*. So the loss is multiplied by 65,536 first, and the gradient
by the same factor: $6.6 \cdot 10^{-5}$, which `float16` can hold. Before the step it is divided by
the factor again. This *gradient scaling* is what PyTorch's `GradScaler` does.

**In:** optimizers, and the type to multiply in. **Out:** one object that is the
[loop's](loop.py#train) `gradients`, its `clip`, and its optimizer. With 32 bits, which is what a
CPU gets unless you say otherwise, its step is the plain step, to the last digit.

What if a gradient is too large after that? `float16` ends at 65,504. A gradient of 1.5 times 65,536
is infinite. Then the step is left out, and the factor is halved. After 2,000 good steps in a row it
is doubled.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from labml_nn.training.device import autocast, choose_precision
from labml_nn.training.loop import clip_gradients, gradients


def training_type(device: torch.device, float16: bool = False) -> torch.dtype:
    r"""
    ## What to multiply in

    `bfloat16` on a GPU that has it. `float16` only if you ask for it and the GPU has nothing
    better.
    """
    # On a CPU a seed should give the losses that a page tells, and those are of 32 bits.
    if device.type == "cpu":
        return torch.float32

    # An older GPU has `float16` alone, with its factor and its steps that are left out.
    found = choose_precision("auto", device)
    return torch.float32 if found is torch.float16 and not float16 else found


class Together:
    r"""
    ## Several optimizers as one

    Say that Muon has a matrix whose gradient has a NaN in it, and AdamW a bias with the gradient
    0.2. The scaler looks at each optimizer by itself: it passes over Muon, and lets AdamW step. But
    [clipping](loop.py#clip_gradients) has divided *all* gradients by their length together, which
    is NaN, so the 0.2 is NaN as well, and the step would spoil the bias. As one optimizer, they
    make a step together or none.
    """

    def __init__(self, optimizers: Sequence[torch.optim.Optimizer]) -> None:
        r"""
        * `optimizers` are stepped one after another
        """
        self.optimizers = optimizers

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        r"""
        ### The groups of all optimizers
        """
        # They are looked up each time, since an optimizer that is loaded from a file makes new
        # ones.
        return [group for one in self.optimizers for group in one.param_groups]

    def step(self) -> None:
        r"""
        ### The steps of all
        """
        for optimizer in self.optimizers:
            optimizer.step()


class MixedStep:
    r"""
    ## A step in mixed precision
    """

    def __init__(
        self,
        optimizers: Sequence[torch.optim.Optimizer],
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        r"""
        * `optimizers` are stepped one after another
        * `device` is where the model is
        * `dtype` is what matrix products are computed in
        """
        # They share one factor, and are one optimizer to the scaler, which needs no more of it than
        # its groups and its step.
        self.optimizers = optimizers
        self.together: Any = Together(optimizers)

        # The weights stay in 32 bits. The factors of each product are converted.
        self.context = partial(autocast, device, dtype)

        # `bfloat16` has the range of 32 bits. A scaler that isn't enabled changes nothing.
        self.scaler = torch.amp.GradScaler(device.type, enabled=dtype is torch.float16)

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        r"""
        ### What the loop sets
        """
        # The learning rates of all groups.
        return self.together.param_groups

    def gradients(self, model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
        r"""
        ### Loss and gradients

        `inputs` and `targets` are `[seq_len, batch_size]`. The result is the loss itself, without
        the factor.
        """
        # Without a factor it is the function of the loop.
        if not self.scaler.is_enabled():
            return gradients(model, inputs, targets, self.context)

        # The loss is computed in 32 bits, because it needs the digits. Then it is multiplied, and
        # the backward pass multiplies each gradient with it. What is recorded is the loss itself,
        # or the curve would show the factor.
        with self.context():
            logits = model(inputs)
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        self.scaler.scale(loss).backward()
        return loss.detach()

    def clip(self, model: nn.Module) -> None:
        r"""
        ### Clip the gradients
        """
        # Their length is right only without the factor. So it is divided by here, and not again in
        # the step.
        self.scaler.unscale_(self.together)
        clip_gradients(model)

    def step(self) -> None:
        r"""
        ### Step
        """
        # With an infinite gradient the optimizers are passed over, and remember nothing of it: one
        # such number would stay in their averages for ever.
        self.scaler.step(self.together)

        # Then the factor is halved, or doubled after many good steps.
        self.scaler.update()

    def state_dict(self) -> dict[str, Any]:
        r"""
        ### What has to be kept
        """
        # The factor is a part of the run: with another one, another step may be left out.
        return {
            "optimizers": [one.state_dict() for one in self.optimizers],
            "scaler": self.scaler.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        r"""
        ### As it was kept
        """
        # In the order in which they were given.
        for one, its_own in zip(self.optimizers, state["optimizers"], strict=True):
            one.load_state_dict(its_own)

        # A run in 32 bits or in `bfloat16` has kept no factor.
        if state["scaler"]:
            self.scaler.load_state_dict(state["scaler"])


def example(seq_len: int = 7, batch_size: int = 3, n_vocab: int = 11) -> Tensor:
    r"""
    ## Example

    A table of pairs makes a step, with products in `bfloat16`.

    ### Measured here

    On a CPU, after 200 steps, the loss in `bfloat16` differs from that in 32 bits by at most
    [0.0010](../../results/sixteen_bits.json#values.apart.classic.types) with the classic model, and
    by [0.0005](../../results/sixteen_bits.json#values.apart.modern.types) with the modern one, from
    the same seed. The seeds differ by
    [0.021](../../results/sixteen_bits.json#values.apart.classic.seeds) and
    [0.032](../../results/sixteen_bits.json#values.apart.modern.seeds). `float16` and its factor we
    haven't run on a GPU.

    [Training in 32 bits and in bfloat16, three seeds
    each](../../results/sixteen_bits.json#tables.losses)

    ### Weights in sixteen bits

    A weight of 0.1 in `bfloat16` has neighbours 0.0005 away. A step of 0.0002 is less than half of
    that, so it is rounded to no step at all, again and again. A small model shows it at a rate of
    0.0003: after 200 steps its loss is
    [3.175](../../results/precision.json#tables.ways.weights%20in%20bfloat16%2C%20too.loss) if its
    weights have 16 bits as well, and
    [2.967](../../results/precision.json#tables.ways.products%20in%20bfloat16.loss) if only the
    products have. That is the loss of 32 bits. It is the rounding of the weights: with all else in
    32 bits, and the weights rounded after each step, we got the higher loss as well; with all else
    in `bfloat16`, and steps on weights of 32 bits, the lower one.

    [Where the 16 bits are, and the loss after 200 steps; means of three
    seeds](../../results/precision.json#tables.ways)

    The underflow of `float16` is rare in this model: of the gradients that aren't zero,
    [0.0012](../../results/precision.json#values.to_zero.plain) would become zero. With the factor,
    nearly none would.

    ### Exercises

    ??? question "Clip before `unscale_`. What happens with gradient descent?"
        - [ ] Nothing: clipping keeps the direction.
            - The direction is right, and the length is not.
        - [x] The steps are up to 65,536 times too short.
            - Yes. The gradients with the factor are long, so they are cut to the limit of 1, and
              divided by the factor afterwards: all together are then 1/65,536 long, whether they
              were 0.1, 1 or 10 long. AdamW divides by their usual size, and hides the mistake but
              for its `eps`: of $10^{-8}$, it is as large as such gradients are. When we tried it,
              the loss was a little higher, and with a smaller `eps` it was as usual.
        - [ ] The steps are too long.
            - Clipping never makes a gradient longer.

    ??? question "Why do the weights stay in 32 bits?"
        - [x] A step often changes a weight by less than the last digit of 16 bits.
            - Yes. 256 + 1 is 256 in `bfloat16`: a weight would stay where it is, step after step.
        - [ ] The GPU can't store 16-bit numbers.
            - It can, and saves memory with it.
        - [ ] Gradients would be zero.
            - The type of the weights doesn't decide that. The factor helps against it.

    ??? question "The loss is 2.3, and times 65,536 it is 150,733. `float16` ends at 65,504. Well?"
        - [ ] The loss is infinite, and every step is left out.
            - It would be, if it were computed in 16 bits.
        - [x] The loss is computed in 32 bits, so it is 150,733.
            - Yes. Only its gradients go through 16 bits, and they are far smaller than the loss.
        - [ ] The factor is halved twice, and then it fits.
            - That happens when a *gradient* is infinite.
    """
    # The embedding only looks up a row. The product of the linear layer is what is computed in 16
    # bits.
    model = nn.Sequential(nn.Embedding(n_vocab, 2), nn.Linear(2, n_vocab))
    optimizers = [torch.optim.SGD(model.parameters(), 0.1)]
    mixed = MixedStep(optimizers, torch.device("cpu"), torch.bfloat16)

    # As the loop does it: gradients, clip, step. Random tokens will do for one step.
    tokens = torch.randint(n_vocab, (seq_len + 1, batch_size))
    loss = mixed.gradients(model, tokens[:-1], tokens[1:])
    mixed.clip(model)
    mixed.step()
    return loss
