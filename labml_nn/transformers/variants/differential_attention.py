r"""
---
title: Differential Attention
summary: Two attention maps, one subtracted from the other, so that what both share cancels out.
paper:
  title: Differential Transformer
  authors: Ye et al.
  year: 2024
  link: https://arxiv.org/abs/2410.05258
terms:
  differential attention: Subtracts one attention from another, so that weight on noise cancels.
---

A softmax gives a little weight even to keys that don't matter. Over a long text many small weights
add up to a lot: *attention noise*. Suppose that one of 64 keys matters and has a score of 4,
while all others have 0. Then the 63 others together get a weight of 0.54, and the key that matters
gets 0.46.

A balanced amplifier removes noise by taking the difference of two signals that have the same noise.
Here a head has two attention maps over the same values, and subtracts a share $\lambda$ of the
second from the first. Suppose that the second map is even, with 1/64 for each key:

| share $\lambda$ | weight of the key that matters | sum over the 63 others |
| ---: | ---: | ---: |
| 0 | 0.464 | 0.536 |
| 0.2 | 0.461 | 0.339 |
| 0.5 | 0.456 | 0.044 |
| 0.8 | 0.452 | −0.252 |

The maps of this example are made up; those of a model are learned. With too large a share the
others get negative weights. Which share is right depends on the first map: here 0.544 makes the sum
zero, and with a score of 2 in place of 4 it would be 0.909. $\lambda$ is learned, too.

**In** and **out** are those of [multi-head attention](../mha.py): queries,
`[seq_len_q, batch_size, d_model]`, keys and values of `seq_len_k` positions, and one vector for
each query.
"""

import itertools
import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.transformers.mha import PrepareForMultiHeadAttention, causal_mask
from labml_nn.transformers.rms_norm import rms_norm


def first_lambda(depth: int) -> float:
    r"""
    ## Initial share

    $$
    \lambda_{init} = 0.8 - 0.6\, e^{-0.3 (l - 1)}
    $$

    for layer $l$ = `depth`, counted from 1.
    """
    # The first layer starts by subtracting little, 0.2, the fourth 0.56, and deep layers nearly
    # 0.8. The paper says that these constants work well in practice, and that with 0.8 or 0.5 for
    # all layers the loss is nearly the same.
    return 0.8 - 0.6 * math.exp(-0.3 * (depth - 1))


class DifferentialAttention(nn.Module):
    r"""
    ## Differential attention

    Takes the place of [multi-head attention](../mha.py#MultiHeadAttention), with the same
    projections and two small parameters more.

    $$
    A = \operatorname{softmax}\frac{Q_1 K_1^\top}{\sqrt{d}} -
    \lambda \operatorname{softmax}\frac{Q_2 K_2^\top}{\sqrt{d}} \qquad
    \operatorname{head} = (1 - \lambda_{init}) \operatorname{RMSNorm}(A V)
    $$

    $Q_1$ and $Q_2$ are the two halves of a head's query features, $K_1$ and $K_2$ those of its
    keys, and $d = d_k / 2$ is the width of a half. $V$ are the head's values, in full width. So a
    head has as many scores as *two* plain heads, and the paper gives a model half as many heads.
    """

    def __init__(
        self,
        heads: int,
        d_model: int,
        dropout_prob: float = 0.1,
        bias: bool = True,
        depth: int = 1,
        eps: float = 1e-5,
    ) -> None:
        r"""
        * `heads` is the number of differences; twice this number must divide `d_model`
        * `depth` is the number of the layer in its model, the first being 1
        * `eps` is that of the normalisation

        The other arguments are those of multi-head attention.
        """
        super().__init__()
        self.d_half, rest = divmod(d_model, 2 * heads)
        if rest:
            raise ValueError(f"2 * heads must divide d_model, got {heads=} and {d_model=}")
        self.eps = eps

        # The layers of any attention, with heads of full width.
        self.query = PrepareForMultiHeadAttention(d_model, heads, 2 * self.d_half, bias)
        self.key = PrepareForMultiHeadAttention(d_model, heads, 2 * self.d_half, bias)
        self.value = PrepareForMultiHeadAttention(d_model, heads, 2 * self.d_half, bias)
        self.output = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout_prob)

        # In deep layers more is subtracted from the start.
        self.lambda_init = first_lambda(depth)

        # Row 0 belongs to the first map, row 1 to the second. They start out small and different,
        # so $\lambda$ starts near $\lambda_{init}$.
        self.lambda_query = nn.Parameter(0.1 * torch.randn(2, self.d_half))
        self.lambda_key = nn.Parameter(0.1 * torch.randn(2, self.d_half))

    def get_lambda(self) -> Tensor:
        r"""
        ### Share of the second map

        $$
        \lambda = e^{\lambda_{q1} \cdot \lambda_{k1}} - e^{\lambda_{q2} \cdot \lambda_{k2}} +
        \lambda_{init}
        $$

        One number for all heads of the layer.
        """
        # Both exponentials are about 1 at the start, and their difference about 0. A single learned
        # number could take every value that this can. The paper uses exponentials of dot products,
        # of which the maps are made, so that $\lambda$ learns at the same pace as they do.
        first, second = (self.lambda_query * self.lambda_key).sum(dim=-1).exp()
        return first - second + self.lambda_init

    def forward(
        self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        r"""
        `query` and the result are `[seq_len_q, batch_size, d_model]`, `key` and `value`
        `[seq_len_k, batch_size, d_model]`.
        """
        # Each head's queries and keys are cut into two halves, `[..., heads, 2, d_half]`. Each half
        # makes a map of its own, so the second is free to learn what is noise. Values stay whole.
        query = self.query(query).unflatten(-1, (2, -1))
        key = self.key(key).unflatten(-1, (2, -1))
        value = self.value(value)

        # The scores of both maps, $m$ = 1 and 2. Keys are compared with queries of the same half,
        # so the scale is that of a half. With $\sqrt{d_k}$ scores would be too small by $\sqrt 2$.
        scores = torch.einsum("ibhmd,jbhmd->ijbhm", query / math.sqrt(self.d_half), key)

        # A softmax for each map. The mask, the same for all heads and both maps, works as in
        # [plain attention](../mha.py#MultiHeadAttention.forward): hidden keys get no weight, and a
        # query that may look at nothing gets none at all.
        if mask is not None:
            mask = mask[..., None, None]
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        maps = scores.softmax(dim=1)
        if mask is not None:
            maps = maps.masked_fill(~mask, 0)

        # The weights of a query now sum to $1 - \lambda$, and some may be negative.
        first, second = maps.unbind(dim=-1)
        attn = first - self.get_lambda() * second
        self.attn = attn.detach()

        # The average of the values, with weights of both signs.
        x = torch.einsum("ijbh,jbhd->ibhd", self.dropout(attn), value)

        # How large the difference is depends on how much cancels. So each head is brought to one
        # size. The factor $1 - \lambda_{init}$ keeps gradients about as large as with plain
        # attention, the paper says, so that the learning rate needn't change.
        x = (1 - self.lambda_init) * rms_norm(x, self.eps)
        return self.output(x.flatten(start_dim=2))


def in_transformer(
    *, d_model: int, heads: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    In the place of the attention of the
    [small transformer](../basic/autoregressive_experiment.py).
    """
    # A head does twice the work, so there are half as many. Layers are made from the first to the
    # last, so that counting gives each its depth.
    heads = max(1, heads // 2)
    depth = itertools.count(1)
    return {
        "self_attn": lambda: DifferentialAttention(heads, d_model, dropout_prob, depth=next(depth))
    }


def example(
    seq_len_q: int = 7, seq_len_k: int = 11, batch_size: int = 3, heads: int = 5, d_half: int = 2
) -> tuple[Tensor, Tensor, Tensor]:
    r"""
    ## Example

    Attention to another sequence whose last position is hidden, the sums of the weights, and causal
    self-attention.

    ### Measured here

    Does it work at our size? We found no gain. In a small model, after 500 steps, the loss is
    [2.210](../../../results/families.json#tables.losses.differential.loss) with it and
    [2.213](../../../results/families.json#tables.losses.multi-head%20attention.loss) without (means
    of three seeds). And where one of 32 noisy tokens has to be found, one differential head gives
    [0.314](../../../results/families.json#tables.noise.one%20differential%20head.noise) of its
    weight (without signs) to the other 31, a plain head of the same width
    [0.166](../../../results/families.json#tables.noise.one%20head.noise), and they find the right
    one in [0.881](../../../results/families.json#tables.noise.one%20differential%20head.right) and
    [0.909](../../../results/families.json#tables.noise.one%20head.right) of all cases. Two plain
    heads of half the width have as many scores as the differential one, and do no worse:
    [0.313](../../../results/families.json#tables.noise.two%20heads.noise) and
    [0.876](../../../results/families.json#tables.noise.two%20heads.right).

    ### Where it departs from the paper

    The page departs from the paper in small things. The normalisation has no gains, because the
    output layer can learn them, and the layers can have biases. Dropout, which the paper's code
    doesn't have, is applied to the difference. [Rotary positions](../rotary.py) are left out.

    ### The two maps

    [The two maps and a difference: the first 16 of 64
    weights](../../../results/family_drawings.json#figures.differences)

    ### Exercises

    ??? question "With $\lambda = 0.5$, what do the weights of a query sum to?"
        To $1 - 0.5 = 0.5$: each of the two maps sums to one.

    ??? question "The two maps of a head are equal. What does the head return?"
        $(1 - \lambda)$ times the first map's average, brought to a known size by the
        normalisation. So it is plain attention with a normalised result, for any $\lambda < 1$.

    ??? question "Leave out the normalisation, and let $\lambda$ be nearly 1. What happens?"
        The weights of a query sum to nearly zero. At the start both maps are nearly even, so what
        all values have in common cancels. The rest doesn't: for random features, a little less
        than half of the size of the first map's average is left. And the gradients of the queries
        get larger, as both maps have some.

    ??? question "Take the root of `d_k` in place of `d_half`. How do you notice?"
        Compare with another implementation that has the same weights. All shapes stay, and so do
        the sums of the weights: scores are smaller by a factor of $\sqrt{2}$, and both maps
        flatter.
    """
    # An even width, to be cut into halves.
    d_k = 2 * d_half
    d_model = heads * d_k
    attention = DifferentialAttention(heads, d_model, depth=3)
    x = torch.randn(seq_len_q, batch_size, d_model)
    memory = torch.randn(seq_len_k, batch_size, d_model)

    # Without its last position. The weights that are left sum to the same.
    visible = (torch.arange(seq_len_k) < seq_len_k - 1)[None, :, None]
    crossed = attention(query=x, key=memory, value=memory, mask=visible)
    sums = attention.attn.sum(dim=1)
    return crossed, sums, attention(query=x, key=x, value=x, mask=causal_mask(seq_len_q))
