r"""What one build keeps for the next changes no byte of the site."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.literate.projects import KATEX, contents, run, succeed, write

BASE = '''"""# Base

What [others](other.py) use.
"""


def double(value: float) -> float:
    """Computes twice the `value`.

    Args:
        value: a number
    """
    return 2 * value
'''
USER = '''"""# User

As [the notes](../docs/notes.md) say; no link leads to what its code uses.
"""

from pkg.base import double


def four_times(value: float) -> float:
    """Doubles twice."""
    # First once.
    return double(double(value))
'''
FILES = {
    "pyproject.toml": '[tool.literate]\nsources = { pkg = "" }\nstrict = false\n'
    f'katex = "{KATEX}"\n',
    "mkdocs.yml": "site_name: Case\ntheme: { name: material, font: false }\nplugins: [literate]\n",
    "docs/notes.md": "# Notes\n\nSee [base](../pkg/base.py).\n",
    "pkg/__init__.py": '"""# Package\n\n$a^2$ of [all](user.py), [double](base.py#double)\n"""\n',
    "pkg/base.py": BASE,
    "pkg/other.py": '"""# Other\n\nWith [a link](nowhere.md), which each says.\n\n'
    'And a `nubmer_of_pages`.\n"""\nnumber_of_pages = 1\n',
    "pkg/user.py": USER,
}
# Each takes the place of a text of a file, so that other pages change with that one.
CHANGES = {
    "a body that a snippet of another page has": ("pkg/base.py", "2 * value", "value + value"),
    "a title that another page shows": ("pkg/base.py", "# Base", "# The base"),
    "who uses it": ("pkg/user.py", "double(double(value))", "double(\n        double(value))"),
    "a name": ("pkg/base.py", "def double", "def twice"),
    "a link of a document": ("docs/notes.md", "base", "user"),
    "a setting": ("mkdocs.yml", "plugins:", "extra: { homepage: 'https://a.b' }\nplugins:"),
}


def site_of(folder: Path) -> tuple[dict[str, bytes], list[str]]:
    said = succeed(folder, "mkdocs", "build")
    found = {
        path.relative_to(folder / "site").as_posix(): path.read_bytes()
        for path in sorted((folder / "site").rglob("*"))
        if path.is_file() and path.name != "sitemap.xml"
    }
    return found, sorted(line for line in said.splitlines() if "Documentation built" not in line)


def changed(folder: Path, change: tuple[str, str, str]) -> None:
    path, old, new = change
    text = (folder / path).read_text()
    assert old in text
    (folder / path).write_text(text.replace(old, new))


def kept(folder: Path) -> Mapping[Path, bytes]:
    return {path: path.read_bytes() for path in (folder / ".cache/literate/pages").iterdir()}


@pytest.mark.parametrize(
    "names",
    [
        ["a body that a snippet of another page has", "a name"],
        pytest.param(list(CHANGES), marks=pytest.mark.whole),
    ],
)
def test_a_build_after_a_change_is_one_from_nothing(names: list[str], tmp_path: Path) -> None:
    write(tmp_path, FILES)
    site_of(tmp_path)
    for name in names:
        before = kept(tmp_path)
        changed(tmp_path, CHANGES[name])
        site, said = site_of(tmp_path)
        same = [path for path, content in kept(tmp_path).items() if before.get(path) == content]
        alone = {path for path, content in before.items() if b"which each says" in content}
        # Where a name changes, any page could have it. Else a page by itself is taken.
        assert name == "a name" or (alone and alone <= {*same})
        assert name == "a setting" or len(same) < len(before)
        shutil.rmtree(tmp_path / ".cache/literate/pages")
        shutil.rmtree(tmp_path / "site")
        assert (site, said) == site_of(tmp_path), name


def test_what_is_kept_is_taken_only_if_it_is_whole(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    first, _ = site_of(tmp_path)
    pages = kept(tmp_path)
    for at, (path, content) in enumerate(pages.items()):
        broken = [
            content[: len(content) // 2],
            content.replace(b"twice", b"thrice"),
            b"\xff[]",
            b"",
        ]
        path.write_bytes(broken[at % len(broken)])
    (tmp_path / ".cache/literate/pages/of somebody else").write_text("{}")
    again, _ = site_of(tmp_path)
    assert again == first
    assert {path: len(content) for path, content in kept(tmp_path).items()} == {
        path: len(content) for path, content in pages.items()
    }


def test_a_build_takes_from_the_old_site_what_it_would_write_just_so(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    first, _ = site_of(tmp_path)
    site = tmp_path / "site"
    same, edited = site / "snippets/base/double.py", site / "snippets/base/double.bare.py"
    moved = same.stat().st_ino
    edited.write_text("a line of somebody")
    write(site, {"gone/index.html": "of a page that is gone", ".nojekyll": ""})
    # What a build has left that was killed.
    write(tmp_path, {".cache/literate/site/snippets/base/four.py": "old"})
    again, _ = site_of(tmp_path)
    assert same.stat().st_ino == moved
    assert again == {**first, ".nojekyll": b""}
    assert not (tmp_path / ".cache/literate/site").exists()


def test_a_build_that_stops_leaves_the_site_as_it_was(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    site_of(tmp_path)
    before = contents(tmp_path / "site")
    settings = (tmp_path / "pyproject.toml").read_text(encoding="utf-8")
    write(tmp_path, {"pyproject.toml": settings.replace("strict = false", "strict = true")})
    assert run(tmp_path, "mkdocs", "build").returncode == 1
    assert contents(tmp_path / "site") == before
    assert not (tmp_path / ".cache/literate/site").exists()


def test_a_name_that_was_that_of_a_file_is_looked_up_again(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    for is_file in (False, True, False):
        (tmp_path / "nubmer_of_pages").unlink(missing_ok=True)
        if is_file:
            (tmp_path / "nubmer_of_pages").touch()
        _, said = site_of(tmp_path)
        assert any("is `number_of_pages` meant?" in line for line in said) != is_file
