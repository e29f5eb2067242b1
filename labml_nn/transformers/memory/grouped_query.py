r"""
---
title: Multi-Query and Grouped-Query Attention
summary: Several heads of queries share one head of keys and values, so the cache gets smaller.
paper:
  title: "GQA: Training Generalized Multi-Query Transformer Models from Multi-Head Checkpoints"
  authors: Ainslie et al.
  year: 2023
  link: https://arxiv.org/abs/2305.13245
terms:
  grouped-query attention (GQA): Several heads of queries share a head of keys and values.
  multi-query attention (MQA): All heads of queries share one head of keys and values.
---

A model that writes keeps the keys and values of its whole text in a [cache](../kv_cache.py), and
reads all of them for each new token. With 32 layers, 32 heads of 128 features and 16 bits a number,
that is 2 · 32 · 32 · 128 · 2 bytes, half a megabyte for each token. A text of 8,192 tokens takes 4
GiB, and all of it goes through the processor to get the next token, where each number is used in a
single multiplication. Reading takes longer than computing ([Shazeer
2019](https://arxiv.org/abs/1911.02150)).

Sharing makes the cache smaller. With 8 heads of keys for 32 heads of queries it is a quarter:

* *Multi-head* attention has as many heads of keys and values as of queries.
* *Multi-query* attention, of the same paper, has one, shared by all.
* *Grouped-query* attention is between the two. Neighbouring heads of queries form a group, and each
  group shares one head of keys and values. With six heads of queries and two of keys:

```
queries   0 1 2   3 4 5
keys        0       1
```

**In** and **out** are those of [multi-head attention](../mha.py). What is lost: the heads of a
group compare their queries with the same keys. They can still look at different places, since their
queries differ, but at each place they find the same values.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.transformers.mha import MultiHeadAttention, PrepareForMultiHeadAttention, causal_mask


class PrepareSharedHeads(PrepareForMultiHeadAttention):
    r"""
    ## Shared heads of keys or values

    A [projection](../mha.py#PrepareForMultiHeadAttention) to a few heads, each of which is handed
    to all queries of its group.

    [The head of keys that each head of queries looks
    at](../../../results/memory_drawings.json#figures.groups)
    """

    def __init__(self, d_model: int, key_heads: int, group: int, d_k: int, bias: bool) -> None:
        r"""
        * `d_model` is the number of features of the input
        * `key_heads` is the number of heads of keys, or values
        * `group` is the number of heads of queries that share one of them
        * `d_k` is the number of features of each head
        * `bias` is whether the projection has a bias
        """
        super().__init__(d_model, key_heads, d_k, bias)

        # The parameters are those of so few heads; sharing adds none.
        self.group = group

    def forward(self, x: Tensor) -> Tensor:
        r"""
        From `[seq_len_k, batch_size, d_model]` to `[seq_len_k, batch_size, heads, d_k]`.
        """
        # This is what a cache would keep: `key_heads` heads, and nothing that is there twice.
        x = super().forward(x)

        # Each head once for every query of its group: 0 0 0 1 1 1 in the picture above. (“repeat”
        # would give 0 1 0 1 0 1, other groups than those of trained models.) Kernels read a shared
        # head in place, without this copy.
        return x.repeat_interleave(self.group, dim=2)


class GroupedQueryAttention(MultiHeadAttention):
    r"""
    ## Grouped-query attention

    Head $h$ of the queries looks at head $\lfloor h / g \rfloor$ of the keys, where $g$ is the
    number of heads in a group:

    $$
    S_{ijbh} = \sum_d Q_{ibhd} K_{jb \lfloor h/g \rfloor d}
    $$

    Only the projections differ from [multi-head attention](../mha.py#MultiHeadAttention.forward).
    """

    def __init__(
        self,
        heads: int,
        d_model: int,
        dropout_prob: float = 0.1,
        bias: bool = True,
        key_heads: int = 1,
    ) -> None:
        r"""
        * `heads` is the number of heads of queries
        * `key_heads` is the number of heads of keys and values; it must divide `heads`

        The other arguments are those of multi-head attention.
        """
        super().__init__(heads, d_model, dropout_prob, bias)

        # All groups have the same size.
        if key_heads < 1 or heads % key_heads:
            raise ValueError(f"key_heads must divide heads, got {key_heads=} and {heads=}")
        self.key_heads = key_heads

        # So many heads of queries share one head of keys. In the picture above it is 3.
        self.group = heads // key_heads

        # Queries and output stay as they were. Keys and values have fewer weights now, and what
        # they give back has the shape that the queries have.
        self.key = PrepareSharedHeads(d_model, key_heads, self.group, self.d_k, bias)
        self.value = PrepareSharedHeads(d_model, key_heads, self.group, self.d_k, bias)


def group_heads(attention: MultiHeadAttention, key_heads: int) -> GroupedQueryAttention:
    r"""
    ## Convert a trained attention

    You needn't train anew. Each new head of keys is the *mean* of the heads of its group, and so is
    each head of values. The paper compared this with taking the first head of each group, and with
    a new random one: the mean was best, the random one worst.

    It is another function now, unless the heads of each group were alike. So it has to be trained
    a little more.

    The page leaves out how the model is trained on: the paper does so for five percent of its
    original steps.
    """
    # The same sizes, with fewer heads of keys.
    bias = attention.output.bias is not None
    d_model = attention.output.out_features
    grouped = GroupedQueryAttention(attention.heads, d_model, attention.dropout.p, bias, key_heads)

    # The rows of a weight matrix are the features that come out, head after head. So the first
    # axis is groups, heads of a group, and features of a head; a bias has no other axis.
    weights = attention.state_dict()

    # Queries and output are taken over unchanged.
    for name in weights:
        if name.startswith(("key.", "value.")):
            rows = weights[name].unflatten(0, (key_heads, grouped.group, grouped.d_k))

            # The mean over the heads of each group, and again one row after the other.
            weights[name] = rows.mean(dim=1).flatten(end_dim=1)

    # Now every weight has the shape that it has there.
    grouped.load_state_dict(weights)
    return grouped


def in_transformer(
    *, d_model: int, heads: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    Multi-query attention: all heads share one head of keys and values.
    """
    # Everything else of the model is unchanged. Only the key and value matrices are narrower.
    return {"self_attn": lambda: GroupedQueryAttention(heads, d_model, dropout_prob)}


def example(
    seq_len: int = 7, batch_size: int = 3, key_heads: int = 5, d_k: int = 11
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    Two heads of queries share a head of keys; and the conversion. With `repeat` in place of
    `repeat_interleave`, heads would share keys in turns: [a
    mistake](../mistakes/caches.py#KeysInTurns) that only the weights of another model show.

    ### Measured here

    What does it cost? A model of two layers with four heads, trained for 500 steps, has a loss of
    [2.233](../../../results/families.json#tables.losses.one%20head%20of%20keys.loss) with one head
    of keys, and of
    [2.213](../../../results/families.json#tables.losses.multi-head%20attention.loss) with four
    (means of three seeds; those of the latter go from
    [2.205](../../../results/families.json#tables.losses.multi-head%20attention.low) to
    [2.224](../../../results/families.json#tables.losses.multi-head%20attention.high)). The cache is
    a quarter. Is it the keys or the values? Sharing the keys alone comes to
    [2.205](../../../results/shared_heads.json#tables.shared.the%20keys%20alone.loss), and
    sharing the values alone to
    [2.220](../../../results/shared_heads.json#tables.shared.the%20values%20alone.loss) (two
    seeds). If one of them costs anything, it is the values.

    ### Exercises

    ??? question "32 layers, 8 heads of keys of 128 features, 16 bits: bytes per token?"
        2 · 32 · 8 · 128 · 2 = 131,072. With 32 heads of keys it would be four times as much.

    ??? question "Which parameters get smaller?"
        The weights and biases of the key and value projections, by the factor $g$. Those of query
        and output keep their size.

    ??? question "Two heads of a group have the same query projection. What follows?"
        They have equal weights and equal values, so they give the same answer: one head, twice.

    ??? question "Use “repeat” for `repeat_interleave`. How do you notice?"
        Not by shapes, and not by training: it is another way to share. Load the weights of a
        trained model, whose groups are neighbours, and compare outputs. The loss may rise so little
        that you miss it: with two heads of keys for four of queries, the first and the last head
        of queries still find their own keys. In the model of “Measured here” (two seeds) it rises
        from
        [2.21](../../../results/shared_heads.json#tables.shared.two%20heads%20of%20keys%20and%20values.loss)
        to [2.43](../../../results/shared_heads.json#values.turns).
    """
    # Twice as many heads of queries as of keys.
    heads = 2 * key_heads
    d_model = heads * d_k

    # A sequence that looks at itself.
    seq_len_q = seq_len
    seq_len_k = seq_len
    x = torch.randn(seq_len_q, batch_size, d_model)

    # A new one, and one that is made of an ordinary attention, which in a real model would be
    # already trained.
    grouped = GroupedQueryAttention(heads, d_model, key_heads=key_heads)
    converted = group_heads(MultiHeadAttention(heads, d_model), key_heads)
    mask = causal_mask(seq_len_k)
    return grouped(query=x, key=x, value=x, mask=mask), converted(
        query=x, key=x, value=x, mask=mask
    )
