r"""
---
title: The Steps of the Course
summary: Every model of the course and how it is trained, from a table of pairs to the modern parts.
---

**In:** the size of the vocabulary. **Out:** for each step of the [course](__init__.py) that trains
a model, a function that makes it, and its recipe: what the loop gets besides the batches.

From the mean of the past on, one thing changes from each step to the next, with three exceptions:
the first layer brings residual connections and normalisation, the classic recipe a changing rate
and clipping, and the last step many parts:

[The loss of each step](../../results/course.json#tables.steps)

All models see the same batches. Up to the stack of four layers all are trained alike: one learning
rate from the first step to the last, and no clipping. (The table of pairs has a rate of its own,
ten times as high.) Then the model stays, and the recipe changes. The last step changes both.

Two steps gain nothing beyond the seeds: four layers and the classic recipe. After 1,000 steps the
fall of the rate is worth
[0.101](../../results/loop_parts.json#tables.parts.The%20rate%20doesn%27t%20fall.worth) nats. What
three more layers are worth then, we have not measured.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from labml_nn.course.one_attention import MeanOfThePast, OneAttention
from labml_nn.optimizers.schedules import linear
from labml_nn.training.data import RandomWindows
from labml_nn.training.loop import adamw, evaluate, train
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from labml_nn.transformers.feed_forward import FeedForward
from labml_nn.transformers.mha import MultiHeadAttention
from labml_nn.transformers.modern.experiment import muon_and_adamw
from labml_nn.transformers.modern.model import ModernTransformer
from labml_nn.transformers.positional_encoding import PositionalEncoding

# From a model to what the loop takes besides the batches.
Recipe = Callable[[nn.Module], dict[str, Any]]


def plain_recipe(model: nn.Module, rate: float = 3e-3) -> dict[str, Any]:
    r"""
    ## Without a recipe
    """
    # The same rate in every step, and gradients that are not clipped.
    constant = {"schedule": lambda step, steps: 1.0, "clip": lambda model: None}
    return {"optimizers": [adamw(model, rate)], **constant}


def classic_recipe(model: nn.Module) -> dict[str, Any]:
    r"""
    ## The classic recipe
    """
    # The same optimizer with the same highest rate. The rate rises, then falls, and long gradients
    # are clipped. In 400 steps that gains no more than seeds differ. In [a longer
    # run](../training/loop.py#example) the fall is worth most.
    return {"optimizers": [adamw(model)]}


def modern_recipe(model: nn.Module) -> dict[str, Any]:
    r"""
    ## The modern recipe
    """
    # Muon for the matrices of the layers, AdamW for the rest, and a straight line to zero.
    return {"optimizers": muon_and_adamw(model), "schedule": linear}


def fit(model: nn.Module, batches: RandomWindows, steps: int, recipe: Recipe) -> None:
    r"""
    ## Training
    """
    # The same loop for all.
    train(model, batches.at, steps=steps, **recipe(model))


def table_of_pairs(n_vocab: int) -> nn.Module:
    r"""
    ## A learned table
    """
    # Row $i$ has the logits of the letter after letter $i$.
    table = nn.Embedding(n_vocab, n_vocab)
    # With zeros all letters are equally likely at first.
    nn.init.zeros_(table.weight)
    return table


class ThenNetwork(nn.Module):
    r"""
    ## A network after the look back
    """

    def __init__(self, look_back: nn.Module, d_model: int) -> None:
        r"""
        * `look_back` mixes in what came before
        * `d_model` is the number of features of a letter
        """
        super().__init__()
        self.look_back = look_back

        # Four times as wide inside, and smooth around zero, as in the layers of the next steps.
        self.network = FeedForward(d_model, 4 * d_model, 0.0, nn.GELU)

    def forward(self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        r"""
        Queries, keys, values and the result are `[seq_len, batch_size, ...]`.
        """
        # Heads gather weighted means from other positions. The network computes with what they have
        # gathered, at each position on its own.
        return self.network(self.look_back(query=query, key=key, value=value, mask=mask))


def steps_of_course(
    n_vocab: int, d_model: int = 128, heads: int = 4, seq_len: int = 64
) -> dict[str, tuple[Callable[[], nn.Module], Recipe]]:
    r"""
    ## The steps
    """

    # Five models look back once: with a mean, with a head, with a head that knows positions, with
    # several heads, and with a network after these.
    def one_look(look_back: Callable[[], nn.Module], positions: bool) -> Callable[[], nn.Module]:
        def make() -> nn.Module:
            # `nn.Identity` passes the embeddings on as they are. Then the letters before the last
            # may change places, and the prediction stays the same.
            where = PositionalEncoding(d_model, 0.0, seq_len) if positions else nn.Identity()
            return OneAttention(n_vocab, d_model, where, look_back())

        return make

    # No dropout. It is for models that learn a text by heart, and 400 steps of 12 windows read
    # 307,200 letters of a million.
    one_head = partial(MultiHeadAttention, 1, d_model, 0.0)
    many_heads = partial(MultiHeadAttention, heads, d_model, 0.0)

    def with_network() -> nn.Module:
        # New heads and a new network at each call.
        return ThenNetwork(many_heads(), d_model)

    # For more than one look, a layer has residual connections and normalisation, too.
    stack = partial(AutoregressiveTransformer, n_vocab, d_model, heads, seq_len=seq_len)
    one_layer = partial(stack, n_layers=1, d_ff=4 * d_model)
    four_layers = partial(stack, n_layers=4, d_ff=4 * d_model)

    # A gated network has three matrices in place of two. With 336 features inside, about two thirds
    # of 512, it has about as many weights.
    modern = partial(ModernTransformer, n_vocab, d_model, heads, 4, 21 * d_model // 8, seq_len)

    # Adam moves a logit by about one rate in a step. In 400 steps at 0.003 no logit came farther
    # than [1.08](../../results/pair_rates.json#tables.rates.0%2E003.farthest) from zero. At 0.03
    # one came to [3.55](../../results/pair_rates.json#tables.rates.0%2E03.farthest).
    table = partial(table_of_pairs, n_vocab)
    table_recipe = partial(plain_recipe, rate=0.03)
    return {
        "A learned table of pairs": (table, table_recipe),
        # What looks back once.
        "The mean of the past": (one_look(MeanOfThePast, positions=False), plain_recipe),
        "One head": (one_look(one_head, positions=False), plain_recipe),
        "One head, with positions": (one_look(one_head, positions=True), plain_recipe),
        "Many heads": (one_look(many_heads, positions=True), plain_recipe),
        "A feed-forward network": (one_look(with_network, positions=True), plain_recipe),
        # Then whole layers, and better training of the same model.
        "One transformer layer": (one_layer, plain_recipe),
        "Four layers": (four_layers, plain_recipe),
        "The classic recipe": (four_layers, classic_recipe),
        # What has come since.
        "The modern parts": (modern, modern_recipe),
    }


def example(
    n_pairs: int = 2, batch_size: int = 3, seq_len: int = 7, n_vocab: int = 13
) -> list[Tensor]:
    r"""
    ## Example

    One step of training for each model, on an alphabet over and over.

    ### Exercises

    ??? question "Which steps add no parameters to the one before?"
        Positions, since they are sines. Many heads, which are together as large as the one. And
        the recipe, which is no part of the model. The modern parts even have 14,015 fewer than
        the model before them.

    ??? question "The learned table comes close to the loss of the counted one. What does it tell?"
        That the loop works. On the text that was counted, no table is better than the shares of
        its pairs. On the validation text, counting gives
        [2.482](../../results/course.json#tables.steps.Counted%20pairs.loss). After 400 steps the
        learned table is at
        [2.519](../../results/course.json#tables.steps.A%20learned%20table%20of%20pairs.loss), and
        after [2,000](../training/loop.py) at
        [2.492](../../results/counting.json#values.learned).

    ??? question "Give positions to the mean of the past. What do you expect?"
        Little. The mean of the sines tells how many letters there were, and not which letter stood
        where.
    """
    # Thirteen letters, three times.
    text = torch.arange(3 * n_vocab) % n_vocab
    batches = RandomWindows(text, seq_len, batch_size, seed=1)

    # Each model starts from the same seed and makes one step. Between them nothing is shared: each
    # call of the first function makes new weights.
    logits = []
    for make, recipe in steps_of_course(n_vocab, 8 * n_pairs, 4, seq_len).values():
        torch.manual_seed(1)
        model = make()
        fit(model, batches, 1, recipe)
        # The loss over the text, and the logits of a batch, `[seq_len, batch_size, n_vocab]`.
        evaluate(model, text, seq_len)
        logits.append(model(batches.at(0)[0]))
    return logits
