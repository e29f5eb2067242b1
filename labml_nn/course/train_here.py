r"""
---
title: Train Here
summary: The models of the course train in your browser, with the live curve over the recorded one.
know: steps.py
---

Choose a model of the [course](steps.py) and train it. Python runs in your browser, and nothing is
sent anywhere. The models are half as wide here as in the course and read half as much text in a
step, so a run takes a minute at most. The grey curve was recorded with PyTorch; yours lies on it as
long as you change nothing.

Then change something. With ten times the learning rate most models learn less, but the modern parts
more. Leave out the mask of a model with positions: the printed loss falls below that of any with a
mask, because each position reads the letter to predict. What the model writes is gibberish, since
in writing there is no next letter.

[The loss of each step, recorded with PyTorch](../../results/train_here.json#figures.losses)

**In:** the name of a model, a number of steps, a learning rate. **Out:** the loss of each step, and
now and then what the model writes.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from labml_nn.course.steps import steps_of_course
from labml_nn.optimizers.schedules import linear
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare
from labml_nn.training.loop import adamw, clip_gradients, evaluate, learning_rate, train
from labml_nn.training.sampling import write
from labml_nn.transformers.modern.experiment import muon_and_adamw

# Half of what the course has: windows of 32 letters, twelve at a time, and 64 features.
SEQ_LEN = 32
BATCH_SIZE = 12
D_MODEL = 64
HEADS = 4

# So much of the text is read; all of it would have to be fetched and encoded first.
CHARACTERS = 200_000

# How many steps show what a model can learn, within a minute on two cores. Four layers take longer
# for a step, so they get fewer.
STEPS = {
    "A learned table of pairs": 300,
    "The mean of the past": 200,
    "One head": 300,
    "One head, with positions": 300,
    "Many heads": 300,
    "One transformer layer": 400,
    "Four layers": 200,
    "The classic recipe": 200,
    "The modern parts": 100,
}

# 300 steps of 0.003 move a weight by about 0.9. A good table's logits go from -3 to 3, so its rate
# is ten times as high.
RATE = 3e-3
RATE_OF_TABLE = 3e-2


class Unmasked(nn.Module):
    r"""
    ## A look back that looks ahead as well

    It takes the place of the part that looks back, and hides nothing from it.
    """

    def __init__(self, look: nn.Module) -> None:
        r"""
        * `look` is the part that should only look back
        """
        super().__init__()
        self.look = look

    def forward(self, *, mask: Tensor, **tensors: Tensor) -> Tensor:
        r"""
        Calls the part; the shapes are those that it takes and gives.
        """
        # True everywhere: each position sees all others, and with them the letter that it should
        # predict.
        return self.look(mask=torch.ones_like(mask), **tensors)


def without_mask(model: nn.Module) -> bool:
    r"""
    ## Leave out the mask

    Tells whether the model has one that can be left out.
    """
    # A stack of layers keeps its mask in a buffer, which is made once. Each call hands it to all
    # layers.
    if isinstance(getattr(model, "mask", None), Tensor):
        model.mask.fill_(True)
        return True

    # The models that look back once make theirs in each call, so the part that gets it is wrapped.
    if hasattr(model, "look_back"):
        model.look_back = Unmasked(model.look_back)
        return True

    # A table has nothing to hide, and the modern model tells its attention to be causal.
    return False


def optimizers(name: str, model: nn.Module, times: float) -> Sequence[Optimizer]:
    r"""
    ## The optimizers of a step of the course

    Their rates are the usual ones, `times` a number.
    """
    # Muon takes the matrices of the modern layers, and AdamW everything else. All other models have
    # AdamW alone.
    if name == "The modern parts":
        found = muon_and_adamw(model)
    else:
        found = [adamw(model, RATE_OF_TABLE if "table" in name else RATE)]

    # A schedule multiplies the rate that it finds here. So the whole curve of rates is raised, and
    # not its top alone.
    for group in (group for optimizer in found for group in optimizer.param_groups):
        group["lr"] *= times
    return found


def settings(name: str) -> dict[str, Any]:
    r"""
    ## How a step is trained

    Only the last two have a schedule, and clip their gradients.
    """
    # The classic one rises and falls; the modern one is a straight line to zero.
    if name == "The classic recipe":
        return {"schedule": learning_rate, "clip": clip_gradients}
    if name == "The modern parts":
        return {"schedule": linear, "clip": clip_gradients}

    # One rate from the first step to the last. With ten times the rate these models learn less. In
    # a try with one seed, clipping won back half of what “One head” had lost on held-out text, and
    # less for the others. A rate that falls to zero won back all of it, but a fifth for four
    # layers. If the rate also rose at first, four layers won back half.
    return {"schedule": lambda step, steps: 1.0, "clip": lambda model: None}


def choices() -> Iterator[dict[str, Any]]:
    r"""
    ## What can be chosen

    The page asks for it before it trains anything.
    """
    # The page fills its list with the names, and its field with the usual number of steps.
    yield {"choices": [{"name": name, "steps": steps} for name, steps in STEPS.items()]}


def train_here(
    name: str,
    steps: int,
    times: float = 1.0,
    masked: bool = True,
    samples: int = 4,
    seed: int = 1,
    text: str = "",
) -> Iterator[dict[str, Any]]:
    r"""
    ## Train, and tell

    * `name` is that of a step of the course
    * `times` multiplies the learning rate
    * `masked` is false to leave out the mask
    * `samples` is how often the model writes something
    * `text` is what is read; if it is empty, the beginning of Tiny Shakespeare
    """
    # The same text as in the recorded run, and the same alphabet, so each letter has the same
    # number.
    text = text or tiny_shakespeare()[:CHARACTERS]
    tokenizer, training, held_out = prepare(text, SEQ_LEN)

    # The same batches and weights, too: the batches depend on the seed alone, and the weights are
    # drawn right after it is set.
    batches = RandomWindows(training, SEQ_LEN, BATCH_SIZE, seed)
    torch.manual_seed(seed)
    model = steps_of_course(len(tokenizer), D_MODEL, HEADS, SEQ_LEN)[name][0]()

    # Saying so is better than training as if nothing had been asked.
    if not masked and not without_mask(model):
        yield {"note": f"“{name}” has no mask that could be left out."}

    # One step at a time: between two of them the page can draw, pause or stop. The optimizers keep
    # their averages, so it is the same training as in one go.
    chosen = optimizers(name, model, times)
    how = settings(name)
    for step in range(steps):
        losses: list[Tensor] = []
        train(
            model,
            batches.at,
            chosen,
            steps,
            start=step,
            # Answering yes ends the loop after this one step.
            after_step=lambda _, loss, losses=losses: losses.append(loss) or True,
            **how,
        )
        # The loss of the batch before the step, so the first is that of a model that knows nothing.
        yield {"step": step + 1, "loss": losses[0].item()}

        # Writing draws random numbers, from the same seed each time. So if two samples differ, it
        # is the model that has changed. (Training draws none: batches depend on the seed and the
        # step alone, and nothing is dropped.)
        if (step + 1) % max(1, steps // samples) == 0:
            generator = torch.Generator().manual_seed(seed)
            written = write(model, tokenizer, "ROMEO:\n", 80, SEQ_LEN, 0.8, generator)
            yield {"sample": written, "step": step + 1}

    # Some of the held-out text is enough for this loss.
    yield {"validation": evaluate(model, held_out[:4000], SEQ_LEN)}


def example(steps: int = 2) -> Tensor:
    r"""
    ## Example

    The first losses of a head that sees everything, on an alphabet over and over.

    ### Exercises

    ??? question "Without a mask, the loss of “One head, with positions” is tiny. What is learned?"
        To copy the next letter from the input. In writing it isn't there.

    ??? question "“One head” has no positions. Why does its loss hardly fall without a mask?"
        It sees the next letter, too, but nothing tells it which of all letters is the next.

    ??? question "Why does the *validation* loss without a mask look wonderful, too?"
        The held-out text goes through the same model, which reads its answers in the same way. Only
        writing, or a loss from prefixes, is honest.

    ??? question "Which models have no mask to leave out?"
        The table looks at one letter only, and the modern parts tell their attention to be causal.
    """
    # Long enough for a held-out part of two windows.
    # Each letter tells which one is next, so even a model with a mask would learn this text
    # quickly.
    text = "abcdefghijklmnopqrstuvwxyz" * 30
    given = {"masked": False, "samples": 1, "text": text}
    told = train_here("One head, with positions", steps, **given)

    # One loss for each step, `[steps]`. The sample and the validation loss are left out.
    return torch.tensor([one["loss"] for one in told if "loss" in one])
