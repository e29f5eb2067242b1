r"""
---
title: Errors in One Sentence
summary: A sentence for what the user can put right, a traceback for mistakes in the program.
---

A program can fail in two ways. The *user* may have asked for something impossible, such as a file
that isn't there, or 5 heads for 128 features. Then one sentence with the remedy is all that helps.
Or the *program* has a mistake. Then the traceback is all that helps, and a sentence would hide it.

The engine raises `InputError` for the first kind. Its three programs,
[training](command_line.py), [writing a file of tokens](token_file.py#main) and [comparing
runs](records.py#main), print its sentence and end with a status that a script can test. Every other
exception keeps its traceback.
"""

import argparse
import dis
import functools
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import torch.distributed as dist


class InputError(Exception):
    r"""
    ## Something the user can put right

    The message is one sentence that names the problem and the remedy.
    """


@contextmanager
def checking_input() -> Iterator[None]:
    r"""
    ## Errors of a lesson

    Lessons don't know `InputError`; they raise a plain `ValueError` with a good sentence. Within
    the block it becomes an `InputError`. A `ValueError` that Python or PyTorch has raised comes
    from a mistake in the program, and stays what it is.
    """
    # The block holds only what happens before the first step of training. A `ValueError` of a
    # lesson *during* training is a mistake in the program, and stays one.
    try:
        yield
    except ValueError as error:
        if not raised_on_purpose(error):
            raise

        # With its cause, for a debugger.
        raise InputError(str(error)) from error


def raised_on_purpose(error: ValueError) -> bool:
    r"""
    ### Was it raised by a lesson?

    That is, by a `raise` statement in this package.
    """
    # The last entry of the traceback is the place where the error began. An error that comes out of
    # PyTorch began in a file of PyTorch.
    place = error.__traceback__

    # An error that was made and never raised has no traceback.
    if place is None:
        return False
    while place.tb_next is not None:
        place = place.tb_next

    # `int("x")` has no entry of its own: the error begins in the line that calls it. So we look at
    # the instruction that Python was at, a `raise` or a call.
    instruction = place.tb_frame.f_code.co_code[place.tb_lasti]
    module = place.tb_frame.f_globals.get("__name__", "")
    return module.startswith("labml_nn.") and dis.opname[instruction] == "RAISE_VARARGS"


class Parser(argparse.ArgumentParser):
    r"""
    ## Errors of the command line

    Python's own parser prints all options after a mistake, where the line that matters is easy to
    overlook, and ends the program by itself. This one raises.
    """

    def error(self, message: str) -> NoReturn:
        # As an `InputError`, a wrong option is told like any other mistake.
        raise InputError(f"{message}; --help lists the options")


def one_sentence(main: Callable[..., int]) -> Callable[..., int]:
    r"""
    ## A sentence and an exit status

    A decorator for the function `main` of a program. All exceptions but the two below are mistakes
    in the program, and keep their traceback.
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
        # Shells use 128 plus the number of the signal: 130 for Ctrl-C, 143 for a request to end. A
        # run that was stopped [between two steps](train.py#interruptible) has noted which one it
        # was.
        except KeyboardInterrupt as stop:
            return 128 + (stop.args or (signal.SIGINT,))[0]

    return program


def error_prefix() -> str:
    r"""
    ### Which process an error comes from

    When [several processes](processes.py) train, all write to the same terminal.
    """
    # An error can come before the processes know each other, so the number is read from the
    # environment, where torchrun has put it.
    number = int(os.environ.get("RANK", 0)) if dist.is_torchelastic_launched() else 0

    # Rank 0 speaks for all, as it does when nothing goes wrong.
    return f"process {number}: " if number else ""
