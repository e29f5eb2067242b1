r"""
---
title: What Each Change Is Worth
summary: The modern recipe with one part left out at a time, each trained from three seeds.
terms:
  ablation: The same training with one part exchanged, to see what the part is worth.
---

The [modern transformer](model.py) is better than the [classic
one](../basic/autoregressive_experiment.py), and a dozen things are different. Which of them matter?

An *ablation* leaves out one thing at a time and trains again. **In:** the name of a change.
**Out:** the validation loss of the modern recipe with this one change. If the loss rises, the part
was worth something, *in this model and at this size*.

[Each change, its loss after 600 steps, and what the part is
worth](../../../results/ablation.json#tables.changes)

Four of the ten parts are worth something here: the optimizers, the features of the previous token,
rotary positions, and SwiGLU. To give all weights to the classic recipe's AdamW costs
[0.160](../../../results/ablation.json#tables.changes.AdamW%20for%20all%2C%20no%20Muon.worth) nats,
more than the other three together. But that isn't [Muon alone](ablation.py#example): the rate
changes with it. The remaining six parts did not help at this size: what they change is within the
noise.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.optimizers.schedules import linear
from labml_nn.training.data import RandomWindows
from labml_nn.training.loop import adamw, learning_rate, train
from labml_nn.transformers.feed_forward import FeedForward
from labml_nn.transformers.mha import PrepareForMultiHeadAttention
from labml_nn.transformers.modern.experiment import muon_and_adamw
from labml_nn.transformers.modern.model import ModernTransformer
from labml_nn.transformers.positional_encoding import PositionalEncoding


def added_sines(model: ModernTransformer) -> None:
    r"""
    ## Positions
    """
    # Queries and keys are not rotated.
    for layer in model.layers:
        layer.attention.query.rotate = nn.Identity()
        layer.attention.key.rotate = nn.Identity()

    # The classic encodings, added to the tokens before they are normalised.
    sines = PositionalEncoding(model.embedding.embedding_dim, dropout_prob=0.0)
    model.embedding = nn.Sequential(model.embedding, sines)


class Unnormalised(PrepareForMultiHeadAttention):
    r"""
    ## Queries and keys
    """

    def forward(self, x: Tensor) -> Tensor:
        r"""
        From `[seq_len, batch_size, ...]` to a tensor with an axis for the heads, `[seq_len,
        batch_size, ...]`.
        """
        # As [before](attention.py#RotaryProjection), but for the normalisation. Scores can become
        # as large as the weights allow.
        return self.rotate(super().forward(x))


def unnormalised(model: ModernTransformer) -> None:
    # The same weights, but another `forward`. A new module would draw new random weights, and the
    # runs would differ in those as well.
    for layer in model.layers:
        layer.attention.query.__class__ = Unnormalised
        layer.attention.key.__class__ = Unnormalised


def usual_scale(model: ModernTransformer) -> None:
    # Scores are divided by $\sqrt{d_k}$, and not multiplied by 1.5 afterwards.
    # So the largest possible score is 5.7 and not 8.5, with 32 features in a head.
    for layer in model.layers:
        layer.attention.scale /= 1.5


def layer_norm(model: ModernTransformer) -> None:
    r"""
    ## Normalisation
    """
    # Layer normalisation does not depend on the length of its input. So after RMSNorm, it gives
    # what it would have given in place of it.
    # It has no weights, so one serves all places.
    norm = nn.LayerNorm(model.embedding.embedding_dim, elementwise_affine=False)
    model.smear = nn.Sequential(norm, model.smear)
    model.head = nn.Sequential(norm, model.head)

    # The parts of the layers get theirs in the same way.
    for layer in model.layers:
        layer.smear_attention = nn.Sequential(norm, layer.smear_attention)
        layer.smear_feed_forward = nn.Sequential(norm, layer.smear_feed_forward)


def plain_network(model: ModernTransformer) -> None:
    r"""
    ## Feed-forward network
    """
    # Two matrices with GELU between them. It is 1.5 times as wide, so that it has as many weights:
    # with fewer, the comparison would be one of sizes.
    for layer in model.layers:
        d_ff, d_model = layer.feed_forward.gate.weight.shape
        layer.feed_forward = FeedForward(d_model, 3 * d_ff // 2, 0.0, nn.GELU, bias=False)

        # How it starts is not changed: with zeros in the last matrix.
        nn.init.kaiming_uniform_(layer.feed_forward.layer1.weight, nonlinearity="linear")
        nn.init.zeros_(layer.feed_forward.layer2.weight)


def random_start(model: ModernTransformer) -> None:
    r"""
    ## Zeros at the start
    """
    # PyTorch's usual random weights, for the head and the last matrix of each part.
    model.head.reset_parameters()
    for layer in model.layers:
        # With random numbers, a layer adds noise before it has learned anything.
        layer.attention.output.reset_parameters()
        layer.feed_forward.output.reset_parameters()


def no_previous_token(model: ModernTransformer) -> None:
    r"""
    ## Previous token and first values
    """
    # Each token is passed on as it is. Attention can still find the one before it.
    model.smear = nn.Identity()
    for layer in model.layers:
        layer.smear_attention = nn.Identity()
        layer.smear_feed_forward = nn.Identity()


def own_values(model: ModernTransformer) -> None:
    # The sigmoid of infinity is 1: the share of the own values, for ever. It isn't trained, and
    # couldn't be: the gradient there is zero.
    for layer in model.layers[1:]:
        layer.attention.mix = nn.Parameter(torch.tensor(float("inf")), requires_grad=False)


# What each is called in the results. The first one changes nothing, and the next two are not in the
# model.
CHANGES: dict[str, Callable[[ModernTransformer], None]] = {
    "the modern recipe": lambda model: None,
    "AdamW for all, no Muon": lambda model: None,
    "a cosine to a tenth, no line to zero": lambda model: None,
    "added sines, no rotary positions": added_sines,
    "queries and keys not normalised": unnormalised,
    "scores not multiplied by 1.5": usual_scale,
    "layer normalisation, no RMSNorm": layer_norm,
    "a network with GELU, no SwiGLU": plain_network,
    "random numbers at the start, no zeros": random_start,
    "no previous token": no_previous_token,
    "no values of the first layer": own_values,
}


def fit_changed(name: str, model: ModernTransformer, batches: RandomWindows, steps: int) -> Tensor:
    r"""
    ## One run

    Changes `model` and trains it. Returns the loss of each step.
    """
    # The change comes first: an optimizer has to be given the new parameters, not the old ones.
    # Without Muon, all of them get the classic recipe's AdamW, with its rate and its weight decay.
    CHANGES[name](model)
    optimizers = [adamw(model)] if "no Muon" in name else muon_and_adamw(model)

    # The schedule of the classic recipe, or the straight line.
    schedule = learning_rate if "cosine" in name else linear

    # Everything else is the same for all: the first weights, the batches, the number of steps.
    # `after_step` keeps the losses, for their curve.
    losses: list[Tensor] = []

    def after_step(step: int, loss: Tensor) -> None:
        losses.append(loss)

    train(model, batches.at, optimizers, steps, schedule=schedule, after_step=after_step)
    return torch.stack(losses)


def example(seq_len: int = 7, batch_size: int = 3, n_vocab: int = 13) -> list[Tensor]:
    r"""
    ## Try it

    Three steps with each change.

    ### What an ablation doesn't tell

    Two things are easily forgotten. **The noise:** the same recipe from another seed gives another
    loss, here by up to 0.009. A change no larger than that has shown nothing. **The rest:** a part
    that is worth nothing here may be worth much in a larger model or a longer run. And perhaps it
    is worth nothing only as long as another part does the same work. So the rows can't be added up.

    [The lowest and the highest loss of three seeds for each
    change](../../../results/ablation.json#figures.spread)

    ### Measured here

    The features of the previous token are worth
    [0.059](../../../results/ablation.json#tables.changes.no%20previous%20token.worth), rotary
    positions
    [0.036](../../../results/ablation.json#tables.changes.added%20sines%2C%20no%20rotary%20positions.worth),
    and SwiGLU
    [0.022](../../../results/ablation.json#tables.changes.a%20network%20with%20GELU%2C%20no%20SwiGLU.worth).

    How much of the 0.160 is Muon's? The row without it changes a second thing: the embedding and
    the head get a rate of 0.003 and not 0.008. In a try with two layers of 64 features, 150 steps
    and two seeds, the row costs 0.24. With AdamW at 0.008 for all weights it is 0.05. And with Muon
    kept, but a rate of 0.003 for the rest, it is 0.15. So most of it was the rate there. A part
    that is left out takes its settings with it, and what replaces it has to be tuned as well as it
    was.

    ### Why functions

    Here each change is a function that alters a finished model, and nothing else in the program
    knows of it. That is better than a model with a switch for each part: the model stays readable,
    and there is no combination of switches to test.

    ### Exercises

    ??? question "A change raises the loss by 0.005. Three seeds differ by 0.014. What do you know?"
        Nothing yet. With more seeds the mean becomes more certain: its error falls with the square
        root of their number.

    ??? question "Both of two parts raise the loss by 0.001 when left out. May you leave out both?"
        Not without a run. Each may do the work of the other: leave out both, and nobody does it.

    ??? question "Why is each change made in a finished model, before the first step?"
        The seed gives all models the same first weights, wherever nothing is exchanged. A model
        that is built otherwise draws its random numbers in another order, and starts elsewhere.
    """
    # An alphabet over and over.
    batches = RandomWindows(torch.arange(1000) % n_vocab, seq_len, batch_size, seed=1)
    losses = []
    for name in CHANGES:
        # The same first weights for all.
        torch.manual_seed(1)
        model = ModernTransformer(n_vocab, 20, 5, 2, 10, seq_len)

        # Three steps are enough to see that each trains.
        losses.append(fit_changed(name, model, batches, 3))
    return losses
