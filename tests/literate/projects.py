r"""Small projects on the disk, and the commands that run in them."""

import hashlib
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

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
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=root,
        env={**os.environ, **own, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


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
