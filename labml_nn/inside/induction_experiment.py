r"""
---
title: Find the Heads of a Small Model
summary: Train an attention-only model, find its heads by their scores, look at them, remove them.
---

Where in a model are its [induction heads](induction.py)? Such a head looks at what followed when
the same token came up before, and the share of its weight that it gives there is its score. A head
that looks evenly at 20 positions gives each 1/20 = 0.05 of its weight, so that is about its score.
A model with random weights has no better one: [0.055](../../results/induction.json#values.start).
After 600 steps the best head has
[0.95](../../results/induction.json#tables.models.Two%20layers.induction). Find it, look at it, and
remove it.

**In:** [sequences that repeat](induction.py#RepeatedParts), and 600 steps for a model with
[attention alone](induction.py#AttentionOnly), two layers of four heads. **Out:** two scores for
each head, a picture of what the best ones look at, and the loss without each head.

[What the best head of each kind looks at, in a sequence of twelve letters that
repeats](../../results/induction.json#figures.attention)

A row is a query. On the left, the largest weight of most rows is at the position before, but those
around it get some, too. On the right, the first twelve rows have no pattern: no token has come up
before. From the thirteenth row on, each letter looks at what followed it. (What else was tried, and
did not help, [stands below](induction_experiment.py#example).)
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.inside.induction import (
    AttentionOnly,
    RepeatedParts,
    following,
    induction_score,
    previous_token_score,
)
from labml_nn.inside.patching import knock_out
from labml_nn.training.loop import adamw, train
from labml_nn.training.run import Run


def fit(
    model: nn.Module,
    sequences: RepeatedParts,
    steps: int,
    after_step: Callable[[int, Tensor], bool | None] = lambda step, loss: None,
) -> None:
    r"""
    ## Training
    """
    # The usual [loop](../training/loop.py#train) with three times its usual rate, so that 600 steps
    # are enough. All positions count in this loss, also those that nobody can predict.
    train(model, sequences.at, [adamw(model, 0.01)], steps, after_step=after_step)


def repeated_loss(logits: Tensor, inputs: Tensor, targets: Tensor) -> tuple[float, float]:
    r"""
    ## Loss where the sequence repeats

    The mean loss of the predictions after a token that came up before, and the share of them that
    are right. With the inputs F B H C F B, these are the predictions after the second F and the
    second B.
    """
    # True where the token came up before, so something followed it: `[seq_len, batch_size]`.
    again = following(inputs).any(dim=1)

    # Only these logits, and their targets.
    loss = F.cross_entropy(logits[again], targets[again])

    # The largest logit is the prediction.
    right = (logits[again].argmax(dim=-1) == targets[again]).float().mean()
    return loss.item(), right.item()


@torch.no_grad()
def measure(model: AttentionOnly, inputs: Tensor, targets: Tensor) -> tuple[float, float, Tensor]:
    r"""
    ## Measure the heads

    The two numbers above, and scores for each head: `scores[kind, layer, head]`, of which kind 0 is
    the previous-token score and kind 1 the induction score.
    """
    # The attention weights are those of this call.
    loss, right = repeated_loss(model(inputs), inputs, targets)
    weights = [layer.attn for layer in model.layers]

    # Both scores for each layer: a previous-token head might be in the second as well.
    return loss, right, torch.stack([
        torch.stack([previous_token_score(attn) for attn in weights]),
        torch.stack([induction_score(attn, inputs) for attn in weights]),
    ])  # fmt: skip


def notebook(steps: int = 600, seed: int = 1, keep_in: str = "") -> None:
    r"""
    ## Try it

    600 steps, as for the numbers on this page. To keep the model, name a folder as `keep_in` before
    you run the cells below. It lies on your Drive if that is mounted, else on the machine, which
    Colab takes back.
    """
    # ### The model
    # The seed decides on the first weights and on the sequences of the training. The model's
    # [run](../training/run.py) keeps the optimizer, the step and the losses. To start from scratch,
    # run this cell again. If you named a folder in `keep_in`, remove the run's file there first.
    torch.manual_seed(seed)
    model = AttentionOnly()
    training = Run(model, RepeatedParts(seed=seed).at, [adamw(model, 0.01)], keep_in=keep_in)

    # 200 sequences that the model doesn't see in training: their seed is another one.
    held_out = RepeatedParts(batch_size=200, seed=0).at(0)

    # The training will ask for this sixty times: the loss where sequences repeat, and the best
    # induction score.
    def look() -> list[float]:
        now, _, scores = measure(model, *held_out)
        return [now, scores[1].max().item()]

    # ### Train it
    # Stop it when you like; run this cell again, and it goes on.
    training.train(steps, look, times=60)
    model.eval()
    loss, right, _ = measure(model, *held_out)
    print(f"validation loss where sequences repeat {loss:.3f}, predicted {right:.1%}")

    # ### The bump
    # The loss falls while the score rises. This sudden fall is called the *induction bump*.
    import matplotlib.pyplot as plt

    for at, name in enumerate(("loss where sequences repeat", "best induction score")):
        plt.plot(list(training.seen), [one[at] for one in training.seen.values()], label=name)
    plt.xlabel("step")
    plt.legend()
    plt.show()

    # ### The heads
    # The two scores, and the loss where sequences repeat without the head.
    _, _, scores = measure(model, *held_out)
    n_layers, heads = scores.shape[1:]
    for layer in range(n_layers):
        for head in range(heads):
            previous, induction = scores[:, layer, head].tolist()

            # [Without this head](patching.py#knock_out). No other one is removed.
            without, _ = repeated_loss(knock_out(model, held_out[0], [(layer, head)]), *held_out)
            print(f"layer {layer + 1}, head {head + 1}: previous token {previous:.2f}, "
                  f"induction {induction:.2f}, loss without it {without:.3f}")  # fmt: skip

    # And without all heads of a layer: the sum of the effects of single heads is less.
    for layer in range(n_layers):
        logits = knock_out(model, held_out[0], [(layer, head) for head in range(heads)])
        print(f"loss without layer {layer + 1}: {repeated_loss(logits, *held_out)[0]:.3f}")

    # ### What they look at
    # The best head of each kind, for one sequence. A row is a query, and sums to one.
    model(held_out[0])
    _, all_axes = plt.subplots(1, 2)
    for axes, kind, name in zip(all_axes, scores, ("previous token", "induction"), strict=True):
        # The largest score of any layer.
        layer, head = divmod(int(kind.argmax()), heads)

        # All its weights for the first sequence, a row for each query. Each row sums to one, so a
        # dark point means that little is left for the others.
        axes.imshow(model.layers[layer].attn[:, :, 0, head].tolist(), cmap="Blues")
        axes.set_title(f"{name}: layer {layer + 1}, head {head + 1}")
    plt.show()


def example(seq_len: int = 7, batch_size: int = 3, heads: int = 5) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    The losses of three steps, and the scores of all heads after them.

    ### Measured here

    The model has 36,896 parameters, 16 features for each head. A training takes
    [7 s](../../results/induction.json#values.seconds) of one core.

    [Other models: means of three seeds. “Pieces” are a part of 16 tokens, and then nine of it from
    another place](../../results/induction.json#tables.models)

    ### What did not help here

    These are entries of [a list](../../docs/what_did_not_help.md) of such things.

    * More heads or more steps in one layer. More predictions are right, but not in pieces, where
      3.1 % are right by guessing.
    * More heads in two layers. With one head in each, [100.00
      %](../../results/induction.json#tables.models.Two%20layers%20of%20one%20head.right) are right.
      Only the loss is a little higher,
      [0.042](../../results/induction.json#tables.models.Two%20layers%20of%20one%20head.loss) in
      place of [0.027](../../results/induction.json#tables.models.Two%20layers.loss).
    * Normalisation, as in [other models](../transformers/models.py). After 600 steps, [81.4
      %](../../results/induction.json#tables.models.Two%20layers%2C%20normalised.right) are right.
    * No positions. With the mask alone, no head finds the position before its own in 600 steps.
    * Parts of 16 tokens, always. With two layers [100.0
      %](../../results/induction.json#tables.models.Two%20layers%2C%20parts%20of%2016.right) are
      right, the best induction score is
      [0.90](../../results/induction.json#tables.models.Two%20layers%2C%20parts%20of%2016.induction),
      and in pieces [0.0
      %](../../results/induction.json#tables.models.Two%20layers%2C%20parts%20of%2016.pieces) are
      right. So a high score can also come from a head that looks 15 places back. Score heads on
      sequences of many lengths.
    * Removing one head, to see whether such heads are needed. The loss rises, and stays far below
      that of guessing, 3.466, because the other heads still answer. Remove one after the other:

    [The first heads of the second layer removed together: three
    seeds](../../results/induction.json#tables.removed)

    ### Exercises

    ??? question "Sequences have 32 tokens, parts 10 to 23. How many inputs came up before?"
        Between 9 and 22: 32 minus the length of the part.

    ??? question "Set `steps` to 100. What do you see of the heads?"
        Little. At step 100 the loss is still near that of guessing, see [the
        curves](induction.py#example).

    ??? question "Print the scores of all layers, with `n_layers=3`. Which one has induction heads?"
        Try several seeds. An induction head can be in any layer that has a previous-token head in a
        layer before it.
    """
    # Parts of three or four tokens, from a vocabulary of 32: short enough to repeat in seven.
    sequences = RepeatedParts(32, seq_len, batch_size, 3, 4)
    model = AttentionOnly(32, 4 * heads, heads, 2, seq_len)

    # The losses of the steps,
    losses: list[Tensor] = []
    fit(model, sequences, 3, lambda step, loss: losses.append(loss))

    # and the scores of each kind, layer and head.
    return torch.stack(losses), measure(model, *sequences.at(3))[2]
