r"""Small projects on the disk, and the commands that run in them."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KATEX = ROOT / "node_modules" / "katex"
SETTINGS = f'[tool.literate]\nsources = {{ pkg = "" }}\nkatex = "{KATEX}"\n'
MKDOCS = """
site_name: Case
theme: { name: material, font: false }
plugins: [literate]
extra_css: [assets/katex/katex.min.css, assets/literate.css]
markdown_extensions: [footnotes, md_in_html, tables, toc, pymdownx.superfences]
validation: { omitted_files: warn, absolute_links: warn, unrecognized_links: warn, anchors: warn }
nav: [index.md]
"""


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
