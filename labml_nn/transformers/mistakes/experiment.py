r"""
---
title: What the Mistakes Do to the Loss
summary: Each of 22 mistakes is trained, and its printed loss compared with the honest one.
---

Each mistake takes its line's place in the [right model](right_model.py), and is trained like it:
four layers, four heads, a width of 128, a context of 64 characters, 600 steps, which take a minute
or two on one core. Then there are two losses:

* The **printed** one is what a training would report: teacher-forced, over all whole windows of
  the validation text, with whatever is wrong.
* The **honest** one is [from prefixes alone](../../training/leaks.py), as the model is used.

[The printed loss of each exhibit, beside the right
one](../../../results/mistakes.json#figures.losses)

[9](../../../results/mistakes.json#values.look_better) of the 22 print a loss that is *better* than
the right model's by more than 0.1, and two more are slightly better. Without any scale it is
[2.072](../../../results/mistakes.json#tables.mistakes.Unscaled.printed): a mistake can train well,
and only [a comparison](../../../wrongline/comparison.py) finds this one.

[What each mistake does](../../../results/mistakes.json#tables.mistakes)

The honest loss is of some predictions only, which happen to be a little easier. The gap, honest
minus printed, is of the very same predictions. A leak makes it large, and so do targets or a loss
that measure something else than what the model does. In the right model it is zero.
"""

from dataclasses import dataclass

import torch

from labml_nn.training.data import prepare
from labml_nn.training.leaks import honest_loss, spread
from labml_nn.transformers.mistakes.axes import AXES_EXHIBITS
from labml_nn.transformers.mistakes.decoding import DECODING_EXHIBITS
from labml_nn.transformers.mistakes.masks import MASKS_EXHIBITS
from labml_nn.transformers.mistakes.model_mistakes import MODEL_EXHIBITS
from labml_nn.transformers.mistakes.one_line import Mistake
from labml_nn.transformers.mistakes.projections import PROJECTIONS_EXHIBITS
from labml_nn.transformers.mistakes.right_attention import RightAttention
from labml_nn.transformers.mistakes.right_model import RightLayer, RightModel, RightTraining

# The exhibits of each page. Some of them are not trained: they don't run, or they are right in
# training and wrong elsewhere.
FAMILIES: dict[str, tuple[type[Mistake], ...]] = {
    "projections": PROJECTIONS_EXHIBITS,
    "masks": MASKS_EXHIBITS,
    "axes": AXES_EXHIBITS,
    "model": MODEL_EXHIBITS,
    "decoding": DECODING_EXHIBITS,
}
UNTRAINED = ("WidthAsFloat", "SizeFromGlobal", "EmptyRows", "CausalFromTheTop", "NewestForgotten")
MISTAKES = [one for of in FAMILIES.values() for one in of if one.__name__ not in UNTRAINED]


@dataclass(frozen=True)
class Sizes:
    r"""
    ## How large, and how long
    """

    # Those of the [small transformer](../basic/autoregressive_model.py), trained for fewer steps.
    d_model: int = 128
    heads: int = 4
    n_layers: int = 4
    seq_len: int = 64
    batch_size: int = 12
    n_steps: int = 600

    # Of the windows of the validation text, how many the honest loss looks at.
    n_places: int = 24

    # Products of 16-bit numbers, on processors that have them.
    bfloat16: bool = False


def assemble(mistake: type[Mistake], n_vocab: int, sizes: Sizes) -> RightTraining:
    r"""
    ## A model and its training, with one line wrong
    """
    # Four parts, one of which is not the right one.
    parts = {kind: kind for kind in (RightAttention, RightLayer, RightModel, RightTraining)}

    # The right class stays where it is; a class with the line takes its place here.
    parts[mistake.of] = mistake.make()

    # Each layer makes an attention of its own.
    model = parts[RightModel](
        n_vocab,
        sizes.d_model,
        sizes.n_layers,
        sizes.seq_len,
        lambda: parts[RightAttention](sizes.heads, sizes.d_model, mistake.dropout_prob),
        parts[RightLayer],
    )

    # A mistake can be in the training itself.
    return parts[RightTraining](model, sizes.n_steps, bfloat16=sizes.bfloat16)


def printed_loss(training: RightTraining, windows: torch.Tensor, batch_size: int) -> float:
    r"""
    ## The printed loss of many windows

    A row of `windows` is one, with the target of its last token.
    """
    # Weighted by their lengths, since the last part is shorter.
    parts = windows.split(batch_size)

    # The mean over all windows.
    return sum(training.printed(part) * len(part) for part in parts) / len(windows)


def train_mistake(
    mistake: type[Mistake], text: str, sizes: Sizes, seed: int = 1
) -> dict[str, float]:
    r"""
    ## Train one of them

    From the same weights and on the same batches as all others.
    """
    # The seed is set before anything is drawn, so all start alike.
    torch.manual_seed(seed)
    tokenizer, train, validation = prepare(text, sizes.seq_len)

    # The vocabulary is that of the training text.
    training = assemble(mistake, len(tokenizer), sizes)

    # All the windows that there are, as views; a step takes some.
    windows = train.unfold(0, sizes.seq_len + 1, 1)

    # The batches have random numbers of their own: a mistake that draws more changes none.
    generator = torch.Generator().manual_seed(seed)
    for _ in range(sizes.n_steps):
        # Windows at random places, the same ones for every mistake.
        chosen = torch.randint(len(windows), (sizes.batch_size,), generator=generator)
        training.step(*training.cut(windows[chosen]))

    # Held-out windows lie side by side. The honest loss is of some of them, and takes a model with
    # the sequence first.
    held_out = validation.unfold(0, sizes.seq_len + 1, sizes.seq_len)

    # Evenly spaced, since a prediction from prefixes takes a pass for each token.
    places = spread(len(held_out), sizes.n_places)
    first = SequenceFirst(training.model)

    # From prefixes alone: nothing in the input could give the answer away.
    honest = honest_loss(first, validation, sizes.seq_len, sizes.n_places, sizes.seq_len).honest

    # The gap is of the same predictions. Where it isn't zero, something is wrong.
    return {
        # What a program would print.
        "printed": printed_loss(training, held_out, sizes.batch_size),
        # What the model really knows.
        "honest": honest,
        "gap": honest - printed_loss(training, held_out[places], sizes.batch_size),
    }


class SequenceFirst(torch.nn.Module):
    r"""
    ## The other order of axes
    """

    def __init__(self, model: torch.nn.Module) -> None:
        r"""
        * `model` takes the batch first
        """
        # A wrapper, so that one test of leaks serves all models.
        super().__init__()

        # The models of the museum have the batch first.
        self.model = model

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        r"""
        From `[seq_len, ...]` to logits, `[seq_len, ...]`.
        """
        # Tokens come with the sequence first, and so must the logits.
        return self.model(tokens.t()).transpose(0, 1)


def example(
    seq_len: int = 7, batch_size: int = 3, heads: int = 2, d_k: int = 5, n_vocab: int = 11
) -> dict[str, float]:
    r"""
    ## Example

    A leak, after three steps: the printed loss is not the honest one.

    ### Measured here

    There are [22](../../../results/mistakes.json#values.mistakes) mistakes. With other seeds, the
    right model gets down to [2.103](../../../results/mistakes.json#values.seeds.lowest); with this
    one it has [2.117](../../../results/mistakes.json#values.seeds.highest), the highest of three.
    """
    # Three steps are enough to see that the two losses differ.
    sizes = Sizes(heads * d_k, heads, 2, seq_len, batch_size, n_steps=3, n_places=2)

    # Squares modulo ten: letters that follow a rule.
    text = "".join(chr(97 + (index * index) % (n_vocab - 1)) for index in range(50 * seq_len))
    return train_mistake(MISTAKES[4], text, sizes)
