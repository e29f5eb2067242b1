r"""
---
title: From a Mean to One Head
summary: Two small models that look back, a mean of the past and a single attention head.
---

A table of pairs knows one letter, the last. To know more, a model has to look back. This page has
a small model that does: an embedding, one way to look back, and logits.

The simplest way is the mean of all letters so far. Let “a”, “b” and “c” have one feature each: 1, 0
and 2. Then the means along “abc” are 1, 0.5 and 1, and those along “cab” are 2, 1.5 and 1. Both
texts end with 1. The mean can't tell them apart, and doesn't know which letter was the last. That
is all that the table of pairs knew.

[An attention head](../transformers/mha.py) chooses. It compares the last letter with each letter so
far. Say that in “abc” the letter “c” has a score of 2 with itself, and of 0 with “a” and “b”. The
softmax makes weights of 0.11, 0.11 and 0.79, and the weighted mean is 1.68, close to the 2 of “c”.
At the end of “cab” is another letter, with other scores. With
[positions](../transformers/positional_encoding.py) the head can also tell which letter came before
the last.

**In:** tokens, `[seq_len, batch_size]`. **Out:** logits, `[seq_len, batch_size, n_vocab]`.

What is left out: a [feed-forward network](../transformers/feed_forward.py), and the residual
connections and normalisation of a whole [layer](../transformers/models.py#TransformerLayer). They
come in steps 8 and 9.
"""

import torch
from torch import Tensor, nn

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.models import Embeddings, Generator
from labml_nn.transformers.positional_encoding import PositionalEncoding


class MeanOfThePast(nn.Module):
    r"""
    ## The mean of the past

    An attention whose weights are all equal. It has nothing to learn.
    """

    def forward(self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        r"""
        `value` and the result are `[seq_len, batch_size, d_model]`.
        """
        # Row $i$ of the mask has a one for each position that $i$ may see. Divided by their number,
        # the ones are weights with a sum of one: `[seq_len, seq_len, 1]`.
        weights = mask.to(value.dtype)
        weights = weights / weights.sum(dim=1, keepdim=True)

        # The weighted sum is the mean. For “abc” the rows of weights are 1 0 0, ½ ½ 0 and ⅓ ⅓ ⅓,
        # whatever queries and keys are, and one product gives all three means. The weights have a
        # length of 1 along $b$, which stands for all sequences.
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
        # A vector for each letter. With `nn.Identity` for `positions`, it is the same at any place.
        self.embed = Embeddings(n_vocab, d_model, positions)

        # A mean or an attention: the only part that moves something from one position to another.
        self.look_back = look_back

        # A score for each token of the vocabulary.
        self.generator = Generator(n_vocab, d_model)

    def forward(self, tokens: Tensor) -> Tensor:
        r"""
        From `[seq_len, batch_size]` to logits, `[seq_len, batch_size, n_vocab]`.
        """
        # The mask hides later letters. Without it, a head with positions would find the answer in
        # its input, one place to the right. (The other models [can't tell which letter comes
        # next](one_attention.py#example).)
        mask = causal_mask(len(tokens)).to(tokens.device)

        # Queries, keys and values come from the same letters. There is no residual connection: of
        # the last letter, the logits get what the look back has taken from it.
        x = self.embed(tokens)
        x = self.look_back(query=x, key=x, value=x, mask=mask)
        # From what was gathered to a score for each token.
        return self.generator(x)


def example(
    seq_len: int = 7, batch_size: int = 3, n_pairs: int = 5, n_vocab: int = 11
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    ### Two triangles

    Each row has the weights of one position, and sums to one. Above the diagonal the mask hides
    what comes later.

    [The weights of the mean of the past, and those of one head with random queries and
    keys](../../results/hand_drawings.json#figures.triangles)

    ### Measured here

    The mean is *worse* than the table of pairs, and the head is no better. With positions the head
    reaches the table: it lies between the learned one and the counted one. Four narrow heads are
    better than both:

    [The loss of each model of the course](../../results/course.json#tables.steps)

    ### Who cheats without a mask?

    Leave out the mask, and the loss of the head with positions falls to
    [0.07](../../results/unmasked.json#tables.models.One%20head%2C%20with%20positions.loss). The
    others hardly gain:

    [The loss of each model with the mask and without](../../results/unmasked.json#tables.models)

    Only the head with positions copies the next letter. The others see it too, but to them all
    letters of the text are a heap: nothing says which of them comes next. So a loss that isn't
    suspiciously low doesn't prove that the mask is right. Change the last letter instead; no
    earlier output may move.

    ### Exercises

    ??? question "Four features are 1, 0, 0, 1. What is the mean of the past at each position?"
        1, 0.5, 0.33 and 0.5.

    ??? question "One text is “abc”, another “cab”. What does the last mean know of the difference?"
        Nothing: a sum doesn't depend on the order. So it can't know which letter was the last.

    ??? question "Make the mask `tril(-1)`, which hides a position from itself. What breaks?"
        The first position sees nothing. The mean divides by zero there, and the loss is
        not-a-number. The head fails in silence: a query that sees no key takes nothing, and at all
        positions the last letter, the one that the table of pairs lives on, is hidden.
    """
    # The same tokens through both models. Positions are for the head: the mean of vectors that are
    # the same in each text would tell it no more than how long the text is.
    d_model = 2 * n_pairs
    tokens = torch.randint(n_vocab, (seq_len, batch_size))
    mean = OneAttention(n_vocab, d_model, nn.Identity(), MeanOfThePast())
    head = OneAttention(
        n_vocab, d_model, PositionalEncoding(d_model, 0.0), MultiHeadAttention(1, d_model)
    )
    return mean(tokens), head(tokens)
