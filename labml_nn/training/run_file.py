r"""
---
title: A Run in a File
summary: What a training needs to go on tomorrow, in one file, on your Drive if it is there.
know: loop.py
---

Google Colab takes its machine back after some hours, and every file with it. What is on your Google
Drive stays. **In:** the parts of a training that have a state, such as a model and its optimizer.
**Out:** a file, and later the same parts as they were, on another machine.

Isn't the model enough? Its weights are a third of the file:

* AdamW keeps two more numbers for each weight, the running means of its gradient and of the
  gradient's square. If a weight is 0.5 and its gradient was 0.1 for many steps, the file has 0.5,
  0.1 and 0.01.
* The learning rate depends on the number of the step. At the end of a run it is a tenth of the
  highest. If the number is lost, the rate climbs to the highest again, and the loss rises before it
  falls further.
* Dropout depends on random numbers. In a model with dropout, other ones train other weights.

Long trainings keep [more, and several files](engine/checkpoint.py).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

# Where Google Colab shows your Drive, once you have mounted it: the folder icon, “Mount Drive”.
DRIVE = Path("/content/drive/MyDrive")


def mark(tensors: Sequence[Tensor]) -> list[int]:
    r"""
    ## What tells one training from another

    One number for each tensor, the sum of its bytes. The marks of a training are those of its first
    weights and its first batch. So the file of a larger model, of another seed or of another text
    has other marks, and isn't taken by mistake.

    What is in neither the weights nor the batch leaves no mark. With two heads in place of four,
    the weights have the same shapes, and with the same seed the same values: that file is taken. So
    is one of a text that is equally long, has the same characters and differs only outside of the
    first batch.
    """
    # Bytes are whole numbers, so the order of adding doesn't matter, and any machine gets the same
    # sum for the same tensor.
    # One bit that differs changes the sum. Several can cancel, as when two numbers change places,
    # but hardly by chance in all tensors at once.
    return [
        int(one.detach().cpu().contiguous().reshape(-1).view(torch.uint8).sum()) for one in tensors
    ]


# What a run counts and collects, by the names of its attributes.
NUMBERS = ("done", "planned", "losses", "seen", "random")

# Devices that have random numbers of their own.
GENERATORS = ("cuda", "mps")


def random_state(device: torch.device) -> list[Tensor]:
    r"""
    ## Which random numbers come next

    On the CPU, and on the device of the model.
    """
    # A GPU draws dropout itself, so its generator counts, too: that of `torch.cuda` or `torch.mps`.
    states = [torch.get_rng_state()]
    if device.type in GENERATORS:
        states.append(getattr(torch, device.type).get_rng_state())
    return states


def set_random_state(states: Sequence[Tensor], device: torch.device) -> None:
    r"""
    ## Go on with these random numbers
    """
    torch.set_rng_state(states[0])

    # A training that begins on a GPU and goes on without one draws other numbers from there on.
    if device.type in GENERATORS and len(states) > 1:
        getattr(torch, device.type).set_rng_state(states[1])


class RunFile:
    r"""
    ## The file of a run
    """

    def __init__(self, folder: str, name: str) -> None:
        r"""
        * `folder` is one of your Drive if that is mounted, else one beside the notebook; if it is
          empty, nothing is kept
        * `name` is that of the run; if it is empty, the file is called “model.pt”
        """
        # Blanks and slashes have no place in the name of a file.
        file = (name or "model").replace(" ", "_").replace("/", "_")
        top = DRIVE if DRIVE.is_dir() else Path()
        self.path = top / folder / f"{file}.pt" if folder else None

        # The marks of this run. `take` computes them.
        self.marks: list[int] = []

    def parts(self, run: Any) -> dict[str, Any]:
        r"""
        ### What has a state of its own
        """
        # AdamW remembers the gradients that it has seen, so the optimizers belong to it.
        numbered = {f"optimizer {at}": one for at, one in enumerate(run.optimizers)}
        return {"model": run.model, **numbered}

    def keep(self, run: Any) -> None:
        r"""
        ### Write
        """
        if self.path is None:
            return
        # What dropout draws next is known at this moment only.
        run.random = random_state(run.device)
        # Tensors are written from the device that they are on; `take` reads them to the CPU first.
        states = {name: one.state_dict() for name, one in self.parts(run).items()}
        numbers = {name: getattr(run, name) for name in NUMBERS}

        # The new file is written beside the old one first. If the machine is taken away meanwhile,
        # the old file is still whole.
        beside = self.path.with_name(f"{self.path.name}.part")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            torch.save({"marks": self.marks, "states": states, "numbers": numbers}, beside)
            beside.replace(self.path)

        # Where a disk is full, PyTorch raises a `RuntimeError`. The run is in memory, and has lost
        # nothing.
        except (OSError, RuntimeError) as error:
            raise OSError(
                f"{self.path} can't be written ({error}): make room there and run this cell "
                "again, or name another folder and make the run anew"
            ) from error

    def take(self, run: Any) -> bool:
        r"""
        ### Read

        Returns whether there was a step to go on from. Raises a `ValueError` if the file belongs to
        another run, or to none.
        """
        if self.path is None:
            return False
        # What the run begins with tells which one it is.
        self.marks = mark([*run.model.state_dict().values(), *run.batch_at(0)])
        # Nothing was kept yet: the run is a new one.
        if not self.path.is_file():
            return False

        # Only tensors and numbers are read: a file with code in it is refused, and so is any file
        # that no run has written.
        try:
            kept = torch.load(self.path, map_location="cpu", weights_only=True)
            marks = kept["marks"]
        except Exception as error:
            raise ValueError(
                f"{self.path} isn't the file of a run, or not all of it: name another folder, or "
                "remove the file"
            ) from error
        if marks != self.marks:
            raise ValueError(
                f"{self.path} has a run that began with other weights or another text: name "
                "another folder, or remove the file"
            )

        # Each part copies its tensors to its own device.
        for name, part in self.parts(run).items():
            part.load_state_dict(kept["states"][name])
        # The counts and the losses take the place of the zeros of a new run.
        vars(run).update(kept["numbers"])
        run.model.steps_trained = run.before + run.done
        return run.done > 0


def example(n_vocab: int = 11, d_model: int = 3) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    A small table makes one step with AdamW. What does the file hold besides the table?

    ### Exercises

    ??? question "A file has the weights alone. What goes wrong when the training goes on?"
        - [x] AdamW and the schedule start anew, and the learning rate climbs to its highest again.
            - Yes. The weights have been trained, and everything else is as at step 0. When we tried
              it, the new schedule made the loss rise. A new AdamW alone did no harm at the end of a
              run, where the rate is low. In the middle of a run its first step was four times as
              long as usual, and the loss was higher for some thirty steps.
        - [ ] Nothing: the weights are the training.
            - They are what it made so far. The next step depends on much more.
        - [ ] The loss starts at that of guessing.
            - The weights are there, so it starts where it was, and rises with the rate.

    ??? question "The machine stops while the file is written. What do you have?"
        The file as it was written the time before, and half of a new one with another name. A
        [run](run.py) writes its file before the first step and after each tenth of its steps, so at
        most a tenth of the training is lost.

    ??? question "You change the seed. Why isn't the old file taken?"
        Other first weights have other marks. Without that check you would look at the curve of the
        old seed, and call it that of the new one.
    """
    # Two of the things that a training changes: the weights, and the optimizer's means.
    table = torch.nn.Embedding(n_vocab, d_model)
    optimizer = torch.optim.AdamW(table.parameters())
    table(torch.arange(n_vocab)).square().mean().backward()
    optimizer.step()

    # Two numbers for each weight. With the weights themselves, the file has three times the bytes
    # of the model.
    (state,) = optimizer.state_dict()["state"].values()
    return state["exp_avg"], state["exp_avg_sq"]
