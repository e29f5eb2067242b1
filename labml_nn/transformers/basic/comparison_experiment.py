r"""
---
title: One Part Exchanged
summary: Two small transformers, the same but for one part, trained on the same batches.
---

Whether a part is any good shows in a model that is trained with it. Here the [autoregressive
model](autoregressive_model.py) is trained twice, as it is and with one part replaced, from the same
seed, on the same batches.

**In:** a table from the name of a place in the model to a function that makes the part for it.
**Out:** the losses of both models.

Each page with such a part has the table in a function `in_transformer`, and its notebook ends with
the training below. On this page, the [feed-forward network](../feed_forward.py#in_transformer) is
exchanged for one with another activation. Its weights are new ones, so they start with other
numbers, too.

A difference of 0.01 says nothing. After 1,000 steps, three seeds of the *same* model lie between
[1.838](../../../results/without.json#tables.without.The%20whole%20model.low) and
[1.857](../../../results/without.json#tables.without.The%20whole%20model.high). Below are ten
changes of the [modern model](../modern/ablation.py) and its training, made one at a time. The
losses of six overlap with the band that the seeds of the unchanged model cover:

[The lowest and the highest loss of three seeds](../../../results/ablation.json#figures.spread)
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from labml_nn.training.data import RandomWindows, prepare
from labml_nn.training.device import choose_device
from labml_nn.training.loop import adamw, evaluate
from labml_nn.training.run import Run
from labml_nn.training.sampling import write
from labml_nn.transformers.basic.autoregressive_experiment import read_text
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from labml_nn.transformers.feed_forward import in_transformer

# The places are `self_attn`, `feed_forward`, `positions`, and the normalisations
# `norm_self_attn`, `norm_ff` and `norm`.
Parts = Mapping[str, Callable[[], nn.Module]]


def put_in_place(model: nn.Module, parts: Parts) -> None:
    r"""
    ## Exchange parts

    Wherever a module of the model has a part with one of the names, a new part takes its place.
    """
    for name, make in parts.items():
        # Every module that has a part of this name: each layer, or the model itself.
        owners = [one for one in model.modules() if name in dict(one.named_children())]
        if not owners:
            raise ValueError(f"the model has no part {name!r}")

        # A part is made anew for each layer, so that no two layers share its weights.
        for owner in owners:
            setattr(owner, name, make())


def make_both(n_vocab: int, seq_len: int, seed: int) -> dict[str, AutoregressiveTransformer]:
    r"""
    ## Two models from one seed

    With [in_transformer](../feed_forward.py#in_transformer) of the page.
    """
    # Both start as the plain model.
    models = {}
    for name in ("plain", "changed"):
        # The same seed, so that all weights that both have start with the same numbers. That halves
        # the noise of the comparison: see the exercises.
        torch.manual_seed(seed)
        models[name] = AutoregressiveTransformer(n_vocab, seq_len=seq_len)

    # With the sizes of the model, so that the part fits.
    sizes = {"d_model": 128, "heads": 4, "d_ff": 512, "seq_len": seq_len, "dropout_prob": 0.0}
    put_in_place(models["changed"], in_transformer(**sizes))
    return models


def notebook(
    corpus: str = "shakespeare", steps: int = 500, seed: int = 1, keep_in: str = ""
) -> None:
    r"""
    ## Train it in a transformer

    The small transformer as it is, and with this page's part in its place. Two models of 500 steps
    take a minute or two on a CPU, and the plain one reaches a loss of about
    [2.05](../../../results/longer.json#values.steps.500). With 2,000 steps it reaches
    [1.68](../../../results/longer.json#values.steps.2000), and both write better. To keep the
    models, name a folder as `keep_in` before you run the cells below. It lies on your Drive if that
    is mounted, else on the machine, which Colab takes back.
    """
    # ### The text and the models
    # Characters in, characters out. Each model has a [run](../../training/run.py), which keeps its
    # optimizer, step and losses. To start from scratch, run this cell again. If you named a folder
    # in `keep_in`, remove the runs' files there first.
    seq_len = 64
    tokenizer, training, validation = prepare(read_text(corpus), seq_len)
    device = choose_device()
    runs = {}
    for name, model in make_both(len(tokenizer), seq_len, seed).items():
        # From the same seed come the same batches, 12 windows each.
        batches = RandomWindows(training, seq_len, 12, seed)
        model = model.to(device)
        runs[name] = Run(model, batches.at, [adamw(model)], name=name, keep_in=keep_in)
        print(f"{name}: {sum(p.numel() for p in model.parameters()):,} parameters on {device}")

    # ### Training
    # One after the other. Stop it when you like; run this cell again, and it goes on.
    for run in runs.values():
        run.train(steps)

    # ### The loss curves
    # With the weights held still, the losses of single batches have a standard deviation of 0.05 to
    # 0.06 nats, more than most parts are worth. So each point is the mean of 20 steps.
    import matplotlib.pyplot as plt

    for name, run in runs.items():
        # A mean belongs to the middle of its steps.
        means = torch.tensor(run.losses[: run.done // 20 * 20]).view(-1, 20).mean(dim=1).tolist()
        plt.plot([20 * at + 10.5 for at in range(len(means))], means, label=name)
    plt.xlabel("step")
    plt.ylabel("loss, nats a character")
    plt.legend()
    plt.show()

    # ### What came out
    # The loss over the whole validation text, and a sample.
    for name, run in runs.items():
        print(f"{name}: validation loss {evaluate(run.model, validation, seq_len):.3f}")
        print(write(run.model, tokenizer, "\n", 200, seq_len, temperature=0.8), "\n")


def example(seq_len: int = 7, batch_size: int = 3, n_vocab: int = 13) -> Tensor:
    r"""
    ## Example

    Both models, before they are trained.

    ### Exercises

    ??? question "Of one seed each, one part ends at 1.845 and another at 1.852. Which is better?"
        You can't tell. Seeds alone differ by 0.019, nearly three times as much. Train each from
        several seeds, and compare the means with the spread.

    ??? question "Both models share the start and the batches. Which makes the comparison steadier?"
        - [ ] The batches: some windows are harder than others, and both models get the same ones.
            - It sounds right, and we believed it. But with the same batches alone, the noise was as
              large as with nothing in common. We guess that over hundreds of batches hard and easy
              windows even out.
        - [x] The start: the weights that both have begin with the same numbers.
            - Yes. We trained a smaller pair, two layers of 32 features for 300 steps, from 16
              seeds. The difference of the two losses had a standard deviation of 0.017 with nothing
              in common, 0.018 with the same batches, 0.009 with the same start, and 0.009 with
              both.
        - [ ] Neither: the two models have different parts.
            - Everything but the feed-forward networks, 283,458 of the 810,306 weights, is in both.

    ??? question "Put one `make()` before the loop over `owners`. What changes?"
        All layers get the same module, and share its weights. A part with weights then learns one
        version for four layers. You notice by the number of parameters: it is smaller.
    """
    # Random tokens: nothing is trained here.
    tokens = torch.randint(n_vocab, (seq_len, batch_size))

    # Two models that differ in one part give different logits for the same tokens, though all other
    # weights are equal.
    models = make_both(n_vocab, seq_len, seed=1)
    return models["plain"](tokens) - models["changed"](tokens)
