r"""
---
title: Linear Attention
summary: Without the softmax, attention is a sum that is carried along in a state of fixed size.
paper:
  title: "Transformers are RNNs: Fast Autoregressive Transformers with Linear Attention"
  authors: Katharopoulos et al.
  year: 2020
  link: https://arxiv.org/abs/2006.16236
terms: {linear attention: "Without a softmax the past fits into one matrix; time grows linearly."}
---

[Attention](../mha.py) compares every query with every key, so twice the text costs four times as
much, and a model that writes has to keep all keys and values. Linear attention keeps two sums. Take
three tokens with keys of two features, and values that are single numbers:

| | first token | second token | third token | sum |
| --- | ---: | ---: | ---: | ---: |
| key $k$ | (1, 0) | (0, 1) | (1, 1) | (2, 2) |
| value $v$ | 10 | 20 | 30 | |
| $k \, v$ | (10, 0) | (0, 20) | (30, 30) | (40, 50) |

The query (1, 0) gives the tokens the weights 1, 0 and 1, so their average is $(10 + 30) / 2 = 20$.
The two sums know it already: the query reads 40 from the one and 2 from the other. The query (0, 1)
reads $50 / 2 = 25$. The tokens themselves aren't needed any more.

In a softmax a key has the weight $e^{q \cdot k}$, divided by the sum over all keys. Replace it by
$\phi(q) \cdot \phi(k)$, where the *feature map* $\phi$ turns one vector into another. Then the
brackets can be moved:

$$
\frac{\sum_j \left( \phi(q_i) \cdot \phi(k_j) \right) v_j}{\sum_j \phi(q_i) \cdot \phi(k_j)} =
\frac{\phi(q_i)^\top \sum_j \phi(k_j)\, v_j^\top}{\phi(q_i)^\top \sum_j \phi(k_j)}
$$

$q_i$ is the query at position $i$, $k_j$ and $v_j$ are the key and the value at position $j$, all
of one head. For 1,000 positions and 64 features, the left side takes 128 million multiplications
and the right side 8 million.

**In:** queries, keys and values, `[seq_len, batch_size, d_model]`. **Out:** one vector for each
query, and, to go on with the text, a *state* whose size doesn't depend on the text's length.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.mha import PrepareForMultiHeadAttention, causal_mask

State = tuple[Tensor, Tensor]


def feature_map(x: Tensor) -> Tensor:
    r"""
    ## Feature map

    $\phi(x) = \operatorname{elu}(x) + 1$: that is $x + 1$ above zero and $e^x$ below.
    """
    # All features are positive, so all weights are, and their sum is never zero. (Rounded, it can
    # be: see the last exercise.) Below zero there is a gradient; a ReLU has none.
    return F.elu(x) + 1


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
    r"""
    ## Attention weights

    The left side of the equation, `[seq_len, seq_len, batch_size, heads]`. Query and key have been
    through the feature map, here and below: `[seq_len, batch_size, heads, d_k]`.
    """
    # In the place of the exponentials of the scores: $\phi(q_i) \cdot \phi(k_j)$ for each pair.
    weights = torch.einsum("ibhd,jbhd->ijbh", query, key)

    # A softmax would need scores of minus infinity here. Weights can be set to zero directly, since
    # nothing is divided yet.
    if mask is not None:
        weights = weights * mask.unsqueeze(-1)

    # A query that may look at nothing has a sum of zero. The small number keeps it from being 0/0.
    return weights / weights.sum(dim=1, keepdim=True).clamp(min=1e-6)


def empty_state(key: Tensor, value: Tensor) -> State:
    r"""
    ## State

    The two sums before anything has been added, `[batch_size, heads, d_k, d_v]` and
    `[batch_size, heads, d_k]`.
    """
    # No axis is that of the sequence: this is all that is kept, however long the text.
    return key.new_zeros(*key.shape[1:], value.shape[-1]), key.new_zeros(key.shape[1:])


def step_by_step(query: Tensor, key: Tensor, value: Tensor, state: State) -> tuple[Tensor, State]:
    r"""
    ## Recurrent form

    $$
    S_i = S_{i-1} + k_i v_i^\top \qquad z_i = z_{i-1} + k_i \qquad
    o_i = \frac{S_i^\top q_i}{z_i \cdot q_i}
    $$

    $S$ is the matrix, $z$ the vector, $o$ the result, `[seq_len, batch_size, heads, d_v]`.
    """
    # A list of results, and a state that each position replaces by a new one of the same size.
    total, norm = state
    results = []
    for q, k, v in zip(query, key, value, strict=True):
        # Write: the key says into which rows of the state the value goes.
        total = total + k[..., :, None] * v[..., None, :]
        norm = norm + k

        # Read: the query says which rows to take, and the second sum makes the weights sum to one.
        read = torch.einsum("bhd,bhdv->bhv", q, total)
        results.append(read / torch.einsum("bhd,bhd->bh", q, norm).unsqueeze(-1))
    return torch.stack(results), (total, norm)


def in_chunks(
    query: Tensor, key: Tensor, value: Tensor, state: State, chunk_len: int = 64
) -> tuple[Tensor, State]:
    r"""
    ## Chunked form

    Weights inside a chunk, the state for all before it: the cost stays linear in the length.
    """
    # One position at a time is too little work for a GPU, and all at once are too many weights.
    total, norm = state
    results = []
    chunks = (x.split(chunk_len) for x in (query, key, value))
    for q, k, v in zip(*chunks, strict=True):
        # Inside the chunk each query is compared with each key, under the causal mask. The weights
        # aren't divided yet, because earlier chunks belong to the sum.
        weights = torch.einsum("ibhd,jbhd->ijbh", q, k) * causal_mask(len(q)).to(q).unsqueeze(-1)

        # Above the fraction line: what the chunk's own keys give, and what the state has.
        above = torch.einsum("ijbh,jbhv->ibhv", weights, v)
        above = above + torch.einsum("ibhd,bhdv->ibhv", q, total)

        # Below it, the same for the sum of the weights.
        below = weights.sum(dim=1) + torch.einsum("ibhd,bhd->ibh", q, norm)
        results.append(above / below.unsqueeze(-1))

        # The whole chunk is written at once, after its queries have read: the state must hold only
        # what is in the past of all of them.
        total = total + torch.einsum("jbhd,jbhv->bhdv", k, v)
        norm = norm + k.sum(dim=0)
    return torch.cat(results), (total, norm)


class LinearAttention(nn.Module):
    r"""
    ## Linear attention

    Takes the place of [multi-head attention](../mha.py#MultiHeadAttention), with the same
    parameters.
    """

    def __init__(
        self, heads: int, d_model: int, dropout_prob: float = 0.1, bias: bool = True
    ) -> None:
        r"""
        * `heads` is the number of heads; it must divide `d_model`
        * `d_model` is the number of features that come in and go out
        * `dropout_prob` is the probability that a feature of a head's result is dropped
        * `bias` is whether the four projections add learned numbers
        """
        super().__init__()

        # The layers of any attention. There is no scale and no softmax, so nothing else is
        # inherited.
        self.query = PrepareForMultiHeadAttention(d_model, heads, d_model // heads, bias)
        self.key = PrepareForMultiHeadAttention(d_model, heads, d_model // heads, bias)
        self.value = PrepareForMultiHeadAttention(d_model, heads, d_model // heads, bias)
        self.output = nn.Linear(d_model, d_model, bias=bias)

        # For features of the heads' results: with a state there are no weights to drop.
        self.dropout = nn.Dropout(dropout_prob)

    def forward(
        self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        r"""
        `query`, `key`, `value` and the result are `[seq_len, batch_size, d_model]`.
        """
        # Queries and keys become positive. Values don't: an average of them can have any sign.
        q = feature_map(self.query(query))
        k = feature_map(self.key(key))
        v = self.value(value)

        # All weights, for a mask of any kind. The cost grows with the square of the length. For the
        # causal mask `extend` gives the same numbers, and costs less if the text is longer than a
        # few chunks.
        attn = attention_weights(q, k, mask)
        self.attn = attn.detach()

        # The average, and the heads side by side, as in any attention.
        x = torch.einsum("ijbh,jbhv->ibhv", attn, v)
        return self.output(self.dropout(x).flatten(start_dim=2))

    def extend(self, x: Tensor, state: State | None = None) -> tuple[Tensor, State]:
        r"""
        ### Causal self-attention with a state

        For a whole text, or for what follows on a text whose state the last call returned.
        """
        # Only what is new goes through the projections. The text before it is in the state.
        q = feature_map(self.query(x))
        k = feature_map(self.key(x))
        v = self.value(x)
        x, state = in_chunks(q, k, v, state or empty_state(k, v))
        return self.output(self.dropout(x).flatten(start_dim=2)), state


def in_transformer(
    *, d_model: int, heads: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    In the [small transformer](../basic/autoregressive_experiment.py), in the place of attention.
    """
    # The model passes its causal mask, so this trains with all weights. For its 64 positions that
    # is no slower than the other forms.
    return {"self_attn": lambda: LinearAttention(heads, d_model, dropout_prob)}


def example(
    seq_len: int = 7, batch_size: int = 3, heads: int = 5, d_k: int = 2, d_v: int = 11
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    ### Counting multiplications

    On the left of the equation every query is compared with every key: for 1,000 positions and 64
    features, $1000 \times 1000 \times 64$ multiplications for the weights and as many for the
    average. On the right are two sums over keys and values alone, a matrix and a vector, and each
    query only reads them: $1000 \times 64 \times 64$ to write and as many to read.

    The causal result comes in three forms: with all weights, for any mask; step by step, for
    writing; and in chunks, for training ([Hua et al. 2022](https://arxiv.org/abs/2202.10447)). As
    in the paper, there is no scale $1 / \sqrt{d_k}$. Its hand-written kernels are left out.

    ### Measured here

    Under a causal mask query $i$ needs the sums up to $i$. So they are carried along, like the
    state of a recurrent network. That is the price, too: the state of a head has $d_k \times d_k$
    numbers, and what doesn't fit in them is lost. [The delta rule](delta_rule.py) shows how soon
    that is. In a small model the loss is
    [2.316](../../../results/families.json#tables.losses.linear.loss) after 500 steps, and
    [2.213](../../../results/families.json#tables.losses.multi-head%20attention.loss) with a softmax
    (three seeds). Its weights are flatter. All features are positive, so all products are, and
    their sums differ little from key to key. Of ten random keys, the largest gets a weight of 0.12
    on average, and 0.32 with a softmax:

    [The same ten random queries and keys, with a softmax and
    without](../../../results/family_drawings.json#figures.flat)

    ### Exercises

    ??? question "There are 1,000 positions. From which $d_k$ on does the right side cost as much?"
        Left $2 \cdot 1000^2 d_k$, right $2 \cdot 1000\, d_k^2$: from $d_k = 1000$ on. For texts
        shorter than $d_k$ nothing is saved.

    ??? question "Write softmax attention step by step. What would its state be?"
        All keys and values: $e^{q \cdot k}$ can't be split into features of $q$ and features of
        $k$, unless there are infinitely many of them, one for each product of powers.

    ??? question "In float32 `F.elu(x) + 1` is exactly zero below $x = -17.33$. Why?"
        `F.elu` gives $e^x - 1$. The number next to $-1$ in float32 is larger by $6 \cdot 10^{-8}$,
        and $e^x$ is less than half of that. So the result rounds to $-1$. (On a CPU, PyTorch works
        on many numbers at once with a faster and coarser $e^x - 1$. There it is zero sooner: below
        $-16.64$ on ours.)
    """
    query, key = feature_map(torch.randn(2, seq_len, batch_size, heads, d_k))
    value = torch.randn(seq_len, batch_size, heads, d_v)

    # Three forms, one result: with all weights, one position at a time, and three at a time.
    weights = attention_weights(query, key, causal_mask(seq_len))
    at_once = torch.einsum("ijbh,jbhv->ibhv", weights, value)
    steps, state = step_by_step(query, key, value, empty_state(key, value))
    chunks, _ = in_chunks(query, key, value, state=empty_state(key, value), chunk_len=3)

    # The module as an attention among others, and with its state: the second part of the text
    # doesn't read the first.
    d_model = heads * d_k
    attention = LinearAttention(heads, d_model)
    x = torch.randn(seq_len, batch_size, d_model)

    # All at once, with the mask.
    whole = attention(query=x, key=x, value=x, mask=causal_mask(seq_len))
    begun, carried = attention.extend(x[:2])
    return at_once, steps, chunks, whole, begun, attention.extend(x[2:], carried)[0]
