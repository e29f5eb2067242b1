r"""
---
title: Saved Outputs
summary: A notebook is run, and keeps what it gave for as long as its code is the same.
---

A reader who runs a cell wants to know what should come out. So the notebooks that are published
have the outputs of one run, and say in their heads when and where that was. Those of the repository
have none: they are compared byte for byte on every machine.

Outputs belong to code. A notebook that is written again takes over the outputs that are there,
if no line of its code has changed since; else it has none, until it is run again. A note can
change without a run.
"""

import asyncio
import hashlib
import os
import platform
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from literate.problems import Problem
from literate.results.machine import cores, processor

# Seconds for one cell: the longest trains for some minutes on two cores.
SECONDS = 3600
COMMAND = "python -m literate notebooks --run"


def with_outputs(built: str, path: Path) -> str:
    r"""
    ## A notebook with the outputs that are there

    `built` is its text without outputs, and `path` the file that it replaces. It stays without
    outputs if the code has changed since, or if the file has none.
    """
    try:
        before = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
        told = before.metadata.literate.outputs
    except (OSError, ValueError, AttributeError):
        return built
    if told.code != digest(nbformat.reads(built, as_version=4)):
        return built
    return _joined(built, before, told)


def is_bare(text: str) -> bool:
    r"""
    ## Whether a notebook has no outputs
    """
    return "outputs" not in nbformat.reads(text, as_version=4).metadata.get("literate", {})


def digest(notebook: NotebookNode) -> str:
    r"""
    ## What tells whether the code is the same
    """
    code = "\n\n".join(cell.source for cell in _code(notebook))
    return hashlib.sha256(code.encode()).hexdigest()[:16]


def execute(
    texts: Mapping[Path, str], report: Callable[[str], None]
) -> tuple[dict[Path, str], list[Problem]]:
    r"""
    ## Run notebooks

    Each from top to bottom, in a kernel and an empty folder of its own, on one thread; as many at a
    time as there are cores. Returns their texts with outputs, and what was wrong with those that
    failed.
    """
    with ThreadPoolExecutor(cores()) as pool:
        done = [*pool.map(lambda path: _executed(path, texts[path], report), texts)]
    fresh = {path: text for path, text in zip(texts, done, strict=True) if isinstance(text, str)}
    return fresh, [one for one in done if isinstance(one, Problem)]


def _executed(path: Path, text: str, report: Callable[[str], None]) -> str | Problem:
    # They take a while to load, and only this needs them.
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    notebook = nbformat.reads(text, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        # Also what IPython writes to a home folder goes with it.
        own = {"OMP_NUM_THREADS": "1", "IPYTHONDIR": f"{folder}/.ipython"}
        client = NotebookClient(
            notebook,
            kernel_name="python3",
            timeout=SECONDS,
            record_timing=False,
            extra_arguments=["--log-level=ERROR"],
            resources={"metadata": {"path": folder}},
        )
        try:
            asyncio.run(client.async_execute(env={**os.environ, **own}))
        except CellExecutionError as error:
            sentence = f"failed: {error.ename}: {error.evalue}"
            return Problem(path.as_posix(), 1, sentence)
    report(f"ran {path}")
    told = {
        "code": digest(notebook),
        "made": date.today().isoformat(),
        "machine": _machine(),
    }
    return _joined(text, notebook, told)


def _joined(built: str, ran: NotebookNode, told: Mapping[str, str]) -> str:
    r"""
    The text with the outputs of a run. What a reader is told of them stands at the end of the head.
    """
    notebook = nbformat.reads(built, as_version=4)
    for cell, done in zip(_code(notebook), _code(ran), strict=True):
        cell.outputs = done.outputs
        cell.execution_count = done.execution_count
    sentence = (
        f"The outputs below are those of `{COMMAND}` on {told['made']}, {told['machine']}. "
        "Run a cell, and yours take their place."
    )
    notebook.cells[0].source += f"\n\n{sentence}"
    notebook.metadata.literate = {**notebook.metadata.get("literate", {}), "outputs": dict(told)}
    return nbformat.writes(notebook) + "\n"


def _code(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _machine() -> str:
    r"""
    The processor, its cores, and the versions that decide about digits.
    """
    number = cores()
    words = [
        processor(),
        f"{number} core{'' if number == 1 else 's'}",
        f"Python {'.'.join(platform.python_version_tuple()[:2])}",
    ]
    with suppress(PackageNotFoundError):
        words.append(f"PyTorch {version('torch').partition('+')[0]}")
    return ", ".join(words)
