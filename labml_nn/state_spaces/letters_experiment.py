r"""
---
title: Letters Among Dots
summary: Train three layers on a task for which a layer must select.
know: mamba2.py
---

When must a layer select? In streams of letters and dots it has to remember a letter over many dots,
and to replace it when the next letter comes.

**In:** a number of training steps. **Out:** how often three layers know the last letter:
[Mamba](mamba.py), [Mamba-2](mamba2.py), and Mamba whose steps, writing and reading are the same for
all tokens.

[The last letter among dots](../../results/state_spaces.json#tables.last_letter)

The longer ago the letter was, the less often the layer with fixed weights is right. Mamba-2 selects
too, but with one rate for a whole head, and is right a little less often than Mamba.
"""

from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.state_spaces.mamba import Mamba
from labml_nn.state_spaces.mamba2 import Mamba2
from labml_nn.training.loop import adamw
from labml_nn.training.run import Run

# The letters of the task. The dot comes after them.
N_LETTERS = 16


def last_letters(
    step: int, seed: int, seq_len: int = 128, batch_size: int = 32
) -> tuple[Tensor, Tensor]:
    r"""
    ## The task

    Streams of letters and dots, and the last letter at each position, `[seq_len, batch_size]` each.
    """
    # New streams for each step, and the same ones for each model.
    generator = torch.Generator().manual_seed(1_000_000 * seed + step)

    # A letter for every position. Most of them will be covered by dots.
    letters = torch.randint(N_LETTERS, (seq_len, batch_size), generator=generator)

    # One in twenty is a letter, and so is the first one, or there would be no last letter yet.
    is_letter = torch.rand(seq_len, batch_size, generator=generator) < 0.05
    is_letter[0] = True

    # Letters keep their position, and dots get 0. The highest so far is that of the last letter.
    positions = torch.arange(seq_len).unsqueeze(1) * is_letter
    last = positions.cummax(dim=0).values

    # The stream, and the letters at those positions.
    return letters.where(is_letter, N_LETTERS), letters.gather(0, last)


class Constants(nn.Module):
    r"""
    ## Without selection

    In the place of a linear layer: the same numbers for every token.
    """

    def __init__(self, n_features: int) -> None:
        r"""
        * `n_features` is how many numbers there are
        """
        super().__init__()
        # They are learned, like the weights that they replace.
        self.numbers = nn.Parameter(torch.randn(n_features))

    def forward(self, x: Tensor) -> Tensor:
        r"""
        From `[seq_len, batch_size, ...]` to as many copies of the numbers, `[seq_len, batch_size,
        ...]`.
        """
        # The token isn't looked at.
        return self.numbers.expand(*x.shape[:-1], -1)


def fixed_mamba(d_model: int, n_channels: int) -> Mamba:
    r"""
    ## Mamba with fixed weights
    """
    # Steps, and what to write and to read, no longer depend on the token.
    layer = Mamba(d_model, n_channels)
    layer.select = Constants(sum(layer.sizes))
    return layer


class Tagger(nn.Module):
    r"""
    ## One layer for the task
    """

    def __init__(self, layer: nn.Module, d_model: int) -> None:
        r"""
        * `layer` is the layer that is tried
        * `d_model` is its number of features
        """
        super().__init__()
        # A vector for each letter and for the dot.
        self.embed = nn.Embedding(N_LETTERS + 1, d_model)

        # The layer that is tried.
        self.layer = layer

        # As many scores as there are letters: a dot is never the answer.
        self.scores = nn.Linear(d_model, N_LETTERS)

    def forward(self, tokens: Tensor) -> Tensor:
        r"""
        From `[seq_len, batch_size]` to a score for each letter, `[seq_len, batch_size, ...]`.
        """
        # With a residual, as in a transformer: at a letter the answer is in the embedding.
        x = self.embed(tokens)
        return self.scores(x + self.layer(x))


def notebook(steps: int = 400, seed: int = 1, keep_in: str = "") -> None:
    r"""
    ## Try it

    Three layers, one after the other, with as many steps as for the table on this page. To keep
    them, name a folder as `keep_in` before you run the cells below. It lies on your Drive if that
    is mounted, else on the machine, which Colab takes back.
    """
    # ### Letters among dots
    # The state has 16 numbers for each of 32 channels, in all three. Each model has a
    # [run](../training/run.py), which keeps its optimizer, step and losses. To start from scratch,
    # run this cell again. If you named a folder in `keep_in`, remove the runs' files there first.
    d_model = 32
    layers = {
        "fixed": lambda: fixed_mamba(d_model, d_model),
        "Mamba": lambda: Mamba(d_model, d_model),
        "Mamba-2": lambda: Mamba2(4, d_model, d_model // 4),
    }
    runs = {}
    for name, make in layers.items():
        # The same streams for all, and weights from the same seed.
        torch.manual_seed(seed)
        model = Tagger(make(), d_model)
        streams = partial(last_letters, seed=seed)
        runs[name] = Run(model, streams, [adamw(model, 1e-2)], name=name, keep_in=keep_in)

    # ### Training
    # Stop it when you like; run this cell again, and it goes on. To measure with, there are streams
    # that are none of those for training.
    tokens, targets = last_letters(0, seed=0)
    for name, run in runs.items():
        run.train(steps)
        run.model.eval()

        # At each position, and not only at the last one of the stream.
        with torch.no_grad():
            logits = run.model(tokens)

        # What training makes small, and what the task asks for.
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        right = (logits.argmax(dim=-1) == targets).float().mean()
        print(f"{name}: validation loss {loss:.3f}, right {right:.3f}")

    # ### The losses of training
    # With fixed weights it falls more slowly. It is still falling at the end, far above the others.
    import matplotlib.pyplot as plt

    for name, run in runs.items():
        # One line for each layer. All are trained for as many steps.
        plt.plot(run.losses, label=name)
    plt.xlabel("step")
    plt.ylabel("loss")
    plt.legend()
    plt.show()


def example(seq_len: int = 7, batch_size: int = 3) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    A stream with its answers, and the scores of an untrained layer.

    ### By the distance

    [The share that is right, by the distance to the last letter. The point at 64 is for 33 to 64
    dots, that at 32 for 17 to 32](../../results/state_spaces.json#figures.distance)

    ### Exercises

    ??? question "How often is a layer right that has no memory, and guesses at dots?"
        At letters, which are 0.057 of the positions (the first one always is), and at a sixteenth
        of the dots: 0.12.

    ??? question "Take letters of a second alphabet in the place of dots. What is to be learned?"
        To tell the alphabets apart: long steps for the first one (or just after it, as the
        convolution still sees it), short ones for the second.

    ??? question "Write the stream without dots. Which answer is right at each position?"
        The current letter: nothing has to be remembered, and a layer without a state would do.
    """
    # Untrained, so the answers aren't those of the task yet.
    tokens, targets = last_letters(0, 1, seq_len, batch_size)

    # A score for each letter, at each position.
    return targets, Tagger(fixed_mamba(8, 8), 8)(tokens)
