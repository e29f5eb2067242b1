r"""
---
title: Multi-Head Attention
summary: How the positions of a sequence exchange what they know.
know: ways/one_head_at_a_time.py
paper:
  title: Attention Is All You Need
  authors: Vaswani et al.
  year: 2017
  link: https://arxiv.org/abs/1706.03762
---

Everything else in a transformer works on one position at a time. Attention is where positions look
at each other. Without it, [the small transformer](basic/autoregressive_model.py) has only the last
letter and its position to predict the next one from. After 1,000 steps its loss is
[2.489](../../results/without.json#tables.without.No%20attention.loss). With attention it is
[1.846](../../results/without.json#tables.without.The%20whole%20model.loss).

Take “the cat sat”. Each word is a vector $x$. Three learned matrices make three vectors of it:

* the *query* $W^Q x$, what this word looks for,
* the *key* $W^K x$, what it can be found by,
* the *value* $W^V x$, what others get from it.

Let “sat” look for who sat. Its query is `2 2 0 0`. The dot product with a key, divided by
$\sqrt{4}$ for its 4 numbers ([why](mha.py#example)), is the *score*. The softmax turns scores into
weights:

| word | key | score | weight | value |
| --- | :---: | ---: | ---: | :---: |
| the | `0 0 1 1` | 0 | 0.09 | `0 0 1 0` |
| cat | `1 1 0 0` | 2 | 0.67 | `1 0 0 0` |
| sat | `1 0 0 1` | 1 | 0.24 | `0 1 0 0` |

The answer is the weighted average of the values, `0.67 0.24 0.09 0`: mostly that of “cat”. It is a
Python dictionary made soft: every key matches a little. For all words at once, with a query in each
row of $Q$, and keys and values in the rows of $K$ and $V$:

$$
\operatorname{Attention}(Q, K, V) = \operatorname{softmax}\left(\frac{Q K^\top}{\sqrt{d_k}}\right) V
$$

**In:** the positions that look, `[seq_len_q, batch_size, d_model]`, and the positions they look at,
`[seq_len_k, batch_size, d_model]`, often the same. **Out:** one vector for each position that
looks, `[seq_len_q, batch_size, d_model]`.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn


class PrepareForMultiHeadAttention(nn.Module):
    r"""
    ## Projection to heads

    This makes the queries; two more of it make the keys and the values. *Heads* are slices. With 8
    features and 2 heads, the first 4 numbers of the query are that of head 0, and the last 4 that
    of head 1:

    ```
    x of “sat”    0.3 -1.2  0.8  0.1  0.5 -0.7  1.1  0.4
    times W^Q     2    2    0    0    1    0    3    0
    head 0        2    2    0    0
    head 1                            1    0    3    0
    ```
    """

    def __init__(self, d_model: int, heads: int, d_k: int, bias: bool) -> None:
        r"""
        * `d_model` is the number of features that come in
        * `heads` is the number of heads, and `d_k` the number of features of each
        * `bias` is whether the projection adds learned numbers
        """
        super().__init__()
        # One matrix for all heads. Its first `d_k` rows are the matrix of the first head, the next
        # `d_k` rows that of the second: small matrices stacked, and one product for all.
        self.linear = nn.Linear(d_model, heads * d_k, bias=bias)
        self.heads = heads
        self.d_k = d_k

    def forward(self, x: Tensor) -> Tensor:
        r"""
        From `[..., d_model]` to `[..., heads, d_k]`.
        """
        # Each position by itself: no position has seen another yet.
        x = self.linear(x)

        # Cut the features into heads. No number moves; there is one more axis: `[..., heads, d_k]`.
        return x.unflatten(-1, (self.heads, self.d_k))


class MultiHeadAttention(nn.Module):
    r"""
    ## Multi-head attention

    One softmax makes one average. But “sat” may need to know *who* sat and *where*, and an average
    of both answers is neither. So each head has its own slice of queries, keys and values, and
    makes its own average. The answers are put side by side again and mixed by one more matrix:

    $$\operatorname{MultiHead} = \operatorname{Concat}(\text{head}_1, \dots, \text{head}_h)\, W^O$$

    Here $h$ is the number of heads; below, it is the index of one. With $d_k = d_{model} / h$
    features each, many heads have as many weights and multiplications as one. What grows is the
    number of scores: each head has its own.

    For “sat”, with 8 features and 2 heads:

    ```
                             head 0              head 1
    query                    2 2 0 0             1 0 3 0
    weights of three words   0.09 0.67 0.24      three others
    average of the values    0.67 0.24 0.09 0    four others
    side by side             8 numbers, times W^O: 8 numbers
    ```

    [Where the trained model looks in eight characters. A row is a query, a column a key; the first
    head of each layer](../../results/without.json#figures.attention)

    A diagonal is a head that looks at the letter itself or near it. A dark first column
    may be an [attention sink](memory/learned_sink.py), where a head puts weight that it has no
    use for.

    In the code, $i$ is the position of a query, $j$ that of a key, $b$ the sequence in the batch,
    $h$ the head and $d$ the feature. `torch.einsum` sums over the letters that its result doesn't
    have. The paper has no biases here, and drops no attention weights. (Of the biases, that of the
    keys has no effect: it adds the same number to all scores of a query, and the softmax doesn't
    change.)
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
        # The features are cut into slices of equal size, so nothing may be left over.
        if d_model % heads:
            raise ValueError(f"heads must divide d_model, got heads={heads}, d_model={d_model}")
        self.heads = heads
        self.d_k = d_model // heads

        # Three matrices of the same shape. They start with different random numbers and learn
        # different things: what to look for, what to be found by, what to hand over.
        self.query = PrepareForMultiHeadAttention(d_model, heads, self.d_k, bias)
        self.key = PrepareForMultiHeadAttention(d_model, heads, self.d_k, bias)
        self.value = PrepareForMultiHeadAttention(d_model, heads, self.d_k, bias)

        # Until here no head knows of another. This matrix mixes their answers.
        self.output = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout_prob)

        # The weights of the last call, for you to look at. Nothing in the model reads them.
        self.attn: Tensor | None = None

    def get_scores(self, query: Tensor, key: Tensor) -> Tensor:
        r"""
        ### Scores

        How well does each query match each key? The [variants](variants/__init__.py) change this.
        """
        # $S_{ijbh} = \sum_d Q_{ibhd} K_{jbhd}$: the dot product of each query with each key, in
        # every sequence and every head. It is large where the two point the same way.
        return torch.einsum("ibhd,jbhd->ijbh", query, key)

    def prepare_mask(self, mask: Tensor, query_shape: torch.Size, key_shape: torch.Size) -> Tensor:
        r"""
        ### Mask

        `mask[i, j, b]` is true where query $i$ of sequence $b$ may look at key $j$. The first axis
        may have length 1, for all queries alike, and the last one, for the whole batch. A hidden
        score becomes the smallest finite number. With minus infinity, the softmax of a query that
        sees no key would be 0/0, and only the line after the softmax, which sets hidden weights to
        zero, would keep that out of the result.
        """
        # Only true and false: some libraries hide where a mask of numbers is 0, others where it
        # isn't.
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

        # One more axis, for the heads: all of them see the same keys.
        return mask.unsqueeze(-1)

    def forward(
        self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        r"""
        ### Attend

        For *self-attention*, pass the same tensor three times. For *cross-attention*, `key` and
        `value` are another text. `query` and the result are `[seq_len_q, batch_size, d_model]`,
        `key` and `value` `[seq_len_k, batch_size, d_model]`.
        """
        # PyTorch would broadcast some shapes that don't fit, and compute something else in silence.
        if key.shape != value.shape or query.shape[1:] != key.shape[1:]:
            shapes = [list(x.shape) for x in (query, key, value)]
            raise ValueError(f"the shapes of query, key and value don't fit: {shapes}")
        if mask is not None:
            mask = self.prepare_mask(mask, query.shape, key.shape)

        # **Project.** Each position gets a query, a key and a value for each head:
        # `[seq_len_q, batch_size, heads, d_k]`.
        query = self.query(query)
        key = self.key(key)
        value = self.value(value)

        # **Score.** A sum of $d_k$ independent products of variance 1 has variance $d_k$; dividing
        # by $\sqrt{d_k}$ makes it 1 again. In float16, the undivided product would overflow sooner.
        scores = self.get_scores(query / math.sqrt(self.d_k), key)

        # **Hide.** With the smallest finite score, a hidden key gets a weight of exactly zero, if
        # the query sees any key.
        if mask is not None:
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)

        # **Weigh.** The softmax runs along the keys, so the weights of each query sum to one:
        # `[seq_len_q, seq_len_k, batch_size, heads]`.
        attn = scores.softmax(dim=1)

        # A query that sees no key has equal weights now. It should take nothing.
        if mask is not None:
            attn = attn.masked_fill(~mask, 0)
        self.attn = attn.detach()

        # **Average.** $X_{ibhd} = \sum_j A_{ijbh} V_{jbhd}$. In training, dropout leaves out
        # some weights, so that no head should rely on one position.
        x = torch.einsum("ijbh,jbhd->ibhd", self.dropout(attn), value)

        # **Mix.** Put the slices side by side again, `d_model` features, and mix them.
        return self.output(x.flatten(start_dim=2))


def causal_mask(seq_len: int) -> Tensor:
    r"""
    ## Causal mask

    Position $i$ may look at position $j$ if $j \le i$. For three words:

    ```
          the  cat  sat
    the    1    0    0
    cat    1    1    0
    sat    1    1    1
    ```

    A model that predicts the next word must not see it. Without this mask, each position but the
    last copies the answer from its right neighbour: on the validation text, with the whole window
    in sight, the loss falls to [0.040](../../results/without.json#tables.without.No%20mask.loss).
    When you write, there is no right neighbour, and the loss is
    [10.682](../../results/without.json#tables.without.No%20mask.honest), worse than guessing.
    """
    # `tril` keeps the lower triangle of the *last two* axes, so add the axis of the batch after it.
    # If it were there before, `tril` would take keys and batch for the triangle, and hide nothing.
    return torch.ones(seq_len, seq_len, dtype=torch.bool).tril().unsqueeze(-1)


def in_transformer(
    *, d_model: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    What the [comparison](basic/comparison_experiment.py) puts in the place of the four heads of the
    [small transformer](basic/autoregressive_model.py): one wide head.
    """
    return {"self_attn": lambda: MultiHeadAttention(1, d_model, dropout_prob)}


def example(
    seq_len_q: int = 7, seq_len_k: int = 11, batch_size: int = 3, heads: int = 5, d_k: int = 2
) -> Tensor:
    r"""
    ## Example

    Self-attention, and then cross-attention to a longer text. Whose length does the result have?

    ### Why the scores are scaled

    Without the scale, a wide head gives most of the weight to one key. For random queries and keys
    of variance 1:

    [The mean of the largest of 64 weights](../../results/drawings.json#tables.scale)

    The paper suspects that the gradient of the softmax gets too small there. A weight $p$ changes
    by $p (1 - p)$ with its score: 0.25 for $p = 0.5$, and 0.01 for $p = 0.99$. But for each of 64
    *equal* weights it is small as well, 0.015. Take the largest $p (1 - p)$ of each random query
    and average. With 64 features it is 0.12 without the scale, and 0.09 with it: not smaller. With
    1,024 features it is 0.04 and 0.09. So the suspicion is right for very wide heads. What is
    certain is that such a query takes its answer from one key and hardly from the others.

    ### Measured here

    Without the scale, the loss of our model is
    [2.019](../../results/without.json#tables.without.Scores%20not%20scaled.loss) instead of
    [1.846](../../results/without.json#tables.without.The%20whole%20model.loss). With another recipe
    it can be the other way round: the model of the [museum](mistakes/experiment.py) reaches
    [2.072](../../results/mistakes.json#tables.mistakes.Unscaled.printed) without the scale, and
    [2.117](../../results/mistakes.json#tables.mistakes.RightAttention.printed) with it.

    Several heads are no gain on this text and at this size: one head of full width reaches
    [1.852](../../results/without.json#tables.without.One%20wide%20head.loss), four heads
    [1.846](../../results/without.json#tables.without.The%20whole%20model.loss). Here is a task that
    needs them. A text has eight random symbols, out of six. At its end the model must say which
    stands at the second place and which at the fifth. One head has one set of weights and returns
    one mix of both values. Unequal weights could still tell them apart, but training doesn't find
    that: one symbol is right each time, and the other is guessed.

    [Pairs that are right, after 1,000 steps of one layer with 32 features; three
    seeds](../../results/two_places.json#tables.heads)

    ### Is yours right?

    An attention with a wrong [scale](mistakes/projections.py), [mask](mistakes/masks.py) or
    [view](mistakes/axes.py) trains as well, and the loss often looks right. [One
    call](../../wrongline/attention_tests.py) tests yours and names the mistake. Or [paste
    it](../../wrongline/pasted.py): it is tested in your browser.

    ### Exercises

    ??? question "Why is the query divided by $\sqrt{d_k}$?"
        - [ ] Without it, the exponentials of the softmax overflow.
            - The softmax subtracts the largest score first. (In float16 the scores themselves can
              overflow, which is why the query is divided and not the product.)
        - [ ] So that the weights of a query sum to one.
            - The softmax sees to that, whatever the scores are.
        - [x] The sum of more products varies more, and one key would get most of the weight.
            - Yes. With 64 features the largest of 64 random weights is 0.80 on average, and with
              the scale 0.11.
        - [ ] So that no head has more influence than another.
            - Each head has a softmax of its own, and no head competes with another.

    ??? question "What are the attention weights of the first position under the causal mask?"
        It sees itself alone, so its weight is 1 for every head.

    ??? question "Which is 1: `attn.sum(0)` or `attn.sum(1)`?"
        `attn.sum(1)`, over keys. The other axis is a [mistake](mistakes/axes.py): queries compete.

    ??? question "The mask is `torch.ones(n, n, 1, dtype=torch.bool).tril()`. How do you notice?"
        Not by a shape: all are right. Change the last token and look whether an earlier output
        moves. Or look at the weights: `attn[0, 1:]` must be zero.
    """
    # One module for both calls. In a real model, each of them would have its own.
    d_model = heads * d_k
    attention = MultiHeadAttention(heads, d_model)

    # Random vectors in place of words. All axes have different lengths, so you can tell them apart.
    x = torch.randn(seq_len_q, batch_size, d_model)
    memory = torch.randn(seq_len_k, batch_size, d_model)

    # Self-attention under the causal mask; then cross-attention to `memory`, which is known as a
    # whole and needs no mask.
    x = attention(query=x, key=x, value=x, mask=causal_mask(seq_len_q))
    return attention(query=x, key=memory, value=memory)
