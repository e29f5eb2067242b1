r"""
---
title: Gated Attention
summary: Each token says how much it wants of what its heads bring home.
paper:
  title: "Gated Attention for Large Language Models: Non-linearity, Sparsity, and
    Attention-Sink-Free"
  authors: Qiu et al.
  year: 2025
  link: https://arxiv.org/abs/2505.06708
---

The weights of [attention](../mha.py) sum to one. A head that finds nothing of interest has to look
somewhere all the same, and trained models mostly look at the first token, which becomes a *sink*
for weight that nobody wanted. A gate lets a token say no. What head $h$ brings home for token
$i$ is multiplied, feature by feature, by numbers between 0 and 1 that are made of the token itself:

$$
\operatorname{out}_i = W^O
\operatorname{Concat}_h\!\left( \sigma(W^G_h x_i) \odot \text{head}_{ih} \right)
$$

It has a second use. Without it, two linear layers follow one another: the one that makes the
values of a head, and the one that takes its mean to the output. Their product is a single
matrix, of no higher rank than a head has features. With the gate there is a non-linearity in
between.

The paper compares gates in five places and some thirty forms, and finds this one best: after the
mean, for each head apart, by a sigmoid. It departs from the paper's model in what isn't the
gate's: that has grouped keys, [normalised](query_key_norm.py) queries and keys, and rotary
positions. Left out is the small form, with one gate for a head, which is nearly as good there.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask


class GatedAttention(MultiHeadAttention):
    r"""
    ## Attention with a gate

    The mean of the values is [computed as ever](../mha.py#MultiHeadAttention.forward), the
    fast way too, and knows nothing of the gate.
    """

    def __init__(
        self, heads: int, d_model: int, dropout_prob: float = 0.1, bias: bool = True
    ) -> None:
        r"""
        The arguments are those of [MultiHeadAttention](../mha.py#MultiHeadAttention.__init__).
        The gate costs one more layer of the size of the others.
        """
        super().__init__(heads, d_model, dropout_prob, bias)
        self.gate = nn.Linear(d_model, d_model, bias=bias)

        # The gate stands before the output layer, which is therefore applied here and not in
        # what this inherits. That hands over the heads as they are.
        self.gated_output, self.output = self.output, nn.Identity()

    def forward(
        self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        r"""
        ### Attend, then let through

        `query` and the result are `[seq_len_q, batch_size, d_model]`, `key` and `value` are
        `[seq_len_k, batch_size, d_model]`, and `mask` is as for
        [MultiHeadAttention](../mha.py#MultiHeadAttention.prepare_mask). The gate sees the query's
        token as it came in, not its query vectors.
        """
        # Side by side: `[seq_len_q, batch_size, d_model]`
        heads = super().forward(query=query, key=key, value=value, mask=mask)
        return self.gated_output(heads * self.gate(query).sigmoid())


def without_gate(module: GatedAttention) -> MultiHeadAttention:
    r"""
    ## A gate that is always open

    An [attention without a gate](../mha.py) that has the same weights: what the gated one becomes
    when the bias of its gate is very large.
    """
    heads = module.d_model // module.d_k
    bias = module.gate.bias is not None
    plain = MultiHeadAttention(heads, module.d_model, module.dropout.p, bias)
    plain.to(module.gate.weight)
    with torch.no_grad():
        for ours, theirs in (
            (plain.query, module.query),
            (plain.key, module.key),
            (plain.value, module.value),
            (plain.output, module.gated_output),
        ):
            ours.load_state_dict(theirs.state_dict())
    return plain


def in_transformer(
    *, d_model: int, heads: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    In the place of the attention that the [transformer that
    writes](../basic/autoregressive_experiment.py) has. It has a quarter more weights than that.
    """
    return {"self_attn": lambda: GatedAttention(heads, d_model, dropout_prob)}


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

    Over a memory, over its own past, and with the gates taken off.
    """
    d_model = heads * d_k
    attention = GatedAttention(heads, d_model)
    memory = torch.randn(seq_len_k, batch_size, d_model)
    x = torch.randn(seq_len_q, batch_size, d_model)
    crossed = attention(query=x, key=memory, value=memory)

    x, mask = torch.randn(seq_len, batch_size, d_model), causal_mask(seq_len)
    causal = attention(query=x, key=x, value=x, mask=mask)
    ungated = without_gate(attention)(query=x, key=x, value=x, mask=mask)
    return crossed, causal, ungated
