r"""
---
title: Balancing the Experts
summary: A loss or a bias that keeps a router from sending most tokens to the same few experts.
paper:
  title: Auxiliary-Loss-Free Load Balancing Strategy for Mixture-of-Experts
  authors: Wang et al.
  year: 2024
  link: https://arxiv.org/abs/2408.15664
terms:
  balancing loss: An addition to the loss that is larger if a few experts get most tokens.
  load: The number of tokens of an expert, divided by the number that an equal share would be.
---

Nothing tells a router to use all its [experts](mixture.py). In our small model with 16 of them, the
busiest expert of a layer gets
[2.49](../../results/experts.json#tables.layers.experts%2C%20no%20balancing.most) times an equal
share of the tokens, and the least busy one
[0.12](../../results/experts.json#tables.layers.experts%2C%20no%20balancing.least) times. The
weights of the second are hardly used, and where each expert has a GPU of its own, all others wait
for the busiest.

Take four experts, two of them for each of eight tokens. All eight choose expert 1, four choose
expert 2 as well, and four expert 3. As shares of the tokens, that is (1, 0.5, 0.5, 0), and an equal
share would be 0.5. Two remedies:

* A *balancing loss* multiplies each share by the mean score of the expert and adds the products up.
  Its gradient pushes the logit of expert 1 down and the three others up, that of expert 4 the most.
* A *bias* is added to the scores, for the choice alone. After each step that of expert 1 goes down
  by 0.001, and that of expert 4 up. No gradient is needed.

[The load of each expert of the second layer, without balancing, with a loss and with a bias, from
one seed](../../results/experts.json#figures.loads)

**In:** a model with mixtures of experts, after a batch. **Out:** an addition to the loss, or
another bias for each expert.
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.experts.mixture import Router


def routers(model: nn.Module) -> Iterator[Router]:
    r"""
    ## The routers of a model

    Each layer has one, and each is balanced on its own.
    """
    # From the first layer to the last.
    return (module for module in model.modules() if isinstance(module, Router))


def shares(router: Router) -> Tensor:
    r"""
    ## Share of the tokens

    $$
    f_i = \frac{\text{tokens of the last batch that chose expert } i}{\text{all its tokens}}
    $$

    For the eight tokens above, $f = (1, 0.5, 0.5, 0)$. The sum is `n_active`, 2 here, and an equal
    share is $2/4 = 0.5$.
    """
    n_tokens, n_experts = router.scores.shape

    # One number for each expert, also for those that nobody chose. Counting has no gradient.
    counts = torch.bincount(router.chosen.flatten(), minlength=n_experts)
    return counts.to(router.scores.dtype) / n_tokens


def balancing_loss(router: Router) -> Tensor:
    r"""
    ## Balancing loss

    $$
    L = n \sum_{i=1}^{n} f_i P_i
    $$

    $n$ is the number of experts, and $P_i$ the mean score of expert $i$ over the tokens. In the
    example, with $P = (0.5, 0.2, 0.2, 0.1)$,

    $$
    L = 4\, (1 \cdot 0.5 + 0.5 \cdot 0.2 + 0.5 \cdot 0.2 + 0 \cdot 0.1) = 2.8
    $$

    If all is even, $f_i = 0.5$ and $P_i = 0.25$, and $L = 2$. By the factor $n$ this value, which
    is `n_active`, is the same for any number of experts.

    Where does the gradient push? Scores sum to one, so a larger score for one expert takes from all
    others. If each token has the scores $P$, the derivative by the logit $z_i$ of all tokens is

    $$
    \frac{\partial L}{\partial z_i} = n P_i \Big( f_i - \sum_j f_j P_j \Big)
    $$

    The sum is 0.7 here, so expert 1 with its share of 1 is pushed down, by
    $4 \cdot 0.5 \cdot 0.3 = 0.6$. Experts 2 and 3 are pushed up by 0.16, and expert 4, which nobody
    chose, by 0.28.
    """
    # Counts have no gradient, but scores do. So the shares are constants in the derivative above.
    n_experts = router.scores.shape[-1]
    return n_experts * (shares(router) * router.scores.mean(dim=0)).sum()


def balanced_gradients(
    model: nn.Module, inputs: Tensor, targets: Tensor, factor: float = 0.01
) -> Tensor:
    r"""
    ## Gradients with the balancing loss

    For the [training loop](../training/loop.py#train), in place of its
    [gradients](../training/loop.py#gradients). `factor` is that of the Switch Transformer: large
    enough to balance, and small enough not to matter more than the predictions.
    """
    # Predict and compare, as always.
    logits = model(inputs)
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())

    # The sum over the layers. For Mixtral, the library transformers counts over all layers
    # together: too many tokens for expert 1 in one layer can then make up for too few in another.
    balance = sum(balancing_loss(router) for router in routers(model))
    (loss + factor * balance).backward()

    # What is reported is the loss of the predictions alone, to be compared with other models.
    return loss.detach()


class BiasedRouter(Router):
    r"""
    ## Router with a bias

    $$
    s = \sigma(W x) \qquad T = \text{the experts with the largest } s_i + b_i \qquad
    w_i = \frac{s_i}{\sum_{j \in T} s_j}
    $$

    Each expert has a bias $b_i$, which decides on the *choice* and on nothing else. The weights
    $w_i$ are made of the scores without it, so the bias has no part in the gradients. The scores
    are sigmoids, $\sigma(z) = 1 / (1 + e^{-z})$, as in the paper: each is between 0 and 1 whatever
    the others are. Equal scores of a softmax are $1/n$, 0.004 for 256 experts, and beside that a
    step of 0.001 would be large. (The paper takes $s_i$ as the weight. The division by the sum is
    that of DeepSeek-V3.)
    """

    def __init__(self, d_model: int, n_experts: int, n_active: int) -> None:
        r"""
        The arguments are those of [the router](mixture.py#Router.__init__).
        """
        super().__init__(d_model, n_experts, n_active)
        # No parameter, because no gradient leads to it; but saved with the model, which needs it to
        # choose the same experts again.
        self.register_buffer("bias", torch.zeros(n_experts))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        r"""
        From `[n_tokens, d_model]` to weights and numbers of experts, `[n_tokens, n_active]` each.
        """
        # Scores that don't sum to one.
        self.scores = self.linear(x).sigmoid()

        # Chosen with the bias,
        self.chosen = (self.scores + self.bias).topk(self.n_active, dim=-1).indices

        # but weighed without it.
        weights = self.scores.gather(-1, self.chosen)
        return weights / weights.sum(dim=-1, keepdim=True), self.chosen


def adjust(model: nn.Module, step: float = 0.001) -> None:
    r"""
    ## Adjust the bias

    $$
    b_i \leftarrow b_i + u\, \operatorname{sign}(\bar f - f_i)
    $$

    after each step of the training, where $\bar f$ is an equal share and $u$ is `step`. With the
    0.001 of the paper a bias can move by 1, the whole range of a sigmoid, in 1,000 steps.
    """
    for router in routers(model):
        # An expert with too many tokens is chosen less often from now on, one with too few more
        # often. Only the sign counts, not by how much: there is another step soon.
        share = shares(router)
        router.bias += step * (share.mean() - share).sign()


def example(
    n_tokens: int = 11, d_model: int = 3, n_experts: int = 7, n_active: int = 2
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    ### Measured here

    [The greatest and the least load of an expert, and the loss: means over two layers and three
    seeds](../../results/experts.json#tables.balancing)

    [The greatest load in the second layer in the course of the training, from one seed; each point
    is a mean of 20 steps](../../results/experts.json#figures.greatest)

    The predictions hardly gain from balance at our size, [as from other
    things](../../docs/what_did_not_help.md). Compared seed by seed, the balancing loss
    changes the loss of the predictions by
    [−0.018](../../results/experts.json#values.change.loss.least) to
    [−0.003](../../results/experts.json#values.change.loss.most): lower for each of the three seeds,
    by little. The bias changes it by [0.003](../../results/experts.json#values.change.bias.least)
    to [0.006](../../results/experts.json#values.change.bias.most): higher for each. The paper finds
    the bias better than the loss, in models of up to 3 billion parameters. Our bias comes with
    sigmoids, as there, and which of the two makes the difference here we didn't measure.

    Left out are the random noise on the logits with which
    [Shazeer et al. 2017](https://arxiv.org/abs/1701.06538) balance, a limit on the tokens of an
    expert, and the small balancing loss for each sequence that DeepSeek-V3 keeps beside its bias.

    ### How the load changes

    The usual explanation is that an expert with more tokens learns faster, and then gets more
    tokens still. The greatest *load* of an expert of the second layer, its tokens divided by an
    equal share of them, goes up from [3.03](../../results/experts.json#values.unbalanced.first) in
    the first 20 steps to [4.63](../../results/experts.json#values.unbalanced.peak) at its highest.
    At the end of 1,000 steps it is [2.96](../../results/experts.json#values.unbalanced.last) (means
    of 20 steps and three seeds). But it isn't the same expert all the time: it changes at first,
    and later one stays or two take turns.

    So who is busy in the end isn't decided in the beginning. We tried it with three seeds: the
    loads of the first 20 steps had a correlation of 0.1 to 0.4 with those of the last 20, and the
    loads of steps 101 to 120 one of 0.74, 0.91 and 0.95.

    ### Where each is used

    The loss is older. The product of shares and mean scores is that of
    [GShard](https://arxiv.org/abs/2006.16668) (Lepikhin et al. 2020), and the factor $n$ that of
    the [Switch Transformer](https://arxiv.org/abs/2101.03961) (Fedus, Zoph and Shazeer 2021). Qwen3
    uses it too, and the library transformers has it for Mixtral. The bias is used in DeepSeek-V3.

    ### Exercises

    ??? question "Three experts, one for each token, $f = P = (0.5, 0.3, 0.2)$. What is $L$?"
        $3\, (0.25 + 0.09 + 0.04) = 1.14$. If all is even, it is 1.

    ??? question "Multiply by $P_i$ only, without $f_i$. What is left of the loss?"
        $n \sum_i P_i = n$, because scores sum to one. A constant has no gradient, and balances
        nothing.

    ??? question "Use the scores *with* the bias for the weights. What changes?"
        A busy expert is not only chosen less, its result also counts less where it is chosen; and
        a bias of −1 can make a weight negative.

    ??? question "Call `adjust` after an evaluation. What goes wrong?"
        The shares are those of the last batch that the router has seen. The bias would be adjusted
        to the validation text.
    """
    # Tokens that have much in common: their features have the mean 1, not 0.
    x = torch.randn(n_tokens, d_model) + 1
    plain = Router(d_model, n_experts, n_active)
    biased = BiasedRouter(d_model, n_experts, n_active)

    # The loss of a router that nobody has balanced.
    plain(x)
    loss = balancing_loss(plain)

    # The shares before and after a hundred steps of the bias. The weights of the router are the
    # same.
    biased(x)
    before = shares(biased)
    for _ in range(100):
        adjust(biased, step=0.01)
        biased(x)
    return loss, before, shares(biased)
