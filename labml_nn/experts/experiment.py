r"""
---
title: The Load of Each Expert
summary: A small model with experts, trained without balancing, with a loss and with a bias.
---

Do a few experts really take most of the tokens? A batch of 1,024 tokens with two choices each makes
2,048 choices. With 16 experts, an equal share is 128. An expert that gets 320 has a *load* of 320 /
128 = 2.5. Here the busiest has
[2.49](../../results/experts.json#tables.layers.experts%2C%20no%20balancing.most) without balancing,
and [1.16](../../results/experts.json#tables.layers.experts%2C%20bias.most) with a bias.

[The load of each expert of the second layer after 1,000 steps, from one
seed](../../results/experts.json#figures.loads)

**In:** a text, and some steps for each of three models, which differ in [their
balancing](balancing.py) (the bias also comes with sigmoids). **Out:** the loss of each, and the
load of each expert.

The model has two layers of 64 features, and in each of them 16 [experts](mixture.py) of 32 hidden
features, two for each token.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.experts.balancing import (
    BiasedRouter,
    adjust,
    balanced_gradients,
    routers,
    shares,
)
from labml_nn.experts.mixture import Mixture, Router
from labml_nn.training.data import RandomWindows, fixed_windows, prepare
from labml_nn.training.loop import adamw, evaluate, gradients, train
from labml_nn.training.run import Run
from labml_nn.transformers.basic.autoregressive_experiment import read_text
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from labml_nn.transformers.fused_attention import FusedAttention

# Two of sixteen experts for each token. They are narrow, so that there is something to gain: one
# network of the width of two experts has a higher loss here than one of the width of all sixteen.
D_MODEL = 64
D_FF = 32
N_EXPERTS = 16
N_ACTIVE = 2

# What computes the gradients of a batch, from a model, inputs and targets.
Gradients = Callable[[nn.Module, Tensor, Tensor], Tensor]

# For each kind of balancing: the router, the gradients, and what is done after a step.
WAYS: dict[str, tuple[type[Router], Gradients, Callable[[nn.Module], None]]] = {
    "no balancing": (Router, gradients, lambda model: None),
    "loss": (Router, balanced_gradients, lambda model: None),
    "bias": (BiasedRouter, gradients, adjust),
}


def small_model(
    n_vocab: int, seq_len: int, make: Callable[[], nn.Module]
) -> AutoregressiveTransformer:
    r"""
    ## The model

    `make` makes what takes the place of the network in each layer.
    """
    # Four heads, two layers. The networks that come with the model are replaced at once.
    model = AutoregressiveTransformer(
        n_vocab, D_MODEL, 4, 2, D_FF, seq_len, attention=FusedAttention
    )
    for layer in model.encoder.layers:
        # A call for each layer, so that no two layers share their experts. All else stays:
        # attention, normalisation and residual connections know nothing of experts.
        layer.feed_forward = make()
    return model


def load(router: Router) -> Tensor:
    r"""
    ## Load

    One number for each expert, of the last batch that the router has seen.
    """
    # 1 is an equal share, 2 is twice as much. Shares depend on how many experts there are and how
    # many of them are active; loads can be compared.
    share = shares(router)
    return share / share.mean()


def fit_balanced(way: str, model: nn.Module, batches: RandomWindows, steps: int) -> Tensor:
    r"""
    ## Training

    `way` is one of those above. Returns the greatest load of each layer, for each step.
    """
    # The router is in the model already. How gradients are computed, and what follows a step, is
    # for the loop. The three trainings differ in these three things, and in nothing else.
    _, gradients_of_batch, balance = WAYS[way]
    greatest: list[Tensor] = []

    def after_step(step: int, loss: Tensor) -> None:
        # The choices that the batch was trained with, one number for each layer.
        greatest.append(torch.stack([load(router).max() for router in routers(model)]))

        # Now the bias may move, if there is one: by the loads of this batch alone.
        balance(model)

    # The loop of the other lessons. What is special comes in as its arguments.
    train(
        model,
        batches.at,
        [adamw(model)],
        steps,
        gradients=gradients_of_batch,
        after_step=after_step,
    )

    # One number for each step, for its curve.
    return torch.stack(greatest)


@torch.no_grad()
def held_out_load(model: nn.Module, tokens: Tensor, seq_len: int, n_windows: int = 200) -> Tensor:
    r"""
    ## Load on held-out text

    A row for each layer, over the first `n_windows` windows of `tokens`.
    """
    # One call with all windows, since a router knows its last batch only. Text that the model was
    # not trained on tells whether the balance holds for more than the training batches.
    inputs, _ = fixed_windows(tokens, seq_len)[0]
    model(inputs[:, :n_windows].to(next(model.parameters()).device))

    # Nothing is adjusted here. A bias that moved now would be adjusted to text that the model isn't
    # trained on.
    return torch.stack([load(router) for router in routers(model)])


def notebook(
    corpus: str = "shakespeare", steps: int = 400, seed: int = 1, keep_in: str = ""
) -> None:
    r"""
    ## Try it

    Three models of 400 steps. (The losses and the loads on this page are those of 1,000.) To keep
    them, name a folder as `keep_in` before you run the cells below. It lies on your Drive if that
    is mounted, else on the machine, which Colab takes back.
    """
    # ### The text and the models
    # The same batches for all three, 16 windows of 64 characters each. So a batch is 1,024 tokens,
    # with two choices each, and an equal share of them is 128 for each expert. The models start
    # from the same weights. Each model has a [run](../training/run.py), which keeps its optimizer,
    # step and losses. To start from scratch, run this cell again. If you named a folder in
    # `keep_in`, remove the runs' files there first.
    seq_len = 64
    tokenizer, training, validation = prepare(read_text(corpus), seq_len)
    batches = RandomWindows(training, seq_len, 16, seed)
    runs = {}
    for way, (router, gradients_of_batch, balance) in WAYS.items():
        # The seed is set for each, so that all draw the same numbers.
        torch.manual_seed(seed)
        model = small_model(
            len(tokenizer),
            seq_len,
            lambda router=router: Mixture(D_MODEL, D_FF, N_EXPERTS, N_ACTIVE, router=router),
        )

        # Only the balancing differs, and with the bias the scores are sigmoids. The bias moves
        # after each step.
        after_step = lambda step, loss, model=model, balance=balance: balance(model)  # noqa: E731
        how = {"gradients": gradients_of_batch, "after_step": after_step}
        runs[way] = Run(model, batches.at, [adamw(model)], name=way, keep_in=keep_in, **how)
    loads = {}

    # ### Train it
    # On the CPU: by our count, a Tesla T4 would take longer to start the many small products of the
    # experts than two cores to compute them. Stop it when you like; run this cell again, and it
    # goes on.
    for way, run in runs.items():
        run.train(steps)
        run.model.eval()

        # The loss over the whole validation text, and the greatest load of each layer. 1 would be
        # perfect balance; compare both numbers, since balance alone is no aim.
        loads[way] = held_out_load(run.model, validation, seq_len)
        print(f"{way}: validation loss {evaluate(run.model, validation, seq_len):.3f}")
        most = ", ".join(f"{one:.2f}" for one in loads[way].amax(dim=1).tolist())
        print(f"greatest load in each layer: {most}")

    # ### The load of each expert
    # Of the second layer, the busiest first. The dashed line is an equal share.
    import matplotlib.pyplot as plt

    _, all_axes = plt.subplots(1, len(WAYS), sharey=True)
    for axes, (way, found) in zip(all_axes, loads.items(), strict=False):
        # After a stop, those that aren't measured yet have an empty place.
        axes.bar(range(N_EXPERTS), found[-1].sort(descending=True).values.tolist())

        # At 1, each expert gets as many tokens as any other.
        axes.axhline(1, color="black", linestyle="--")
        axes.set_title(way)
    plt.show()


def example(seq_len: int = 7, batch_size: int = 3, n_vocab: int = 13) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    An alphabet over and over, and five steps.

    ### Measured here

    With the balancing loss the greatest load is
    [1.21](../../results/experts.json#tables.layers.experts%2C%20loss.most). A thousand steps of all
    three models take [65](../../results/experts.json#values.notebook_seconds) seconds of one core;
    the notebook does 400.

    [All layers that we have trained in the place of the network, with the means of three
    seeds](../../results/experts.json#tables.layers)

    ### Exercises

    ??? question "Two of 16 experts for each token, and all tokens choose the same two. The loads?"
        8 for these two, and 0 for all others. No load can be greater than `N_EXPERTS / N_ACTIVE`.

    ??? question "The shares are of one batch of 1,024 tokens. Are they exact?"
        No. Even a router that chooses at random would send more to some experts: an expert gets 128
        tokens on average, give or take about 11, so that the greatest of 16 loads is about 1.15.

    ??? question "Double the batch. Does the bias balance faster?"
        Not by itself: it moves by the same step, whatever the batch. Raise the step for that.
    """
    # One token is enough to know the next.
    text = torch.arange(100 * n_vocab) % n_vocab
    router = WAYS["bias"][0]
    model = small_model(
        n_vocab, seq_len, lambda: Mixture(D_MODEL, D_FF, N_EXPERTS, N_ACTIVE, router=router)
    )

    # The greatest loads of five steps and two layers, and the loads of 16 experts in the end.
    greatest = fit_balanced("bias", model, RandomWindows(text, seq_len, batch_size, seed=1), 5)
    return greatest, held_out_load(model, text, seq_len)
