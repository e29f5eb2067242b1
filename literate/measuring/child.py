r"""
---
title: Child process
summary: "The process that runs pages: started once, asked often, stopped when it must be."
---

The code of a page can do anything: never end, ask for all the memory, kill its process. It does so
in a process of its own, to be [measured](measured_run.py) or [judged](../takeaway/judging_run.py),
and here is its other end.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

MEASURES = Path(__file__).with_name("measured_run.py")

# The program finds the record of a run where the tool itself is.
PACKAGES = str(Path(__file__).parents[2])

# For PyTorch to be imported for the first time on a slow disk.
START_SECONDS = 300.0

# So many times longer than it may compute, a page may also wait: for a processor that is busy with
# something else, and not for ever.
PATIENCE = 5

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

    It runs a `program`, which is told the folder of the project, `root`.
    """

    def __init__(self, root: Path, program: Path = MEASURES) -> None:
        self.root = root
        self.program = program
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        r"""
        ### Start, unless it runs

        Raises [NotStarted](#NotStarted) if the program can't import what it needs: the first line
        comes unasked, when it has.
        """
        if self.process is not None:
            return
        known = filter(None, (PACKAGES, os.environ.get("PYTHONPATH")))
        self.process = subprocess.Popen(
            # Without -P, the modules of this folder would stand before those of Python.
            [sys.executable, "-P", str(self.program), str(self.root)],
            cwd=self.root,
            env={**os.environ, **ENVIRONMENT, "PYTHONPATH": os.pathsep.join(known)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            # A group of its own, so that processes that a page starts can be ended with it.
            start_new_session=True,
        )
        try:
            self._answer(START_SECONDS)
        except Died:
            raise NotStarted from None

    def ask(self, request: Any, seconds: float) -> dict[str, Any]:
        r"""
        ### Ask

        Raises [Died](#Died) if the answer takes more than so many `seconds` of CPU time, if
        there is none after `PATIENCE` times as many, or if the process ends instead of
        answering. After that it has to be started again.
        """
        assert self.process is not None and self.process.stdin is not None
        # To a process that has ended nothing can be sent, and it gives no answer.
        with contextlib.suppress(OSError):
            self.process.stdin.write(json.dumps([seconds, request]) + "\n")
            self.process.stdin.flush()
        return self._answer(PATIENCE * seconds, f"takes more than {seconds:g} s of CPU time")

    def stop(self) -> None:
        r"""
        ### Stop

        It has nothing to lose, so it isn't asked to leave.
        """
        process, self.process = self.process, None
        if process is not None:
            assert process.stdin is not None and process.stdout is not None
            # It is ours until we wait for it, so no other process can have its number.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            # A question that could not be sent still waits in the pipe.
            with contextlib.suppress(OSError):
                process.stdin.close()
            process.stdout.close()

    def _answer(self, seconds: float, computes_too_long: str = "") -> dict[str, Any]:
        process = self.process
        assert process is not None and process.stdout is not None
        in_time, _, _ = select.select([process.stdout], [], [], seconds)
        answer = process.stdout.readline() if in_time else ""
        if answer.endswith("\n"):
            return json.loads(answer)
        # Even where the answer is late by a moment, the process is gone after this.
        self.stop()
        if not in_time:
            raise Died(f"takes longer than {seconds:g} s")
        status = process.returncode
        if status == -signal.SIGXCPU and computes_too_long:
            raise Died(computes_too_long)
        how = signal.Signals(-status).name if status < 0 else f"status {status}"
        raise Died(f"ends the process with {how}")
