r"""
---
title: Kernel Server
summary: One process imports torch, and every kernel is a copy of it.
---

A kernel that starts from nothing spends three seconds on importing IPython and torch, and three
more at the first step of an optimizer, which imports the compiler of torch. Most notebooks need
less than that for their own cells. So this program imports all of it once. Then, for each line that
it reads, it copies itself with `fork`, which takes a few milliseconds, and the copy becomes a
kernel.

[Execute](execute.py) starts the program with a Python that doesn't see the checkout. So nothing of
the project may be imported here.
"""

import os
import signal
import sys
from contextlib import suppress
from importlib import import_module

# What is slow to import. A package that isn't there is a matter for the notebook that needs it.
# `matplotlib.pyplot` is missing on purpose: it asks for the kernel in which it is imported.
SLOW = [
    "ipykernel.kernelapp",
    "torch",
    "torch._dynamo",
    "matplotlib.backends.backend_agg",
    "matplotlib.figure",
]


def serve() -> None:
    r"""
    ## Start kernels

    A line of the standard input has two paths: of the file where a kernel tells its ports, and of
    the folder that it runs in. The answer is the number of its process.
    """
    # A kernel ends by itself when the process with this number has gone.
    os.environ["JPY_PARENT_PID"] = str(os.getpid())
    for name in SLOW:
        with suppress(ImportError):
            import_module(name)

    # Nobody waits for a kernel that has ended. Without this line it would stay as a zombie, and
    # seem to be alive.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while line := sys.stdin.readline():
        file, folder = line.rstrip("\n").split("\t")
        process = os.fork()
        if process == 0:
            become_kernel(file, folder)
            return
        sys.stdout.write(f"{process}\n")
        sys.stdout.flush()

    # The caller has gone. The kernels are in the group of this process, and go with it.
    os.killpg(0, signal.SIGKILL)


def become_kernel(file: str, folder: str) -> None:
    r"""
    ## Turn a copy of this process into a kernel
    """
    # Cells may start processes and wait for them, so the usual signals are back.
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)

    # The pipes are the server's: what a kernel prints there would be read as an answer.
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.chdir(folder)
    from ipykernel.kernelapp import IPKernelApp

    IPKernelApp.launch_instance(argv=["--log-level=ERROR", "-f", file])


if __name__ == "__main__":
    serve()
