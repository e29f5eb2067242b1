r"""
---
title: The Steps of the Course
summary: Every model of the course and how it is trained, from a table of pairs to the modern parts.
---

**In:** the size of the vocabulary. **Out:** for each step of the [course](__init__.py) that trains
a model, a function that makes it, and its recipe: what the loop gets besides the batches.

From the mean of the past on, one thing changes from each model to the next, but for the first
layer, which brings two parts, and the last step, which brings many:

[The loss of each step](../../results/course.json#tables.steps)

All models see the same batches. Up to the stack of four layers all are trained alike: one learning
rate from the first step to the last, and no clipping. (The table of pairs has a rate of its own,
ten times as high.) Then the model stays, and the recipe changes. The last step changes both.
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
    # The simplest training that there is: one rate, which is too high at the beginning and at the
    # end, and gradients that are not clipped.
    constant = {"schedule": lambda step, steps: 1.0, "clip": lambda model: None}
    return {"optimizers": [adamw(model, rate)], **constant}


def classic_recipe(model: nn.Module) -> dict[str, Any]:
    r"""
    ## The classic recipe
    """
    # The same optimizer with the same highest rate. The rate rises, then falls, and long gradients
    # are clipped.
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
    # Row $i$ has the logits of the letter after letter $i$. With zeros it guesses at first.
    table = nn.Embedding(n_vocab, n_vocab)
    # Random logits would first have to be unlearned.
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
        # Heads only take averages. The network computes with what they have gathered, at each
        # position on its own.
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
            # `nn.Identity` passes the embeddings on as they are: nothing tells the order.
            where = PositionalEncoding(d_model, 0.0, seq_len) if positions else nn.Identity()
            return OneAttention(n_vocab, d_model, where, look_back())

        return make

    # No dropout: the runs are too short to learn the text by heart.
    one_head = partial(MultiHeadAttention, 1, d_model, 0.0)
    many_heads = partial(MultiHeadAttention, heads, d_model, 0.0)

    def with_network() -> nn.Module:
        # New heads and a new network at each call.
        return ThenNetwork(many_heads(), d_model)

    # For more than one look, a layer has residual connections and normalisation, too.
    stack = partial(AutoregressiveTransformer, n_vocab, d_model, heads, seq_len=seq_len)
    one_layer = partial(stack, n_layers=1, d_ff=4 * d_model)
    four_layers = partial(stack, n_layers=4, d_ff=4 * d_model)

    # A gated network has three matrices for two. With two thirds of the width inside, rounded down
    # to a multiple of 16, it has about as many weights.
    modern = partial(ModernTransformer, n_vocab, d_model, heads, 4, 21 * d_model // 8, seq_len)

    # The logits of the table have a long way to go, and each step moves them by one rate at most.
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
        Positions are sines, many heads are together as large as one, and a recipe is no part of the
        model. Also a learned table is as large as the counted one. The modern parts have 14,015
        fewer than the model before them.

    ??? question "The learned table reaches the loss of the counted one. What does that tell you?"
        That the loop works. No table can do much better than the counted one, and the loop found
        one that is nearly as good.

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
