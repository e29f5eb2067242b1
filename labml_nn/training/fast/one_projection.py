r"""
---
title: One Matrix Product for Three Projections
summary: Queries, keys and values from a single linear layer.
---

[Multi-head attention](../../transformers/mha.py) computes queries, keys and values with three
linear layers. In self-attention all three read the same vectors. So one layer with a matrix three
times as high can do the work of three: one of 384 × 128 numbers for three of 128 × 128. These are
the same multiplications, in one call.

**In** and **out:** one vector for each position, as for multi-head attention.

A call costs time of its own, whatever it computes, and small matrix products may leave parts of the
processor idle. How much that matters depends on the sizes. With the 128 features of the small
transformer one product takes a fifth less time than three, with 512 it takes as long.

Of a [whole training step](__init__.py), one projection saves less than a twentieth. It can't do
cross-attention, where queries come from another sequence. And the names of its parameters differ
from those of the three layers.

[The products alone, for models of different
widths](../../../results/fast_parts.json#figures.projections)
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask


class OneProjectionAttention(nn.Module):
    r"""
    ## Self-attention with one projection

    Called as [multi-head attention](../../transformers/mha.py#MultiHeadAttention.forward) is, with
    the same tensor three times.
    """

    def __init__(self, heads: int, d_model: int, dropout_prob: float = 0.1) -> None:
        r"""
        * `heads` is the number of heads; it must divide `d_model`
        * `d_model` is the number of features
        * `dropout_prob` is the probability of dropping an attention weight
        """
        super().__init__()
        # A module for dropout would never be called: the kernel drops weights itself.
        self.heads = heads
        self.d_k = d_model // heads
        self.dropout_prob = dropout_prob

        # Three matrices, one above the other.
        self.project = nn.Linear(d_model, 3 * d_model)

        # The heads' answers are mixed by a matrix that the others can't join: it comes after them.
        self.output = nn.Linear(d_model, d_model)

    def forward(
        self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        r"""
        All three arguments and the result are `[seq_len, batch_size, ...]`, with the features last.
        """
        # Keys of another sequence would be ignored, and the shapes would be right.
        if query is not key or key is not value:
            raise ValueError("one projection needs one sequence: pass the same tensor three times")

        # One product. Its result is cut into queries, keys and values of each head, and the axes
        # are put in the order of the kernel: `[batch_size, heads, seq_len, d_k]`.
        x = self.project(query).unflatten(-1, (3, self.heads, self.d_k))
        q, k, v = x.permute(2, 1, 3, 0, 4)

        # [The fused kernel](../../transformers/fused_attention.py) does the rest. Its mask has the
        # batch first, and an axis for the heads.
        allowed = None if mask is None else mask.permute(2, 0, 1).unsqueeze(1)
        dropout = self.dropout_prob if self.training else 0.0
        x = F.scaled_dot_product_attention(q, k, v, allowed, dropout)

        # The sequence first again, the heads side by side, and mixed.
        return self.output(x.permute(2, 0, 1, 3).flatten(start_dim=2))


@torch.no_grad()
def from_three(attention: MultiHeadAttention) -> OneProjectionAttention:
    r"""
    ## The same weights

    From multi-head attention to one projection that computes the same.
    """
    d_model = attention.output.in_features
    made = OneProjectionAttention(attention.heads, d_model, attention.dropout.p)

    # The three that become one.
    layers = [attention.query.linear, attention.key.linear, attention.value.linear]

    # The order is that in which `forward` cuts the result.
    made.project.weight.copy_(torch.cat([layer.weight for layer in layers]))
    made.project.bias.copy_(torch.cat([layer.bias for layer in layers]))

    # The layer that mixes the heads is the same in both.
    made.output.load_state_dict(attention.output.state_dict())
    return made


def example(
    seq_len: int = 7, batch_size: int = 3, heads: int = 5, d_k: int = 2
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    Three projections and one, with the same weights.

    ### Exercises

    ??? question "One call does the work of three. Why isn't it three times as fast?"
        The multiplications are the same, and in a wide layer they take most of the time. Two calls
        are saved, and reading the input twice. A larger product may also keep the processor busier.

    ??? question "`unflatten` with the heads first, `(heads, 3, d_k)`, and `permute` to match?"
        Weights that were trained with the other order would give queries where keys belong. A new
        model would train just as well: the order is a convention. (If you change `unflatten` alone,
        `q, k, v =` finds as many parts as there are heads: with three heads, nothing fails.)

    ??? question "Grouped queries have fewer heads of keys. Can they have one projection?"
        Yes: the matrix is less than three times as high, and its result is split into parts of
        different widths.
    """
    x = torch.randn(seq_len, batch_size, heads * d_k)

    # Without dropout, which would drop other weights in each.
    three = MultiHeadAttention(heads, heads * d_k, dropout_prob=0.0)
    one = from_three(three)

    # The two results are equal, up to rounding.
    mask = causal_mask(seq_len)
    return three(query=x, key=x, value=x, mask=mask), one(query=x, key=x, value=x, mask=mask)
