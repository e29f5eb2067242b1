r"""
---
title: What the Mistakes Do to the Loss
summary: Each of 22 mistakes is trained, and its printed loss compared with the honest one.
---

Each mistake takes its line's place in the [right model](right_model.py), and is trained like it:
four layers, four heads, a width of 128, a context of 64 characters, 600 steps. It takes about
half a minute on one core of a CPU. Then there are two losses:

* The **printed** one is what a training would report: teacher-forced, over all of the validation
  text, with whatever is wrong.
* The **honest** one is [from prefixes alone](../../training/leaks.py), as the model is used.

Both on Tiny Shakespeare:

[What each mistake does](../../../results/mistakes.json#tables.mistakes)

[9](../../../results/mistakes.json#values.look_better) of the
[22](../../../results/mistakes.json#values.mistakes) look *better* than the right model, and by so
much that nobody would look for a mistake. Other seeds bring the right model to between
[2.111](../../../results/mistakes.json#values.seeds.lowest) and
[2.114](../../../results/mistakes.json#values.seeds.highest). Without any scale it comes to
[2.094](../../../results/mistakes.json#tables.mistakes.Unscaled.printed): a mistake can train well,
and this one only [the comparison](comparison.py) sees.

The honest loss is that of some predictions only, which happen to be a little easier. Honest minus
printed is therefore of the very same predictions, and zero where nothing leaks.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from labml_nn.training.data import prepare
from labml_nn.training.leaks import honest_loss, spread
from labml_nn.transformers.mistakes.axes import (
    SizeFromGlobal,
    SoftmaxOverHeads,
    SoftmaxOverQueries,
    ViewForMerge,
    ViewForSplit,
)
from labml_nn.transformers.mistakes.decoding import StrictMask
from labml_nn.transformers.mistakes.masks import (
    MaskAfterSoftmax,
    MaskAsZeros,
    MaskInverted,
    MaskOffByOne,
    MaskOnlyInTraining,
    MaskUnused,
)
from labml_nn.transformers.mistakes.model_mistakes import (
    DropoutInEvaluation,
    GradientsKept,
    NoResidual,
    PositionsOfTheBatch,
    SoftmaxTwice,
    TargetsNotShifted,
    TargetsShiftedTwice,
)
from labml_nn.transformers.mistakes.projections import (
    QueryForAll,
    ScaledByModelWidth,
    ScaledUp,
    Unscaled,
)
from labml_nn.transformers.mistakes.right_attention import RightAttention
from labml_nn.transformers.mistakes.right_model import RightModel, RightTraining


@dataclass(frozen=True)
class Setup:
    r"""
    ## A model and its training, with one thing wrong

    Or with nothing wrong, as it is made.
    """

    attention: Callable[..., nn.Module] = RightAttention
    model: Callable[..., nn.Module] = RightModel
    training: Callable[..., RightTraining] = RightTraining
    dropout_prob: float = 0.0


# Dropout left on does no harm where there is none, so that pair is trained with some.
RIGHT = {
    "RightAttention": Setup(),
    "RightAttention with dropout": Setup(dropout_prob=0.1),
}
MISTAKES = {
    **{
        kind.__name__: Setup(attention=kind)
        for kind in (
            QueryForAll,
            ScaledByModelWidth,
            Unscaled,
            ScaledUp,
            MaskUnused,
            MaskOnlyInTraining,
            MaskOffByOne,
            MaskInverted,
            MaskAfterSoftmax,
            MaskAsZeros,
            StrictMask,
            SoftmaxOverQueries,
            SoftmaxOverHeads,
            ViewForSplit,
            ViewForMerge,
        )
    },
    "PositionsOfTheBatch": Setup(model=PositionsOfTheBatch),
    "NoResidual": Setup(model=NoResidual),
    "DropoutInEvaluation": Setup(attention=DropoutInEvaluation, dropout_prob=0.1),
    "TargetsNotShifted": Setup(training=TargetsNotShifted),
    "TargetsShiftedTwice": Setup(training=TargetsShiftedTwice),
    "SoftmaxTwice": Setup(training=SoftmaxTwice),
    "GradientsKept": Setup(training=GradientsKept),
}

# Trained for one sentence: it is the right model, as long as the heads are those of the global.
HARMLESS = {"SizeFromGlobal": Setup(attention=SizeFromGlobal)}


@dataclass(frozen=True)
class Sizes:
    r"""
    ## How large, and how long
    """

    d_model: int = 128
    heads: int = 4
    n_layers: int = 4
    seq_len: int = 64
    batch_size: int = 12
    n_steps: int = 600

    # Of the windows of the validation text, how many the honest loss looks at.
    n_places: int = 24
    bfloat16: bool = False


class SequenceFirst(nn.Module):
    r"""
    ## The other order of axes

    What [the honest loss](../../training/leaks.py#honest_loss) takes.
    """

    def __init__(self, model: nn.Module) -> None:
        r"""
        * `model` takes tokens with the batch first
        """
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor) -> Tensor:
        r"""
        ### Predict

        From tokens to logits.
        """
        return self.model(tokens.t()).transpose(0, 1)


def printed_loss(training: RightTraining, windows: Tensor, batch_size: int) -> float:
    r"""
    ## The printed loss of many windows

    A row of `windows` is one, with the target of its last token.
    """
    parts = windows.split(batch_size)
    return sum(training.printed(part) * len(part) for part in parts) / len(windows)


def train_mistake(setup: Setup, text: str, sizes: Sizes, seed: int = 1) -> dict[str, float]:
    r"""
    ## Train one of them

    From the same weights and on the same batches as all others. `printed` and `honest` are the two
    losses, and `gap` is how much higher the honest one is *at the same predictions*; where it
    isn't zero, something is wrong.
    """
    torch.manual_seed(seed)
    tokenizer, train, validation = prepare(text, sizes.seq_len)
    model = setup.model(
        len(tokenizer),
        sizes.d_model,
        sizes.heads,
        sizes.n_layers,
        sizes.seq_len,
        setup.attention,
        setup.dropout_prob,
    )
    training = setup.training(model, sizes.n_steps, bfloat16=sizes.bfloat16)

    # All the windows that there are, as views; a step takes some.
    windows = train.unfold(0, sizes.seq_len + 1, 1)
    generator = torch.Generator().manual_seed(seed)
    for _ in range(sizes.n_steps):
        chosen = torch.randint(len(windows), (sizes.batch_size,), generator=generator)
        training.step(*training.cut(windows[chosen]))

    # Held-out windows lie side by side.
    held_out = validation.unfold(0, sizes.seq_len + 1, sizes.seq_len)
    places = spread(len(held_out), sizes.n_places)
    honest = honest_loss(
        SequenceFirst(model), validation, sizes.seq_len, sizes.n_places, sizes.seq_len
    )
    return {
        "printed": printed_loss(training, held_out, sizes.batch_size),
        "honest": honest.honest,
        "gap": honest.honest - printed_loss(training, held_out[places], sizes.batch_size),
    }


def looks_better(losses: Mapping[str, Mapping[str, float]], by: float = 0.1) -> list[str]:
    r"""
    ## Which look better than the right model

    The names of those whose printed loss is lower, and by so much that no other seed could do it. A
    mistake that was trained with dropout is compared with the right model that was.
    """
    return [
        name
        for name, setup in MISTAKES.items()
        for right, plain in RIGHT.items()
        if setup.dropout_prob == plain.dropout_prob
        and losses[name]["printed"] < losses[right]["printed"] - by
    ]


def example(
    seq_len: int = 7, batch_size: int = 3, heads: int = 2, d_k: int = 5, n_vocab: int = 11
) -> dict[str, float]:
    r"""
    ## Example

    A leak, after three steps: the printed loss is not the honest one.
    """
    sizes = Sizes(heads * d_k, heads, 2, seq_len, batch_size, n_steps=3, n_places=2)
    text = "".join(chr(97 + (index * index) % (n_vocab - 1)) for index in range(50 * seq_len))
    return train_mistake(MISTAKES["MaskUnused"], text, sizes)
