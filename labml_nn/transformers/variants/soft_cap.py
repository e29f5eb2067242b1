r"""
---
title: Soft-Capped Scores
summary: Scores squeezed through a hyperbolic tangent, so that none gets beyond a cap.
paper:
  title: "Gemma 2: Improving Open Language Models at a Practical Size"
  authors: Gemma Team
  year: 2024
  link: https://arxiv.org/abs/2408.00118
terms:
  soft cap: Passes scores through a scaled tanh, which bounds them.
---

Nothing in [attention](../mha.py) limits a score. In a large model some scores grow to hundreds
during training. Then one key gets all the weight, the softmax passes almost no gradient to the
others, and the head can't learn to look elsewhere. Soft-capping bends large scores back. [Our small
model](soft_cap.py#example) has no need of it: with a cap its loss is
[2.231](../../../results/families.json#tables.losses.soft%20cap%20of%205.loss), without one
[2.213](../../../results/families.json#tables.losses.multi-head%20attention.loss).

**In** and **out** are those of multi-head attention: queries, `[seq_len_q, batch_size, d_model]`,
keys and values of `seq_len_k` positions, and one vector for each query. Only the scores change:

$$
S \leftarrow c \, \tanh\!\left(\frac{S}{c}\right)
$$

$S$ is a score and $c$ is the *cap*. With $c = 50$, as in Gemma 2:

| score $S$ | capped score | gradient, $1 - \tanh^2(S / c)$ |
| ---: | ---: | ---: |
| 1 | 1.00 | 1.000 |
| 10 | 9.87 | 0.961 |
| 50 | 38.08 | 0.420 |
| 100 | 48.20 | 0.071 |
| 1000 | 50.00 | 0.000 |
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask


def soft_cap(scores: Tensor, cap: float) -> Tensor:
    r"""
    ## Soft cap

    `scores` can have any shape.

    [Two caps beside no cap](../../../results/family_drawings.json#figures.cap)

    A score that is small beside the cap hardly changes. A large one ends just below it. The order
    of the keys stays: the key with the highest score is still that.
    """
    # $\tanh$ has slope 1 at zero and ends at $\pm 1$. Divided by the cap before and multiplied by
    # it afterwards, it keeps the slope and ends at $\pm c$. A hard limit, `scores.clamp(-cap,
    # cap)`, would bound scores as well, but beyond the cap its gradient is exactly zero, and no
    # training could bring a score back.
    return cap * torch.tanh(scores / cap)


class SoftCapAttention(MultiHeadAttention):
    r"""
    ## Attention with capped scores

    Takes the place of [multi-head attention](../mha.py#MultiHeadAttention), with the same
    parameters.
    """

    def __init__(
        self,
        heads: int,
        d_model: int,
        dropout_prob: float = 0.1,
        bias: bool = True,
        cap: float = 50.0,
    ) -> None:
        r"""
        * `cap` is what no score exceeds, a positive number

        The other arguments are those of multi-head attention.
        """
        super().__init__(heads, d_model, dropout_prob, bias)

        # With a cap of zero every score would be 0/0.
        if not cap > 0:
            raise ValueError(f"the cap of scores must be positive, got {cap}")

        # The same number for all heads, and not learned: it is a limit that nothing should reach in
        # ordinary training.
        self.cap = cap

    def get_scores(self, query: Tensor, key: Tensor) -> Tensor:
        r"""
        ### Scores

        From the queries, `[seq_len_q, batch_size, heads, d_k]`, already divided by $\sqrt{d_k}$,
        and the keys, `[seq_len_k, batch_size, heads, d_k]`.
        """
        # The mask comes *after* this method, and has to. A hidden key's score, the smallest number
        # there is, would be $-c$ after the cap, and the hidden key would take a share of the
        # softmax.
        return soft_cap(super().get_scores(query, key), self.cap)


def in_transformer(
    *, d_model: int, heads: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    In the place of the attention of the
    [small transformer](../basic/autoregressive_experiment.py).
    """
    # With fresh weights the largest scores are about 2, and after training about 17. A cap of 50
    # would hardly change them, and one of 5 does.
    return {"self_attn": lambda: SoftCapAttention(heads, d_model, dropout_prob, cap=5.0)}


def example(
    seq_len_q: int = 7,
    seq_len_k: int = 11,
    batch_size: int = 3,
    heads: int = 5,
    d_k: int = 2,
) -> tuple[Tensor, Tensor, Tensor]:
    r"""
    ## Example

    The scores of the table; attention to another sequence; and causal self-attention.

    ### Does a small model need it?

    Our small model has no need of it. Its largest score is
    [17.5](../../../results/families.json#tables.limits.multi-head%20attention.score) after 500
    steps; with a cap of 5 no score passes
    [5.0](../../../results/families.json#tables.limits.soft%20cap%20of%205.score), and the loss is
    [2.231](../../../results/families.json#tables.losses.soft%20cap%20of%205.loss) in place of
    [2.213](../../../results/families.json#tables.losses.multi-head%20attention.loss) (means of
    three seeds). With ten times the learning rate the largest score is
    [50.5](../../../results/families.json#tables.limits.multi-head%20attention,%20ten%20times%20the%20rate.score),
    and the cap makes the loss worse,
    [2.370](../../../results/families.json#tables.limits.soft%20cap%20of%205,%20ten%20times%20the%20rate.loss)
    for
    [2.271](../../../results/families.json#tables.limits.multi-head%20attention,%20ten%20times%20the%20rate.loss).

    ### What the softmax makes of it

    Take three keys with scores 100, 90 and 10. Without a cap their weights are 0.99995, 0.00005 and
    0. Capped, the scores are 48.20, 47.34 and 9.87, and the weights 0.70, 0.30 and 0: the second
    key has a weight that training can work with.

    ### Where it is used

    Gemma 2 also caps the logits of its last layer, at 30 (section 2 of the paper), which is left
    out here. Gemma 3 has [normalised queries and keys](query_key_norm.py) in the place of the cap
    ([report](https://arxiv.org/abs/2503.19786), section 2). One reason against a cap: PyTorch's
    [fused kernel](../fused_attention.py) has no step between scores and softmax, so all scores are
    held in memory, unless [FlexAttention](../memory/flex.py) makes a kernel with the cap.

    ### Exercises

    ??? question "Scores are 3 and 4, the cap is 50. About how much does the cap change them?"
        $\tanh x \approx x - x^3 / 3$, so a score $S$ loses about $S^3 / (3 c^2)$: 0.004 and 0.009.
        The weights hardly change.

    ??? question "The cap is 2. What is the smallest weight that one of eight visible keys can get?"
        Its score is at least $-2$ and the seven others are at most 2, so the weight is at least
        $1 / (1 + 7 e^4) = 0.0026$. With $c = 50$ this limit is too small to matter.

    ??? question "Cap the scores after the mask, with a cap of 2. What test notices?"
        The comparison with Gemma 2, and any that sums the weights. A hidden score is now $-2$. Next
        to visible scores of 1 and 2 (capped 0.92 and 1.52) it takes 0.02 of the weight. [Multi-head
        attention](../mha.py) then sets that to zero, so the rest no longer sums to one. With
        $c = 50$ it is about $e^{-50}$, which no test in float32 can see.

    ??? question "Does a cap keep queries and keys from growing?"
        No. It bounds the scores and leaves the vectors alone. Beyond the cap, a longer query
        changes nothing any more, so there is no gradient that would make it longer.
        [Query-key normalisation](query_key_norm.py) bounds the vectors.
    """
    # A cap of 2 is low enough to be felt by scores of fresh weights.
    d_model = heads * d_k
    attention = SoftCapAttention(heads, d_model, cap=2.0)

    # The second column of the table, from the first.
    capped = soft_cap(torch.tensor([1.0, 10, 50, 100, 1000]), 50.0)

    # From outside nothing shows that scores are capped: to another sequence, and to its own past.
    x = torch.randn(seq_len_q, batch_size, d_model)
    memory = torch.randn(seq_len_k, batch_size, d_model)
    crossed = attention(query=x, key=memory, value=memory)
    causal = attention(query=x, key=x, value=x, mask=causal_mask(seq_len_q))
    return capped, crossed, causal
