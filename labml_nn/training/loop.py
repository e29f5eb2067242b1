r"""
---
title: The Training Loop
summary: Predict, compare, differentiate, move, two thousand times.
terms:
  gradient clipping: Shortens the gradient of all weights together when it is longer than a limit.
  learning rate: How far a step moves the weights.
  warm-up: The first steps of a training, in which the learning rate rises.
---

A model that knows nothing has the loss of guessing:
[4.190](../../results/counting.json#values.guessing) nats a character for the 66 tokens of Tiny
Shakespeare, 65 characters and one for any other. Training lowers it by repeating four steps:
*predict* the next characters, *compare* the predictions with the text, *differentiate* the loss
with respect to every weight, and *move* each weight a little in the direction that lowers the loss.

Take one letter that is followed by one of three others, with logits of 0, 0 and 0. *Predict:* each
has a probability of 1/3. *Compare:* the first one came, so the loss is $\ln 3 = 1.10$.
*Differentiate:* the gradient is the probability, less 1 for the right letter: −2/3, 1/3, 1/3.
*Move* against it with a rate of 1: the logits are 0.67, −0.33 and −0.33, the first letter has a
probability of 0.58, and the loss is 0.55.

The whole loop is short:

```python
model = nn.Embedding(n_vocab, n_vocab)
nn.init.zeros_(model.weight)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.03)
for step in range(400):
    inputs, targets = batches.at(step)
    logits = model(inputs)
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

On a first reading you can stop here. Below, the rate rises and falls, and long gradients are
clipped.

**In:** a model that turns tokens, `[seq_len, batch_size]`, into logits, `[seq_len, batch_size,
n_vocab]`; a function that gives the batch of a step; an optimizer. **Out:** the same model with
better weights.

To test a loop, train a model whose result is known. A table with a row of logits for each letter
can learn [letter pairs](counting.py#count_pairs) and nothing else. Counting gives them a loss of
2.482, and this loop reaches [2.492](../../results/counting.json#values.learned) in 2,000 steps.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.training.data import fixed_windows


def learning_rate(step: int, steps: int, warmup: float = 0.05, final: float = 0.1) -> float:
    r"""
    ## Learning rate schedule

    The rate of a step, as a share of the highest rate. AdamW divides each gradient by its usual
    size, and after one step it knows one gradient: a weight whose gradient was 0.001 moves as far
    as one whose gradient was 1. So the rate rises slowly at first. With our usual rate that gains
    nothing that we could measure; [with higher ones](loop.py#example) it does. At the end the rate
    falls, and the weights settle. In our runs the fall matters most.

    [The learning rate in the course of 2,000 steps](../../results/drawings.json#figures.schedule)
    """
    # A straight line up to 1.
    rising = round(warmup * steps)
    if step < rising:
        return (step + 1) / rising

    # Half a cosine from 1 down to `final`. With a rise that takes all steps, only a step after the
    # last gets here, and `max` divides by 1, not by 0.
    progress = (step - rising) / max(1, steps - rising)
    return final + (1 - final) * 0.5 * (1 + math.cos(math.pi * progress))


def adamw(model: nn.Module, rate: float = 3e-3, weight_decay: float = 0.1) -> torch.optim.AdamW:
    r"""
    ## AdamW

    Weight decay pulls weights towards zero: with a rate of 0.003 and a decay of 0.1, a weight of 1
    loses 0.0003 in a step. It is customary to decay matrices, and to leave biases and the scales of
    normalisations alone.
    """
    # A matrix has two axes or more, and so has a table of embeddings.
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    groups = [
        {"params": matrices, "weight_decay": weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]

    # `betas` are the memories of the gradients and of their squares: the first reaches back about
    # 10 steps, the second about 100. The second is usually 0.999, for 1,000 steps; our runs are
    # short. `fused` updates all weights of a group in one call; the result is the same up to
    # rounding.
    return torch.optim.AdamW(groups, rate, betas=(0.9, 0.99), fused=True)


def gradients(
    model: nn.Module,
    inputs: Tensor,
    targets: Tensor,
    context: Callable[[], AbstractContextManager] = nullcontext,
) -> Tensor:
    r"""
    ## Loss and gradients of a batch

    `inputs` and `targets` are `[seq_len, batch_size]`. The gradients are added to those that the
    weights have already. `context` surrounds the forward pass: [autocast](device.py#autocast), for
    example.
    """
    # **Predict.** Each position predicts the token after it, so a batch of twelve windows of 64
    # characters is 768 examples.
    with context():
        logits = model(inputs)

        # **Compare.** The cross entropy is $-\ln p$ of the right token, averaged: 0 if the model is
        # always sure and right, $\ln 66$ if it guesses.
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())

    # **Differentiate.** Each weight gets the derivative of the loss in its `grad`: a small change
    # of the weight changes the loss by that many times as much.
    loss.backward()

    # For recording, a number alone: `backward` has freed the computation, and this lets go of the
    # rest of its graph.
    return loss.detach()


def clip_gradients(model: nn.Module, length: float = 1.0) -> None:
    r"""
    ## Gradient clipping

    One odd batch spoils the memory of AdamW. Say all gradients of a weight are 1, and then comes
    one of 100. Its square, 10,000, counts for a hundredth in the mean of squares: the mean is 101
    now. Some 40 steps later the odd gradient itself is nearly forgotten, and steps are a seventh as
    long as before; after 100 steps they are still a sixth. The remedy: if all gradients together
    are longer than `length`, they are shortened. Their direction stays.
    """
    # The length of all gradients as one vector: the root of the sum of all squares.
    nn.utils.clip_grad_norm_(model.parameters(), length)


def train(
    model: nn.Module,
    batch_at: Callable[[int], tuple[Tensor, Tensor]],
    optimizers: Sequence[torch.optim.Optimizer],
    steps: int,
    *,
    start: int = 0,
    schedule: Callable[[int, int], float] = learning_rate,
    gradients: Callable[[nn.Module, Tensor, Tensor], Tensor] = gradients,
    clip: Callable[[nn.Module], None] = clip_gradients,
    after_step: Callable[[int, Tensor], bool | None] = lambda step, loss: None,
) -> None:
    r"""
    ## Training loop

    * `batch_at` gives the inputs and targets of a step. They depend on the step alone, so a run
      that was interrupted sees the batches it would have seen
    * `optimizers` are usually one; some models have another one for their matrices
    * `start` is the first step, above zero for a resumed run
    * `schedule` takes a step and the number of steps, and gives the learning rate of that step as a
      share of the highest
    * `gradients` and `clip` are the two functions above, or what a larger run has in their place
    * `after_step` gets the number of steps done and the loss; if it returns true, training stops
    """
    # Each step overwrites `lr`, so the highest rate is kept under another name. The optimizer saves
    # it with its state: a run that is resumed still knows it.
    groups = [group for optimizer in optimizers for group in optimizer.param_groups]
    for group in groups:
        group.setdefault("initial_lr", group["lr"])

    # Dropout is on, whatever the model did before.
    model.train()
    for step in range(start, steps):
        # The rate of this step.
        for group in groups:
            group["lr"] = group["initial_lr"] * schedule(step, steps)

        # `backward` adds to the gradients that are there, so the old ones go first. `set_to_none`,
        # PyTorch's default, leaves none in their place, and not zeros. AdamW doesn't move a weight
        # without a gradient; one with a gradient of zeros it still moves, by what it remembers.
        model.zero_grad(set_to_none=True)

        # Then predict, compare and differentiate.
        loss = gradients(model, *batch_at(step))
        clip(model)

        # **Move** every weight a little against its gradient.
        for optimizer in optimizers:
            optimizer.step()

        # What happens between two steps is up to the caller.
        if after_step(step + 1, loss):
            break


@torch.no_grad()
def evaluate(model: nn.Module, tokens: Tensor, seq_len: int, batch_size: int = 64) -> float:
    r"""
    ## Validation loss

    The mean cross entropy, in nats a token, over [all windows](data.py#fixed_windows) of `tokens`.
    Nothing about it is random. `batch_size` only bounds the memory that it takes.
    """
    # Dropout is for training; here it would make the loss larger, and random.
    was_training = model.training
    model.eval()

    # The text may be on the CPU and the model on the GPU.
    total = 0.0
    device = next(model.parameters()).device
    for inputs, targets in fixed_windows(tokens, seq_len):
        # Sums, not means: the last batch and the last window are smaller than the others.
        for x, y in zip(inputs.split(batch_size, 1), targets.split(batch_size, 1), strict=True):
            logits = model(x.to(device)).flatten(0, 1)
            total += F.cross_entropy(logits, y.to(device).flatten(), reduction="sum").item()

    # As it was before.
    model.train(was_training)

    # All tokens but the first were predicted.
    return total / (len(tokens) - 1)


def example(seq_len: int = 7, batch_size: int = 3, n_vocab: int = 11) -> Tensor:
    r"""
    ## Example

    A table of pairs as the model: row $i$ has the logits of the token after token $i$. In an
    alphabet, one token is enough to know the next, so the loss goes to nearly zero.

    ### Measured here

    The table of pairs starts with zeros and learns with a rate of 0.03 and no weight decay. It
    reaches 2.492, where counting gives [2.482](../../results/counting.json#values.pairs).

    For the [small transformer](../transformers/basic/autoregressive_model.py) the fall of the rate
    is worth
    [0.101](../../results/loop_parts.json#tables.parts.The%20rate%20doesn%27t%20fall.worth) nats.
    The rise is worth [0.016](../../results/loop_parts.json#tables.parts.No%20warm-up.worth), no
    more than three seeds differ among themselves. Clipping, weight decay and the shorter memory of
    AdamW make no difference that we could measure:

    [The loss after 1,000 steps with one part of the loop left
    out](../../results/loop_parts.json#tables.parts)

    Clipping is for a gradient that is far too long. None seems to have come up here, so we made
    one. A smaller model trains for 200 steps, and after half of them one gradient is 100 or 1,000
    times as long. Without clipping the loss at the end is
    [2.590](../../results/odd_batch.json#tables.lengths.100.whole) and
    [2.871](../../results/odd_batch.json#tables.lengths.1000.whole), where it was
    [2.451](../../results/odd_batch.json#tables.lengths.1.whole). With clipping nothing is seen of
    it:

    [The loss 100 steps after one gradient that was too long; means of three
    seeds](../../results/odd_batch.json#tables.lengths)

    The warm-up is for higher rates. We trained the small transformer for 250 steps with rates of
    0.01 and 0.03, and let the rate rise or not (three seeds each). Without the rise, one of the
    first steps has a loss of 4.5 to 6.9, more than the 4.3 of the untrained model. At the end the
    loss is 2.47 where with the rise it is 2.33 (a rate of 0.01), and 2.77 where it is 2.50 (0.03).

    ### What the loop leaves to you

    The loop knows nothing of transformers, files, GPUs or several processes. If you need more, pass
    it in: a compiled or distributed `model`, another way to compute the `gradients`, and everything
    that happens *between* two steps (evaluating, recording, saving, stopping) as `after_step`. So
    there is one loop, and [long runs](engine/__init__.py) use it too.

    In a step of your own, gradients may be added up that should be averaged, or clipped too late,
    and the loss falls all the same: see [these mistakes](../transformers/mistakes/step_mistakes.py)
    and [the test](../../wrongline/step_tests.py) that finds them.

    ### Exercises

    ??? question "Why are the gradients removed before each step?"
        - [x] `backward` adds to them, so the step would follow the sum of all gradients so far.
            - Yes. The old ones were right for weights that have changed since.
        - [ ] AdamW averages gradients, and would do so twice.
            - Its average forgets: old gradients count less with each step. The sum in `grad` never
              forgets, and it would be wrong for plain gradient descent, too.
        - [ ] To have more memory for the forward pass.
            - That is a side effect. Without it the step would still be wrong.

    ??? question "At which of 2,000 steps does the learning rate reach its highest value?"
        At step 99, the hundredth and last one of the warm-up. Step 100 still has it, where the
        cosine begins.

    ??? question "A batch is too large for the memory. Write a `gradients` that takes it in halves."
        For each half of the columns, compute the mean loss, divide it by two, and call `backward`.
        The gradients of the halves add up to that of the whole, and so do the losses.

    ??? question "In its first step, AdamW divides each gradient by its own size. The result?"
        Each weight moves by the whole learning rate of that step, whether its gradient is 1 or
        0.001. Only one that is zero, or as small as AdamW's `eps` of 1e-8, moves less. That is one
        reason to begin with a low rate.
    """
    # Row $i$ of the table has a logit for each token.
    model = nn.Embedding(n_vocab, n_vocab)

    # Each column is the alphabet from another place on; the same batch at every step. After the
    # last letter comes the first: with 11 of them, `% n_vocab` turns 10, 11, 12 into 10, 0, 1.
    text = (torch.arange(seq_len + 1)[:, None] + torch.arange(batch_size)) % n_vocab

    # What `after_step` is good for: here it collects the losses.
    losses: list[Tensor] = []
    train(
        model,
        lambda step: (text[:-1], text[1:]),
        [adamw(model, rate=0.3)],
        50,
        after_step=lambda step, loss: losses.append(loss),
    )
    return torch.stack(losses)
