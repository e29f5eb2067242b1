r"""
---
title: Progress
summary: A bar on a terminal and in a notebook, a few lines in a log file.
---

Training takes minutes, and somebody is waiting. On a terminal and in a notebook a bar
from [tqdm](https://tqdm.github.io) says how far it is and how long it will take. In a file
such a bar would be a heap of control characters; there, only each evaluation makes a line.
"""

from collections.abc import Iterable


class Progress:
    r"""
    ## Progress of a training

    It is called with the steps, and hears of losses by its `record` method.
    """

    def __init__(self, bar: bool | None = None) -> None:
        r"""
        * `bar` says whether there is a bar; by default there is one on a terminal
        """
        self.disable = None if bar is None else not bar
        self.write, self.note = print, lambda **values: None

    def __call__(self, steps: range) -> Iterable[int]:
        r"""
        ### Wrap the steps

        Without tqdm they stay as they are.
        """
        try:
            from tqdm import tqdm
        except ImportError:
            return steps
        bar = tqdm(steps, initial=steps.start, total=steps.stop, unit="step", disable=self.disable)
        self.write, self.note = bar.write, bar.set_postfix
        return bar

    def record(self, step: int, values: dict[str, float]) -> None:
        r"""
        ### Show the numbers
        """
        speed = f"{values.get('tokens_per_second', 0.0):,.0f}/s"
        self.note(loss=f"{values['loss.train']:.3f}", tokens=speed)
        if "loss.validation" in values:
            self.write(
                f"step {step:,}: training loss {values['loss.train']:.4f}, "
                f"validation loss {values['loss.validation']:.4f}, "
                f"{values['tokens_per_second']:,.0f} tokens a second"
            )
