r"""Notebooks of packages that know nothing of the tool."""

from pathlib import Path
from textwrap import dedent

import nbformat
import pytest

from literate.__main__ import main

LAYER = '''
    r"""
    ---
    title: A Layer
    summary: It halves.
    ---
    """

    HALF = 0.5


    def halve(x: float) -> float:
        return x * HALF


    def example() -> float:
        return halve(1.0)
'''
FILES = {
    "theirs/src/theirs/__init__.py": "",
    "theirs/src/theirs/layer.py": LAYER,
    "theirs/src/theirs/deep/__init__.py": "",
    "theirs/src/theirs/deep/page.py": LAYER.replace("HALF = 0.5", "from theirs.layer import HALF")
    .replace("def halve", "def halve_again")
    .replace("return halve", "return halve_again"),
    "theirs/src/theirs/deep/nothing.py": "X = 1",
    "alone/one.py": LAYER.replace("HALF = 0.5", "from other import HALF"),
    "alone/other.py": "HALF = 0.5",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    r"""A folder with packages and no settings, which is the current one."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text).lstrip("\n"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(folder: Path) -> list[str]:
    r"""The notebooks below a folder."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.ipynb"))


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["theirs/src/theirs"], ["deep/page.ipynb", "layer.ipynb"]),
        (["theirs/src/theirs/deep"], ["deep/page.ipynb"]),
        (["theirs/src/theirs/layer.py"], ["layer.ipynb"]),
        (["alone/one.py"], ["one.ipynb"]),
        (["alone/one.py", "theirs/src/theirs/layer.py"], ["layer.ipynb", "one.ipynb"]),
    ],
)
def test_a_package_without_settings_has_notebooks(
    folder: Path, paths: list[str], expected: list[str]
) -> None:
    assert main(["notebooks", *paths, "--out", "out"]) == 0
    assert written(folder) == [f"out/{name}" for name in expected]
    for name in expected:
        notebook = nbformat.read(folder / "out" / name, as_version=4)
        names: dict[str, object] = {}
        code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
        for text in code:
            exec(text, names)
        assert names["example"]() == 0.5
    assert main(["notebooks", *paths, "--out", "out", "--check"]) == 0


@pytest.mark.parametrize(
    ("path", "old", "new", "said"),
    [
        ("theirs/src/theirs/layer.py", "HALF = 0.5", "HALF = (", "layer.py:8: "),
        (
            "theirs/src/theirs/deep/page.py",
            "from theirs.layer import HALF",
            "from theirs.layer import HALVES as HALF",
            "page.py:8: imports `HALVES` from theirs.layer, which does not define it.",
        ),
        (
            "theirs/src/theirs/layer.py",
            "return x * HALF",
            "return __import__(str(x))",
            "layer.py:12: `__import__` imports a module while the code runs, so nobody can tell",
        ),
    ],
)
def test_what_cannot_be_copied_is_named_by_the_file_as_it_is_from_here(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    path: str,
    old: str,
    new: str,
    said: str,
) -> None:
    file = folder / path
    file.write_text(file.read_text().replace(old, new))
    monkeypatch.chdir(folder / "alone")
    assert main(["notebooks", "../theirs/src/theirs", "--out", "out"]) == 1
    errors = capsys.readouterr().err
    assert errors.startswith(f"../{Path(path).parent}/{said}")
    assert written(folder) == []


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("nowhere", "nowhere:1: is neither a folder nor a Python file."),
        ("theirs/none.py", "theirs/none.py:1: is neither a folder nor a Python file."),
        (
            "theirs/src/theirs/deep/nothing.py",
            "theirs/src/theirs/deep/nothing.py:1: has no notebook: nothing in it defines a function"
            " `example` or `notebook`.",
        ),
    ],
)
def test_a_path_without_a_notebook_is_an_error(
    folder: Path, capsys: pytest.CaptureFixture[str], path: str, said: str
) -> None:
    assert main(["notebooks", path]) == 1
    assert capsys.readouterr().err == f"{said}\n"
    assert written(folder) == []


def test_modules_that_import_each_other_are_an_error_that_names_the_circle(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "alone" / "one.py").write_text(
        dedent(LAYER)
        .lstrip("\n")
        .replace("HALF = 0.5", "from other import Base\n\n\nclass One(Base): pass")
    )
    (folder / "alone" / "other.py").write_text("from one import One\n\n\nclass Base(One): pass\n")
    assert main(["notebooks", "alone/one.py"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("alone/o")
    assert "which is not defined yet when the modules import each other; break the circle." in said


def test_two_pages_with_one_notebook_are_an_error(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "alone" / "layer.py").write_text(dedent(LAYER).lstrip("\n"))
    assert main(["notebooks", "alone/layer.py", "theirs/src/theirs", "--out", "out"]) == 1
    said = capsys.readouterr().err
    assert said.count("layer.py:1: would be out/layer.ipynb, as another page is") == 1
    assert written(folder) == []
