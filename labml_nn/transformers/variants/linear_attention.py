r"""
---
title: Linear Attention
summary: Without the softmax, attention is a sum that can be carried along, in a state of fixed size.
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
sequences, step by step is for writing, in chunks is for training. The page departs from the paper
in the third, which is from later work ([Hua et al. 2022](https://arxiv.org/abs/2202.10447)), and
in how [one small number](linear_attention.py#feature_map) is computed. It leaves out the scale
$1/\sqrt{d_k}$, as the paper does.
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

    The sum below the line is the one above it with $1$ for the value. So each value gets a $1$
    at its end, `[seq_len, batch_size, heads, d_v]`, and one sum does for both.
    """
    return F.pad(value, (0, 1), value=1.0)


def divided(sums: Tensor) -> Tensor:
    r"""
    ## Divide by it

    From `[seq_len, batch_size, heads, d_v]` to one feature less. Where nothing was summed, zero is
    divided by one.
    """
    total = sums[..., -1:]
    return sums[..., :-1] / torch.where(total == 0, 1.0, total)


def all_at_once(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    r"""
    ## All at once

    $$
    O_{ibhv} = \sum_j M_{ijbh} \Big( \sum_d Q_{ibhd} K_{jbhd} \Big) V_{jbhv}
    $$

    Query and key, after the feature map, are `[seq_len, batch_size, heads, d_k]`. The mask has four
    axes, `[seq_len_q, seq_len_k, batch_size, heads]`, of which all but the second may be one long.
    Any mask will do, but all products are there at once.
    """
    products = torch.einsum("ibhd,jbhd->ijbh", query, key)
    return torch.einsum("ijbh,jbhv->ibhv", products.masked_fill(~mask, 0.0), value)


def weights_of(query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
    r"""
    ## The weights

    Only to be looked at, `[seq_len_q, seq_len_k, batch_size, heads]`. They are positive and sum to
    one, like those of a softmax, but can't be as sharp.
    """
    products = torch.einsum("ibhd,jbhd->ijbh", query, key)
    if mask is not None:
        products = products.masked_fill(~mask, 0.0)
    total = products.sum(dim=1, keepdim=True)
    return products / torch.where(total == 0, 1.0, total)


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

    Steps are few numbers at a time, which no machine is fast at. Here a step is a whole chunk: its
    queries read what was before it from the state, and meet the keys of their own chunk all at
    once. The cost is linear in the length for a `chunk_len` that stays. The results are those of
    [single steps](linear_attention.py#step_by_step).
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

        `query` and the result are `[seq_len_q, batch_size, d_model]`, `key` and `value` are
        `[seq_len_k, batch_size, d_model]`. A mask `[1, seq_len_k, batch_size]` hides padding, and
        the cost stays linear.

        A mask with a row for each query can be anything where the attention isn't causal, at the
        cost of all products. Where it is, it must be the causal mask, perhaps with padding: it
        says nothing new then, but models that don't know what attention they have hand it over.
        """
        check_shapes(query.shape, key.shape, value.shape, self.d_model)
        mask = self.padding_of(mask, query.shape, key.shape)
        q, k, v = self.prepare(query, key, value)

        # What is hidden from all adds nothing to any sum.
        if mask is not None and len(mask) == 1:
            k = k * mask[0].unsqueeze(-1)
        if mask is not None and len(mask) > 1:
            sums = all_at_once(q, k, v, mask)
        elif self.causal:
            sums, _ = in_chunks(q, k, v, empty_state(k, v))
        else:
            state = torch.einsum("jbhd,jbhv->bhdv", k, v)
            sums = torch.einsum("ibhd,bhdv->ibhv", q, state)

        # The weights, if somebody wants to see them.
        self.attn = None
        if self.keep_attn:
            if self.causal:
                mask = causal_mask(len(k), k.device).unsqueeze(-1)
            self.attn = weights_of(q, k, mask).detach()
        return self.finish(sums, query.dtype)

    def extend(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        r"""
        ### Go on

        For a model that writes: `x` are the new tokens, `[seq_len, batch_size, d_model]`, and
        `state` is what the last call left. The results are those of the whole text at the new
        positions, and the new state. There is no cache that grows.
        """
        q, k, v = self.prepare(x, x, x)
        state = empty_state(k, v) if state is None else state
        sums, state = in_chunks(q, k, v, state)
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

        `mask` gets an axis for the heads. In causal attention it loses all rows but the last, which
        sees everything but padding.
        """
        if self.causal and query_shape[0] != key_shape[0]:
            raise ValueError(
                "causal attention is of a sequence to itself, "
                f"got {query_shape[0]} queries and {key_shape[0]} keys"
            )
        if mask is None:
            return None
        checked = self.prepare_mask(mask, query_shape, key_shape)
        if not self.causal or len(mask) == 1:
            return checked
        if not mask.equal(mask[-1:] & causal_mask(len(mask), mask.device)):
            raise ValueError(
                f"the mask of {len(mask)} queries is not the causal one, with or without padding: "
                "in causal attention there is no other"
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
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    The three ways on the same numbers; a text in two parts; and a memory with padding.
    """
    query, key = feature_map(torch.randn(2, seq_len, batch_size, heads, d_k))
    value = with_ones(torch.randn(seq_len, batch_size, heads, d_k))
    visible = causal_mask(seq_len).unsqueeze(-1)
    parallel = divided(all_at_once(query, key, value, visible))
    steps, state = step_by_step(query, key, value, empty_state(key, value))
    chunks, _ = in_chunks(query, key, value, empty_state(key, value), chunk_len=3)

    attention = LinearAttention(heads, heads * d_k, causal=True).eval()
    x = torch.randn(seq_len, batch_size, heads * d_k)
    whole = attention(query=x, key=x, value=x, mask=causal_mask(seq_len))
    begun, carried = attention.extend(x[:-2])
    end, carried = attention.extend(x[-2:], carried)

    memory = torch.randn(seq_len_k, batch_size, heads * d_k)
    padding = torch.arange(seq_len_k)[None, :, None] < torch.arange(batch_size)
    crossed = LinearAttention(heads, heads * d_k)(query=x, key=memory, value=memory, mask=padding)
    return parallel, divided(steps), state, divided(chunks), whole, begun, end, carried, crossed
