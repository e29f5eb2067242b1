r"""
---
title: From a Mean to One Head
summary: The smallest models that look back, a mean of the past and a single attention head.
---

A table of pairs knows one letter, the last. To know more, a model has to look back. This page has
the smallest model that does: an embedding, one way to look back, and logits.

**In:** tokens, `[seq_len, batch_size]`. **Out:** logits, `[seq_len, batch_size, n_vocab]`.

The simplest way is to take the mean of all letters so far. Four letters with features 1, 0, 0, 1
have the means 1, 0.5, 0.33, 0.5: each position has some of each letter before it. But a mean treats
all letters alike, the last one too. So it forgets what the table knew:

[The loss of each model of the course](../../results/course.json#tables.steps)

[An attention head](../transformers/mha.py) chooses. Its weights come from the letters, and it can
give most of them to the last letter. With [positions](../transformers/positional_encoding.py) it
can tell their order.

What is left out: there is no residual connection and no feed-forward network. They come with the
[layer](../transformers/models.py#TransformerLayer).
"""

import torch
from torch import Tensor, nn

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.models import Embeddings, Generator
from labml_nn.transformers.positional_encoding import PositionalEncoding


class MeanOfThePast(nn.Module):
    r"""
    ## The mean of the past

    It takes the place of an attention whose weights are all equal, and has nothing to learn.
    """

    def forward(self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        r"""
        `value` and the result are `[seq_len, batch_size, d_model]`.
        """
        # Row $i$ of the mask has a one for each position that $i$ may see. Divided by their number,
        # the ones are weights with a sum of one: `[seq_len, seq_len, 1]`.
        weights = mask.to(value.dtype)
        weights = weights / weights.sum(dim=1, keepdim=True)

        # The weighted sum is the mean. Queries and keys have no say in it; attention's weights come
        # from them. One product with a triangle of weights gives the means at all positions. The
        # mask has a length of 1 along $b$, which stands for all sequences.
        return torch.einsum("ijb,jbd->ibd", weights, value)


class OneAttention(nn.Module):
    r"""
    ## A model with one look back
    """

    def __init__(
        self, n_vocab: int, d_model: int, positions: nn.Module, look_back: nn.Module
    ) -> None:
        r"""
        * `n_vocab` is the number of different letters
        * `d_model` is the number of features of a letter
        * `positions` adds where each letter stands
        * `look_back` mixes in what came before
        """
        super().__init__()
        # `positions` adds where each token stands; with `nn.Identity` in its place nothing does.
        self.embed = Embeddings(n_vocab, d_model, positions)

        # A mean or an attention: the only part that moves something from one position to another.
        self.look_back = look_back

        # A score for each token of the vocabulary.
        self.generator = Generator(n_vocab, d_model)

    def forward(self, tokens: Tensor) -> Tensor:
        r"""
        From `[seq_len, batch_size]` to logits, `[seq_len, batch_size, n_vocab]`.
        """
        # The mask hides later letters. Without it the model would find the answer in its input.
        mask = causal_mask(len(tokens)).to(tokens.device)

        # Queries, keys and values come from the same letters. There is no residual connection, so
        # the last letter itself goes on only as far as it was looked at.
        x = self.embed(tokens)
        x = self.look_back(query=x, key=x, value=x, mask=mask)
        # It is all that the logits can use: nothing else passes a letter on.
        return self.generator(x)


def example(
    seq_len: int = 7, batch_size: int = 3, n_pairs: int = 5, n_vocab: int = 11
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    ### Two triangles

    Each row has the weights of one position, and sums to one. Nothing stands above the diagonal,
    since nobody sees what comes later.

    [The weights of the mean of the past, and those of one head with random queries and
    keys](../../results/hand_drawings.json#figures.triangles)

    ### Exercises

    ??? question "Four features are 1, 0, 0, 1. What is the mean of the past at each position?"
        1, 0.5, 0.33 and 0.5.

    ??? question "One text is “abc”, another “cab”. What does the last mean know of the difference?"
        Nothing: a sum doesn't depend on the order. So it can't know which letter was the last.

    ??? question "Make the mask `tril(-1)`, which hides a position from itself. What breaks?"
        The first position sees nothing. The mean divides by zero there, and the loss is
        not-a-number.
    """
    # The same tokens through both models. The head adds positions, which the mean could not use.
    d_model = 2 * n_pairs
    tokens = torch.randint(n_vocab, (seq_len, batch_size))
    mean = OneAttention(n_vocab, d_model, nn.Identity(), MeanOfThePast())
    head = OneAttention(
        n_vocab, d_model, PositionalEncoding(d_model, 0.0), MultiHeadAttention(1, d_model)
    )
    return mean(tokens), head(tokens)
