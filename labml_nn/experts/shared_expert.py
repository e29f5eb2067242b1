r"""
---
title: Shared and Fine-Grained Experts
summary: Twice as many experts of half the width, and one that every token goes through.
paper:
  title: "DeepSeekMoE: Towards Ultimate Expert Specialization in Mixture-of-Experts Language Models"
  authors: Dai et al.
  year: 2024
  link: https://arxiv.org/abs/2401.06066
terms:
  fine-grained experts: More experts that are narrower, with more of them for each token.
  shared expert: An expert that every token goes through.
---

With 16 experts and two for each token, there are only 16 · 15 / 2 = 120 pairs to choose from. And
a token may go to any expert, so each of them has to learn what all tokens need: that is the paper's
argument. It changes two things, with as many weights and as much work for a token (but for the
router):

| layer | experts | for each token | combinations |
| --- | ---: | ---: | ---: |
| [plain](mixture.py) | 16 | 2 | 120 |
| half as wide, twice as many | 32 | 4 | 35,960 |
| one of these shared | 31 + 1 | 3 + 1 | 4,495 |

*Fine-grained* experts are cut in two, so that a token has more combinations to choose from. A
*shared* expert works on every token. The idea is that it takes over what all of them need, and the
others can specialise, as in a hospital where everybody sees the nurse, and then some specialists.

**In** and **out:** the features of tokens, `[seq_len, batch_size, d_model]`.

$$
y = E_{shared}(x) + \sum_{i \in T} w_i\, E_i(x)
$$

$E_i$ are the routed experts, $T$ those that the router has chosen for the token $x$, and $w_i$
their [weights](mixture.py). The shared expert has no weight: the router doesn't choose it.
"""

import torch
from torch import Tensor

from labml_nn.experts.balancing import BiasedRouter
from labml_nn.experts.mixture import Mixture, Router
from labml_nn.transformers.swiglu import SwiGLU


class SharedMixture(Mixture):
    r"""
    ## Mixture with a shared expert
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        n_experts: int,
        n_active: int,
        n_shared: int = 1,
        dropout_prob: float = 0.0,
        router: type[Router] = BiasedRouter,
    ) -> None:
        r"""
        * `n_experts` and `n_active` count the routed experts alone
        * `n_shared` is the number of shared experts

        The other arguments are those of the [mixture](mixture.py#Mixture).
        """
        # All that a mixture has, balanced with the bias, as in DeepSeek-V3. The shared expert has
        # no part in the balance: it always gets every token.
        super().__init__(d_model, d_ff, n_experts, n_active, dropout_prob, router)

        # The experts that every token goes through. Several of them are one wider network: their
        # results would be added up, and so is what the hidden features of one network give. So one
        # network takes the place of several.
        self.shared = SwiGLU(d_model, n_shared * d_ff, dropout_prob)

    def forward(self, x: Tensor) -> Tensor:
        r"""
        `x` and the result are `[seq_len, batch_size, d_model]`.
        """
        # The shared expert works on all tokens at once, without gathering anything. Its result has
        # no weight. What the chosen experts give is added, each with its weight, as on the page of
        # the mixture.
        return self.shared(x) + super().forward(x)


def example(
    seq_len: int = 7,
    batch_size: int = 3,
    d_model: int = 5,
    d_ff: int = 2,
    n_active: int = 11,
    n_experts: int = 13,
) -> Tensor:
    r"""
    ## Example

    ### Measured here

    At our size, neither of the two helps. These are entries of [a
    list](../../docs/what_did_not_help.md) of such things. The loss is
    [1.956](../../results/experts.json#tables.layers.experts%2C%20bias.loss) with plain experts,
    [1.961](../../results/experts.json#tables.layers.experts%20of%20half%20the%20width.loss) with
    twice as many of half the width, and
    [1.952](../../results/experts.json#tables.layers.half%20the%20width%2C%20one%20shared.loss) with
    one of these shared. Compared seed by seed, fine-grained experts change it by
    [−0.002](../../results/experts.json#values.change.half.least) to
    [0.015](../../results/experts.json#values.change.half.most), and with the shared one by
    [−0.021](../../results/experts.json#values.change.shared.least) to
    [0.009](../../results/experts.json#values.change.shared.most): sometimes better, sometimes
    worse. And they train more slowly,
    [32](../../results/experts.json#tables.layers.experts%20of%20half%20the%20width.seconds) seconds
    of one core and not [21](../../results/experts.json#tables.layers.experts%2C%20bias.seconds).
    The loop visits twice as many experts, each with a gathering and small products of its own. In
    a try, the layer was nearly as slow with 32 experts and two for each token, and hardly slower
    than before with 16 and four.

    [The loss after 1,000 steps, mean and range of three seeds; the last two are those of this
    page](../../results/experts.json#figures.losses)

    ### In large models

    DeepSeek-V3 has 256 routed experts and a shared one, and eight routed experts for each token. It
    also multiplies the routed part by 2.5, and chooses groups of experts before experts, so that a
    token goes to few machines. Both are left out.

    ### Exercises

    ??? question "Cut 16 experts into quarters. How many combinations are there?"
        64 experts with 8 for each token: $\binom{64}{8} = 4{,}426{,}165{,}368$.

    ??? question "`d_model` 64, `d_ff` 16, 31 experts, 3 active, 1 shared: how many active weights?"
        Four experts of $3 \cdot 64 \cdot 16 = 3{,}072$ and the router's $64 \cdot 31 = 1{,}984$:
        14,272. The layer has 100,288.

    ??? question "Give the shared expert a weight from the router. What could go wrong?"
        The router could turn it off for some tokens, and then the others have to know again what
        all tokens need.

    ??? question "Pass `d_ff` for `n_shared * d_ff`. What happens?"
        With a single shared expert, nothing. With two, the shared network has half the width that
        was asked for, and no error says so. Look at the shapes of its weights.
    """
    # Narrow experts: each is a small matrix product of its own.
    mixture = SharedMixture(d_model, d_ff, n_experts, n_active)

    # Eleven routed experts and the shared one for each token: nearly all that there are, so that
    # the example reaches each of them.
    return mixture(torch.randn(seq_len, batch_size, d_model))
