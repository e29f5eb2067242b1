r"""
---
title: Multi-Head Attention
summary: How the positions of a sequence exchange what they know, in seventy lines of code.
know: ways/one_head_at_a_time.py
paper:
  title: Attention Is All You Need
  authors: Vaswani et al.
  year: 2017
  link: https://arxiv.org/abs/1706.03762
---

Everything else in a transformer looks at one position at a time. Attention is where positions look
at each other. Without it, [the small transformer](basic/autoregressive_model.py) predicts a letter
from the one before it and its position. After 1,000 steps its loss is
[2.489](../../results/without.json#tables.without.No%20attention.loss), about that of [counting
pairs](../training/counting.py). With attention it is
[1.846](../../results/without.json#tables.without.The%20whole%20model.loss).

**In:** queries, `[seq_len_q, batch_size, d_model]`, one for each position that looks, and keys and
values, `[seq_len_k, batch_size, d_model]`, one pair for each position that is looked at. **Out:**
one vector for each query, `[seq_len_q, batch_size, d_model]`.

Think of a Python dictionary. Indexing it with a query returns the value whose key *equals* the
query. Attention is the same lookup made soft: every key gets a score for how well it *matches*, the
scores become weights that sum to one, and the answer is the weighted average of the values. With
the scores 2, 1 and 0 for three keys, the weights are 0.67, 0.24 and 0.09.

[What the trained model looks at in eight characters. A row is a query, a column a key; the first
head of each layer](../../results/without.json#figures.attention)

In matrices, with a row for each query in $Q$, and for each key and value in $K$ and $V$:

$$
\operatorname{Attention}(Q, K, V) = \operatorname{softmax}\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V
$$

In the code, $i$ is the position of a query, $j$ that of a key, $b$ the sequence in the batch, $h$
the head and $d$ the feature. `torch.einsum` sums over the letters that its result doesn't have.
Biases and dropout of weights aren't the paper's.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn


class PrepareForMultiHeadAttention(nn.Module):
    r"""
    ## Projection to heads
    """

    def __init__(self, d_model: int, heads: int, d_k: int, bias: bool) -> None:
        r"""
        * `d_model` is the number of features that come in
        * `heads` is the number of heads, and `d_k` the number of features of each
        * `bias` is whether the projection adds learned numbers
        """
        super().__init__()
        # One matrix for all heads: from `d_model` features to `d_k` for each of the `heads`. That
        # is the same as a small matrix for each head, in one product.
        self.linear = nn.Linear(d_model, heads * d_k, bias=bias)
        self.heads = heads
        self.d_k = d_k

    def forward(self, x: Tensor) -> Tensor:
        r"""
        From `[..., d_model]` to `[..., heads, d_k]`.
        """
        # What to ask (a query), what to be found by (a key), or what to answer (a value).
        x = self.linear(x)

        # The features are cut into heads, which get an axis of their own: `[..., heads, d_k]`
        return x.unflatten(-1, (self.heads, self.d_k))


class MultiHeadAttention(nn.Module):
    r"""
    ## Multi-head attention

    One average answers one question. A word may need its subject *and* its tense, so several
    *heads* look up side by side, each with its own projections to $d_k = d_{model} / h$ features.
    That is the reason usually given. On this text and at this size we found no gain: one wide head
    reaches [1.852](../../results/without.json#tables.without.One%20wide%20head.loss), four heads
    [1.846](../../results/without.json#tables.without.The%20whole%20model.loss).

    $$\operatorname{MultiHead} = \operatorname{Concat}(\text{head}_1, \dots, \text{head}_h)\, W^O$$

    Here $h$ is the number of heads.
    """

    def __init__(
        self, heads: int, d_model: int, dropout_prob: float = 0.1, bias: bool = True
    ) -> None:
        r"""
        * `heads` is the number of heads; it must divide `d_model`
        * `d_model` is the number of features that come in and go out
        * `dropout_prob` is the probability that an attention weight is dropped in training
        * `bias` is whether the four projections add learned numbers
        """
        super().__init__()
        # The features are shared out among the heads, so nothing may be left over.
        if d_model % heads:
            raise ValueError(f"heads must divide d_model, got heads={heads}, d_model={d_model}")
        self.heads = heads
        self.d_k = d_model // heads

        # What to ask, what to be found by, and what to answer.
        self.query = PrepareForMultiHeadAttention(d_model, heads, self.d_k, bias)
        self.key = PrepareForMultiHeadAttention(d_model, heads, self.d_k, bias)
        self.value = PrepareForMultiHeadAttention(d_model, heads, self.d_k, bias)

        # The heads answer side by side. This mixes their answers.
        self.output = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout_prob)

        # The weights of the last call, for looking at them. Nothing here reads them, and they have
        # no gradients.
        self.attn: Tensor | None = None

    def get_scores(self, query: Tensor, key: Tensor) -> Tensor:
        r"""
        ### Scores

        How well does each query match each key? Variants override this method.
        """
        # $S_{ijbh} = \sum_d Q_{ibhd} K_{jbhd}$, large where two vectors point the same way.
        return torch.einsum("ibhd,jbhd->ijbh", query, key)

    def prepare_mask(self, mask: Tensor, query_shape: torch.Size, key_shape: torch.Size) -> Tensor:
        r"""
        ### Mask

        `mask[i, j, b]` is true where query $i$ of sequence $b$ may look at key $j$. With a length
        of 1, the first axis stands for all queries, and the last for the whole batch.
        """
        # A mask of numbers is refused: zero means *hidden* to some libraries, *visible* to others.
        expected = [query_shape[0], key_shape[0], query_shape[1]]
        fits = (
            mask.dim() == 3
            and mask.shape[0] in (1, expected[0])
            and mask.shape[1] == expected[1]
            and mask.shape[2] in (1, expected[2])
        )
        if mask.dtype != torch.bool or not fits:
            got = f"{mask.dtype} {list(mask.shape)}"
            raise ValueError(f"expected a mask of torch.bool {expected}, got {got}")

        # The axis for the heads comes last: all of them see the same keys.
        return mask.unsqueeze(-1)

    def forward(
        self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        r"""
        ### Attend

        Self-attention passes one tensor three times. In cross-attention, key and value are another.
        `query` and the result are `[seq_len_q, batch_size, d_model]`, `key` and `value`
        `[seq_len_k, batch_size, d_model]`.
        """
        # Shapes that don't fit would be broadcast in silence: one key for all, say.
        if key.shape != value.shape or query.shape[1:] != key.shape[1:]:
            shapes = [list(x.shape) for x in (query, key, value)]
            raise ValueError(f"the shapes of query, key and value don't fit: {shapes}")
        if mask is not None:
            mask = self.prepare_mask(mask, query.shape, key.shape)

        # Each position now has a vector for each head: `[seq_len_q, batch_size, heads, d_k]`.
        query = self.query(query)
        key = self.key(key)
        value = self.value(value)

        # The dot product of $d_k$ independent features of mean 0 and variance 1 has variance $d_k$;
        # this makes it 1 again. Scaling the query instead makes float16 overflow less easily.
        scores = self.get_scores(query / math.sqrt(self.d_k), key)

        # A hidden key gets the smallest finite score, so the softmax makes its weight exactly zero.
        # (With minus infinity, a query without any key would get not-a-number.)
        if mask is not None:
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)

        # Along the keys, so that weights sum to one: `[seq_len_q, seq_len_k, batch_size, heads]`.
        attn = scores.softmax(dim=1)

        # A query that may look at nothing has equal weights now. It should take nothing.
        if mask is not None:
            attn = attn.masked_fill(~mask, 0)
        self.attn = attn.detach()

        # $X_{ibhd} = \sum_j A_{ijbh} V_{jbhd}$, and dropout lets no head rely on one position.
        x = torch.einsum("ijbh,jbhd->ibhd", self.dropout(attn), value)

        # The heads' answers side by side, mixed by the last projection.
        return self.output(x.flatten(start_dim=2))


def causal_mask(seq_len: int) -> Tensor:
    r"""
    ## Causal mask

    Position $i$ may look at position $j$ if $j \le i$.

    A model that predicts the next token must not see it, so each query may look only at its own
    position and those before it. Without this mask the loss falls to
    [0.040](../../results/without.json#tables.without.No%20mask.loss), since each position sees the
    answer. When you write, there is no later token to see, and the loss is
    [10.682](../../results/without.json#tables.without.No%20mask.honest).
    """
    # `tril` keeps the lower triangle of the *last two* axes, so the axis of the batch comes after
    # it. With that axis already there nothing would be masked, and every loss would look wonderful.
    return torch.ones(seq_len, seq_len, dtype=torch.bool).tril().unsqueeze(-1)


def in_transformer(
    *, d_model: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    One wide head, where the [small transformer](basic/autoregressive_model.py) has four heads.
    """
    return {"self_attn": lambda: MultiHeadAttention(1, d_model, dropout_prob)}


def example(
    seq_len_q: int = 7, seq_len_k: int = 11, batch_size: int = 3, heads: int = 5, d_k: int = 2
) -> Tensor:
    r"""
    ## Example

    ### Why the scores are scaled

    For random queries and keys of variance 1: without the scale, a wide head gives most of the
    weight to one key, where the gradient of the softmax is nearly zero.

    [The mean of the largest of 64 weights](../../results/drawings.json#tables.scale)

    Without the scale our model's loss is
    [2.019](../../results/without.json#tables.without.Scores%20not%20scaled.loss), not
    [1.846](../../results/without.json#tables.without.The%20whole%20model.loss). It depends on the
    recipe: the [museum's](mistakes/experiment.py) model trains better without it,
    [2.072](../../results/mistakes.json#tables.mistakes.Unscaled.printed) beside
    [2.117](../../results/mistakes.json#tables.mistakes.RightAttention.printed).

    ### Is yours right?

    Wrong [scales](mistakes/projections.py), [masks](mistakes/masks.py) and
    [views](mistakes/axes.py) train, too. [One call](mistakes/attention_tests.py) names them.

    ### Exercises

    ??? question "Why is the query divided by $\sqrt{d_k}$?"
        - [ ] Without it, the exponentials of the softmax overflow.
            - The softmax subtracts the largest score first. (In float16 the scores themselves can
              overflow, which is why the query is divided and not the product.)
        - [ ] So that the weights of a query sum to one.
            - The softmax sees to that, whatever the scores are.
        - [x] The sum of more products varies more, and one key would get nearly all weight.
            - Yes. Where one weight is nearly 1, the gradient of the softmax is nearly 0, and
              attention learns slowly.
        - [ ] So that no head has more influence than another.
            - Each head has a softmax of its own, and no head competes with another.

    ??? question "What are the attention weights of the first position under the causal mask?"
        It sees itself alone, so its weight is 1 for every head.

    ??? question "Which is 1: `attn.sum(0)` or `attn.sum(1)`?"
        `attn.sum(1)`, over keys. The other axis is a [mistake](mistakes/axes.py): queries compete.

    ??? question "The mask is `torch.ones(n, n, 1, dtype=torch.bool).tril()`. What test notices?"
        Every shape is right. Only this notices: change the last token; no earlier output may move.
    """
    # One module for both calls; the second one would usually have its own.
    d_model = heads * d_k
    attention = MultiHeadAttention(heads, d_model)

    # Random vectors in place of tokens. All axes differ in length, so that shapes tell them apart.
    x = torch.randn(seq_len_q, batch_size, d_model)
    memory = torch.randn(seq_len_k, batch_size, d_model)

    # Only self-attention needs the mask. The other sequence is known as a whole.
    x = attention(query=x, key=x, value=x, mask=causal_mask(seq_len_q))
    return attention(query=x, key=memory, value=memory)
