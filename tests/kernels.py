r"""
Notebooks run in kernels that have the packages installed here, but not this repository.

One process imports what is slow to import, and each kernel is a copy of it, made with `fork`. As a
program, `python -I tests/kernels.py`, this file is that process; nothing of the project may be
imported here.
"""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import sysconfig
import threading
import time
import venv
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Self

import nbformat
from nbformat import NotebookNode

if TYPE_CHECKING:
    from jupyter_client import AsyncKernelClient

# The values for the forms of our notebooks, so that training takes seconds.
FORM: Mapping[str, object] = {
    "corpus": "python", "steps": 20, "sample_length": 20, "folder": "random",
}  # fmt: skip
# Seconds for one cell on a busy machine.
SECONDS = 300
# `matplotlib.pyplot` is missing on purpose: it asks for the kernel in which it is imported.
SLOW = [
    "ipykernel.kernelapp",
    "torch",
    "torch._dynamo",
    "matplotlib.backends.backend_agg",
    "matplotlib.figure",
]
ENVIRONMENT = {
    "CUDA_VISIBLE_DEVICES": "",
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "OBJC_DISABLE_INITIALIZE_FORK_SAFETY": "YES",  # macOS
    "OMP_NUM_THREADS": "1",
}


def fill_in(text: str, values: Mapping[str, object]) -> NotebookNode:
    r"""The notebook with other values in its form; a form takes those that it has."""

    def filled(field: re.Match[str]) -> str:
        value = values.get(field["name"])
        return field[0] if value is None else f"{field['name']} = {value!r}{field['kind']}"

    notebook = nbformat.reads(text, as_version=4)
    for cell in notebook.cells:
        if cell.source.startswith("#@title Settings\n"):
            field = r"(?m)^(?P<name>\w+) = .*?(?P<kind>  #@param .*)$"
            cell.source = re.sub(field, filled, cell.source)
    return notebook


class Kernels:
    r"""Kernels in an environment below `folder`, until the end of the `with` block."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        environment = folder / "environment"
        venv.create(environment, symlinks=True)
        scheme = {"base": str(environment), "platbase": str(environment)}
        # In a folder that a .pth file names, no other .pth file is read; such a file is what makes
        # a checkout importable.
        here = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
        packages = Path(sysconfig.get_path("purelib", "venv", scheme), "packages.pth")
        packages.write_text("\n".join(here) + "\n", encoding="utf-8")
        python = Path(sysconfig.get_path("scripts", "venv", scheme)) / "python"
        own = {name: str(folder / name) for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR")}
        self.asking = threading.Lock()
        self.server = subprocess.Popen(
            [python, "-I", __file__],
            env=os.environ | ENVIRONMENT | own,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.killpg(self.server.pid, signal.SIGKILL)
        self.server.communicate()

    def run(self, notebook: NotebookNode) -> None:
        r"""Give the cells their outputs, up to one that fails."""
        from nbclient import NotebookClient
        from nbclient.exceptions import CellExecutionError

        kernel = _Kernel(self)
        runner = NotebookClient(notebook, km=kernel, timeout=SECONDS)
        try:
            # What a cell raises is an output. A loop of our own is closed.
            with suppress(CellExecutionError):
                asyncio.run(runner.async_execute(cleanup_kc=True))
        finally:
            kernel.shutdown_kernel()
            kernel.asker.context.term()


class _Kernel:
    r"""What nbclient asks of a kernel's manager."""

    has_kernel = True

    def __init__(self, kernels: Kernels) -> None:
        from jupyter_client import AsyncKernelClient

        self.file = Path(mkdtemp(dir=kernels.folder), "kernel.json")
        place = mkdtemp(dir=kernels.folder)
        with kernels.asking:
            assert kernels.server.stdin and kernels.server.stdout
            kernels.server.stdin.write(f"{self.file}\t{place}\n")
            kernels.server.stdin.flush()
            self.process = int(kernels.server.stdout.readline())
        self.asker = AsyncKernelClient(connection_file=str(self.file))

    def client(self) -> "AsyncKernelClient":
        r"""A client, as soon as the kernel has chosen its ports."""
        while not self.asker.shell_port:
            os.kill(self.process, 0)
            time.sleep(0.01)
            with suppress(FileNotFoundError, json.JSONDecodeError):
                self.asker.load_connection_file()
        return self.asker

    def is_alive(self) -> bool:
        r"""For nbclient, which then ends it."""
        return True

    def shutdown_kernel(self, now: bool = True) -> None:
        r"""End the process."""
        with suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGKILL)

    def cleanup_resources(self) -> None:
        r"""The folder goes with all others."""


def serve() -> None:
    r"""Read the paths of connection file and folder; start a kernel; write its process number."""
    os.environ["JPY_PARENT_PID"] = str(os.getpid())
    for name in SLOW:
        with suppress(ImportError):
            import_module(name)
    # A kernel that has ended must not stay as a zombie, which seems to be alive.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while line := sys.stdin.readline():
        file, folder = line.rstrip("\n").split("\t")
        process = os.fork()
        if process == 0:
            # Cells may wait for processes of their own; and what a kernel prints is no answer.
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, 0)
            os.dup2(nothing, 1)
            os.chdir(folder)
            from ipykernel.kernelapp import IPKernelApp

            IPKernelApp.launch_instance(argv=["--log-level=ERROR", "-f", file])
            return
        sys.stdout.write(f"{process}\n")
        sys.stdout.flush()
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    serve()
