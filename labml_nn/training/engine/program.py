r"""
---
title: Programs That Fail in One Sentence
summary: What the user can put right becomes one line and an exit status, without a traceback.
---

The [engine](__init__.py) has three programs: [training](command_line.py), [writing a file of
tokens](write_tokens.py) and [comparing runs](compare.py). This page is what they share. **In:** a
function `main` that may raise an [`InputError`](errors.py#InputError). **Out:** a program that
tells the mistake in one line, and an exit status that a script can test.

Without it, a wrong file name ends with twenty lines of traceback, and a misspelled option with a
screen full of options. In both cases the line that matters is easy to overlook.
"""

import argparse
import functools
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import torch.distributed as dist

from labml_nn.training.engine.errors import InputError


class Parser(argparse.ArgumentParser):
    r"""
    ## A parser that raises

    Python's own prints all options after a mistake, and ends the program by itself.
    """

    def error(self, message: str) -> NoReturn:
        # As an `InputError`, a wrong option is told like any other mistake.
        raise InputError(f"{message}; --help lists the options")


def error_prefix() -> str:
    r"""
    ## Which process an error comes from

    When [several processes](processes.py) train, all write to the same terminal.
    """
    # An error can come before the processes know each other, so the number is read from the
    # environment, where torchrun has put it.
    number = int(os.environ.get("RANK", 0)) if dist.is_torchelastic_launched() else 0

    # Rank 0 speaks for all, as it does when nothing goes wrong.
    return f"process {number}: " if number else ""


def one_sentence(main: Callable[..., int]) -> Callable[..., int]:
    r"""
    ## Turn errors into exit statuses

    A decorator for `main`. All other exceptions are mistakes in the program, and keep their
    traceback.
    """

    # With name and docstring of `main`, which a traceback shows.
    @functools.wraps(main)
    def program(*args: Any, **kwargs: Any) -> int:
        try:
            # The status of a run that ended as it should.
            return main(*args, **kwargs)
        # 2 is also what `argparse` uses for a wrong option. Results go to the standard output, so
        # the sentence goes to the other stream.
        except InputError as error:
            sys.stderr.write(f"{error_prefix()}error: {error}\n")
            return 2
        # Shells use 128 plus the number of the signal: 130 for Ctrl-C, 143 for a request to end.
        # A run that was stopped [between two steps](stopping.py) has noted which one it was.
        except KeyboardInterrupt as stop:
            return 128 + (stop.args or (signal.SIGINT,))[0]

    return program
