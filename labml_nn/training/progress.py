r"""
---
title: Progress
summary: A bar on a terminal, a few lines in a log file.
---

Training takes minutes, and you want to see that something is happening. On a terminal, and with
`bar=True` in a notebook, a bar from [tqdm](https://tqdm.github.io) shows how far the training is,
and estimates how long it will take. In a file, such a bar would be a heap of control characters;
there, each evaluation makes one line and nothing else is written.
"""

from collections.abc import Iterable


class Progress:
    r"""
    ## Progress of a training

    Wrap the steps in it, and tell it the losses with `record`.
    """

    def __init__(self, bar: bool | None = None) -> None:
        r"""
        * `bar` says whether there is a bar; by default there is one on a terminal
        """
        # tqdm decides for itself if `disable` is None.
        self.disable = None if bar is None else not bar

        # Without a bar, lines are printed and nothing else.
        self.write = print
        self.note = lambda **values: None

    def __call__(self, steps: range) -> Iterable[int]:
        r"""
        ### Wrap the steps

        Without tqdm they stay as they are.
        """
        # The lessons need tqdm for nothing else, so it may be missing.
        try:
            from tqdm import tqdm
        except ImportError:
            # The lines of `record` are enough.
            return steps

        # A resumed run begins in the middle of its bar.
        bar = tqdm(steps, initial=steps.start, total=steps.stop, unit="step", disable=self.disable)

        # A line that is printed while there is a bar would tear it; the bar's own method doesn't.
        self.write = bar.write
        self.note = bar.set_postfix

        # The loop goes over the bar, which counts its steps.
        return bar

    def record(self, step: int, values: dict[str, float]) -> None:
        r"""
        ### Show the numbers
        """
        # At the end of the bar, in place of the numbers before.
        speed = f"{values.get('tokens_per_second', 0.0):,.0f}/s"
        self.note(loss=f"{values['loss.train']:.3f}", tokens=speed)

        # A line that stays.
        if "loss.validation" in values:
            self.write(
                f"step {step:,}: training loss {values['loss.train']:.4f}, "
                f"validation loss {values['loss.validation']:.4f}, "
                f"{values['tokens_per_second']:,.0f} tokens a second"
            )
