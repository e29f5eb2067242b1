r"""Notebooks run in kernels that have the packages installed here, but not this repository.

Each kernel is a copy, made with `fork`, of a process that has imported what is slow to import.
"""

import asyncio
import json
import os
import re
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Self

import matplotlib
import nbformat
from jupyter_client import AsyncKernelClient
from nbformat import NotebookNode

from tests.forks import CONTEXT

# The values for the forms of our notebooks, so that training takes seconds.
FORM: Mapping[str, object] = {
    "corpus": "python", "steps": 20, "fine_tuning_steps": 2, "preference_steps": 2,
    "sample_length": 20, "folder": "random",
}  # fmt: skip
# Seconds for one cell on a busy machine.
SECONDS = 900
ROOT = Path(__file__).resolve().parents[1]


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
    r"""Kernels with files of their own below `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        r"""Each kernel has been ended when its notebook was."""

    def run(self, notebook: NotebookNode) -> None:
        r"""Give the cells their outputs, up to one that fails."""
        from nbclient import NotebookClient
        from nbclient.exceptions import CellExecutionError

        kernel = _Kernel(self.folder)
        # What a busy machine sends late is waited for, too: four seconds are usual.
        late = {"startup_timeout": SECONDS, "iopub_timeout": SECONDS}
        runner = NotebookClient(notebook, km=kernel, timeout=SECONDS, **late)
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

    def __init__(self, folder: Path) -> None:
        self.file = Path(mkdtemp(dir=folder), "kernel.json")
        self.asker = AsyncKernelClient(connection_file=str(self.file))
        self.process = CONTEXT.Process(target=_serve, args=(self.file, mkdtemp(dir=folder)))
        self.process.start()

    def client(self) -> AsyncKernelClient:
        r"""A client, as soon as the kernel has chosen its ports."""
        while not self.asker.shell_port:
            assert self.process.is_alive()
            time.sleep(0.01)
            with suppress(FileNotFoundError, json.JSONDecodeError):
                self.asker.load_connection_file()
        return self.asker

    def is_alive(self) -> bool:
        r"""For nbclient, which then ends it."""
        return True

    def shutdown_kernel(self, now: bool = True) -> None:
        r"""End the process."""
        self.process.kill()
        self.process.join()

    def cleanup_resources(self) -> None:
        r"""The folder goes with all others."""


def _serve(file: Path, folder: str) -> None:
    from ipykernel.kernelapp import IPKernelApp

    os.environ |= {
        "CUDA_VISIBLE_DEVICES": "",
        "IPYTHONDIR": str(file.parent),
        "JPY_PARENT_PID": str(os.getppid()),
    }
    matplotlib.use("module://matplotlib_inline.backend_inline")
    os.chdir(folder)
    # What it prints about itself.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    # What is in the repository can't be imported, wherever it is.
    ours = [one.partition(".")[0] for one in os.listdir(ROOT)]
    for name in [one for one in sys.modules if one.partition(".")[0] in ours]:
        del sys.modules[name]
    sys.modules |= dict.fromkeys(ours)
    IPKernelApp.launch_instance(argv=["--log-level=ERROR", "-f", str(file)])
