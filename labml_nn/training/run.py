r"""
---
title: A Run That Can Stop
summary: Train, look, stop, and go on, in cells that can be run again.
know: loop.py
---

A cell of a notebook trains a model for 600 steps, with the [loop](loop.py#train). You run it again.
Now the loop starts with the trained weights, and with a new optimizer, a new warm-up and the
batches of the first time. The curve begins near 2 and not at 4.3, and looks like that of a new and
much better model. Nothing says that it isn't.

A run keeps together what a training changes: the weights, the optimizers, the number of steps that
are done, their losses, the random numbers. **In:** a model, its batches, its optimizers. **Out:**
the model, trained for 600 steps *in all*, however often it was stopped. On a CPU each number is the
same as without a stop, to the last bit. On a GPU even two runs without a stop [differ a
little](fast/cuda_graphs.py#example).

Two cells, and one rule for each:

```
model = AutoregressiveTransformer(66)               # again: from scratch
run = Run(model, batches.at, [adamw(model)])

run.train(600)                                      # again: goes on
```
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from labml_nn.training.loop import train
from labml_nn.training.run_file import RunFile, random_state, set_random_state
from labml_nn.training.run_progress import RunProgress, where_it_begins
from labml_nn.training.stop_button import StopButton
from labml_nn.training.to_device import to_device


class Run:
    r"""
    ## A run
    """

    def __init__(
        self,
        model: nn.Module,
        batch_at: Callable[[int], tuple[Tensor, Tensor]],
        optimizers: Sequence[Any],
        *,
        name: str = "",
        keep_in: str = "",
        after_step: Callable[[int, Tensor], object] = lambda step, loss: None,
        say: Callable[..., object] = print,
        **how: Any,
    ) -> None:
        r"""
        * `model` is trained where it is, on a CPU or a GPU
        * `batch_at` and `optimizers` are those of the [loop](loop.py#train), and `how` are its
          `schedule`, `gradients` and `clip`, if they aren't the usual ones
        * `name` stands before all that the run says
        * `keep_in` is a folder that the run is [kept](run_file.py) in, and that a new run goes on
          from; without one, nothing is kept
        * `after_step` is for what belongs to a step and is no gradient; it gets the number of steps
          done and the loss
        * `say` gets sentences
        """
        # What is trained, and how. The loop gets all of it; batches come to where the model is.
        self.model = model
        self.device = next(model.parameters()).device
        self.batch_at = partial(to_device, batch_at, self.device)
        self.optimizers = optimizers
        self.after_step = after_step
        self.how = how

        # How many steps are done, and how many there should be.
        self.done = 0
        self.planned = 0

        # The losses of the steps: those that are read, and the last few, which may still be on
        # their way from the GPU. And what was seen when somebody looked.
        self.losses: list[float] = []
        self.unread: list[Tensor] = []
        self.seen: dict[int, Any] = {}

        # Dropout draws from here on, whatever other cells draw in between.
        self.random = random_state(self.device)

        # A model says for how many steps it was trained before: one that is to be fine-tuned, and
        # one whose cell you forgot to run again.
        self.before = getattr(model, "steps_trained", 0)

        # Where it is kept, and what it says something with. Where several models are trained, each
        # sentence begins with the name.
        self.file = RunFile(keep_in, name)
        self.tell = partial(say, f"{name}:") if name else say

    def train(self, steps: int, look: Callable[[], Any] = lambda: None, times: int = 10) -> None:
        r"""
        ### Train, up to a step

        `look` is called about so many `times` on the way, with dropout off: at equal distances of
        whole steps, so 10 times in 600 steps, and 12 times in 25. What it returns is in `seen`
        afterwards, by the step.
        """
        # A run that is new in this session goes on from its file, if it has one.
        if self.done == 0 and self.file.take(self):
            self.tell(f"taken from {self.file.path}. To start anew, remove it and make a new run.")
        self.tell(where_it_begins(steps, self.done, self.planned, self.before, self.file.path))

        # Nothing is trained if nothing is left to do, and it has just said so.
        if self.done >= steps:
            return
        self.planned = steps

        # Other cells may have drawn random numbers since. Dropout goes on with those that it would
        # have had without a stop.
        set_random_state(self.random, self.device)
        progress = RunProgress(self.done, steps, self.tell)

        # A folder that can't be written to is told now, and not after a tenth of the steps.
        self.file.keep(self)
        button = StopButton()

        # What happens between two steps. The step is counted first: what a look finds is kept under
        # the number of steps that the model has made.
        def between(step: int, loss: Tensor) -> bool:
            self.count(step, loss)
            if step % max(1, steps // times) == 0:
                self.look(look)

            # To read a loss is to wait for the GPU, which then stands still until Python has asked
            # for the next step. 20 losses at once are one wait.
            tenth = step % max(1, steps // 10) == 0
            if tenth or len(self.unread) == 20:
                progress.update(self.read(), tenth)

            # If the run is kept in a folder, a machine that is taken away costs a tenth of it at
            # most.
            if tenth:
                self.file.keep(self)

            # True ends the loop, after this step and not in the middle of it.
            return button.pressed

        # A batch depends on the step alone, and the learning rate on the step and on how many there
        # should be. Both are known, so the loop can start anywhere.
        with button.watched():
            try:
                more = {"start": self.done, "after_step": between, **self.how}
                train(self.model, self.batch_at, self.optimizers, steps, **more)

            # An error ends here as well, and leaves what is known so far.
            finally:
                progress.finish(self.read())
                self.random = random_state(self.device)
        self.file.keep(self)

        # If all cells were asked to run, those below come next. They must not measure a model that
        # is half trained, so a stop is an error.
        if button.pressed:
            self.tell(f"stopped after step {self.done:,}. Run this cell again, and it goes on.")
            raise KeyboardInterrupt

    def count(self, step: int, loss: Tensor) -> None:
        r"""
        ### Count a step
        """
        # The loss stays a tensor on the GPU, which may not have computed it yet.
        self.done = step
        self.unread.append(loss)
        self.after_step(step, loss)

        # The model carries its number with it, also into a copy.
        self.model.steps_trained = self.before + step

    def look(self, look: Callable[[], Any]) -> None:
        r"""
        ### Look at the model
        """
        # With dropout it would seem worse than it is, and different each time.
        self.model.eval()
        found = look()
        self.model.train()

        # A look that only prints has nothing to keep.
        if found is not None:
            self.seen[self.done] = found

    def read(self) -> list[float]:
        r"""
        ### Read the losses

        All of them so far, as numbers.
        """
        # Stacked on the GPU and copied in one go.
        if self.unread:
            self.losses += torch.stack(self.unread).tolist()
            self.unread.clear()
        return self.losses


def example(
    seq_len: int = 7, batch_size: int = 3, n_vocab: int = 11, steps: int = 5
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    A table of pairs, trained for five steps in one go, and for two and then three.

    ### Exercises

    ??? question "A run of 1,000 steps is done, and you ask for 2,000. Is it as one of 2,000?"
        - [ ] Yes: the weights, the optimizer and the batches go on.
            - They do. But each step also has a learning rate.
        - [x] No: the first 1,000 steps had the learning rate of a short run.
            - Yes. It had fallen to a tenth, and at the next step it jumps up. The run says so. For
              a run of 2,000, start from scratch.
        - [ ] No: dropout draws other numbers.
            - It goes on with the numbers that come next.

    ??? question "Why does a stop end the cell with an error?"
        - [ ] So that the losses are kept.
            - They would be kept without it.
        - [x] So that the cells below don't run, if all cells were asked to.
            - Yes. They would measure a model that is half trained, and show its loss as that of the
              whole run.
        - [ ] So that the next run starts from scratch.
            - It goes on. From scratch is what the cell above is for.

    ??? question "Make the model in one cell and the run in the next. What can go wrong?"
        - [ ] The run can't find the model.
            - Names of one cell are known in the next.
        - [x] Run the second cell alone, and a new run begins with trained weights.
            - Yes. It says so, since the model knows for how many steps it was trained.
        - [ ] The optimizer has the weights of another model.
            - The run and its optimizer are made in one cell, from one model. But run the first cell
              alone, and the run goes on with the old model, while `model` is a new one that nobody
              trains.
    """
    # The alphabet, in each step from another letter on.
    text = torch.arange(seq_len + 1)[:, None] + torch.arange(batch_size)

    def losses(*stops: int) -> Tensor:
        # The same first weights each time: to start from scratch is to make the model again.
        torch.manual_seed(1)
        model = nn.Embedding(n_vocab, n_vocab)
        batch_at = lambda step: ((text[:-1] + step) % n_vocab, (text[1:] + step) % n_vocab)  # noqa: E731

        # One rate for all steps, since the usual one depends on how many there are. What it says is
        # for those who wait.
        quiet = {"schedule": lambda step, steps: 1.0, "say": lambda *words: None}
        run = Run(model, batch_at, [torch.optim.AdamW(model.parameters(), 0.3)], **quiet)

        # Each call says how many steps there should be in all.
        for stop in stops:
            run.train(stop)
        return torch.tensor(run.losses)

    # In one go, and in two.
    return losses(steps), losses(2, steps)
