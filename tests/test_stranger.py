r"""The package of a stranger: the tool is installed, `mkdocs build` is typed, and that is all.

Its docstrings are as many people write them: not raw, a heading for a title, anchors in HTML, links
to the pages that will be.
"""

from pathlib import Path

import pytest

from tests.literate.projects import ROOT, succeed, write
from tests.test_repository import copied, files

FILES = {
    "pyproject.toml": '[tool.literate]\nsources = { theirs = "" }\nstrict = false\n',
    "mkdocs.yml": "site_name: Theirs\ntheme: { name: material, font: false }\n"
    "plugins: [literate]\nnav: [index.md, part.md]\n",
    "docs/.keep": "",
    "theirs/__init__.py": '''"""
# A <package> {{ of }} theirs

It has one [part](part.html#Here).
"""
''',
    "theirs/part.py": '''"""
---
title: A part
summary: Half of it.
---

# A part

$$\\\\frac{a}{b} =
c$$

An [unknown page](nowhere.html), and a claim: `[seq_len, batch_size]`.
"""


class Half:
    """
    <a id="Here"></a>

    ## Half of a part

    Of $x$ the half. See [the start](index.html).
    """

    def __call__(self, x: float) -> float:
        # Half of it
        return x / 2
''',
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    r"""The tool as pip installs it: what it needs of the checkout must be in the package."""
    folder = tmp_path_factory.mktemp("installed")
    copy = tmp_path_factory.mktemp("checkout")
    copied(copy)
    pip = ("pip", "install", "--no-deps", "--no-build-isolation", "--no-compile", "--quiet")
    succeed(copy, *pip, "--target", str(folder), str(copy))
    return folder


def test_the_package_holds_the_modules_and_the_files_they_read(installed: Path) -> None:
    packages = {"labml_nn", "literate", "livepage"}
    apart = {"bin", *(one.name for one in installed.glob("*.dist-info"))}
    assert {one.name for one in installed.iterdir()} - apart == packages
    held = {one.relative_to(installed) for one in installed.rglob("*") if one.is_file()}
    assert {one for one in held if one.parts[0] in packages} == {
        one for one in files() if one.parts[0] in packages
    }


@pytest.mark.parametrize("engine", [("mkdocs", "build"), ("literate", "zensical")])
def test_a_package_of_a_stranger_needs_one_command(
    installed: Path, tmp_path: Path, engine: tuple[str, ...]
) -> None:
    write(tmp_path, FILES)
    # npm has what `make` fetched for this project, and no network.
    variables = {
        "PYTHONPATH": str(installed),
        "NPM_CONFIG_CACHE": str(ROOT / ".cache/npm"),
        "NPM_CONFIG_OFFLINE": "true",
    }
    said = succeed(tmp_path, *engine, **variables)
    # Problems are warnings here, each with its place.
    assert "theirs/part.py:12: the link to `nowhere.html` leads to nothing" in said
    assert "theirs/part.py:12: the note says [seq_len, batch_size]" in said
    home = (tmp_path / "site/index.html").read_text()
    assert "<h1" in home and "A &lt;package&gt; {{ of }} theirs" in home
    assert 'href="part/#Here"' in home
    part = (tmp_path / "site/part/index.html").read_text()
    assert part.count("<h1") == 1 and part.count('id="Here"') == 1 and 'id="Half"' in part
    assert part.count("<math") == 2 and "assets/katex/katex.min.css" in part
    assert 'href=".."' in part or 'href="../"' in part
    assert (tmp_path / "site/assets/katex/fonts/KaTeX_Math-Italic.woff2").is_file()
    # Nothing of theirs was written beside the site and the named cache.
    assert {one.name for one in tmp_path.iterdir()} == {
        ".cache", "docs", "mkdocs.yml", "pyproject.toml", "site", "theirs"
    }  # fmt: skip
