r"""
---
title: Linear Attention
summary: Without the softmax, attention is a sum that is carried along in a state of fixed size.
paper:
  title: "Transformers are RNNs: Fast Autoregressive Transformers with Linear Attention"
  authors: Katharopoulos et al.
  year: 2020
  link: https://arxiv.org/abs/2006.16236
---

In [attention](../mha.py) the weight of a key is the exponential of a product. Replace it by a
product of two things that are made of the query and of the key *alone*, $\phi(q) \cdot \phi(k)$,
and the sum over the keys can be taken before the query is known:

$$
\frac{\sum_j \left( \phi(q_i) \cdot \phi(k_j) \right) v_j}{\sum_j \phi(q_i) \cdot \phi(k_j)} =
\frac{\phi(q_i)^\top \sum_j \phi(k_j)\, v_j^\top}{\phi(q_i)^\top \sum_j \phi(k_j)}
$$

On the left, every query meets every key, and the cost grows with the square of the length. On the
right stand two sums that are the same for all queries. Under a causal mask query $i$ gets the sums
up to $i$, and these are *carried along*: a state of fixed size, as a recurrent network has. It is
all that is remembered of the text, and the price: however long that is, no more fits in.

There are three ways to compute the causal one, equal but for rounding. All at once is for short
sequences, step by step is for writing, in chunks is for training. The third is from later work
([Hua et al. 2022](https://arxiv.org/abs/2202.10447)). The page departs from the paper in how
[the feature map](linear_attention.py#feature_map) is computed, and leaves out its hand-written
kernels. There is no scale $1/\sqrt{d_k}$, as in the paper.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask, check_shapes


def feature_map(x: Tensor) -> Tensor:
    r"""
    ## The feature map

    $\phi(x) = \operatorname{elu}(x) + 1$, which is positive, so that weights are, too. Below zero
    it is $e^x$. Computed as the formula stands, $(e^x - 1) + 1$, all digits beyond the last one of
    1 would be lost, and at $-18$, in 32 bits, that is all of them.
    """
    return torch.where(x > 0, x + 1, x.clamp(max=0).exp())


def with_ones(value: Tensor) -> Tensor:
    r"""
    ## The denominator is one more feature

    The sum below the line is the one above it with $1$ for the value. So each value,
    `[seq_len, batch_size, heads, d_v]`, gets a $1$ at its end, and one sum does for both.
    """
    return F.pad(value, (0, 1), value=1.0)


def divided(sums: Tensor) -> Tensor:
    r"""
    ## Divide by it

    Back to `[seq_len, batch_size, heads, d_v]`. Where nothing was summed, zero is divided by one.
    """
    return sums[..., :-1] / or_one(sums[..., -1:])


def or_one(total: Tensor) -> Tensor:
    r"""
    ## Something to divide by
    """
    return torch.where(total == 0, 1.0, total)


def products_of(query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
    r"""
    ## Every query meets every key

    Query and key, both after the feature map, are `[seq_len, batch_size, heads, d_k]`. The mask has
    four axes as well, those of the result, `[seq_len, seq_len, batch_size, heads]`, of which it may
    have any one long.
    """
    products = torch.einsum("ibhd,jbhd->ijbh", query, key)
    return products if mask is None else products.masked_fill(~mask, 0.0)


def all_at_once(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
    r"""
    ## All at once

    $$
    O_{ibhv} = \sum_j M_{ijbh} \Big( \sum_d Q_{ibhd} K_{jbhd} \Big) V_{jbhv}
    $$

    Any mask will do, but all products are there together. `[seq_len, batch_size, heads, d_v]`
    """
    return torch.einsum("ijbh,jbhv->ibhv", products_of(query, key, mask), value)


def empty_state(key: Tensor, value: Tensor) -> Tensor:
    r"""
    ## Nothing read yet

    The state is `[batch_size, heads, d_k, d_v]`, whatever the length.
    """
    return value.new_zeros(*key.shape[1:], value.shape[-1])


def step_by_step(query: Tensor, key: Tensor, value: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    r"""
    ## Step by step

    $$
    S_i = S_{i-1} + k_i v_i^\top \qquad o_i = S_i^\top q_i
    $$

    The key says where in the state to write the value, and the query where to read. The results
    are the $o$ of all positions, `[seq_len, batch_size, heads, d_v]`, and the last state.
    """
    results = []
    for q, k, v in zip(query, key, value, strict=True):
        state = state + k[..., :, None] * v[..., None, :]
        results.append(torch.einsum("bhd,bhdv->bhv", q, state))
    return torch.stack(results), state


def in_chunks(
    query: Tensor, key: Tensor, value: Tensor, state: Tensor, chunk_len: int = 64
) -> tuple[Tensor, Tensor]:
    r"""
    ## In chunks

    A single position is too little work for any machine to be fast at. Here a step is a chunk: its
    queries read what was before it from the state, and meet the keys of their own chunk all at
    once. The results are those of [single steps](linear_attention.py#step_by_step), and for a
    `chunk_len` that stays the cost is linear in the length, too.
    """
    visible = causal_mask(chunk_len, query.device).unsqueeze(-1)
    results = []
    chunks = (x.split(chunk_len) for x in (query, key, value))
    for q, k, v in zip(*chunks, strict=True):
        own = all_at_once(q, k, v, visible[: len(q), : len(q)])
        results.append(own + torch.einsum("ibhd,bhdv->ibhv", q, state))
        state = state + torch.einsum("jbhd,jbhv->bhdv", k, v)
    return torch.cat(results), state


class LinearAttention(MultiHeadAttention):
    r"""
    ## Linear attention

    The projections are those of [other attention](../mha.py#MultiHeadAttention). Nobody computes
    the weights, so none can be dropped: `dropout_prob` is for features of the heads' results. Only
    where `keep_attn` is set, they are worked out after all, to be looked at.
    """

    def __init__(
        self,
        heads: int,
        d_model: int,
        dropout_prob: float = 0.1,
        bias: bool = True,
        causal: bool = False,
    ) -> None:
        r"""
        * `causal` says that no query may see what comes after it

        The others are those of [MultiHeadAttention](../mha.py#MultiHeadAttention.__init__).
        """
        super().__init__(heads, d_model, dropout_prob, bias)
        self.causal = causal

    def forward(
        self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        r"""
        ### Attend

        `query` and the result are `[seq_len, batch_size, d_model]`, `key` and `value` are
        `[seq_len_k, batch_size, d_model]`. A mask `[1, seq_len_k, batch_size]` hides padding, and
        the cost stays linear. One with a row for each query costs all products, unless the
        attention is causal: then it can only be the causal mask, perhaps with padding.
        """
        check_shapes(query.shape, key.shape, value.shape, self.d_model)
        mask = self.padding_of(mask, query.shape, key.shape)
        q, k, v = self.prepare(query, key, value)

        # What is hidden from all adds nothing to any sum.
        if mask is not None and len(mask) == 1:
            k, mask = k * mask[0].unsqueeze(-1), None
        if mask is not None:
            sums = all_at_once(q, k, v, mask)
        elif self.causal:
            sums, _ = in_chunks(q, k, v, empty_state(k, v))
        else:
            # Every query reads the same: `[batch_size, heads, d_k, d_k+1]`
            state = torch.einsum("jbhd,jbhv->bhdv", k, v)
            sums = torch.einsum("ibhd,bhdv->ibhv", q, state)

        # The weights are positive and sum to one, if somebody wants to see them.
        self.attn = None
        if self.keep_attn:
            visible = causal_mask(len(k), k.device).unsqueeze(-1) if self.causal else mask
            products = products_of(q, k, visible).detach()
            self.attn = products / or_one(products.sum(dim=1, keepdim=True))
        return self.finish(sums, query.dtype)

    def extend(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        r"""
        ### Go on

        For a model that writes: `x` are the new tokens, `[seq_len, batch_size, d_model]`, and
        `state` is what the last call left. The results are those of the whole text at the new
        positions, and the new state, as large as the old one.
        """
        if not self.causal:
            raise ValueError("attention that isn't causal would see the tokens still to come")
        q, k, v = self.prepare(x, x, x)
        sums, state = in_chunks(q, k, v, empty_state(k, v) if state is None else state)
        return self.finish(sums, x.dtype), state

    def prepare(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, ...]:
        r"""
        ### Project

        A long sum of 16-bit numbers would soon stop growing, so these become wider.
        """
        q, k, v = self.query(query), self.key(key), self.value(value)
        q, k, v = (x.float() if x.element_size() == 2 else x for x in (q, k, v))
        return feature_map(q), feature_map(k), with_ones(v)

    def finish(self, sums: Tensor, dtype: torch.dtype) -> Tensor:
        r"""
        ### Divide, and put the heads together
        """
        x = self.dropout(divided(sums)).to(dtype)
        return self.output(x.flatten(start_dim=2))

    def padding_of(
        self, mask: Tensor | None, query_shape: torch.Size, key_shape: torch.Size
    ) -> Tensor | None:
        r"""
        ### Check the mask

        It gets an axis for the heads. In causal attention it loses all rows but the last, which
        sees everything but padding. That the others say nothing else is looked up: who has a GPU
        to keep busy gives no mask, or one row.
        """
        n_queries, n_keys = query_shape[0], key_shape[0]
        if self.causal and n_queries != n_keys:
            raise ValueError(f"causal attention of {n_queries} queries to {n_keys} keys")
        if mask is None:
            return None
        checked = self.prepare_mask(mask, query_shape, key_shape)
        if not self.causal or len(mask) == 1:
            return checked
        if not mask.equal(mask[-1:] & causal_mask(n_keys, mask.device)):
            raise ValueError(
                f"the mask of {n_queries} queries is not the causal one, with or without padding"
            )
        return checked[-1:]


def in_transformer(
    *, d_model: int, heads: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    In the place of the attention that the [transformer that
    writes](../basic/autoregressive_experiment.py) has.
    """
    return {"self_attn": lambda: LinearAttention(heads, d_model, dropout_prob, causal=True)}


def example(
    seq_len: int = 7,
    seq_len_k: int = 11,
    batch_size: int = 3,
    heads: int = 5,
    d_k: int = 2,
    d_v: int = 13,
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    The three ways on the same numbers; a text and two tokens more; and a memory with padding.
    """
    query, key = feature_map(torch.randn(2, seq_len, batch_size, heads, d_k))
    value = torch.randn(seq_len, batch_size, heads, d_v)
    at_once = all_at_once(query, key, value, causal_mask(seq_len).unsqueeze(-1))
    steps, state = step_by_step(query, key, value, empty_state(key, value))
    chunks, _ = in_chunks(query, key, value, empty_state(key, value), chunk_len=3)
    means = divided(all_at_once(query, key, with_ones(value), mask=None))

    d_model = heads * d_k
    attention = LinearAttention(heads, d_model, causal=True)
    x = torch.randn(seq_len, batch_size, d_model)
    whole = attention(query=x, key=x, value=x, mask=causal_mask(seq_len))
    begun, carried = attention.extend(x)
    end, _ = attention.extend(x[:2], carried)

    # The first memory of the batch is nothing but padding.
    memory = torch.randn(seq_len_k, batch_size, d_model)
    padding = torch.arange(seq_len_k)[None, :, None] < torch.arange(batch_size)
    attention = LinearAttention(heads, d_model)
    crossed = attention(query=x, key=memory, value=memory, mask=padding)
    return at_once, steps, state, chunks, means, whole, begun, end, crossed
