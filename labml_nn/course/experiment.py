r"""
---
title: The Course in One Notebook
summary: Count letters, train the ten models of the course, and compare them.
---

**In:** the text, and some steps of twelve windows for each model. **Out:** the loss after each
[step of the course](__init__.py), and what each model writes.

[The loss after each step](../../results/course.json#figures.steps)

With [400](../../results/course.json#values.steps) steps each, training them all took
[559](../../results/course.json#values.seconds) seconds on a machine that had much else to do. Most
of that went into the last three, which have four layers.
"""

import torch

from labml_nn.course.steps import steps_of_course
from labml_nn.training.counting import BackOff
from labml_nn.training.data import RandomWindows, prepare
from labml_nn.training.device import choose_device
from labml_nn.training.loop import evaluate
from labml_nn.training.run import Run
from labml_nn.training.sampling import write
from labml_nn.transformers.basic.autoregressive_experiment import read_text


def notebook(
    corpus: str = "shakespeare",
    steps: int = 400,
    seed: int = 1,
    sample_length: int = 200,
    keep_in: str = "",
) -> None:
    r"""
    ## Try it

    From counting to the modern transformer, with as many steps as for the chart on this page. To
    keep the models, name a folder as `keep_in` before you run the cells below. It lies on your
    Drive if that is mounted, else on the machine, which Colab takes back.
    """
    # ### The text, and counting
    # The first two steps of the course train nothing, nor does the side road to longer contexts.
    # The text is cut into windows of 64 letters for counting as for the models, or one of them
    # would see more than the others.
    seq_len = 64
    tokenizer, training, validation = prepare(read_text(corpus), seq_len)
    counted = tokenizer.decode(training)
    held_out = tokenizer.decode(validation)
    for n_letters in range(5):
        back_off = BackOff(counted, n_letters, tokenizer.symbols)
        print(f"{n_letters} letters of context: {back_off.loss(held_out, seq_len):.3f}")

    # ### The models
    # Each starts from the same seed and sees the same batches. With positions, with several heads
    # and with the classic recipe, a model starts with the same weights as the one before. A step
    # that adds weights draws other numbers for some of the rest, too, so a small difference may be
    # luck. Each model has a [run](../training/run.py), which keeps its optimizer, step and losses.
    # To start from scratch, run this cell again. If you named a folder in `keep_in`, remove the
    # runs' files there first.
    device = choose_device()
    batches = RandomWindows(training, seq_len, 12, seed)
    runs = {}
    for name, (make, recipe) in steps_of_course(len(tokenizer), seq_len=seq_len).items():
        torch.manual_seed(seed)
        model = make().to(device)
        runs[name] = Run(model, batches.at, **recipe(model), name=name, keep_in=keep_in)
    losses = {}

    # ### Training
    # One after the other. Stop it when you like; run this cell again, and it goes on.
    for name, run in runs.items():
        run.train(steps)

        # The loss over the whole validation text, and a few lines that this model writes. Compare
        # the lines too: a loss is a mean, and hides what a model can't do at all.
        losses[name] = evaluate(run.model, validation, seq_len)
        sample = write(run.model, tokenizer, "ROMEO:\n", sample_length, seq_len, temperature=0.8)
        print(f"{name}: validation loss {losses[name]:.3f}\n{sample}\n")

    # ### The losses
    # A bar for each model; the first step is at the top.
    import matplotlib.pyplot as plt

    plt.barh(list(losses), list(losses.values()))
    plt.gca().invert_yaxis()
    plt.xlabel("validation loss, nats a character")
    plt.show()


def example(n_letters: int = 2, n_vocab: int = 3) -> float:
    r"""
    ## Example

    Counting needs no training: “abracadabra”, with two letters of context.

    ### Exercises

    ??? question "Which model has the lowest loss for the fewest parameters?"
        No single number answers that. A table of pairs has 4,356 weights and reaches
        [2.519](../../results/course.json#tables.steps.A%20learned%20table%20of%20pairs.loss); the
        modern transformer has 183 times as many and reaches
        [1.747](../../results/course.json#tables.steps.The%20modern%20parts.loss). But the table
        can't get much below 2.48, however long it is trained.

    ??? question "Train with twice the steps. Which losses move, and which stay?"
        The mean hardly moves. The table gains a little, 0.02 in a try with one seed, and comes
        nearer to counted pairs, which are about the best that a table can do. The layers gain far
        more.

    ??? question "Change the seed. By how much do the losses differ?"
        The chart at the top has a mark for three seeds on each bar. A smaller difference between
        two steps says nothing.
    """
    # Three times the same word: the more context, the surer the next letter is. It is counted and
    # judged on the same text, so longer contexts can only gain here.
    text = "abracadabra" * n_vocab
    # Without a network: two letters of context, mixed with shorter ones.
    model = BackOff(text, n_letters, "abcdr\N{REPLACEMENT CHARACTER}")
    return model.loss(text, seq_len=7)
