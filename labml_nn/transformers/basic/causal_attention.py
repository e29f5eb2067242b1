r"""
---
title: Causal Self-Attention, to Be Trained
summary: Attention of one sequence to its own past, with the same weights and in fewer steps.
paper:
  title: Attention Is All You Need
  authors: Vaswani et al.
  year: 2017
  link: https://arxiv.org/abs/1706.03762
---

[Multi-head attention](../mha.py) lets any sequence attend to any other, under any mask. A model
that writes needs less: one sequence, and each position sees itself and what came before. What is
known beforehand needn't be computed at each step:

* Queries, keys and values come from the same vectors, so their **three projections are one**
  product, of a matrix that is three times as high.
* The heads go to the front **in one copy**, and not each time that a product wants them there.
* Each position sees itself, so **no query is idle**, and nothing is done for those.
* The mask is always the same one, so what it adds to the scores, zero or minus infinity, is
  **written down once**.

Each is little. Without all of them a step of the small
[autoregressive transformer](autoregressive_experiment.py) takes
[1.08 times](../../../results/savings.json#tables.steps.classic,%20any%20mask.eager_ratio)
as long on a CPU, and compiled
[1.14 times](../../../results/savings.json#tables.steps.classic,%20any%20mask.compiled_ratio).
The parameters and their names are those of multi-head attention, and so is the result, as a
function below shows.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from labml_nn.transformers.fast_attention import can_look, from_kernel, is_causal, mean_of_values
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask


class CausalSelfAttention(MultiHeadAttention):
    r"""
    ## Causal self-attention

    It stands where [MultiHeadAttention](../mha.py#MultiHeadAttention) does, and is called as that
    is.
    """

    def __init__(self, heads: int, d_model: int, seq_len: int, dropout_prob: float = 0.1) -> None:
        r"""
        * `heads` is the number of heads, which must divide `d_model`
        * `d_model` is the number of features that come in and go out
        * `seq_len` is the greatest length of a sequence
        * `dropout_prob` is the probability that a weight is dropped
        """
        super().__init__(heads, d_model, dropout_prob)

        # `[1, 1, seq_len, seq_len]`, minus infinity in the future. It is no weight, so it is not
        # saved.
        future = ~causal_mask(seq_len).permute(2, 0, 1).unsqueeze(1)
        hidden = torch.zeros(future.shape).masked_fill_(future, -math.inf)
        self.register_buffer("hidden", hidden, persistent=False)

    def project_together(self, x: Tensor) -> Tensor:
        r"""
        ### One product for all three

        From `[seq_len, batch_size, d_model]` to `[3, batch_size, heads, seq_len, d_k]`, queries,
        keys and values in the layout that products want.
        """
        layers = (self.query.linear, self.key.linear, self.value.linear)
        weight = torch.cat([layer.weight for layer in layers])
        bias = torch.cat([layer.bias for layer in layers])
        projected = F.linear(x, weight, bias).unflatten(-1, (3, self.query.heads, self.d_k))
        return projected.permute(2, 1, 3, 0, 4).contiguous()

    def forward(
        self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        r"""
        ### Attend

        `query` and the result are `[seq_len, batch_size, d_model]`, and `key` and `value` are the
        same tensor as `query`. `mask` is the causal mask, `[seq_len, seq_len, 1]`. Anything else
        is a `ValueError`, and so is a sequence that is too long.

        Who wants to keep the weights, or to read how they come about, is sent
        [the general way](../mha.py#MultiHeadAttention.forward).
        """
        if query is not key or key is not value or mask is None:
            raise ValueError("expected one tensor for query, key and value, and a mask")
        if len(query) > self.hidden.shape[-1]:
            raise ValueError(
                f"the sequence has {len(query)} positions, but at most {self.hidden.shape[-1]} "
                "were announced as seq_len"
            )
        if self.keep_attn or not self.fused:
            return super().forward(query=query, key=key, value=value, mask=mask)

        self.attn = None

        # To look at the mask costs little, and a wrong one would go unnoticed.
        allowed = self.prepare_mask(mask, query.shape, key.shape).permute(2, 3, 0, 1)
        if can_look(allowed) and not is_causal(allowed):
            raise ValueError("expected the causal mask: use MultiHeadAttention for another one")

        q, k, v = self.project_together(query).unbind()
        q = q / math.sqrt(self.d_k)
        p = self.dropout.p if self.training else 0.0
        if self.kernel:
            mean = from_kernel(q, k, v, None, p, causal=True)
        else:
            length = len(query)
            hidden = self.hidden[:, :, :length, :length]
            mean = mean_of_values(q, k, v, hidden, p, kernel=False)

        # The heads, side by side again as `[seq_len, batch_size, d_model]`.
        return self.output(mean.permute(2, 0, 1, 3).flatten(start_dim=2))


def greatest_difference(attention: CausalSelfAttention, x: Tensor) -> Tensor:
    r"""
    ## It computes the same

    How far the result for `x`, `[seq_len, batch_size, d_model]`, is from that of multi-head
    attention with the same weights. In double precision that is rounding alone.
    """
    plain = MultiHeadAttention(attention.query.heads, attention.d_model, attention.dropout.p)
    plain.to(x.dtype).load_state_dict(attention.state_dict())
    plain.train(attention.training)
    mask = causal_mask(len(x))
    expected = plain(query=x, key=x, value=x, mask=mask)
    return (attention(query=x, key=x, value=x, mask=mask) - expected).abs().max()


def example(
    heads: int = 2, d_k: int = 5, seq_len: int = 7, batch_size: int = 3
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    Both fast ways, in double precision.
    """
    d_model = heads * d_k
    attention = CausalSelfAttention(heads, d_model, seq_len, dropout_prob=0.0).double()
    x = torch.randn(seq_len, batch_size, d_model, dtype=torch.float64)
    by_kernel = greatest_difference(attention, x)
    attention.kernel = False
    return by_kernel, greatest_difference(attention, x)
