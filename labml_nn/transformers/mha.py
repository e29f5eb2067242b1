r"""
---
title: Multi-Head Attention
summary: Scaled dot-product attention with many heads, once to be read, once to be fast.
paper:
  title: Attention Is All You Need
  authors: Vaswani et al.
  year: 2017
  link: https://arxiv.org/abs/1706.03762
---

Attention lets each position of one sequence gather what it needs from the positions of
another, or of its own. Sequences have their positions on the **first** axis here:
queries come as `[seq_len_q, batch_size, d_model]`, and what they look at comes as
`[seq_len_k, batch_size, d_model]`.

A position asks with a *query*, is found by its *key*, and hands over its *value*
(section 3.2.1 of the paper):

$$
\operatorname{Attention}(Q, K, V) =
\operatorname{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V
$$

The softmax runs along the keys, so a query takes home a weighted mean of the values.
A single mean would blur together all that it was looking for. Hence the many *heads*:
each has projections of its own, to $d_k$ features, and takes a mean of its own. With
$d_k$ the width of the model divided by the number of heads, they cost no more than one
wide head would (section 3.2.2).

The page leaves out the layers around attention, which are in [models.py](models.py),
and the [cache](kv_cache.py) of keys and values for generating text. It departs from the
paper in two things that have become usual: projections have biases, and weights have
dropout.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.transformers.fast_attention import can_look, mean_of_values


class PrepareForMultiHeadAttention(nn.Module):
    r"""
    ## Projection to heads

    One linear layer makes the vectors of all heads. Queries, keys and values have one
    each.
    """

    def __init__(self, d_model: int, heads: int, d_k: int, bias: bool) -> None:
        r"""
        * `d_model` is the number of features that come in
        * `heads` is the number of heads
        * `d_k` is the number of features that each head gets
        * `bias` says whether the layer has a bias
        """
        super().__init__()
        self.linear = nn.Linear(d_model, heads * d_k, bias=bias)
        self.heads = heads
        self.d_k = d_k

    def forward(self, x: Tensor) -> Tensor:
        r"""
        ### Project and split

        From `[..., d_model]`, with any axes before the last, to `[..., heads, d_k]`.
        """
        return self.linear(x).unflatten(-1, (self.heads, self.d_k))


class MultiHeadAttention(nn.Module):
    r"""
    ## Multi-head attention

    $$
    \operatorname{MultiHead}(Q, K, V) =
    \operatorname{Concat}(\text{head}_1, \dots, \text{head}_h)\, W^O
    $$

    There are two ways through it, with the same result. The *readable* one spells out
    scores, softmax and mean. The *fused* one leaves all three to
    [whatever is fast](fast_attention.py). Set `fused` to false to take the readable
    one; a subclass with scores or a mean of its own does so from the start.

    The weights are gone after a call, unless `keep_attn` is set: then the call takes
    the readable way and leaves them in `attn`, as they were before dropout:
    `[seq_len_q, seq_len_k, batch_size, heads]`.
    """

    def __init__(
        self, heads: int, d_model: int, dropout_prob: float = 0.1, bias: bool = True
    ) -> None:
        r"""
        * `heads` is the number of heads, which must divide `d_model`
        * `d_model` is the number of features that come in and go out
        * `dropout_prob` is the probability that a weight is dropped
        * `bias` says whether the four linear layers have biases
        """
        super().__init__()
        if heads < 1 or d_model < 1 or d_model % heads:
            raise ValueError(
                "d_model must be a positive multiple of heads, "
                f"got d_model={d_model} and heads={heads}"
            )
        self.d_model = d_model
        self.d_k = d_model // heads

        self.query = PrepareForMultiHeadAttention(d_model, heads, self.d_k, bias)
        self.key = PrepareForMultiHeadAttention(d_model, heads, self.d_k, bias)
        self.value = PrepareForMultiHeadAttention(d_model, heads, self.d_k, bias)
        self.output = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout_prob)

        # PyTorch's kernel computes scores and mean itself and would silently ignore
        # those of a subclass.
        mine, plain = type(self), MultiHeadAttention
        self.fused = (mine.get_scores, mine.get_mean) == (
            plain.get_scores,
            plain.get_mean,
        )
        self.keep_attn = False
        self.attn: Tensor | None = None

        # There are two [fast ways](fast_attention.py); who trains a model may find out
        # which is faster.
        self.kernel = True

    def project(
        self, query: Tensor, key: Tensor, value: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        r"""
        ### Project to heads

        To what the heads work with, `[seq_len_q, batch_size, heads, d_k]` for the query
        and `[seq_len_k, batch_size, heads, d_k]` for the others. The query is divided by
        $\sqrt{d_k}$: scaling it and not the scores gives the same product, and 16-bit
        numbers don't overflow on the way. Variants that do something to queries or keys
        override this method.
        """
        return self.query(query) / math.sqrt(self.d_k), self.key(key), self.value(value)

    def get_scores(self, query: Tensor, key: Tensor) -> Tensor:
        r"""
        ### Scores

        $$
        S_{ijbh} = \sum_d Q_{ibhd} K_{jbhd}
        $$

        From the query `[seq_len_q, batch_size, heads, d_k]`, which is divided by
        $\sqrt{d_k}$ already, and the key `[seq_len_k, batch_size, heads, d_k]` to
        `[seq_len_q, seq_len_k, batch_size, heads]`. Variants override this method.
        """
        return torch.einsum("ibhd,jbhd->ijbh", query, key)

    def get_bias(self, query: Tensor, key: Tensor) -> Tensor | None:
        r"""
        ### What is added to the scores

        Nothing here. Variants return a number for each
        [score](mha.py#MultiHeadAttention.get_scores), or for each of one sequence that
        stands for all. The fused way stays open to them: the kernel can add.
        """
        return None

    def get_mean(self, attn: Tensor, value: Tensor) -> Tensor:
        r"""
        ### Mean

        $$
        X_{ibhd} = \sum_j \operatorname{softmax}_j(S_{ijbh})\, V_{jbhd}
        $$

        From the weights, which sum to one along the keys, and the value `[seq_len_k,
        batch_size, heads, d_k]` to `[seq_len_q, batch_size, heads, d_k]`.
        """
        return torch.einsum("ijbh,jbhd->ibhd", attn, value)

    def prepare_mask(
        self, mask: Tensor, query_shape: torch.Size, key_shape: torch.Size
    ) -> Tensor:
        r"""
        ### Check the mask

        `mask` is `[seq_len_q, seq_len_k, batch_size]`, true where a query may attend to
        a key; its first and last axes may have length one. The result has an axis for
        the heads as well, `[seq_len_q, seq_len_k, batch_size, 1]`. Anything else is a
        `ValueError`: in a mask of numbers, zero means *hidden* to some libraries and
        *visible* to others.
        """
        if mask.dtype != torch.bool:
            raise ValueError(
                f"mask has dtype {mask.dtype}, expected torch.bool, true where a query "
                "may attend: pass mask != 0, or mask == 0 if yours is added to scores"
            )
        expected = [query_shape[0], key_shape[0], query_shape[1]]
        if (
            mask.dim() != 3
            or mask.shape[0] not in (1, expected[0])
            or mask.shape[1] != expected[1]
            or mask.shape[2] not in (1, expected[2])
        ):
            raise ValueError(
                f"mask has shape {list(mask.shape)}, expected [seq_len_q, seq_len_k, "
                f"batch_size] = {expected}, where the first and last may be 1"
            )
        return mask.unsqueeze(-1)

    def weighted_mean(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
    ) -> Tensor:
        r"""
        ### Scores, softmax and mean

        Both ways, from what the heads work with to `[seq_len_q, batch_size, heads, d_k]`.
        In the mask, which has an axis for the heads, each query sees a key.
        """
        self.attn = None
        bias = self.get_bias(query, key)
        if self.fused and not self.keep_attn:
            # PyTorch wants `[batch_size, heads, seq_len_q, d_k]`; these are views.
            q, k, v = (t.permute(1, 2, 0, 3) for t in (query, key, value))
            m, b = (None if t is None else t.permute(2, 3, 0, 1) for t in (mask, bias))
            allowed = m if b is None else b if m is None else b.where(m, -math.inf)

            # The query is scaled already. Whether the model trains, only we know.
            p = self.dropout.p if self.training else 0.0
            x = mean_of_values(q, k, v, allowed, p, self.kernel).permute(2, 0, 1, 3)
        else:
            # Only minus infinity is sure to make a weight of exactly zero.
            # `[seq_len_q, seq_len_k, batch_size, heads]`
            scores = self.get_scores(query, key)
            if bias is not None:
                scores = scores + bias.to(scores.dtype)
            if mask is not None:
                scores = scores.masked_fill(~mask, -math.inf)

            # They are weights once they sum to one along the keys.
            attn = scores.softmax(dim=1)
            x = self.get_mean(self.dropout(attn), value)
            if self.keep_attn:
                self.attn = attn.detach()
        return x

    def forward(
        self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        r"""
        ### Attend

        `query` and the result are `[seq_len_q, batch_size, d_model]`, `key` and `value`
        are `[seq_len_k, batch_size, d_model]`, and `mask` is as
        [prepare_mask](mha.py#MultiHeadAttention.prepare_mask) takes it. A query that
        may attend to nothing gets zero from every head. Shapes that don't fit together
        are a `ValueError`.
        """
        check_shapes(query.shape, key.shape, value.shape, self.d_model)
        if mask is not None:
            mask = self.prepare_mask(mask, query.shape, key.shape)

        # The query is `[seq_len_q, batch_size, heads, d_k]` from here on.
        query, key, value = self.project(query, key, value)

        # For an *idle* query, which may attend to nothing, the softmax would be 0/0. So
        # it becomes zero and sees all keys: every number stays finite, gradients too.
        has_key = None if mask is None else sees_a_key(mask)
        if has_key is not None:
            query = query * has_key.transpose(1, 2)
            mask = mask | ~has_key

        x = self.weighted_mean(query, key, value, mask)

        # What an idle query took home is thrown away.
        if has_key is not None:
            x = x * has_key.transpose(1, 2)
            if self.attn is not None:
                self.attn = self.attn * has_key

        # The heads, side by side again as `[seq_len_q, batch_size, d_model]`, meet in
        # the output layer.
        x = x.flatten(start_dim=2)
        return self.output(x)


def check_shapes(
    query: torch.Size, key: torch.Size, value: torch.Size, d_model: int
) -> None:
    r"""
    ## Check the shapes

    PyTorch would broadcast some wrong shapes and attend to the wrong sequence.
    """
    fit = len(query) == 3 and query[1:] == key[1:] and key == value
    if not fit or query[2] != d_model:
        raise ValueError(
            f"expected query [seq_len_q, batch_size, {d_model}] and key and value "
            f"[seq_len_k, batch_size, {d_model}], got query {list(query)}, "
            f"key {list(key)} and value {list(value)}"
        )


def sees_a_key(mask: Tensor) -> Tensor | None:
    r"""
    ## Is any query idle?

    From a mask with an axis for the heads, `[seq_len_q, seq_len_k, batch_size, 1]`, to
    what tells the idle queries from the others, `[seq_len_q, 1, batch_size, 1]`. Where
    [one can look](fast_attention.py#can_look) and sees that there are none, it is
    nothing, and what is done for them is left out. Who sees itself isn't idle, so mostly
    the diagonal says it all.
    """
    looks = can_look(mask)
    if looks and mask.shape[0] == mask.shape[1] and mask.diagonal().all():
        return None
    has_key = mask.any(dim=1, keepdim=True)
    return None if looks and has_key.all() else has_key


def causal_mask(seq_len: int, device: torch.device | str | None = None) -> Tensor:
    r"""
    ## Causal mask

    Position $i$ may attend to position $j$ where $j \le i$: to itself and what came
    before. The mask is `[seq_len, seq_len, 1]`, one for the whole batch.
    """
    ones = torch.ones(seq_len, seq_len, dtype=torch.bool, device=device)
    return ones.tril().unsqueeze(-1)


def spread_of_scores(d_k: int, n_samples: int = 1000) -> Tensor:
    r"""
    ## Why the scores are scaled

    If the features of queries and keys are independent, with mean 0 and variance 1, a
    score is a sum of $d_k$ terms of variance 1. Its standard deviation, which this
    function measures, is $\sqrt{d_k}$. Unscaled scores of a wide head would be so far
    apart that one key gets nearly all the weight, and the softmax next to no gradient
    (footnote 4 of the paper).
    """
    query, key = torch.randn(2, n_samples, d_k)
    return (query * key).sum(dim=-1).std()


def in_transformer(
    *, d_model: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    The [transformer that writes](basic/autoregressive_experiment.py) has this very
    attention with many heads. With a single wide one in its place, which costs the
    same, one can see what the heads are good for.
    """
    return {"self_attn": lambda: MultiHeadAttention(1, d_model, dropout_prob)}


def example(
    seq_len_q: int = 7,
    seq_len_k: int = 11,
    seq_len: int = 13,
    batch_size: int = 3,
    heads: int = 5,
    d_k: int = 2,
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    Cross attention both ways. Each sequence of the batch has a padding of its own; the
    first is nothing else, so its queries are idle.
    """
    d_model = heads * d_k
    attention = MultiHeadAttention(heads, d_model)
    x = torch.randn(seq_len_q, batch_size, d_model)
    memory = torch.randn(seq_len_k, batch_size, d_model)

    # Sequence number $b$ of the batch has $b$ tokens.
    in_sequence = torch.arange(seq_len_k)[:, None] < torch.arange(batch_size)
    mask = in_sequence.expand(seq_len_q, seq_len_k, batch_size)
    fused = attention(query=x, key=memory, value=memory, mask=mask)
    attention.keep_attn = True
    readable = attention(query=x, key=memory, value=memory, mask=mask)
    return fused, readable, causal_mask(seq_len), spread_of_scores(d_k)
