r"""
---
title: Errors in One Sentence
summary: A sentence for what the user can put right, a traceback for mistakes in the program.
---

A program can fail in two ways. The *user* may have asked for something impossible, such as a file
that isn't there, or 5 heads for 128 features. Then one sentence with the remedy is all that helps.
Or the *program* has a mistake. Then the traceback is all that helps, and a sentence would hide it.

The engine raises `InputError` for the first kind. Lessons don't know this class; they raise a
plain `ValueError` with a good sentence. **In:** a `ValueError`. **Out:** an `InputError` if a
lesson raised it, and the same error if Python or PyTorch did, because of a mistake.
"""

import dis
from collections.abc import Iterator
from contextlib import contextmanager


class InputError(Exception):
    r"""
    ## Something the user can put right

    The message is one sentence that names the problem and the remedy.
    """


def raised_on_purpose(error: ValueError) -> bool:
    r"""
    ## Was it raised by a lesson?

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


@contextmanager
def checking_input() -> Iterator[None]:
    r"""
    ## While input is checked

    Within the block, the `ValueError` of a lesson becomes an `InputError`.
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
