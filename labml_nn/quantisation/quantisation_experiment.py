r"""
---
title: How Few Bits?
summary: Train a model, round its weights in three ways, and look at the loss.
know: gptq.py
---

How few bits are enough for *your* model? Train one, round copies of it to eight, four, three and
two bits, and compare their losses.

**In:** a text. **Out:** the loss on its validation part for each number of bits, rounded [by
rows](groups.py), in groups, and with [GPTQ](gptq.py); and what the model writes in four bits.

[The loss of the classic transformer, rounded](../../results/quantisation.json#tables.bits)

The seeds differ by [0.011](../../results/quantisation.json#values.spread) among themselves. Down to
four bits, rounding with GPTQ costs less than that.
"""

import copy

import torch
from torch import Tensor, nn

from labml_nn.quantisation.gptq import gptq_weights
from labml_nn.quantisation.groups import round_weights, to_four_bits
from labml_nn.training.data import RandomWindows, prepare
from labml_nn.training.device import choose_device
from labml_nn.training.loop import adamw, evaluate
from labml_nn.training.run import Run
from labml_nn.training.sampling import write
from labml_nn.transformers.basic.autoregressive_experiment import read_text
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer


def n_bytes(model: nn.Module) -> int:
    r"""
    ## The bytes of a model

    Of its weights, and of the whole numbers and scales that have taken their place.
    """
    # Masks and tables that can be made again aren't in there.
    return sum(tensor.nbytes for tensor in model.state_dict().values())


def notebook(
    corpus: str = "shakespeare",
    steps: int = 1000,
    seed: int = 1,
    sample_length: int = 200,
    keep_in: str = "",
) -> None:
    r"""
    ## Try it

    Most of the time is for training. After 1,000 steps the loss in 32 bits is about
    [1.85](../../results/without.json#tables.without.The%20whole%20model.loss); the table above has
    that of 2,000. To keep the model, name a folder as `keep_in` before you run the cells below. It
    lies on your Drive if that is mounted, else on the machine, which Colab takes back.
    """
    # ### A model
    # The classic transformer, trained as on [its own
    # page](../transformers/basic/autoregressive_experiment.py). The model's
    # [run](../training/run.py) keeps the optimizer, the step and the losses. To start from scratch,
    # run this cell again. If you named a folder in `keep_in`, remove the run's file there first.
    seq_len = 64
    tokenizer, training, validation = prepare(read_text(corpus), seq_len)
    device = choose_device()
    torch.manual_seed(seed)
    model = AutoregressiveTransformer(len(tokenizer), 128, 4, 4, 512, seq_len).to(device)
    batches = RandomWindows(training, seq_len, 12, seed)
    run = Run(model, batches.at, [adamw(model)], keep_in=keep_in)
    losses = {}

    # ### Training
    # Stop it when you like; run this cell again, and it goes on. The loss is over the whole
    # validation text.
    run.train(steps)
    print(f"validation loss {evaluate(model, validation, seq_len):.3f} in 32 bits")

    # ### Fewer bits
    # GPTQ looks at the inputs of each layer, in 64 windows of the training text.
    # The validation text stays unseen.
    calibration = RandomWindows(training, seq_len, 64, seed).at(0)[0].to(device)

    # Each changes a model in place.
    methods = {
        "rows": round_weights,
        "groups of 32": lambda rounded, n_bits: round_weights(rounded, n_bits, 32),
        "rows, GPTQ": lambda rounded, n_bits: gptq_weights(rounded, calibration, n_bits),
    }
    bits = (8, 4, 3, 2)
    for name, round_model in methods.items():
        losses[name] = []
        for n_bits in bits:
            # Always from the same weights.
            rounded = copy.deepcopy(model).eval()
            round_model(rounded, n_bits)

            # Over the whole validation text.
            losses[name].append(evaluate(rounded, validation, seq_len))
            print(f"{n_bits} bits, {name}: validation loss {losses[name][-1]:.3f}")

    # ### Loss against bits
    # At eight bits the three are alike.
    import matplotlib.pyplot as plt

    for name, values in losses.items():
        # A line for each way of rounding. After a stop, the last one may be shorter.
        plt.plot(bits[: len(values)], values, marker="o", label=name)
    plt.xlabel("bits of a weight, without its scale")
    plt.ylabel("validation loss")
    plt.legend()
    plt.show()

    # ### In memory
    # A copy whose linear layers are in four bits, in groups of 32.
    writer = copy.deepcopy(model)
    to_four_bits(writer)
    print(f"{n_bytes(model):,} bytes, and in four bits {n_bytes(writer):,}")

    # What it writes. Change the temperature.
    print(write(writer, tokenizer, "ROMEO:\n", sample_length, seq_len, temperature=0.8))


def example(d_in: int = 3, d_out: int = 5, batch_size: int = 2) -> tuple[int, Tensor]:
    r"""
    ## Example

    The bytes of a layer, and what it computes.

    ### Exercises

    ??? question "Round one part of the model to two bits. Which one does most harm?"
        Attention: in groups of 32 it takes the loss to
        [1.965](../../results/quantisation.json#values.parts.attention). The feed-forward networks
        have twice as many weights, and take it to
        [1.841](../../results/quantisation.json#values.parts.feed_forward), the last layer, which
        makes the logits, to [1.856](../../results/quantisation.json#values.parts.generator).

    ??? question "Why is the model in four bits not an eighth of the size?"
        A scale for 32 weights makes it 4.5 bits. Embeddings, biases and gains stay in 32 bits.

    ??? question "Calibrate GPTQ with a single window. How much is lost?"
        In three bits, by rows, the loss is
        [1.743](../../results/quantisation.json#values.calibration.one_window) then, and
        [1.700](../../results/quantisation.json#tables.bits.3.gptq) with 64 windows.
    """
    # 15 weights and 5 biases of four bytes each.
    layer = nn.Linear(d_in, d_out)
    return n_bytes(layer), layer(torch.randn(batch_size, d_in))
