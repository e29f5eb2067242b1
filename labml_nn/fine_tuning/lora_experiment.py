r"""
---
title: Shakespeare Learns Python
summary: Fine-tune a small transformer in full and with adapters; see what each learns and forgets.
---

Teach a model that knows Shakespeare some Python, once in full and once with [LoRA](lora.py). What
does each learn, and what does each forget? On our small model, LoRA learns less than full
fine-tuning. While its adapter is on, it forgets as well; take the adapter off, and nothing is
forgotten.

**In:** a [small transformer](../transformers/basic/autoregressive_model.py) that has learned
Shakespeare, and 300,000 characters of Python, the sources of PyTorch's modules. **Out:** its loss
on both texts, after [300](../../results/lora.json#values.steps) steps with each method.

**Rank.** A higher rank is better, and each doubling gains less. Full fine-tuning stays ahead.

[The loss on Python](../../results/lora.json#figures.ranks)
"""

import string
from copy import deepcopy

import torch
from torch import Tensor, nn

from labml_nn.fine_tuning.lora import adapt, adapter
from labml_nn.training.data import CharTokenizer, RandomWindows
from labml_nn.training.device import choose_device
from labml_nn.training.loop import adamw, evaluate, train
from labml_nn.training.run import Run
from labml_nn.training.sampling import write
from labml_nn.transformers.basic.autoregressive_experiment import read_text
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer


def two_texts(first: str, second: str) -> tuple[CharTokenizer, list[Tensor]]:
    r"""
    ## Two texts, one alphabet

    The training and the validation part of each.
    """
    # Printable ASCII, for both. The letters of the first text alone would not do: a model has a row
    # of its embedding for each token, and Shakespeare has no brackets.
    tokenizer = CharTokenizer(string.printable)
    parts = []
    for text in (first, second):
        # As always, the last tenth is not trained on: a loss on what was learned by heart would say
        # little.
        n_train = len(text) * 9 // 10
        parts += [tokenizer.encode(text[:n_train]), tokenizer.encode(text[n_train:])]
    return tokenizer, parts


def learn(model: nn.Module, batches: RandomWindows, steps: int, rate: float) -> list[float]:
    r"""
    ## Train it, or a part of it

    The loss of each step.
    """
    # What is frozen has no gradient, and the optimizer passes it over. So one function serves for
    # the base model, for full fine-tuning and for adapters.
    losses: list[float] = []
    train(
        model,
        batches.at,
        [adamw(model, rate)],
        steps,
        after_step=lambda step, loss: losses.append(loss.item()),
    )
    return losses


def notebook(
    corpus: str = "shakespeare",
    second_corpus: str = "python",
    steps: int = 600,
    seed: int = 1,
    rank: int = 8,
    sample_length: int = 200,
    keep_in: str = "",
) -> None:
    r"""
    ## Try it

    Train the base model for `steps` steps, and adapt it twice, each time with half as many. (The
    losses on this page are those of a base of 1,000 steps.) To keep the models, name a folder as
    `keep_in` before you run the cells below. It lies on your Drive if that is mounted, else on the
    machine, which Colab takes back.
    """
    # ### Two texts
    # The second one is short. That is the usual case: a large text for the base, a small one for
    # the task.
    seq_len = 64
    device = choose_device()
    texts = read_text(corpus), read_text(second_corpus)
    if texts[0] == texts[1]:
        # Without a network both are PyTorch's source, and there is nothing to forget.
        raise ValueError("Both texts are the same. Set `corpus` to the path of a file of yours.")
    tokenizer, parts = two_texts(texts[0], texts[1][:300_000])
    first, first_held, second, second_held = parts
    batches = RandomWindows(first, seq_len, 12, seed)
    more = RandomWindows(second, seq_len, 12, seed)

    # The loss on both texts; it is kept for the picture.
    def report(name: str, model: nn.Module) -> None:
        # What was learned, and what was forgotten meanwhile.
        found[name] = [evaluate(model, text, seq_len) for text in (first_held, second_held)]
        print("{}: validation loss {:.3f} and {:.3f}".format(name, *found[name]))

    # ### The base model
    # The seed decides on the first weights. The model's [run](../training/run.py) keeps the
    # optimizer, the step and the losses. To start from scratch, run this cell again. If you named a
    # folder in `keep_in`, remove the run's file there first.
    torch.manual_seed(seed)
    base = AutoregressiveTransformer(len(tokenizer)).to(device)
    learning = Run(base, batches.at, [adamw(base, 3e-3)], name="base", keep_in=keep_in)
    found = {}

    # It learns the first text. Stop it when you like; run this cell again, and it goes on.
    learning.train(steps)
    report("base", base)

    # ### Full fine-tuning
    # A copy, which starts where the base is.
    full = deepcopy(base)
    in_full = Run(full, more.at, [adamw(full, 3e-3)], name="full", keep_in=keep_in)
    found.pop("full", None)

    # It learns the second text, and forgets the first.
    in_full.train(steps // 2)
    report("full", full)

    # ### LoRA
    # Another copy, with adapters in all its linear layers. Try other ranks: each starts from the
    # base. The rate is the best of the three that we tried, and so is that of full fine-tuning.
    torch.manual_seed(seed)
    adapted = deepcopy(base)
    adapt(adapted, rank, alpha=8.0)
    nothing = adapter(adapted)
    with_adapter = Run(
        adapted, more.at, [adamw(adapted, 1e-2)], name=f"LoRA {rank}", keep_in=keep_in
    )
    found.pop("LoRA", None)

    # Only the adapters learn.
    with_adapter.train(steps // 2)
    report("LoRA", adapted)

    # What has to be kept for the second text, of one and of the other.
    learned = adapter(adapted)
    for name, weights in (("the whole model", full.state_dict()), ("the adapter", learned)):
        print(f"{name}: {sum(one.numel() for one in weights.values()):,} numbers")

    # ### What it writes
    # First with the adapter, which should look like Python, and then without it, like Shakespeare:
    # one model, two tasks. The writer is a copy, so that the adapter stays on in the model above.
    writer = deepcopy(adapted)
    for weights in (learned, nothing):
        writer.load_state_dict(weights, strict=False)
        print(write(writer, tokenizer, "\n", sample_length, seq_len, temperature=0.8))

    # Exactly the losses of the base: nothing is forgotten.
    report("LoRA taken off", writer)

    # ### The losses
    # Lower is better, on either text.
    import matplotlib.pyplot as plt

    for at, text in enumerate(("first text", "second text")):
        places = [place + 0.4 * at for place in range(len(found))]
        plt.bar(places, [losses[at] for losses in found.values()], width=0.4, label=text)
    plt.xticks([place + 0.2 for place in range(len(found))], list(found))
    plt.ylabel("validation loss, nats a character")
    plt.legend()
    plt.show()


def example(seq_len: int = 7, batch_size: int = 3, heads: int = 5, n_pairs: int = 2) -> Tensor:
    r"""
    ## Example

    A small model learns to count, and then, with an adapter, to count backwards.

    ### What each method reaches

    [What each method trains, keeps for the task, and reaches: means of three seeds, and for Python
    the lowest and the highest](../../results/lora.json#tables.methods)

    “Slower” means a third of the learning rate.

    ### Is the change of low rank?

    Is what full fine-tuning changes of low rank? Not here. Of the change of a matrix, the first
    eight *directions* (pairs of singular vectors) have
    [0.46](../../results/lora.json#values.share_of_8) of the sum of squares: more than the 0.18 of
    random numbers, and far from all. Cut to rank 8, it gives a loss of
    [2.010](../../results/lora.json#values.cut_to_8), worse than LoRA, which looks for the best
    change *of this rank*. (Embeddings, biases and normalisations kept their changes.)

    [Directions of a change, the largest first: the share of its squares that they
    have](../../results/lora.json#figures.directions)

    ### Which layers

    Rank 8 for queries and values, the layers of the paper, trains more weights than rank 1 for all
    layers, and is worse:
    [2.245](../../results/lora.json#tables.methods.LoRA%20rank%208%20of%20query%20and%20value.python)
    against [2.010](../../results/lora.json#tables.methods.LoRA%20rank%201.python).

    ### Forgetting

    For large models it was found that LoRA [learns less and forgets
    less](https://arxiv.org/abs/2405.09673). With an adapter on, so it does here, with the best
    rates that we tried. But for what it learns it forgets more: with a third of the learning rate,
    full fine-tuning is better on *both* texts,
    [1.473](../../results/lora.json#tables.methods.Slower%20full%20fine-tuning.python) and
    [2.740](../../results/lora.json#tables.methods.Slower%20full%20fine-tuning.shakespeare), than
    LoRA with rank 8, [1.606](../../results/lora.json#tables.methods.LoRA%20rank%208.python) and
    [2.819](../../results/lora.json#tables.methods.LoRA%20rank%208.shakespeare).

    [Both losses: a low and a high learning rate in full, and the
    ranks](../../results/lora.json#figures.trade)

    What LoRA gives is something else: you can take the adapter off, and have the base again.

    ### What did not help here

    These are entries of [a list](../../docs/what_did_not_help.md) of such things.

    LoRA saves no time: a step takes [1.15](../../results/lora.json#values.lora_time) times as long
    as one in full. Nor did [DoRA](dora.py) help, nor a scale that falls with the rank: with $\alpha
    / r = 0.5$ rank 16 reaches [1.571](../../results/lora.json#values.undivided.divided), with 1, as
    at rank 8, [1.505](../../results/lora.json#values.undivided.without) (one seed).

    ### The learning rates

    Full fine-tuning and LoRA with rank 8 have the best of three learning rates, tried with one seed
    (for full fine-tuning the highest of the three; we tried none above it); all other adapters have
    that of LoRA with rank 8. $\alpha$ is 8, the first rank that we tried, as the paper chooses it.

    [The loss on Python at each rate](../../results/lora.json#tables.rates)

    ### Exercises

    ??? question "Train with `rank` 1 and with 32. Which is nearer to full fine-tuning?"
        The larger rank. The first figure shows how the loss falls up to rank 16.

    ??? question "You have a model and twenty tasks. What is kept, in full and with rank 8?"
        Twenty models, 65.5 MB; or one model and twenty adapters, 3.3 MB and 6.0 MB.

    ??? question "Adapt with `alpha` 0. Which losses do you expect, and why?"
        Those of the base, however long you train: the product is multiplied by zero, and so are
        its gradients.

    ??? question "Mix lines of Shakespeare into the second text. What changes for full fine-tuning?"
        We guess that it forgets less, since those lines are still trained on, and learns less
        Python, since each takes the place of a line of it. With an adapter that you take off,
        nothing is forgotten anyway.
    """
    # Digits upwards, and digits downwards.
    tokenizer, (first, _, second, _) = two_texts("0123456789" * 20, "9876543210" * 20)

    # A single layer is enough to count: the next digit depends on the last one alone.
    model = AutoregressiveTransformer(len(tokenizer), heads * 2 * n_pairs, heads, 1, 11, seq_len)

    # Ten steps in full, and ten of an adapter. The loss begins to fall each time.
    upwards = RandomWindows(first, seq_len, batch_size, seed=1)
    downwards = RandomWindows(second, seq_len, batch_size, seed=1)
    losses = learn(model, upwards, 10, 3e-3)
    adapt(model, rank=2, alpha=8.0)
    return torch.tensor([losses, learn(model, downwards, 10, 1e-2)])
