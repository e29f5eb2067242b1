r"""
---
title: Gated Attention
summary: Each token decides how much of what its heads return is let through.
paper:
  title: "Gated Attention for Large Language Models: Non-linearity, Sparsity, and
    Attention-Sink-Free"
  authors: Qiu et al.
  year: 2025
  link: https://arxiv.org/abs/2505.06708
terms:
  gated attention: Multiplies the output of each head by a gate between 0 and 1.
---

A head returns $(2, -1)$ for a token. Perhaps that is what the token needs. Perhaps the head found
nothing, and this is the value of an [attention sink](../memory/attention_sinks.py): the weights of
[attention](../mha.py) sum to one, so a head that has nothing to look for must look somewhere all
the same. The token gets the result whether it wants it or not.

A *gate* lets a token refuse. A linear layer makes a number of the token itself for each feature,
and the sigmoid brings it between 0 and 1: 2.2 and −10 become the gates 0.9 and 0.00005. Of
$(2, -1)$ about $(1.8, 0)$ goes on. With −10 for both, the head is silent.

**In** and **out** are those of multi-head attention: queries, `[seq_len_q, batch_size, d_model]`,
keys and values of `seq_len_k` positions, and one vector for each query.

What head $h$ returns for token $i$ is multiplied, feature by feature, by its gates:

$$
\operatorname{out}_i = W^O
\operatorname{Concat}_h\!\left( \sigma(W^G_h x_i) \odot \operatorname{head}_{ih} \right)
$$

$x_i$ is the token at position $i$, $\sigma$ is the sigmoid $1 / (1 + e^{-x})$, $\odot$ multiplies
feature by feature, $W^G_h$ makes the gates of head $h$, and $W^O$ is the output layer.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask


class GatedAttention(MultiHeadAttention):
    r"""
    ## Attention with a gate

    Takes the place of [multi-head attention](../mha.py#MultiHeadAttention), and has one more layer
    of the size of the other four.
    """

    def __init__(
        self, heads: int, d_model: int, dropout_prob: float = 0.1, bias: bool = True
    ) -> None:
        r"""
        The arguments are those of multi-head attention.
        """
        super().__init__(heads, d_model, dropout_prob, bias)

        # A gate for each feature of each head. Fresh weights are small, so that gates start around
        # $\sigma(0) = 0.5$: two of three are between 0.36 and 0.64, for normalised tokens.
        self.gate = nn.Linear(d_model, d_model, bias=bias)

        # The gate belongs *before* the output layer. So the inherited `forward` gets a layer that
        # does nothing in its place, and `forward` below applies the real one.
        self.gated_output = self.output
        self.output = nn.Identity()

    def forward(
        self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        r"""
        `query` and the result are `[seq_len_q, batch_size, d_model]`, `key` and `value`
        `[seq_len_k, batch_size, d_model]`.
        """
        # What the heads return, side by side and not yet mixed: averages of values, which the gates
        # have no part in.
        heads = super().forward(query=query, key=key, value=value, mask=mask)

        # The gates are made of the token as it came in, as in the paper.
        gate = torch.sigmoid(self.gate(query))

        # After the output layer, features of different heads would be mixed already, and a token
        # could no longer refuse one head and accept another.
        return self.gated_output(gate * heads)


def in_transformer(
    *, d_model: int, heads: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    In the place of the attention of the
    [small transformer](../basic/autoregressive_experiment.py).
    """
    # It makes each attention larger by a quarter, so the comparison is a little in its favour.
    return {"self_attn": lambda: GatedAttention(heads, d_model, dropout_prob)}


def example(
    seq_len_q: int = 7,
    seq_len_k: int = 11,
    batch_size: int = 3,
    heads: int = 5,
    d_k: int = 2,
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    Attention to another sequence, and causal self-attention.

    ### Measured here

    A model of two layers, trained for 500 steps, has a loss of
    [2.208](../../../results/families.json#tables.losses.gated.loss) with gates and
    [2.213](../../../results/families.json#tables.losses.multi-head%20attention.loss) without (means
    of three seeds): no difference. The first token is no sink there, it has less than its share of
    the weight. Whether the gates refuse anything else we haven't looked.

    [Loss of each variant: mean and range of three
    seeds](../../../results/families.json#figures.losses)

    We have no failure that this gate mends. The [lookup task](../memory/attention_sinks.py#lookups)
    is none: in a model of one layer the gates are made of the question and its position alone. The
    same question in the same place has an answer in one text and none in another, so they can't
    tell when to refuse. In a run with gates the first token is still a sink, with 0.43 of the
    weight, and a window still takes away a fifth of the answers “none”. What a network without
    gates fails at is shown for [SwiGLU](../swiglu.py#example): it can't multiply.

    ### The gate's second use

    Without the gate two linear layers follow one another, the one that makes a head's values and
    the output layer. Their product is one matrix, of rank at most $d_k$ for each
    head. With the gate there is a non-linearity between the two.

    ### Other places for a gate

    The paper compares gates in five places, in some thirty forms, and finds this one best: after
    the average of the values, with a sigmoid, each feature of each head on its own. Its published
    models are built like Qwen3, and have grouped keys, normalised queries and keys, and rotary
    positions as well, which are left out here. So is the small form with one gate for each head,
    which is nearly as good there.

    ### Exercises

    ??? question "How many more weights does the gate add, for `d_model = 128`?"
        $128 \cdot 128 + 128 = 16{,}512$: a quarter of what attention has.

    ??? question "All biases of the gate are $-100$. What comes out?"
        The bias of the output layer, for any tokens: each gate is $\sigma(-100)$, nearly 0.

    ??? question "With biases of $+100$, what is this module?"
        Plain multi-head attention with the same weights: every gate is 1, up to rounding.

    ??? question "Make the gates from `key` in place of `query`. When do you notice?"
        In cross-attention, where the lengths differ and the product fails. In self-attention
        nothing changes at all, since both are the same tensor.

    ??? question "Can a gate replace the softmax's competition between keys?"
        No. It scales a head's *average* of values, after the competition, and can't prefer one key.
    """
    # The gates are those of the queries: as many as there are queries, not keys.
    d_model = heads * d_k
    attention = GatedAttention(heads, d_model)
    x = torch.randn(seq_len_q, batch_size, d_model)
    memory = torch.randn(seq_len_k, batch_size, d_model)

    # To another sequence, then to its own past.
    crossed = attention(query=x, key=memory, value=memory)
    causal = attention(query=x, key=x, value=x, mask=causal_mask(seq_len_q))
    return crossed, causal
