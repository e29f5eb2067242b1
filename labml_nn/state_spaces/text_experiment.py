r"""
---
title: A Language Model Without Attention
summary: Train a small transformer and one with Mamba-2 in the place of attention.
know: mamba2.py
---

Does a language model need attention? Take it out of a small transformer, and put a state in its
place.

**In:** a text. **Out:** the losses of a model with attention and of one with
[Mamba-2](mamba2.py), and what the latter writes.

[Small language models, after 500 steps (the time of a step is in multiples of that with
attention)](../../results/state_spaces.json#tables.losses)

Here the models with a state are better after 500 steps. In Mamba, most of that is due to the short
convolution in front of the scan, as the table shows. A guess that we haven't tested: attention has
to learn first which position is the one before.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.state_spaces.mamba2 import Mamba2
from labml_nn.training.data import RandomWindows, prepare
from labml_nn.training.loop import adamw, evaluate
from labml_nn.training.run import Run
from labml_nn.training.sampling import write
from labml_nn.transformers.basic.autoregressive_experiment import read_text
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from labml_nn.transformers.mha import MultiHeadAttention


class InPlaceOfAttention(nn.Module):
    r"""
    ## In a transformer

    A layer of a [transformer](../transformers/models.py#TransformerLayer) calls attention with
    queries, keys, values and a mask. Here all are the same, and no mask is needed: a state can't
    see the future.
    """

    def __init__(self, layer: nn.Module) -> None:
        r"""
        * `layer` is called with one tensor
        """
        super().__init__()
        # Mamba, or Mamba-2.
        self.layer = layer

    def forward(self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
        r"""
        `query` and the result are `[seq_len, batch_size, ...]`.
        """
        # Self-attention gets the same tensor three times.
        return self.layer(query)


def mamba2(heads: int, d_model: int, dropout_prob: float) -> nn.Module:
    r"""
    ## What makes such a layer

    Called like what makes attention.
    """
    # As many channels as features, and nothing to drop.
    return InPlaceOfAttention(Mamba2(heads, d_model, d_model // heads))


def language_model(
    n_vocab: int, seq_len: int, attention: Callable[[int, int, float], nn.Module]
) -> AutoregressiveTransformer:
    r"""
    ## A small language model
    """
    # Two layers with four heads and a width of 64. Each calls `attention` for a layer of its own.
    return AutoregressiveTransformer(n_vocab, 64, 4, 2, 256, seq_len, attention=attention)


def notebook(
    corpus: str = "shakespeare",
    steps: int = 500,
    seed: int = 1,
    sample_length: int = 200,
    keep_in: str = "",
) -> None:
    r"""
    ## Try it

    Two models, one after the other, with as many steps as for the table on this page. To keep them,
    name a folder as `keep_in` before you run the cells below. It lies on your Drive if that is
    mounted, else on the machine, which Colab takes back.
    """
    # ### Two models
    # The same windows for both, of 64 letters, and the same learning rate. Each model has a
    # [run](../training/run.py), which keeps its optimizer, step and losses. To start from scratch,
    # run this cell again. If you named a folder in `keep_in`, remove the runs' files there first.
    seq_len = 64
    tokenizer, training, validation = prepare(read_text(corpus), seq_len)
    batches = RandomWindows(training, seq_len, 12, seed)
    runs = {}
    for name, attention in (("attention", MultiHeadAttention), ("Mamba-2", mamba2)):
        # The seed decides the first weights.
        torch.manual_seed(seed)
        model = language_model(len(tokenizer), seq_len, attention)
        runs[name] = Run(model, batches.at, [adamw(model)], name=name, keep_in=keep_in)

    # ### Training
    # Stop it when you like; run this cell again, and it goes on.
    for name, run in runs.items():
        run.train(steps)

        # Over the whole validation text.
        print(f"{name}: validation loss {evaluate(run.model, validation, seq_len):.3f}")

    # ### The losses of training
    # They go up and down together, since both see the same windows, and some windows are harder to
    # predict.
    import matplotlib.pyplot as plt

    for name, run in runs.items():
        # The mean over the windows of each step, in natural logarithms. Each model has its own
        # line.
        plt.plot(run.losses, label=name)
    plt.xlabel("step")
    plt.ylabel("loss, nats a letter")
    plt.legend()
    plt.show()

    # ### What it writes
    # The model with Mamba-2. It reads the last 64 letters for each new one; a program for writing
    # would carry the state.
    model = runs["Mamba-2"].model
    print(write(model, tokenizer, "ROMEO:\n", sample_length, seq_len, temperature=0.8))


def example(seq_len: int = 7, batch_size: int = 3, n_vocab: int = 11) -> Tensor:
    r"""
    ## Example

    A language model without attention.

    ### Exercises

    ??? question "Take Mamba in the place of Mamba-2. What changes in the notebook?"
        `Mamba(d_model, d_model)` in `mamba2`. The loss is a little higher, and a step takes half as
        long again.

    ??? question "The mask is ignored. Why can no position see the next one?"
        The scan goes from left to right, and the convolution has its zeros in front of the text.

    ??? question "There is a positional encoding in the model. Is it of any use now?"
        It isn't needed to know the order: what is older has decayed more. Mamba's paper has none.
        Whether it still helps here, we haven't measured. Try it without.
    """
    # Random letters, since an untrained model predicts them as well as any others.
    model = language_model(n_vocab, seq_len, mamba2)
    return model(torch.randint(n_vocab, (seq_len, batch_size)))
