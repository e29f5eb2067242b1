r"""
---
title: Micro-Batches in Mixed Precision
summary: A batch in parts that fit into memory, in 16 bits, with a loss that is scaled for float16.
paper:
  title: Mixed Precision Training
  authors: Micikevicius et al.
  year: 2017
  link: https://arxiv.org/abs/1710.03740
terms:
  micro-batch: A part of a batch that is computed at once; the gradients of the parts are added.
  gradient scaling: A large factor on the loss, so that small gradients are not rounded to zero.
---

The [loop](../loop.py) computes a whole batch at once, in 32 bits. Two things can be in the way:

* The batch doesn't fit into memory. Then it is computed in *micro-batches*. Their losses add up to
  that of the batch, and their gradients to its gradient. Only one micro-batch's activations are in
  memory at a time.
* Training is slow. [16-bit numbers](../device.py) make matrix products faster. In `float16` they
  need *gradient scaling*. Gradients below $2^{-25}$ are rounded to zero there. So the loss, and
  with it each gradient, is multiplied by a large number, the *scale*.

**In:** optimizers, and how to compute. **Out:** what the loop takes in place of its own
`gradients`, `clip` and optimizer. Which scale is right? As large as possible. PyTorch's
`GradScaler` begins with 65,536. If a gradient overflows, the step is skipped and the scale is
halved; after 2,000 good steps it is doubled.
"""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.training.device import autocast
from labml_nn.training.engine.distributed import no_sync
from labml_nn.training.engine.processes import all_reduce_mean
from labml_nn.training.loop import clip_gradients
from labml_nn.training.mixed_step import Together


class MixedPrecision:
    r"""
    ## Mixed precision
    """

    def __init__(
        self,
        optimizers: Sequence[torch.optim.Optimizer],
        device: torch.device,
        dtype: torch.dtype,
        micro_batches: int = 1,
        clip: float = 1.0,
    ) -> None:
        r"""
        * `optimizers` are stepped one after another
        * `device` is that of the model, and `dtype` is what matrix products are computed in
        * `micro_batches` is the number of parts of a batch
        * `clip` is the greatest length of all gradients together
        """
        # They are [one to the scaler](../mixed_step.py#Together): with a bad gradient none makes a
        # step.
        self.together: Any = Together(optimizers)
        self.device = device
        self.dtype = dtype

        # The loop knows neither parts nor limits, so they are kept here.
        self.micro_batches = micro_batches
        self.max_length = clip

        # `bfloat16` has the range of `float32`. With both, the scaler is disabled and a step is a
        # plain step.
        self.scaler = torch.amp.GradScaler(device.type, enabled=dtype is torch.float16)

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        r"""
        ### The groups of all optimizers

        To the loop, this object is an optimizer: here it sets the learning rate of the step.
        """
        # Asked for anew each time, because an optimizer that loads its state from a checkpoint
        # makes new groups. A list that was made before would lead to the old ones: the rate would
        # stay as it is, and nothing would fail but the loss.
        return self.together.param_groups

    def gradients(self, model: nn.Module, inputs: Tensor, targets: Tensor) -> Tensor:
        r"""
        ### Gradients of a batch

        Returns its loss, that of all processes together.
        """
        # A tensor, not a number: reading the loss of each part would stop the GPU each time.
        n = self.micro_batches
        total = torch.zeros((), device=self.device)

        # Some of the columns; a window is never cut. The trainer has
        # [checked](distributed.py#check_batch) that all parts are equal; otherwise the mean would
        # be wrong.
        parts = zip(inputs.chunk(n, dim=1), targets.chunk(n, dim=1), strict=True)
        for index, (x, y) in enumerate(parts):
            # Processes exchange their gradients when they are complete, in the last backward pass.
            with no_sync(model, last=index == n - 1):
                # Divided by $n$, because the loss of the batch is the mean of the parts, not their
                # sum. Otherwise the gradient of four parts would be four times as long.
                with autocast(self.device, self.dtype):
                    logits = model(x)
                    loss = F.cross_entropy(logits.flatten(0, 1), y.flatten()) / n

                # `backward` adds to what the parts before have left. It frees the activations.
                self.scaler.scale(loss).backward()
            total += loss.detach()

        # The mean over the processes, which have as many windows each.
        return all_reduce_mean(total)

    def clip(self, model: nn.Module) -> None:
        r"""
        ### Clip the gradients
        """
        # Their true length is known only when the scale is removed. With the scale, all of them
        # would be longer than any limit.
        self.scaler.unscale_(self.together)
        clip_gradients(model, self.max_length)

    def step(self) -> None:
        r"""
        ### Step
        """
        # A step that would spoil the weights is skipped here.
        self.scaler.step(self.together)

        # The next scale.
        self.scaler.update()


def example(batch_size: int = 3, n_vocab: int = 5, seq_len: int = 7) -> Tensor:
    r"""
    ## Example

    The loss of a batch in parts is that of the whole.

    ### Exercises

    ??? question "Forget to divide by $n$. Which test on this site would notice?"
        One that compares the gradients, or the losses, of one part and of several. The weights move
        nearly as before, since [AdamW](../../optimizers/adamw.py) divides each gradient by its
        usual size anyway, but the loss that is reported is $n$ times as large.

    ??? question "Gradients are $2^{-30}$ and the scale is 65,536. Do they survive in `float16`?"
        Yes: $2^{-30} \cdot 2^{16} = 2^{-14}$, the smallest normal number.

    ??? question "What changes if dropout is on?"
        The parts draw other numbers than the whole batch, so the losses differ a little.
    """
    # Three windows, first together and then one at a time.
    model = nn.Embedding(n_vocab, n_vocab)
    cpu = torch.device("cpu")
    tokens = torch.randint(n_vocab, (seq_len, batch_size))
    whole = MixedPrecision([], cpu, torch.float32, 1)
    single = MixedPrecision([], cpu, torch.float32, batch_size)
    loss = whole.gradients(model, tokens, tokens)

    # Equal up to rounding.
    torch.testing.assert_close(single.gradients(model, tokens, tokens), loss)
    return loss
