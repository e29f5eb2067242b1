r"""
---
title: Mixture of Experts
summary: Many feed-forward networks, of which a router picks a few for each token.
know: ../transformers/swiglu.py
paper:
  title: Mixtral of Experts
  authors: Jiang et al.
  year: 2024
  link: https://arxiv.org/abs/2401.04088
terms:
  active parameters: The parameters that a model uses for one token.
  expert: One of several feed-forward networks of a layer, used for a part of the tokens.
  mixture of experts (MoE): A layer of many networks, of which each token goes through a few.
  router: A linear layer whose scores decide which experts a token goes through.
---

A [feed-forward network](../transformers/feed_forward.py) uses all its weights for every token. A
network that is eight times as wide predicts better, and each token takes eight times the work. A
*mixture of experts* has the weights of the wide network and the work of the narrow one: many small
networks, the *experts*, of which each token uses a few.

A *router*, one linear layer, gives the token a logit for each expert. Take four experts, two of
them active:

| expert | 1 | 2 | 3 | 4 |
| --- | ---: | ---: | ---: | ---: |
| logit | 1 | −1 | 2 | 0 |
| score $s_i$, their softmax | 0.24 | 0.03 | 0.64 | 0.09 |
| weight $w_i$ | 0.27 | | 0.73 | |

Experts 3 and 1 have the highest scores. Divided by their sum, these are the weights 0.73 and 0.27.
The token becomes $0.27\, E_1(x) + 0.73\, E_3(x)$. Experts 2 and 4 don't run.

$$
s = \operatorname{softmax}(W x) \qquad
w_i = \frac{s_i}{\sum_{j \in T} s_j} \qquad
y = \sum_{i \in T} w_i\, E_i(x)
$$

$W$ are the router's weights, $T$ are the `n_active` experts with the highest scores, and $E_i(x)$
is what expert $i$, a [SwiGLU](../transformers/swiglu.py) here, makes of the token $x$.

**In** and **out:** the features of tokens, `[seq_len, batch_size, d_model]`. Each token is changed
on its own.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.transformers.swiglu import SwiGLU


class Router(nn.Module):
    r"""
    ## Router
    """

    def __init__(self, d_model: int, n_experts: int, n_active: int) -> None:
        r"""
        * `d_model` is the number of features of a token
        * `n_experts` is the number of experts to choose from
        * `n_active` is the number of experts that a token goes through
        """
        super().__init__()
        if not 1 <= n_active <= n_experts:
            raise ValueError(f"n_active must be from 1 to {n_experts=}, got {n_active=}")
        self.n_active = n_active

        # Row $i$ is what a token should look like for expert $i$.
        self.linear = nn.Linear(d_model, n_experts, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        r"""
        ### Choose

        Tokens in one list, `[seq_len * batch_size, d_model]`, become the weights and the numbers of
        their experts, `[seq_len * batch_size, n_active]` each.
        """
        # A score for each expert, `[seq_len * batch_size, n_experts]`. Scores and choices stay here
        # until the next call, because a [balancing loss](balancing.py) needs them.
        self.scores = self.linear(x).softmax(dim=-1)

        # The largest scores, 0.64 and 0.24, and their experts, 3 and 1. A choice has no gradient.
        # The scores have one: if expert 3 was more useful than expert 1, the score of 3 rises. From
        # this token, the experts that weren't chosen learn nothing, and neither do their rows of
        # the router.
        weights, self.chosen = self.scores.topk(self.n_active, dim=-1)

        # 0.73 and 0.27. They sum to one, so the result is a weighted mean of what the experts give,
        # however many are active. A softmax over the chosen logits, 2 and 1, gives the same.
        return weights / weights.sum(dim=-1, keepdim=True), self.chosen


class Mixture(nn.Module):
    r"""
    ## Mixture of experts

    In the place of a feed-forward network. The loop goes over the experts and not over the tokens:
    each expert runs once, on all the tokens that have chosen it.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        n_experts: int,
        n_active: int,
        dropout_prob: float = 0.0,
        router: type[Router] = Router,
    ) -> None:
        r"""
        * `d_ff` is the number of hidden features of *one* expert
        * `dropout_prob` is the probability that a hidden feature is dropped
        * `router` makes the router: this one, or [one with a bias](balancing.py#BiasedRouter)

        The other arguments are those of the router.
        """
        super().__init__()
        self.router = router(d_model, n_experts, n_active)

        # Each is made by a call of its own. If two experts started equal, a token that goes through
        # both would give them gradients that differ only by its two weights.
        self.experts = nn.ModuleList(SwiGLU(d_model, d_ff, dropout_prob) for _ in range(n_experts))

    def forward(self, x: Tensor) -> Tensor:
        r"""
        `x` and the result are `[seq_len, batch_size, d_model]`.
        """
        # All tokens in one list, `[seq_len * batch_size, d_model]`: no token depends on
        # another.
        tokens = x.flatten(0, -2)

        # For our token, the weights 0.73 and 0.27 and the experts 3 and 1.
        weights, chosen = self.router(tokens)

        # Each expert adds its result for the tokens that have chosen it.
        result = torch.zeros_like(tokens)
        for number, expert in enumerate(self.experts):
            # Which tokens have chosen this expert, and whether as their first choice or as a later
            # one. This is where the work is saved: the expert sees those tokens and no others.
            token, place = (chosen == number).nonzero(as_tuple=True)

            # One product for all its tokens, each times the weight that the token gave the expert.
            weighted = weights[token, place].unsqueeze(-1) * expert(tokens[token])

            # Back to the rows that they came from, added to what other experts have put there.
            result = result.index_add(0, token, weighted)

        # As sequences again.
        return result.view_as(x)


def in_transformer(
    *, d_model: int, d_ff: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    In place of the network of the [small
    transformer](../transformers/basic/autoregressive_experiment.py).
    """
    # Two of eight experts with three matrices each: at a third of the width, a token uses as many
    # weights as in a network of two matrices. The layer has four times as many.
    return {"feed_forward": lambda: Mixture(d_model, max(1, d_ff // 3), 8, 2, dropout_prob)}


def example(
    seq_len: int = 7,
    batch_size: int = 3,
    d_model: int = 5,
    d_ff: int = 11,
    n_active: int = 2,
    n_experts: int = 13,
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    ### Measured here

    A network that is eight times as wide takes the loss of a small transformer from
    [1.992](../../results/experts.json#tables.layers.one%20small%20network.loss) to
    [1.913](../../results/experts.json#tables.layers.one%20large%20network.loss). With 16 experts,
    two of them for each token, and a [balancing loss](balancing.py), the loss is
    [1.940](../../results/experts.json#tables.layers.experts%2C%20loss.loss): these experts get
    [0.65](../../results/experts.json#values.gained) of the gain (means of three seeds).

    [The loss after 1,000 steps, mean and range of three seeds; “loss”, “bias” and the last two
    lines are explained on the next two pages](../../results/experts.json#figures.losses)

    ### What an expert is expert in

    In the first layer of our model (balanced with a bias) it is mostly single letters. Guess a
    token's first choice from its letter alone, always that letter's most frequent choice, and you
    are right for [0.85](../../results/experts.json#values.guessed.first) of all tokens; in the
    second layer for [0.66](../../results/experts.json#values.guessed.second).

    [The 20 most frequent characters, and the shares of their choices that go to each expert of the
    first layer, from one seed; “line” is the end of a
    line](../../results/experts.json#figures.letters)

    ### Active parameters

    Of the model's [241,090](../../results/experts.json#tables.layers.experts%2C%20loss.parameters)
    parameters a token uses
    [69,058](../../results/experts.json#tables.layers.experts%2C%20loss.active), its *active
    parameters*. In Mixtral, the model of the paper, there are eight experts in each layer and two
    for each token: 13 of 47 billion parameters are active.

    ### What did not help here

    These are entries of [a list](../../docs/what_did_not_help.md) of such things.

    Experts saved hardly any time. Training took
    [9](../../results/experts.json#tables.layers.one%20small%20network.seconds) seconds of one core
    with the small network,
    [21](../../results/experts.json#tables.layers.one%20large%20network.seconds) with the large one,
    [19](../../results/experts.json#tables.layers.experts%2C%20no%20balancing.seconds) with experts,
    and [24](../../results/experts.json#tables.layers.experts%2C%20loss.seconds) with the balancing
    loss of the next page. Two of 16 experts have an eighth of the work, but 16 small products and
    the gathering of their tokens cost about as much as one large product does. And all experts have
    to be in memory.

    ### What it leaves out

    As in Mixtral, and in Qwen3, which has the same layer, there are no biases. Left out are a limit
    on the tokens of an expert (the others are then dropped), experts that are spread over several
    GPUs, and kernels that run all experts in one call. [Balancing the experts](balancing.py) is the
    next page.

    ### Exercises

    ??? question "How many weights has a layer with `d_model` 64, `d_ff` 32 and 16 experts?"
        An expert has $3 \cdot 64 \cdot 32 = 6{,}144$, the router $64 \cdot 16 = 1{,}024$. Together
        99,328. With two active experts a token uses 13,312.

    ??? question "Set `n_active` to 1. What does the router learn?"
        Nothing from the predictions. A single weight divided by itself is 1, whatever the score.
        The Switch Transformer has one active expert, and doesn't divide.

    ??? question "Set `n_active` to `n_experts`. What is the layer then?"
        A weighted sum of all experts, which costs as much as the wide network.

    ??? question "Write `result[token] = weighted` for the line with `index_add`. What goes wrong?"
        Of each token's experts only the last one is left: our token gets $0.73\, E_3(x)$, and
        nothing of expert 1. All shapes are right.
    """
    mixture = Mixture(d_model, d_ff, n_experts, n_active)
    x = torch.randn(seq_len, batch_size, d_model)

    # The choices of 21 tokens, then the whole layer.
    weights, chosen = mixture.router(x.flatten(0, -2))
    return weights, chosen, mixture(x)
