r"""
---
title: Letters Among Dots
summary: A task for which a layer must select, and a language model without attention.
know: mamba2.py
---

What is a state space layer good at? Two trainings tell: one in which the layer must remember one
letter over many dots, and one on a text.

**In:** a text. **Out:** how often three layers know the last letter; then the loss of a language
model with [Mamba-2](mamba2.py) in the place of attention, and what it writes.

[The last letter among dots](../../results/state_spaces.json#tables.last_letter)

[Small language models, after 500 steps](../../results/state_spaces.json#tables.losses)
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.state_spaces.mamba import Mamba
from labml_nn.state_spaces.mamba2 import Mamba2
from labml_nn.training.data import RandomWindows, prepare
from labml_nn.training.loop import adamw, evaluate, train
from labml_nn.training.sampling import write
from labml_nn.transformers.basic.autoregressive_experiment import read_text
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer

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
        super().__init__()
        # They are learned, like the weights that they replace.
        self.numbers = nn.Parameter(torch.randn(n_features))

    def forward(self, x: Tensor) -> Tensor:
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
        super().__init__()
        # A vector for each letter and for the dot.
        self.embed = nn.Embedding(N_LETTERS + 1, d_model)

        # The layer that is tried.
        self.layer = layer

        # As many scores as there are letters: a dot is never the answer.
        self.scores = nn.Linear(d_model, N_LETTERS)

    def forward(self, tokens: Tensor) -> Tensor:
        # With a residual, as in a transformer: at a letter the answer is in the embedding.
        x = self.embed(tokens)
        return self.scores(x + self.layer(x))


class InPlaceOfAttention(nn.Module):
    r"""
    ## In a transformer

    A layer of a [transformer](../transformers/models.py#TransformerLayer) calls attention with
    queries, keys, values and a mask. Here all are the same, and no mask is needed: a state can't
    see the future.
    """

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        # Mamba, or Mamba-2.
        self.layer = layer

    def forward(self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        # Self-attention gets the same tensor three times.
        return self.layer(query)


def language_model(
    n_vocab: int, seq_len: int, layer: Callable[[int, int], nn.Module]
) -> AutoregressiveTransformer:
    r"""
    ## A language model without attention
    """
    # Two layers of width 64. Each makes its own, in the place of attention with four heads.
    return AutoregressiveTransformer(
        n_vocab, 64, 4, 2, 256, seq_len,
        attention=lambda heads, d_model, dropout_prob: InPlaceOfAttention(layer(heads, d_model)),
    )


def notebook(
    corpus: str = "shakespeare", steps: int = 400, seed: int = 1, sample_length: int = 200
) -> None:
    r"""
    ## In a notebook

    Two minutes on two cores.
    """
    # ### Letters among dots
    # The state has 16 numbers for each of 32 channels, in all three.
    d_model = 32
    layers = {
        "fixed": lambda: fixed_mamba(d_model, d_model),
        "Mamba": lambda: Mamba(d_model, d_model),
        "Mamba-2": lambda: Mamba2(4, d_model, d_model // 4),
    }

    # To measure with: streams that are none of those for training.
    tokens, targets = last_letters(0, seed=0)

    # The losses of training, for a picture.
    losses = {}
    for name, make in layers.items():
        # The same streams for all, and weights from the same seed.
        torch.manual_seed(seed)
        model, losses[name] = Tagger(make(), d_model), []
        train(
            model, lambda step: last_letters(step, seed), [adamw(model, 1e-2)], steps,
            after_step=lambda step, loss, curve=losses[name]: curve.append(loss.item()),
        )

        # At each position, and not only at the last one of the stream.
        with torch.no_grad():
            logits = model(tokens)

        # What training makes small, and what the task asks for.
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        right = (logits.argmax(dim=-1) == targets).float().mean()
        print(f"{name}: validation loss {loss:.3f}, right {right:.3f}")

    # ### The losses of training
    # With fixed weights it falls, and stays where it is.
    import matplotlib.pyplot as plt

    # One line for each layer.
    for name, curve in losses.items():
        plt.plot(curve, label=name)

    # All are trained for as many steps.
    plt.xlabel("step")
    plt.ylabel("loss")
    plt.legend()
    plt.show()

    # ### A text
    # Windows of 64 letters, as the classic transformer has them.
    seq_len = 64
    tokenizer, training, validation = prepare(read_text(corpus), seq_len)

    # Mamba-2 in the place of attention, since it is faster. Trained like the classic transformer.
    torch.manual_seed(seed)
    model = language_model(
        len(tokenizer), seq_len, lambda heads, d_model: Mamba2(heads, d_model, d_model // heads)
    )
    train(model, RandomWindows(training, seq_len, 12, seed).at, [adamw(model)], steps)

    # Of the last tenth of the text.
    print(f"validation loss {evaluate(model, validation, seq_len):.3f}")

    # It reads the last 64 letters for each new one. A program for writing would carry the state.
    print(write(model, tokenizer, "ROMEO:\n", sample_length, seq_len, temperature=0.8))


def example(seq_len: int = 7, batch_size: int = 3, n_vocab: int = 11) -> tuple[Tensor, ...]:
    r"""
    ## Example

    A stream with its answers, and a model of each kind.

    ### Exercises

    ??? question "How often is a layer right that has no memory, and guesses at dots?"
        At letters, a twentieth of the positions, and at a sixteenth of the dots: 0.11.

    ??? question "Take letters of a second alphabet in the place of dots. What is to be learned?"
        To tell the alphabets apart: long steps for the first one, short ones for the second.

    ??? question "Write the stream without dots. Which answer is right at each position?"
        The current letter: nothing has to be remembered, and a layer without a state would do.
    """
    # Untrained, so the answers aren't those of the task yet.
    tokens, targets = last_letters(0, 1, seq_len, batch_size)

    # A score for each letter, at each position.
    scores = Tagger(fixed_mamba(8, 8), 8)(tokens)

    # Mamba in the place of attention, and random letters.
    model = language_model(n_vocab, seq_len, lambda heads, d_model: Mamba(d_model, d_model))
    return targets, scores, model(torch.randint(n_vocab, (seq_len, batch_size)))
