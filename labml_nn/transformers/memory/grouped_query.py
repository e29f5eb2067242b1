r"""
---
title: Multi-Query and Grouped-Query Attention
summary: Fewer heads of keys and values than of queries, so that less has to be remembered.
paper:
  title: "GQA: Training Generalized Multi-Query Transformer Models from Multi-Head Checkpoints"
  authors: Ainslie et al.
  year: 2023
  link: https://arxiv.org/abs/2305.13245
---

A model that writes keeps the keys and values of the whole text [in memory](../kv_cache.py), and
reads all of it for each new token. There is little to compute with them, so the reading is what
takes the time. It shrinks if several heads of queries share one head of keys and values:

* With as many heads of keys as of queries it is [multi-head attention](../mha.py).
* With a single one it is *multi-query* attention
  ([Shazeer 2019](https://arxiv.org/abs/1911.02150)).
* Between them is *grouped-query* attention. Neighbouring heads of queries are a group, and each
  group has its own head of keys and values.

Queries stay as many and as different as they were. What heads of a group can't do any more is
find different keys with the same query.

The page has the attention, its decoding with a cache, and the conversion of a trained multi-head
attention. It leaves out the training that follows a conversion: the paper gives it five percent
of the steps that the model had.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.transformers.kv_cache import KeyValueCache, last_rows_mask, texts_mask
from labml_nn.transformers.mha import (
    MultiHeadAttention,
    PrepareForMultiHeadAttention,
    causal_mask,
)


class GroupedQueryAttention(MultiHeadAttention):
    r"""
    ## Grouped-query attention

    Head $h$ of the queries looks at head $\lfloor h / g \rfloor$ of the keys, where $g$ is the
    number of heads in a group:

    $$
    S_{ijbh} = \sum_d Q_{ibhd} K_{jb \lfloor h/g \rfloor d}
    $$

    Everything else is as in [multi-head attention](../mha.py#MultiHeadAttention).
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
        * `heads` is the number of heads of queries, which must divide `d_model`
        * `d_model` is the number of features that come in and go out
        * `dropout_prob` is the probability that a weight is dropped
        * `bias` says whether the four linear layers have biases
        * `key_heads` is the number of heads of keys and values, which must divide `heads`
        """
        super().__init__(heads, d_model, dropout_prob, bias)
        if key_heads < 1 or heads % key_heads:
            raise ValueError(
                "heads must be a multiple of key_heads, "
                f"got heads={heads} and key_heads={key_heads}"
            )
        self.key_heads = key_heads
        self.group = heads // key_heads
        self.key = PrepareForMultiHeadAttention(d_model, key_heads, self.d_k, bias)
        self.value = PrepareForMultiHeadAttention(d_model, key_heads, self.d_k, bias)

    def weighted_mean(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
    ) -> Tensor:
        r"""
        ### Scores, softmax and mean

        The query is `[seq_len_q, batch_size, heads, d_k]`, key and value are
        `[seq_len_k, batch_size, key_heads, d_k]`.
        """
        # PyTorch's kernel knows of groups. For the readable way each head of keys is written out
        # once for each query of its group: `[seq_len_k, batch_size, heads, d_k]`.
        if self.keep_attn or not self.fused:
            key = key.repeat_interleave(self.group, dim=2)
            value = value.repeat_interleave(self.group, dim=2)
        return super().weighted_mean(query, key, value, mask)

    @torch.no_grad()
    def decode(
        self,
        x: Tensor,
        room: tuple[Tensor, Tensor, Tensor],
        starts: Tensor | None = None,
    ) -> Tensor:
        r"""
        ### Attend with a cache

        `x` are new positions of a text under a causal mask, and so is the result:
        `[n_new, batch_size, d_model]`. The `room` is what
        [the cache](../kv_cache.py#KeyValueCache.extend) has for this layer. In double precision
        the result is that of the whole text at once, but for rounding. It has no gradients. Texts
        of different lengths begin at [starts](../kv_cache.py#texts_mask).
        """
        place, keys, values = room
        query, key, value = self.project(x, x, x)

        # In the layout of the cache: `[2, batch_size, key_heads, n_new, d_k]`.
        stored = torch.stack([key, value]).permute(0, 2, 3, 1, 4)
        place.copy_(stored)

        # One new position may see everything, so it needs no mask.
        n_new, n_keys = len(x), keys.shape[2]
        mask = None
        if starts is not None:
            mask = texts_mask(n_new, n_keys, starts).permute(1, 2, 0).unsqueeze(-1)
        elif n_new > 1:
            mask = last_rows_mask(n_new, n_keys, x.device)[..., None, None]

        # Back to the sequence first, `[n_keys, batch_size, key_heads, d_k]`: views again.
        key, value = keys.permute(2, 0, 1, 3), values.permute(2, 0, 1, 3)
        return self.output(self.weighted_mean(query, key, value, mask).flatten(start_dim=2))


def group_heads(attention: MultiHeadAttention, key_heads: int) -> GroupedQueryAttention:
    r"""
    ## From many heads of keys to few

    A trained model needn't be thrown away. Each new head of keys is the *mean* of the heads of
    its group, and so for values; queries and output stay. The paper compared this with taking the
    first head of each group, and with a new random one: the mean was best, the random one worst.

    It isn't the same function any more, unless the heads of each group were alike.
    """
    linear = attention.query.linear
    heads, d_model, bias = attention.query.heads, attention.d_model, linear.bias is not None
    grouped = GroupedQueryAttention(heads, d_model, attention.dropout.p, bias, key_heads)
    grouped.to(linear.weight.device, linear.weight.dtype)

    # The rows of a weight are the features that come out, head after head: groups, the heads of a
    # group, their features. Biases have no other axis than that one, and are treated alike.
    weights = attention.state_dict()
    for name, pooled in grouped.state_dict().items():
        if name.startswith(("key.", "value.")):
            split = weights[name].unflatten(0, (key_heads, grouped.group, grouped.d_k))
            weights[name] = split.mean(dim=1).reshape(pooled.shape)
    grouped.load_state_dict(weights)
    return grouped


def cached_numbers(n_layers: int, key_heads: int, d_k: int) -> int:
    r"""
    ## What a token costs in memory

    So many numbers are remembered of each token: a key and a value, in each head, in each layer.
    The heads of the queries are not in it.
    """
    return 2 * n_layers * key_heads * d_k


def in_transformer(
    *, d_model: int, heads: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    The extreme: all heads share one head of keys and values.
    """
    return {"self_attn": lambda: GroupedQueryAttention(heads, d_model, dropout_prob)}


def example(
    n_before: int = 7,
    n_new: int = 2,
    batch_size: int = 3,
    key_heads: int = 5,
    d_k: int = 11,
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    A text at once, in two ways; its first part and the rest with a cache; and the conversion. Two
    heads of queries share a head of keys.
    """
    heads = 2 * key_heads
    d_model = heads * d_k
    seq_len_q = seq_len_k = n_keys = n_before + n_new
    attention = GroupedQueryAttention(heads, d_model, 0.0, key_heads=key_heads)
    x = torch.randn(seq_len_q, batch_size, d_model)
    mask = causal_mask(seq_len_q)
    fused = attention(query=x, key=x, value=x, mask=mask)
    attention.keep_attn = True
    readable = attention(query=x, key=x, value=x, mask=mask)

    # The memory has as many numbers as were promised for each token.
    cache = KeyValueCache(1, batch_size, key_heads, seq_len_k, d_k)
    assert cache.memory.numel() == cached_numbers(1, key_heads, d_k) * n_keys * batch_size
    first = attention.decode(x[:n_before], cache.extend(n_before)[0])
    rest = attention.decode(x[n_before:], cache.extend(n_new)[0], torch.zeros(batch_size))

    converted = group_heads(MultiHeadAttention(heads, d_model), key_heads)
    return fused, readable, torch.cat([first, rest]), converted(query=x, key=x, value=x)
