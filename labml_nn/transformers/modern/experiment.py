r"""
---
title: Training a Modern Transformer
summary: The modern transformer learns to write, with Muon for the matrices of its layers.
paper:
  title: "Muon: An optimizer for hidden layers in neural networks"
  authors: Jordan et al.
  year: 2024
  link: https://kellerjordan.github.io/posts/muon/
---

**In:** the same text, the same number of steps and the same batches as for the [classic
transformer](../basic/autoregressive_experiment.py). **Out:** a model that predicts it better.

Three things are different, and with them AdamW's learning rate and weight decay. The
[model](model.py) is the modern one. The matrices of its layers are trained by
[Muon](../../optimizers/muon.py), which makes steps of the same size in every direction. And the
learning rate falls in a [straight line](../../optimizers/schedules.py) to zero, not in a cosine to
a tenth.

On Tiny Shakespeare, the classic recipe ends with a loss of
[1.684](../../../results/recipes.json#tables.losses.classic.loss) over the whole validation text,
and this one with [1.538](../../../results/recipes.json#tables.losses.modern.loss). The right
character gets a probability of $e^{-1.538} = 0.215$ in the place of $e^{-1.684} = 0.186$ (the
geometric mean).
"""

from collections.abc import Callable

import torch
from torch import Tensor

from labml_nn.optimizers.muon import Muon
from labml_nn.optimizers.schedules import linear
from labml_nn.training.data import RandomWindows, prepare
from labml_nn.training.device import choose_device
from labml_nn.training.loop import evaluate, train
from labml_nn.training.mixed_step import MixedStep, training_type
from labml_nn.training.run import Run
from labml_nn.training.sampling import write
from labml_nn.transformers.basic.autoregressive_experiment import read_text
from labml_nn.transformers.modern.model import ModernTransformer


def muon_and_adamw(
    model: ModernTransformer, matrix_rate: float = 0.016, rate: float = 8e-3
) -> list[torch.optim.Optimizer]:
    r"""
    ## Two optimizers

    * `matrix_rate` is the highest learning rate of Muon
    * `rate` is the highest learning rate of AdamW
    """
    # A matrix in a layer turns vectors into vectors: that is what Muon is for.
    matrices = [p for p in model.layers.parameters() if p.dim() == 2]

    # The embedding and the head are tables with a row for each token, and the rest are vectors
    # and single numbers.
    # They go to AdamW, which looks at each number alone.
    chosen = set(matrices)
    others = [p for p in model.parameters() if p not in chosen]

    # Muon's matrix products may be rough, and a GPU with `bfloat16` is faster with 16 bits. A GPU
    # from before 2020 has `float16` alone, where small gradients vanish. Many CPUs aren't faster.
    is_new = matrices[0].is_cuda and torch.cuda.get_device_capability() >= (8, 0)
    muon = Muon(matrices, matrix_rate, dtype=torch.bfloat16 if is_new else torch.float32)

    # No weight decay: in a short try, a decay of 0.1 gained nothing. A shorter row of the embedding
    # gives the same vector anyway, since tokens are normalised.
    adamw = torch.optim.AdamW(others, rate, betas=(0.9, 0.99), weight_decay=0.0, fused=True)

    # The loop calls one after the other; no parameter is in both.
    return [muon, adamw]


def fit(
    model: ModernTransformer,
    tokens: Tensor,
    steps: int,
    seq_len: int,
    batch_size: int,
    seed: int = 1,
    after_step: Callable[[int, Tensor], bool | None] = lambda step, loss: None,
) -> None:
    r"""
    ## Training

    As for the [classic model](../basic/autoregressive_experiment.py#fit), but for the optimizers
    and the schedule.
    """
    # The same seed gives the same batches as there, so both models see the same text.
    batches = RandomWindows(tokens, seq_len, batch_size, seed)
    optimizers = muon_and_adamw(model)

    # One schedule for both optimizers: it gives shares of the highest rate of each. It ends at
    # zero, where the classic one ends at a tenth.
    train(model, batches.at, optimizers, steps, schedule=linear, after_step=after_step)


def notebook(
    corpus: str = "shakespeare",
    steps: int = 0,
    seed: int = 1,
    sample_length: int = 500,
    float16: bool = False,
    keep_in: str = "",
) -> None:
    r"""
    ## Try it

    On a CPU the small model trains for 600 steps, and reaches a loss of about
    [1.66](../../../results/ablation.json#tables.changes.the%20modern%20recipe.loss). On a GPU a
    larger one trains for 1,500; we haven't recorded what it reaches. With 0 `steps` the device
    decides. To keep the model, name a folder as `keep_in` before you run the cells below. It lies
    on your Drive if that is mounted, else on the machine, which Colab takes back. A GPU from 2020
    or later multiplies in [16 bits](../../training/mixed_step.py); an older one does so if you set
    `float16`, which we haven't tried on a GPU yet.
    """
    # ### The text
    # The same one as for the classic model, so that losses can be compared. The last tenth of it is
    # for validation.
    text = read_text(corpus)
    print(text[:200])

    # ### The model
    # Two thirds of four times the width are inside the feed-forward networks, rounded to 16. It has
    # about as many weights as the classic model. The model's [run](../../training/run.py) keeps the
    # optimizer, the step and the losses. To start from scratch, run this cell again. If you named a
    # folder in `keep_in`, remove the run's file there first.
    device = choose_device()
    on_gpu = device.type != "cpu"
    d_model, heads, n_layers, d_ff, seq_len, batch_size = (
        (256, 8, 6, 688, 128, 32) if on_gpu else (128, 4, 4, 336, 64, 12)
    )
    tokenizer, training, validation = prepare(text, seq_len)
    torch.manual_seed(seed)
    model = ModernTransformer(
        # Dropout is for the larger model, which sees each character about six times. The small one
        # sees less than half of the text.
        len(tokenizer),
        d_model,
        heads,
        n_layers,
        d_ff,
        seq_len,
        0.1 if on_gpu else 0.0,
    ).to(device)
    torch.set_float32_matmul_precision("high")
    dtype = training_type(device, float16)
    mixed = MixedStep(muon_and_adamw(model), device, dtype)
    batches = RandomWindows(training, seq_len, batch_size, seed)
    how = {"schedule": linear, "gradients": mixed.gradients, "clip": mixed.clip}
    run = Run(model, batches.at, [mixed], keep_in=keep_in, **how)
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters on {device}, {dtype}")

    # ### Train it
    # Now and then, what the model would write. Stop it when you like; run this cell again, and it
    # goes on. The curve falls faster than that of the classic model.
    run.train(
        steps or (1500 if on_gpu else 600),
        lambda: print(f"{run.done:5,}", repr(write(model, tokenizer, "\n", 60, seq_len, 0.8))),
    )

    # ### How good is it?
    # Over the whole validation text, which the model has not seen.
    print(f"validation loss {evaluate(model, validation, seq_len):.3f}")

    # ### What it writes
    # Change the beginning and the temperature.
    print(write(model, tokenizer, "ROMEO:\n", sample_length, seq_len, temperature=0.8))


def example(
    n_pairs: int = 2,
    batch_size: int = 3,
    heads: int = 5,
    seq_len: int = 7,
    d_ff: int = 11,
    n_vocab: int = 13,
) -> Tensor:
    r"""
    ## Example

    An alphabet over and over, for two steps.

    ### Measured here

    [Three seeds of each recipe, and the loss when later characters were never
    given](../../../results/recipes.json#tables.losses)

    The loss from prefixes alone is computed with no later token at hand: a mistake in a mask can't
    help it. It is the mean of fewer predictions than the other loss. Compare the two models in it,
    and not the two losses.

    ### The learning rates were chosen

    The learning rates of this recipe were chosen by trying several and comparing this validation
    loss. So it isn't a fair estimate for a text that took no part in the choice, and we have no run
    on one. What each part is worth is the subject of [the ablation](ablation.py).

    [The training loss of both, from one seed](../../../results/recipes.json#figures.curves)

    ### Exercises

    ??? question "What is the loss of the first step, before anything is learned?"
        $\ln 13 \approx 2.56$ for thirteen tokens: the head starts at zero, so all are equally
        likely.

    ??? question "Give the embedding to Muon as well. What would its step do?"
        Treat the rows of all tokens as one matrix, and make a step of about the same size in each
        of its directions. Our 66 tokens have 128 features, so each row can have a direction of its
        own: a token that comes once in a batch moves about as far as one that comes a hundred
        times. With a thousand tokens there aren't enough directions, and rare ones move less again.

    ??? question "Which of the two optimizers needs more memory for each weight?"
        AdamW remembers two numbers, Muon one.
    """
    # Two layers, so that one has the values of the other.
    d_model = heads * 2 * n_pairs
    model = ModernTransformer(n_vocab, d_model, heads, 2, d_ff, seq_len)

    # Thirteen letters, a hundred times. After a step or two the model knows what comes next better
    # than by guessing.
    text = torch.arange(100 * n_vocab) % n_vocab
    # The loss falls from that of guessing, which is where it begins: the head of the model starts
    # at zero.
    losses: list[Tensor] = []
    fit(model, text, 2, seq_len, batch_size, 1, lambda step, loss: losses.append(loss))
    return torch.stack(losses)
