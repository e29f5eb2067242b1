r"""
---
title: Learned Attention Sink
summary: One more score in the softmax of each head, so that a head can attend to nothing.
paper:
  title: gpt-oss-120b and gpt-oss-20b Model Card
  authors: OpenAI
  year: 2025
  link: https://arxiv.org/abs/2508.10925
---

A head looks for something, and finds it in none of three tokens: their scores are 0, 0 and 0. The
weights of a softmax sum to one, so each token gets 1/3 all the same, and the head returns a mix of
values that nobody asked for. A trained model often puts such weight on the first token instead, an
[attention sink](attention_sinks.py), and goes wrong when a [window](sliding_window.py) hides it.

Give each head a score of its own that takes part in the softmax and belongs to no token:

| scores of the tokens | score of the sink | weights of the tokens | weight of the sink |
| ---: | ---: | ---: | ---: |
| 0, 0, 0 | none | 0.33, 0.33, 0.33 | – |
| 0, 0, 0 | 0 | 0.25, 0.25, 0.25 | 0.25 |
| 0, 0, 0 | 5 | 0.007, 0.007, 0.007 | 0.980 |
| 0, 0, 10 | 5 | 0, 0, 0.993 | 0.007 |

The sink has no value, so what it gets goes nowhere. With a sink of 5 the head is silent, until a
token scores higher, or very many score 0: against 148 of them, about $e^5$, the sink has half the
weight. Head $h$ learns its own score $s_h$. For query $i$ and key $j$ of sequence $b$, the score
$S$ becomes the weight

$$
A_{ijbh} = \frac{e^{S_{ijbh}}}{e^{s_h} + \sum_k e^{S_{ikbh}}}
$$

**In** and **out** are those of [multi-head attention](../mha.py); the weights of the tokens sum to
something between zero and one.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask


class LearnedSinkAttention(MultiHeadAttention):
    r"""
    ## Attention with a learned sink
    """

    def __init__(
        self, heads: int, d_model: int, dropout_prob: float = 0.1, bias: bool = True
    ) -> None:
        r"""
        The arguments are those of multi-head attention.
        """
        super().__init__(heads, d_model, dropout_prob, bias)

        # One score for each head: `[heads]`. It doesn't depend on the query. A head that looks for
        # something rare can learn a high one, and then speaks only where a token scores higher.
        self.sinks = nn.Parameter(torch.zeros(heads))

    def forward(
        self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        r"""
        ### Attend

        As in [multi-head attention](../mha.py#MultiHeadAttention.forward), but for the column of
        the sink. `query` and the result are `[seq_len_q, batch_size, d_model]`.
        """
        # The same mask as everywhere: true where a token may be seen.
        if mask is not None:
            mask = self.prepare_mask(mask, query.shape, key.shape)

        # To `[seq_len_q, batch_size, heads, d_k]`.
        query = self.query(query)
        key = self.key(key)
        value = self.value(value)

        # The scores of the tokens: `[seq_len_q, seq_len_k, batch_size, heads]`. Hidden ones are the
        # smallest finite number, next to which any sink is large.
        scores = self.get_scores(query / math.sqrt(self.d_k), key)
        if mask is not None:
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)

        # One more column, the same for each query and each sequence. No mask hides it.
        sink = self.sinks.expand_as(scores[:, :1])
        scores = torch.cat([scores, sink], dim=1)

        # The sink takes its share of the weight. Then its column goes: its value would be zero. A
        # query that may look at nothing gives all its weight to the sink, so it needs no care here.
        attn = scores.softmax(dim=1)[:, :-1]
        self.attn = attn.detach()

        # The sum of the values. The weights sum to less than one, so a head that finds little gives
        # a short vector, and changes little.
        x = torch.einsum("ijbh,jbhd->ibhd", self.dropout(attn), value)
        return self.output(x.flatten(start_dim=2))


def in_transformer(
    *, d_model: int, heads: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    In the place of attention, without a window.
    """
    return {"self_attn": lambda: LearnedSinkAttention(heads, d_model, dropout_prob)}


def example(seq_len: int = 7, batch_size: int = 3, heads: int = 5, d_k: int = 11) -> Tensor:
    r"""
    ## Example

    Self-attention under the causal mask.

    [The weight of eight tokens together, by the score of the best
    one](../../../results/memory_drawings.json#figures.sink)

    ### Where it comes from

    At the start $s_h$ is zero, which adds a one to the denominator. Miller had proposed that
    constant ([Attention Is Off By One](https://www.evanmiller.org/attention-is-off-by-one.html),
    2023). The model of the paper has more than this page: a window in every second layer, shared
    heads of keys, and rotary positions.

    ### Measured here

    *On a text.* In a small model, trained for 500 steps, it makes no difference: the loss is
    [2.212](../../../results/families.json#tables.losses.learned%20sink.loss) with it and
    [2.213](../../../results/families.json#tables.losses.multi-head%20attention.loss) without (means
    of three seeds). No sink has formed there: position 16 and later ones give the first token a
    weight of [0.010](../../../results/families.json#tables.losses.multi-head%20attention.first). If
    all tokens had the same, it would be 0.028.

    *On a task where a head often finds nothing.* [A sink forms](attention_sinks.py) on the first
    token, and a window makes the model answer
    [0.68](../../../results/sinks.json#tables.ways.as%20usual.window) of certain questions right,
    after 1.00 without a window. With a learned sink it is
    [0.67](../../../results/sinks.json#tables.ways.with%20a%20learned%20sink.window): no cure. The
    learned score starts at 0 and stays near it, and the first token becomes the sink all the same.
    It is the start that matters: in a run with `sinks` set to 5 before training, 0.77 of that
    weight goes to the learned sink, and under the window 0.99 of the answers are right.

    ### Exercises

    ??? question "Score 0 and sink 0: how much weight does the first position give to itself?"
        One half. Without a sink it would be 1: under the causal mask it sees nothing else.

    ??? question "What does the attention become if the sink goes to minus infinity?"
        Ordinary attention: $e^{s_h}$ is 0.

    ??? question "How many parameters does the sink add?"
        One for each head of each layer: 16 in the small transformer, which has 810,306 without.

    ??? question "Give the sink a value that is learned, too. What would it be for?"
        A head that finds nothing could then say something of its own, which is the same each time.
        Two biases can do that together. Subtract the sink's value from the bias of the values, and
        add what the output layer makes of it to that layer's bias.
    """
    # A sequence that looks at itself.
    seq_len_q = seq_len
    seq_len_k = seq_len
    d_model = heads * d_k
    # A new one, whose sinks are zero.
    attention = LearnedSinkAttention(heads, d_model)

    # The first position gives half its weight, or so, to itself.
    x = torch.randn(seq_len_q, batch_size, d_model)
    return attention(query=x, key=x, value=x, mask=causal_mask(seq_len_k))
