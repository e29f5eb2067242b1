r"""
---
title: Execute
summary: Notebooks run from top to bottom, where their packages are and this repository is not.
---

A notebook promises to run anywhere. So it is executed in an environment of its own, which has the
packages that are installed here, but none that is installed from its sources: a notebook that still
needs the package it is made from fails.

Each notebook has its own process and its own empty folder. As many run at a time as there are
processors, each on one thread.
"""

import asyncio
import json
import os
import re
import signal
import subprocess
import sysconfig
import threading
import time
import venv
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty
from tempfile import TemporaryDirectory, mkdtemp

import nbformat
from jupyter_client import AsyncKernelClient
from nbformat import NotebookNode
from nbformat.v4 import output_from_msg

from literate.problems import LiterateError, Problem
from literate.source import Source

SERVER = Path(__file__).with_name("kernel_server.py")
# Seconds that a cell may take, on a machine that is busy with other things.
SECONDS = 300
# No accelerator, and pictures below their cells, wherever this runs.
ENVIRONMENT = {
    "CUDA_VISIBLE_DEVICES": "",
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "OBJC_DISABLE_INITIALIZE_FORK_SAFETY": "YES",  # macOS: the server only imports and forks
    "OMP_NUM_THREADS": "1",
}
# The first line of the cell that holds the form, and a field of it: name, value and kind.
FORM = "#@title Settings\n"
_FIELD = re.compile(r"(?m)^(?P<name>\w+) = (?P<value>.*?)(?P<kind>  #@param .*)$")
_OUTPUTS = {"stream", "display_data", "execute_result", "error"}
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def fill_in(text: str, values: Mapping[str, object]) -> NotebookNode:
    r"""
    ## Fill in the form of a notebook

    Each field takes its value from `values`, if there is one. So a notebook that trains for minutes
    can be tried in seconds.
    """

    def filled(field: re.Match[str]) -> str:
        if field["name"] not in values:
            return field[0]
        value = values[field["name"]]
        written = json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
        return f"{field['name']} = {written}{field['kind']}"

    notebook = nbformat.reads(text, as_version=4)
    for cell in notebook.cells:
        if cell.source.startswith(FORM):
            cell.source = _FIELD.sub(filled, cell.source)
    return notebook


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
    line: str = ""


class Kernels:
    r"""
    ## An environment without the checkout

    Its kernels are copies of [one process](kernel_server.py). `folder` is an empty one, which has
    to stay while notebooks run. At the end of a `with` block every kernel has ended.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
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

        # Isolated, it looks for modules neither beside its file nor where it runs. In a session of
        # its own it isn't interrupted before its notebooks are.
        self._asking = threading.Lock()
        self._server = subprocess.Popen(
            [python, "-I", SERVER],
            env=os.environ | ENVIRONMENT | own,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            text=True,
        )

    def __enter__(self) -> "Kernels":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        r"""
        ### End all kernels
        """
        with suppress(ProcessLookupError):
            os.killpg(self._server.pid, signal.SIGKILL)
        self._server.communicate()

    def run(self, notebook: NotebookNode, seconds: float = SECONDS) -> Failure | None:
        r"""
        ### Run a notebook

        Its cells get their outputs, up to one that fails or takes longer than `seconds`.
        """
        # A loop of its own, which is closed: several notebooks run at a time.
        return asyncio.run(self._run(notebook, seconds))

    async def _run(self, notebook: NotebookNode, seconds: float) -> Failure | None:
        async with self._kernel() as (client, process):
            for number, cell in enumerate(notebook.cells):
                if cell.cell_type == "code":
                    reason = await _run_cell(client, process, cell, seconds)
                    if reason:
                        return Failure(number, reason, _line(cell))
        return None

    @asynccontextmanager
    async def _kernel(self) -> AsyncIterator[tuple[AsyncKernelClient, int]]:
        file = Path(mkdtemp(dir=self.folder), "kernel.json")
        place = mkdtemp(dir=self.folder)
        with self._asking:
            assert self._server.stdin and self._server.stdout
            self._server.stdin.write(f"{file}\t{place}\n")
            self._server.stdin.flush()
            process = int(self._server.stdout.readline())
        try:
            # The kernel chooses its ports, and writes the file when it has them.
            while not _is_written(file):
                os.kill(process, 0)
                await asyncio.sleep(0.01)
            client = AsyncKernelClient(connection_file=str(file))
            client.load_connection_file()
            client.start_channels(stdin=False, hb=False)
            try:
                await client.wait_for_ready(SECONDS)
                yield client, process
            finally:
                client.stop_channels()
                client.context.term()
        finally:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


def _is_written(file: Path) -> bool:
    try:
        return bool(json.loads(file.read_text(encoding="utf-8")))
    except (FileNotFoundError, json.JSONDecodeError):
        return False


async def _run_cell(
    client: AsyncKernelClient, process: int, cell: NotebookNode, seconds: float
) -> str:
    r"""
    Collects the outputs of a cell until the kernel says that it is idle again. Returns why the
    notebook can't go on, empty if it can.
    """
    asked = client.execute(cell.source, store_history=True)
    end = time.monotonic() + seconds
    reason = ""
    while time.monotonic() < end:
        try:
            message = await client.get_iopub_msg(timeout=0.2)
        except Empty:
            try:
                os.kill(process, 0)
            except ProcessLookupError:
                return "ends the process"
            continue
        kind, content = message["msg_type"], message["content"]
        if message["parent_header"].get("msg_id") != asked:
            continue
        if kind in _OUTPUTS:
            cell.outputs.append(output_from_msg(message))
        if kind == "error":
            reason = f"raises {content['ename']}: {content['evalue']}"
        if kind == "status" and content["execution_state"] == "idle":
            return reason
    return f"takes longer than {seconds:g} s"


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
    values: Mapping[str, object],
    report: Callable[[str], None],
    seconds: float = SECONDS,
) -> None:
    r"""
    ## Execute notebooks

    * `sources` are all modules
    * `texts` are the notebooks, by module
    * `values` are those for their forms
    * `report` gets a line for each notebook that has run

    Raises a [LiterateError](problems.py#LiterateError) that names each notebook that failed, its
    cell and, if that stands in one place only, the line of the source.
    """
    problems: list[Problem] = []

    def one(module: str) -> None:
        started = time.perf_counter()
        notebook = fill_in(texts[module], values)
        failure = kernels.run(notebook, seconds)
        if failure is not None:
            problems.append(_problem(sources, module, notebook, failure))
            return
        seconds_taken = time.perf_counter() - started
        report(f"executed the notebook of {sources[module].path}, {seconds_taken:.1f} s")

    with (
        TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        Kernels(Path(folder)) as kernels,
        ThreadPoolExecutor(os.cpu_count()) as pool,
    ):
        try:
            for running in [pool.submit(one, module) for module in texts]:
                running.result()
        except BaseException:
            # What runs fails at once, for its kernels have ended; what waits isn't begun.
            pool.shutdown(wait=False, cancel_futures=True)
            kernels.stop()
            raise
    if problems:
        raise LiterateError(problems)


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
