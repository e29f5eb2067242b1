r"""
---
title: Channel
summary: How a child process that runs pages talks to its parent, and how much memory it gets.
---

The processes that run the code of pages, to [measure](measured_run.py) it or to
[judge](../takeaway/judging_run.py) it, get one request on each line, with the seconds that it may
take, and answer with one line.
"""

import json
import math
import os
import resource
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, TextIO

MEMORY_LIMIT = 8 * 2**30


def limit_memory() -> None:
    r"""
    ## Fail before the machine does

    Where the system has such limits, a page that asks for more gets an exception.
    """
    with suppress(ValueError, OSError):
        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_LIMIT, most))


def limit_time(seconds: float) -> None:
    r"""
    ## So much more time of the processor

    On a busy machine a page waits, and that isn't its fault. Where the system has such limits, it
    ends the process with SIGXCPU when the time is used up, and writes no picture of its memory.
    """
    limit = math.ceil(time.process_time() + seconds)
    with suppress(ValueError, OSError):
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def asked(requests: TextIO) -> Iterator[Any]:
    r"""
    ## Each request

    Before it is answered, the [time](#limit_time) that it may take is set.
    """
    for line in requests:
        seconds, request = json.loads(line)
        limit_time(seconds)
        yield request


def open_channel() -> tuple[TextIO, TextIO]:
    r"""
    ## Requests and answers

    They keep the pipes to the parent for themselves. What a page reads and prints goes nowhere.
    """
    requests = os.fdopen(os.dup(0), "r", encoding="utf-8")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    return requests, answers
