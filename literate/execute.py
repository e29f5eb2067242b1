r"""
---
title: Execute
summary: Notebooks run from top to bottom, where their packages are and this repository is not.
---

A notebook promises to run anywhere. So it is executed in an environment of its own, which has the
packages that are installed here, but none that is installed from its sources: a notebook that still
needs the package it is made from fails.

Each notebook has its own process and its own empty folder. As many run at a time as there are
processors, each on one thread, so that the sums come out the same on every machine of a kind.
"""

import asyncio
import json
import logging
import os
import re
import signal
import sysconfig
import time
import venv
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from jupyter_client import AsyncKernelManager
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from literate.executed import Shelf
from literate.problems import LiterateError, Problem
from literate.source import Source

KERNEL = "alone"
# Seconds that a cell may take, on a machine that is busy with other things.
SECONDS = 300
# No accelerator, and pictures below their cells, wherever this runs.
ENVIRONMENT = {
    "CUDA_VISIBLE_DEVICES": "",
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "OMP_NUM_THREADS": "1",
}
# Isolated, and silent about what it takes for granted.
ARGUMENTS = ["-I", "-m", "ipykernel_launcher", "--log-level=ERROR"]
# What went wrong is told in a problem, and nowhere else.
_LOG = logging.getLogger(__name__)
_LOG.addHandler(logging.NullHandler())
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Failure:
    r"""
    ## Where a notebook stopped

    * `cell` is the number of the cell, from 0
    * `reason` says why, in words that follow the name of the cell
    * `line` is the line of the cell that failed, empty if none is known
    """

    cell: int
    reason: str
    line: str


class Kernels:
    r"""
    ## An environment without the checkout

    `folder` is an empty one, which has to stay while notebooks run.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._processes: set[int] = set()
        self._is_stopped = False
        environment = folder / "environment"
        venv.create(environment, symlinks=True)
        scheme = {"base": str(environment), "platbase": str(environment)}
        packages = Path(sysconfig.get_path("purelib", "venv", scheme))
        # A folder that a .pth file names is not searched for more .pth files, and those are what
        # makes a checkout importable.
        here = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
        (packages / "packages.pth").write_text("\n".join(here) + "\n", encoding="utf-8")
        python = Path(sysconfig.get_path("scripts", "venv", scheme)) / "python"
        own = {name: str(folder / name) for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR")}
        spec = {
            "argv": [str(python), *ARGUMENTS, "-f", "{connection_file}"],
            "display_name": "Python without the checkout",
            "language": "python",
            "env": ENVIRONMENT | own,
        }
        file = folder / "kernels" / KERNEL / "kernel.json"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps(spec), encoding="utf-8")

    def run(self, notebook: NotebookNode, seconds: float = SECONDS) -> Failure | None:
        r"""
        ### Run a notebook

        Its cells get their outputs, up to one that fails or takes longer than `seconds`.
        """
        # A loop of its own, which is closed: several notebooks run at a time.
        return asyncio.run(self._run(notebook, seconds))

    def stop(self) -> None:
        r"""
        ### End what runs

        What is just starting ends when it has.
        """
        self._is_stopped = True
        for process in tuple(self._processes):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    async def _run(self, notebook: NotebookNode, seconds: float) -> Failure | None:
        with TemporaryDirectory(dir=self.folder, prefix="connection-") as connection:
            manager = AsyncKernelManager(
                kernel_name=KERNEL,
                kernel_spec_manager=KernelSpecManager(
                    kernel_dirs=[str(self.folder / "kernels")], ensure_native_kernel=False
                ),
                connection_file=str(Path(connection, "kernel.json")),
            )
            client = NotebookClient(
                notebook,
                km=manager,
                timeout=seconds,
                record_timing=False,
                log=_LOG,
                resources={"metadata": {"path": mkdtemp(dir=self.folder)}},
            )
            # With this it ends the kernel, too.
            client.owns_km = True
            async with client.async_setup_kernel():
                process = manager.provisioner.pid
                self._processes.add(process)
                try:
                    return None if self._is_stopped else await _run_cells(client, notebook)
                finally:
                    self._processes.discard(process)


async def _run_cells(client: NotebookClient, notebook: NotebookNode) -> Failure | None:
    for number, cell in enumerate(notebook.cells):
        try:
            await client.async_execute_cell(cell, number)
        except CellExecutionError as error:
            return Failure(number, f"raises {error.ename}: {error.evalue}", _line(cell))
        except CellTimeoutError:
            return Failure(number, f"takes longer than {client.timeout:g} s", "")
        except DeadKernelError:
            return Failure(number, "ends the process", "")
    return None


def _line(cell: NotebookNode) -> str:
    r"""
    Of the lines that a traceback marks with an arrow, the last one that stands in the notebook.
    """
    found = ""
    for one in cell.outputs:
        for frame in one.get("traceback", []):
            text = _COLOUR.sub("", frame)
            marked = re.search(r"(?m)^-+> *\d+ (.*)$", text)
            if marked and re.match(r"Cell In\s?\[", text):
                found = marked[1].strip()
    return found


def execute(
    sources: Mapping[str, Source],
    texts: Mapping[str, str],
    shelf: Shelf,
    report: Callable[[str], None],
    seconds: float = SECONDS,
) -> int:
    r"""
    ## Execute notebooks and keep their outputs

    * `sources` are all modules
    * `texts` are the notebooks, by module
    * `shelf` is where outputs are kept; a notebook that has some there is not executed
    * `report` gets a line for each notebook that is

    Returns how many were executed. Raises a [LiterateError](problems.py#LiterateError) that names
    each notebook that failed, its cell and, if that stands in one place only, the line of the
    source. The outputs of the others are kept.
    """
    waiting = {module: text for module, text in texts.items() if not shelf.has(module, text)}
    if not waiting:
        return 0
    problems: list[Problem] = []

    def one(module: str) -> None:
        started = time.perf_counter()
        notebook = shelf.fill_in(waiting[module])
        failure = kernels.run(notebook, seconds)
        path = sources[module].path
        if failure is not None:
            problems.append(_problem(sources, module, notebook, failure))
            return
        shelf.keep(module, notebook)
        report(f"executed the notebook of {path}, {time.perf_counter() - started:.1f} s")

    workers = min(len(waiting), os.cpu_count() or 1)
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        kernels = Kernels(Path(folder))
        with ThreadPoolExecutor(workers) as pool:
            try:
                # The longest first would be best; it isn't known.
                for running in [pool.submit(one, module) for module in waiting]:
                    running.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                kernels.stop()
                raise
    if problems:
        raise LiterateError(problems)
    return len(waiting)


def _problem(
    sources: Mapping[str, Source], module: str, notebook: NotebookNode, failure: Failure
) -> Problem:
    number = sum(one.cell_type == "code" for one in notebook.cells[: failure.cell + 1])
    first = notebook.cells[failure.cell].source.partition("\n")[0]
    path, line = _place(sources, module, failure.line or first)
    sentence = (
        f"cell {number} of the notebook of {sources[module].path}, which begins with `{first}`, "
        f"{failure.reason.rstrip('.')}."
    )
    return Problem(path, line, sentence)


def _place(sources: Mapping[str, Source], module: str, text: str) -> tuple[str, int]:
    r"""
    The page itself is looked at first. A line that stands in many places is in none of them.
    """
    for names in ([module], [*sources]):
        places = [
            (sources[name].path, line.number)
            for name in names
            for line in sources[name].lines
            if line.text.strip() == text.strip()
        ]
        if len(places) == 1:
            return places[0]
    return sources[module].path, 1


def unused(texts: Iterable[str], values: Mapping[str, object], file: str) -> list[Problem]:
    r"""
    ## The values that no form takes

    Each may be a slip of the pen. `file` is where they are set.
    """
    named = {name for text in texts for name in re.findall(r'"(\w+) = .*  #@param', text)}
    return [
        Problem(file, 1, f"`form` of `tool.literate` sets `{name}`, which no notebook's form has.")
        for name in values
        if name not in named
    ]
