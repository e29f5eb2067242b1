r"""Settings and the repository's address."""

import re
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest

from literate.problems import LiterateError
from literate.settings import Settings, load
from literate.takeaway import repository
from tests.literate.projects import ROOT, write


def test_settings_are_found_above(tmp_path: Path) -> None:
    own = '[tool.literate]\nsources = { pkg = "" }\ndocs = "text"\n'
    other = {"pkg/pyproject.toml": "[tool.other]\n", "pkg/deep/a.py": ""}
    write(tmp_path, {"pyproject.toml": own} | other)
    found = load(tmp_path / "pkg" / "deep")
    assert (found.root, found.sources, found.docs) == (tmp_path, {"pkg": ""}, "text")
    assert found.notebooks == "notebooks"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[tool.other]", "no `pyproject.toml` with a table `[tool.literate]`"),
        ("[tool.literate]", "`tool.literate`: 'sources' is a required property."),
        ("[tool.literate]\nsources = {}", "`tool.literate.sources` is no table of packages"),
        ("[tool.literate]\nsources = { no = '' }", "names the package `no`, which is not a folder"),
        ("[tool.literate", "is not TOML"),
        *(
            (f"[tool.literate]\nsources = {{ pkg = '' }}\n{line}", words)
            for line, words in (
                (
                    "sorces = 1",
                    "pyproject.toml:3: `tool.literate` has no `sorces`; is `sources` meant, or ",
                ),
                ("documents = { 'no.md' = 'no.md' }", "the document `no.md`, which is not a file"),
                ("documents = { 'pyproject.toml' = 'a' }", "'a' does not match"),
                ("sequels = { f = 'no.py' }", "the sequel `no.py`, which is not a file"),
                ("compare = { 'no.json' = '' }", "the result `no.json`, which is not a file"),
                ("machinery = 'pkg'", "`tool.literate.machinery`: 'pkg' is no list."),
                ("words = { Card = 'GPU' }", "`tool.literate.words`: 'Card' does not match"),
                (
                    "limits = { 'pkg/*' = { size = 1 } }",
                    ":3: `tool.literate.limits['pkg/*']` has no `size`; there are `code`, ",
                ),
                ("lessons = { imports = {} }", "'pages' is a required property"),
            )
        ),
    ],
)
def test_wrong_settings_are_named(tmp_path: Path, text: str, words: str) -> None:
    write(tmp_path, {"pkg/a.py": "", "pyproject.toml": text})
    with pytest.raises(LiterateError) as caught:
        load(tmp_path)
    assert words in str(caught.value)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("https://github.com/a/b.git", "https://github.com/a/b"),
        ("https://github.com/a/b", "https://github.com/a/b"),
        ("git@github.com:a/b.git", "https://github.com/a/b"),
        ("ssh://git@github.com/a/b", "https://github.com/a/b"),
        ("https://user:secret@github.com/a/b", None),
        ("http://github.com/a/b", None),
        ("/srv/git/b.git", None),
    ],
)
def test_the_address_comes_from_the_remote_if_the_environment_has_none(
    remote: str, address: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REPOSITORY_URL", raising=False)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    assert repository.address(tmp_path) is None
    subprocess.run(["git", "remote", "add", "origin", remote], cwd=tmp_path, check=True)
    assert repository.address(tmp_path) == address
    monkeypatch.setenv("REPOSITORY_URL", "https://example.org/e/f/")
    assert repository.address(tmp_path) == "https://example.org/e/f"
    monkeypatch.setenv("REPOSITORY_URL", "")
    assert repository.address(tmp_path) is None


def test_all_settings_are_listed_for_those_who_have_a_package() -> None:
    text = (ROOT / "docs/own_package.md").read_text(encoding="utf-8")
    listed = re.findall(r"(?m)^\| `(\w+)` \|", text.partition("## The extras")[0])
    assert sorted(listed) == sorted(one.name for one in fields(Settings) if one.name != "root")
