r"""
---
title: Train a Mistake
summary: Each exhibit trains in your browser, with its live curve over that of the right model.
know: experiment.py
---

The museum's [experiment](experiment.py) takes a minute or two for each mistake, on a machine with
PyTorch. Here you do it yourself: choose a mistake, and a smaller model with this one wrong line
trains in your browser. Nothing is sent. Most exhibits have a button, too.

The grey curve is that of the right model, recorded with PyTorch. What you train starts from the
same weights and gets the same batches. Where the curves part, the wrong line has parted them.

Watch what it writes while the loss falls. With a mask that is never used, the printed loss falls to
[0.140](../../../results/train_mistakes.json#tables.exhibits.MaskUnused.printed), far below the
[2.369](../../../results/train_mistakes.json#tables.exhibits.RightAttention.printed) of the right
model, and the text is gibberish: in writing there is no next letter to read.

[The loss of each step, right and wrong, recorded with
PyTorch](../../../results/train_mistakes.json#figures.losses)

**In:** the name of an exhibit, and a number of steps. **Out:** the loss of each step, now and then
what the model writes, and at last the printed loss and the honest one.
"""

import inspect
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from labml_nn.training.data import prepare, tiny_shakespeare
from labml_nn.training.leaks import honest_loss
from labml_nn.training.sampling import write
from labml_nn.transformers.mistakes.caches import KeysInTurns, RightGrouped
from labml_nn.transformers.mistakes.experiment import (
    MISTAKES,
    SequenceFirst,
    Sizes,
    assemble,
    printed_loss,
)
from labml_nn.transformers.mistakes.one_line import Mistake
from labml_nn.transformers.mistakes.position_mistakes import POSITION_EXHIBITS, RightRotary
from labml_nn.transformers.mistakes.right_attention import RightAttention
from labml_nn.transformers.mistakes.right_model import RightLayer, RightModel, RightTraining
from labml_nn.transformers.mistakes.step_mistakes import STEP_EXHIBITS, RightParts

# Right classes of later rooms, which have curves of their own.
LATER = (RightRotary, RightGrouped, RightParts)

# The right model comes first.
EXHIBITS: dict[str, type[Mistake]] = {
    "RightAttention": Mistake,
    **{one.__name__: one for one in MISTAKES},
    # With nothing wrong, it is the class itself.
    **{one.__name__: type(one.__name__, (Mistake,), {"of": one}) for one in LATER},
    # Of the [cache](caches.py) one mistake only: the others show when a model writes.
    **{one.__name__: one for one in (*POSITION_EXHIBITS, KeysInTurns, *STEP_EXHIBITS)},
}

# Half as wide, half as deep and with half the context of the experiment. A run takes less than a
# minute in a browser.
SIZES = Sizes(d_model=64, heads=4, n_layers=2, seq_len=32, batch_size=12, n_steps=400, n_places=4)

# So much of the text is read; all of it would have to be encoded first.
CHARACTERS = 200_000


def choices() -> Iterator[dict[str, Any]]:
    r"""
    ## What can be chosen

    The page asks for it before it trains anything.
    """
    # No choice has a mask to leave out: that is a mistake of its own here.
    about = {"steps": SIZES.n_steps, "mask": False}

    # Which curve lies below each of them: that of the class whose line is wrong, if it is one of
    # the later ones. All others are compared with the right model.
    yield {
        "choices": [
            {
                "name": name,
                "title": title_of(name, one),
                "beside": one.of.__name__ if one.of in LATER else "RightAttention",
                **about,
            }
            for name, one in EXHIBITS.items()
        ]
    }


def title_of(name: str, exhibit: type[Mistake]) -> str:
    r"""
    ## What an exhibit is called

    The heading of its note: the words in which the museum has it.
    """
    # An exhibit without a wrong line is the right class.
    described = exhibit if exhibit.right else exhibit.of
    heading = inspect.getdoc(described).partition("\n")[0]
    return f"{heading.removeprefix('## ')} ({name})"


def in_its_place(mistake: type[Mistake]) -> type[Mistake]:
    r"""
    ## Where a mistake goes

    Attention with rotary positions is an attention, so a mistake in it takes the place of the
    attention. So it is with shared keys, and with a step in parts, which is a kind of training.

    With pairs that are mixed the printed loss is
    [2.308](../../../results/train_mistakes.json#tables.exhibits.PairsMixed.printed), and
    [2.249](../../../results/train_mistakes.json#tables.exhibits.RightRotary.printed) with the right
    ones. These are single runs. Over three seeds, on [the page about
    positions](position_mistakes.py), the difference is
    [0.032](../../../results/rooms.json#tables.rooms.PairsMixed.change). Weights that are left out
    can't be overlooked:
    [3.693](../../../results/train_mistakes.json#tables.exhibits.WeightsLeftOut.printed).

    [Positions, shared keys and steps in parts, right and
    wrong](../../../results/train_mistakes.json#figures.later)
    """
    # Of the four parts of a model and its training, the class is a kind of one. A line of the part
    # itself is wrong in most exhibits: those stay as they are.
    parts = (RightAttention, RightLayer, RightModel, RightTraining)
    place = next(part for part in parts if issubclass(mistake.of, part))

    # The same mistake, which says now that it's one of that part. How it's made stays: the line is
    # one of its own class.
    return type(mistake.__name__, (mistake,), {"of": place, "make": mistake.make})


def train_here(
    name: str,
    steps: int,
    times: float = 1.0,
    samples: int = 4,
    letters: int = 80,
    seed: int = 1,
    text: str = "",
    sizes: Sizes = SIZES,
) -> Iterator[dict[str, Any]]:
    r"""
    ## Train, and tell

    * `name` is that of an exhibit
    * `times` multiplies the learning rate
    * `samples` is how often the model writes something, and `letters` is how much
    * `text` is what is read; if it is empty, the beginning of Tiny Shakespeare

    Many mistakes hardly show. With the wrong scale the printed loss is
    [2.413](../../../results/train_mistakes.json#tables.exhibits.ScaledByModelWidth.printed). To be
    alarmed, you would have to know the 2.369 of the right model.
    """
    # As in the [experiment](experiment.py#train_mistake): the seed is set before the weights are
    # drawn, and all models begin alike.
    torch.manual_seed(seed)
    tokenizer, tokens, validation = prepare(text or tiny_shakespeare()[:CHARACTERS], sizes.seq_len)
    training = assemble(in_its_place(EXHIBITS[name]), len(tokenizer), sizes)

    # The schedule multiplies the first rate, which it keeps here.
    training.schedule.base_lrs = [times * rate for rate in training.schedule.base_lrs]

    # Places of windows have random numbers of their own, so each mistake sees the same text.
    windows = tokens.unfold(0, sizes.seq_len + 1, 1)
    generator = torch.Generator().manual_seed(seed)
    model = SequenceFirst(training.model)
    # The model takes the batch first. Writing and the honest loss want the sequence first.
    for step in range(steps):
        # Twelve windows at random, cut into inputs and targets by the training itself, for that may
        # be where the mistake is.
        chosen = torch.randint(len(windows), (sizes.batch_size,), generator=generator)
        loss = training.step(*training.cut(windows[chosen]))

        # The loss of the batch before the step, with whatever is wrong.
        yield {"step": step + 1, "loss": loss.item()}

        # Writing reveals what the loss hides. Its random numbers are its own, too.
        if (step + 1) % max(1, steps // samples) == 0:
            draws = torch.Generator().manual_seed(seed)
            written = write(model, tokenizer, "ROMEO:\n", letters, sizes.seq_len, 0.8, draws)
            yield {"sample": written, "step": step + 1}

    # Both losses of text that it has not seen. The honest one takes a pass for each prefix, so it
    # is of a few windows.
    held_out = validation[: 100 * sizes.seq_len + 1]
    # The printed one is what a program would tell you, teacher-forced.
    printed = printed_loss(
        training, held_out.unfold(0, sizes.seq_len + 1, sizes.seq_len), sizes.batch_size
    )
    honest = honest_loss(model, held_out, sizes.seq_len, sizes.n_places, sizes.seq_len).honest
    # Where the two differ by much, something leaks.
    yield {"validation": printed, "honest": honest}


def example(steps: int = 3, seq_len: int = 7, batch_size: int = 5) -> Tensor:
    r"""
    ## Example

    The first losses with an inverted mask, on an alphabet over and over.

    ### Measured here

    With the mask that is never used, the honest loss is
    [6.592](../../../results/train_mistakes.json#tables.exhibits.MaskUnused.honest).

    ### Exercises

    ??? question "The live curve lies on the grey one. Is the line right?"
        Not necessarily. A mask that is dropped in evaluation trains like the right model. So does
        a model whose number of heads comes from a global, as long as the global has the right one.

    ??? question "Which exhibits fall *far* below the grey curve, and what do they have in common?"
        Their printed loss is below 1.4. Each sees its target: a mask that hides too little, a
        softmax over the queries, a view for a transpose, targets that are the inputs. (By less than
        0.1 others lie below it, too: a mask after the softmax, a strict one, no scale, a scale that
        multiplies.)

    ??? question "How can the honest loss of a leaking model be *worse* than guessing evenly, 4.14?"
        It has learned to copy an answer, and is very sure of what it copies. In writing there is
        nothing yet at the place that it reads from. It reads elsewhere, and stays sure of what it
        finds there.
    """
    # Small enough for a moment. Each letter tells which one is next.
    sizes = Sizes(16, 2, 1, seq_len, batch_size, n_steps=steps, n_places=2)
    text = "abcdefghijklmnopqrstuvwxyz" * 30
    told = train_here("MaskInverted", steps, samples=1, text=text, sizes=sizes)

    # One loss for each step, `[steps]`. The sample and the last two losses are left out.
    return torch.tensor([one["loss"] for one in told if "loss" in one])
