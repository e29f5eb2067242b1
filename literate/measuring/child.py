r"""
---
title: Child process
summary: "The process that runs pages: started once, asked often, stopped when it must be."
---

The code of a page can do anything: never end, ask for all the memory, kill its process. It does so
in a [process of its own](measured_run.py), and here is its other end.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

PROGRAM = Path(__file__).with_name("measured_run.py")

# For PyTorch to be imported for the first time on a slow disk.
START_SECONDS = 300.0

# So that what is measured doesn't depend on the machine: no accelerator, and sets in the same order
# every time. One thread, because on a busy machine threads wait for each other, and long.
ENVIRONMENT = {"CUDA_VISIBLE_DEVICES": "", "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}


class Died(Exception):
    r"""
    ## There is no answer

    The message says why, in words that can follow the name of what was asked.
    """


class NotStarted(Exception):
    r"""
    ## There is nobody to ask
    """


class Child:
    r"""
    ## The process, from outside

    As a context manager it leaves no process behind, whatever happens.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        r"""
        ### Start, unless it runs

        Raises [NotStarted](#NotStarted) if PyTorch can't be imported: the first line comes unasked,
        when it has been.
        """
        if self.process is not None:
            return
        self.process = subprocess.Popen(
            # Without -P, the modules of this folder would stand before those of Python.
            [sys.executable, "-P", str(PROGRAM), str(self.root)],
            cwd=self.root,
            env={**os.environ, **ENVIRONMENT},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            # A group of its own, so that processes that a page starts can be ended with it.
            start_new_session=True,
        )
        try:
            self._exchange(None, START_SECONDS)
        except Died:
            raise NotStarted from None

    def ask(self, request: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        r"""
        ### Ask

        Raises [Died](#Died) if there is no answer after so many seconds, or if the process ends
        instead of answering. After that it has to be started again.
        """
        return self._exchange(json.dumps(request), seconds)

    def stop(self) -> None:
        r"""
        ### Stop

        It has nothing to lose, so it isn't asked to leave.
        """
        process, self.process = self.process, None
        if process is not None:
            _kill(process)
            process.wait()
            # A question that could not be sent still waits in the pipe.
            with contextlib.suppress(OSError):
                process.stdin.close()
            process.stdout.close()

    def _exchange(self, question: str | None, seconds: float) -> dict[str, Any]:
        process = self.process
        late = threading.Event()

        def give_up() -> None:
            late.set()
            _kill(process)

        timer = threading.Timer(seconds, give_up)
        timer.start()
        try:
            if question is not None:
                process.stdin.write(question + "\n")
                process.stdin.flush()
            answer = process.stdout.readline()
        except OSError:
            answer = ""
        finally:
            timer.cancel()
            timer.join()
        # Even when the answer came in the last moment, the process is gone by now.
        if late.is_set():
            self.stop()
            raise Died(f"takes longer than {seconds:g} s")
        if not answer.endswith("\n"):
            self.stop()
            raise Died(_ending(process.returncode))
        return json.loads(answer)


def _kill(process: subprocess.Popen[str]) -> None:
    r"""
    The process and those it started. It is ours until somebody waits for it, even when it has
    ended, so no other process can have its number.
    """
    if process.returncode is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (AttributeError, ProcessLookupError, PermissionError):
            process.kill()


def _ending(status: int) -> str:
    if status < 0:
        return f"ends the process with {signal.Signals(-status).name}"
    return f"ends the process with status {status}"
