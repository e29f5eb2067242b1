r"""The package of a stranger: the tool is installed, `mkdocs build` is typed, and that is all.

Its docstrings are as many people write them: not raw, a heading for a title, anchors in HTML, links
to the pages that will be. And a package that really is somebody else's, by the words of README.md.
"""

import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from literate.reading.source import read
from tests.literate.projects import ROOT, run, succeed, write
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

# What makes a package of a folder that is one by itself.
APART = {Path("wrongline", name) for name in ("LICENSE", "README.md", "pyproject.toml")}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    r"""The tool as pip installs it: what it needs of the checkout must be in the package."""
    folder = tmp_path_factory.mktemp("installed")
    copy = tmp_path_factory.mktemp("checkout")
    copied(copy)
    pip = ("pip", "install", "--no-deps", "--no-build-isolation", "--no-compile", "--quiet")
    addresses = {
        "SITE_URL": "https://a.example.org/b/",
        "REPOSITORY_URL": "https://example.org/a/b",
    }
    succeed(copy, *pip, "--target", str(folder), str(copy), **addresses)
    return folder


def test_the_package_names_its_author_and_the_addresses_of_its_fork(installed: Path) -> None:
    (metadata,) = installed.glob("*.dist-info/METADATA")
    told = metadata.read_text(encoding="utf-8").partition("\n\n")[0].splitlines()
    assert "Author: The annotated transformers authors" in told
    assert "Project-URL: Documentation, https://a.example.org/b/" in told
    assert "Project-URL: Issues, https://example.org/a/b/issues" in told
    assert "Classifier: Programming Language :: Python :: 3.13" in told


def test_the_package_holds_the_modules_and_the_files_they_read(installed: Path) -> None:
    packages = {"browser_torch", "labml_nn", "literate", "page_runner", "wrongline"}
    apart = {"bin", *(one.name for one in installed.glob("*.dist-info"))}
    assert {one.name for one in installed.iterdir()} - apart == packages
    held = {one.relative_to(installed) for one in installed.rglob("*") if one.is_file()}
    assert {one for one in held if one.parts[0] in packages} == {
        one for one in files() if one.parts[0] in packages and one not in APART
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
    # Nobody has asked for a measurement.
    assert "[seq_len, batch_size]" not in said
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


def test_the_readme_leads_from_a_package_of_somebody_else_to_its_site(
    installed: Path, tmp_path: Path
) -> None:
    theirs = Path(find_spec("jinja2").origin).parent
    shutil.copytree(theirs, tmp_path / "jinja2", ignore=shutil.ignore_patterns("__pycache__"))
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text.partition("## Make pages of your own package\n")[2].partition("\n## ")[0]
    blocks = re.findall(r"```(\w+)\n(.*?)```", section, re.DOTALL)
    files = {"toml": "pyproject.toml", "yaml": "mkdocs.yml"}
    variables = {
        "PYTHONPATH": str(installed),
        "NPM_CONFIG_CACHE": str(ROOT / ".cache/npm"),
        "NPM_CONFIG_OFFLINE": "true",
    }
    said = {}
    for language, block in blocks:
        content = block.replace("my_package", "jinja2")
        if language in files:
            assert f"`{files[language]}`" in section
            write(tmp_path, {files[language]: content})
            continue
        for command in content.splitlines():
            name, *arguments = command.removeprefix("python -m ").split()
            if name == "mkdir":
                (tmp_path / arguments[0]).mkdir()
            elif name != "pip":
                said[name] = run(tmp_path, name, *arguments, **variables)
    assert said["mkdocs"].returncode == 0, said["mkdocs"].stderr
    # Each module has its page, and so has the package, with every line of its code.
    for path in (tmp_path / "jinja2").glob("*.py"):
        folder = "" if path.stem == "__init__" else path.stem
        page = (tmp_path / "site" / folder / "index.html").read_text()
        assert f'id="L{max(source_lines(path))}"' in page
        assert len(re.findall(r'<span class="line" id="L', page)) == len(source_lines(path))
    # What the check says is a file, a line and a sentence; or of many files how many they are.
    sentences = said["literate"].stderr.splitlines()
    assert all(re.match(r"(jinja2/\w+\.py:\d+:|\d+) .*[.?]$", one) for one in sentences)
    # Besides titles and labels, a mistake of its authors is told.
    mistakes = [
        "jinja2/sandbox.py:105: “.. code-block:” isn't read as a directive; "
        "write “.. code-block:: …”."
    ]
    assert [one for one in sentences if one.startswith("jinja2/")] == mistakes
    assert said["literate"].returncode == 1
    assert any(re.match(r"\d+ modules have no title, as jinja2/", one) for one in sentences)
    # The build tells the same, and warns of the mistake alone.
    told = re.findall(r"INFO +-  (.*)", said["mkdocs"].stderr)
    assert {one for one in sentences if one[0].isdigit()} <= {*told}
    warned = re.findall(r"WARNING +-  (.*)", said["mkdocs"].stderr)
    assert [one for one in warned if "jinja2" in one] == mistakes
    # The licence is not this project's.
    snippets = [one.read_text() for one in (tmp_path / "site/snippets").rglob("*.py")]
    assert snippets and not any("Licence" in one for one in snippets)


def source_lines(path: Path) -> list[int]:
    return [line.number for line in read(path).lines if line.kind == "code"]
