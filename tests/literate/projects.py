r"""Small projects on the disk, and the commands that run in them."""

import hashlib
import os
import runpy
import socket
import subprocess
import sys
from collections.abc import Mapping
from importlib.machinery import PathFinder
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.forks import CONTEXT

ROOT = Path(__file__).resolve().parents[2]
KATEX = ROOT / "node_modules" / "katex"
SETTINGS = f'[tool.literate]\nsources = {{ pkg = "" }}\nexamples = ["pkg/*"]\nkatex = "{KATEX}"\n'
MKDOCS = """
site_name: Case
theme: { name: material, font: false }
plugins: [literate]
extra_css: [assets/katex/katex.min.css, assets/literate.css]
markdown_extensions: [footnotes, md_in_html, tables, toc, pymdownx.superfences]
validation: { omitted_files: warn, absolute_links: warn, unrecognized_links: warn, anchors: warn }
nav: [index.md]
"""

ATTENTION = '''r"""
---
title: Attention
summary: Scores.
---

A score for each pair, $d_k$ features. See [the start](__init__.py).
"""

import torch
from torch import Tensor


def scores(query: Tensor, key: Tensor) -> Tensor:
    r"""
    ## Scores

    From `[seq_len, batch_size, d_k]` to `[seq_len, seq_len, batch_size]`.
    """
    # One number for each pair: `[seq_len, seq_len, batch_size]`
    product = torch.einsum("ibd,jbd->ijb", query, key)
    return product


def example(seq_len: int = 7, batch_size: int = 3, d_k: int = 2) -> Tensor:
    r"""
    ## Example
    """
    query = torch.randn(seq_len, batch_size, d_k)
    return scores(query, query)
'''

HOME = '''r"""
---
title: Start
summary: Where it starts.
---

Read [attention](attention.py#scores), its [product](attention.py#L21) first.
"""
'''


def write(root: Path, files: Mapping[str, str]) -> None:
    r"""Write files, by their paths below a folder."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def run(root: Path, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    r"""What became of a module of Python that was run in a folder."""
    own = {"PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    environment = {**os.environ, **own, **variables}
    if _is_imported_before(root, command, variables):
        return _forked(root, command, environment)
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def _is_imported_before(root: Path, command: tuple[str, ...], variables: Mapping[str, str]) -> bool:
    r"""Whether a fork gives what a new process would: nothing there is imported in the place of a
    module that the fork has, and no variable changes Python itself."""
    modules = [
        one for one in root.iterdir() if one.suffix == ".py" or (one / "__init__.py").exists()
    ]
    return (
        command[0] in ("mkdocs", "literate", "pytest")
        and not any(name.startswith(("PYTHON", "LC_", "LANG", "TZ")) for name in variables)
        and not any(PathFinder.find_spec(one.stem) for one in modules)
    )


def _forked(
    root: Path, command: tuple[str, ...], environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    r"""The same in a fork of a process that has imported the command: that is most of its work."""
    with TemporaryDirectory() as folder:
        files = [str(Path(folder, name)) for name in ("out", "err")]
        given = (str(root), command, dict(environment), files)
        process = CONTEXT.Process(target=_run_module, args=given)
        process.start()
        process.join()
        said = [Path(one).read_text(encoding="utf-8") for one in files]
    return subprocess.CompletedProcess(command, process.exitcode, *said)


def _run_module(
    root: str, command: tuple[str, ...], environment: Mapping[str, str], files: list[str]
) -> None:
    for stream, name in enumerate(files, start=1):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT), stream)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(root)
    # As `python -m` has them.
    others = [one for one in sys.path if one not in ("", str(ROOT))]
    sys.path[:] = [root, str(ROOT), *others]
    sys.argv[1:] = command[1:]
    sys.dont_write_bytecode = True
    runpy.run_module(command[0], run_name="__main__", alter_sys=True)


def succeed(root: Path, *command: str, **variables: str) -> str:
    r"""What a module of Python says that was run in a folder and must not fail."""
    done = run(root, *command, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def purge(site: Path) -> None:
    r"""The last step of `make site`."""
    subprocess.run(["make", "purge", f"SITE={site}"], cwd=ROOT, check=True)


def free_address() -> str:
    r"""An address on the loopback at which nobody listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{bound.getsockname()[1]}"


def contents(folder: Path) -> dict[str, str]:
    r"""A hash of each file, by its path."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }
