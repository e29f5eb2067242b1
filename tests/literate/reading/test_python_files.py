r"""What is a source, in a folder that holds much else."""

import subprocess
from pathlib import Path

import pytest

from literate.reading.python_files import idle, placed, python_files
from literate.settings import Settings
from tests.literate.projects import write

FILES = [
    "model.py",
    "tools/build/__init__.py",
    "tools/build/b.py",
    "tools/secret.py",
    "deep/er/c.py",
    # And what is left out.
    ".hidden.py",
    ".cache/literate/npm/a.py",
    ".venv/lib/old.py",
    "venv/lib/foo/a.py",
    "mine/lib/a.py",
    "build/lib/model.py",
    "node_modules/katex/a.py",
    "site/snippets/model.py",
    "docs/conf.py",
    "notebooks/model.py",
    "results/plot.py",
    "tools/__pycache__/a.py",
]
MARKS = ["mine/pyvenv.cfg", "site/assets/katex/katex.min.css"]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    write(tmp_path, dict.fromkeys([*FILES, *MARKS], ""))
    return tmp_path


def test_the_root_folder_has_its_modules_and_nothing_that_programs_wrote(tree: Path) -> None:
    assert python_files(Settings(tree, {".": ""})) == {
        "deep/er/c.py": "deep/er/c.md",
        "model.py": "model.md",
        "tools/build/__init__.py": "tools/build/index.md",
        "tools/build/b.py": "tools/build/b.md",
        "tools/secret.py": "tools/secret.md",
    }
    # What is named is read, wherever it lies.
    for named in ("venv/lib", ".cache/literate", "docs"):
        (found,) = python_files(Settings(tree, {named: "x"}))
        assert found.startswith(f"{named}/")


@pytest.mark.parametrize(
    ("patterns", "left"),
    [
        (["tools"], ["deep/er/c.py", "model.py"]),
        (["tools/"], ["deep/er/c.py", "model.py"]),
        (["*/secret.py", "deep/*"], ["model.py", "tools/build/__init__.py", "tools/build/b.py"]),
        (["*"], []),
    ],
)
def test_what_the_settings_exclude_is_left_out(
    tree: Path, patterns: list[str], left: list[str]
) -> None:
    assert list(python_files(Settings(tree, {".": ""}, exclude=patterns))) == left


def test_a_pattern_that_excludes_nothing_is_told(tree: Path) -> None:
    (tree / "pyproject.toml").write_text('exclude = [\n"secret.*",\n"nobody/*",\n"tools/"]\n')
    settings = Settings(tree, {".": ""}, exclude=["secret.*", "nobody/*", "tools/"])
    said = "no file or folder of a package matches it"
    assert [str(one) for one in idle(settings)] == [
        f"pyproject.toml:2: `exclude` names `secret.*`, but {said}; is `*/secret.*` meant?",
        f"pyproject.toml:3: `exclude` names `nobody/*`, but {said}.",
    ]


def test_what_git_ignores_is_left_out_but_for_a_package_that_is_named(tree: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
    (tree / ".gitignore").write_text("secret.py\n/deep/\nmodel.py\n")
    # What is tracked is the author's.
    subprocess.run(["git", "add", "--force", "model.py"], cwd=tree, check=True)
    whole = python_files(Settings(tree, {".": ""}))
    assert list(whole) == ["model.py", "tools/build/__init__.py", "tools/build/b.py"]
    assert list(python_files(Settings(tree, {"deep": ""}))) == ["deep/er/c.py"]


def test_two_that_want_one_page_are_named_with_the_remedy() -> None:
    wanted = {"p/index.py": "index.md", "p/__init__.py": "index.md", "p/README.py": "README.md"}
    pages, (first, second) = placed(wanted, {}, Settings(Path(), {"p": ""}, strict=False))
    assert pages == {
        "p/index.py": "index_py.md",
        "p/__init__.py": "index.md",
        "p/README.py": "README_py.md",
    }
    assert str(first) == (
        "p/index.py:1: would be the page `index.md`, which is that of `p/__init__.py`; rename it, "
        "or name it in `exclude`. Until then, `p/index.py` is `index_py.md`."
    )
    assert second.path == "p/README.py" and "`README.md`" in second.sentence
    # A document keeps its page. A package has the name of its folder, if that is free.
    wanted = {"p/__init__.py": "index.md", "p/p.py": "p.md"}
    settings = Settings(Path(), {"p": ""})
    pages, (told,) = placed(wanted, {"docs/index.md": "index.md"}, settings)
    assert pages == {"p/__init__.py": "p_py.md", "p/p.py": "p.md"}
    assert str(told) == (
        "docs/index.md:1: would be the page `index.md`, which is that of `p/__init__.py`; move it, "
        'or give the package its folder: `sources = { "p" = "p" }`.'
    )
