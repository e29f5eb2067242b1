r"""Packages as other people write them: what can't be read or run stops nothing, and is said."""

import re
from pathlib import Path

import pytest

from tests.literate.projects import KATEX, run, succeed, write
from tests.literate.shown import Shown

LENIENT = f'[tool.literate]\nsources = {{ pkg = "" }}\nstrict = false\nkatex = "{KATEX}"\n'
SITE = "site_name: x\ntheme: { name: material, font: false }\nplugins: [literate]\n"


def page_of(project: Path, name: str) -> Shown:
    return Shown((project / "site" / name / "index.html").read_text(encoding="utf-8"))


RUN = '''"""# M"""
import pathlib

pathlib.Path("IMPORTED").write_text("x")


class A:
    def example(self):
        return 1


def example(n=4, *, flag=True):
    pathlib.Path("RUN").write_text("x")
    raise ConnectionError(n)


def notebook(path: str = "a.wav"):
    return open(path)
'''
FAILS = '"""# F"""\n\n\ndef example(n=3):\n    raise ConnectionError("nobody is there")\n'


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    r"""A package that is hard to read, and what its build has said."""
    folder = tmp_path_factory.mktemp("authors")
    files = {
        "pyproject.toml": LENIENT + 'examples = ["pkg/fails.py"]\n',
        "mkdocs.yml": SITE,
        "docs/.keep": "",
        "pkg/__init__.py": '"""# pkg"""\n',
        "pkg/m.py": RUN,
        "pkg/fails.py": FAILS,
        "pkg/old.py": '# <old>\nprint "hello"\n',
        "pkg/templates/t.py": "class {{ cookiecutter.name }}: pass\n",
        "pkg/open.py": 'x = """\n',
    }
    write(folder, files)
    (folder / "pkg/latin.py").write_bytes(b"# caf\xe9\nx = 1\n")
    return folder, succeed(folder, "mkdocs", "build")


def test_a_function_called_example_is_run_only_if_the_settings_name_it(
    built: tuple[Path, str],
) -> None:
    folder, said = built
    assert not (folder / "RUN").exists() and not (folder / "IMPORTED").exists()
    assert "pkg/m.py" not in said
    page = page_of(folder, "m")
    lines = [line for line in RUN.splitlines()[1:] if line]
    assert [text for _, text in page.lines] == lines
    assert not [link for link in page.values("href") if link.endswith("ipynb")]


@pytest.mark.parametrize(
    ("name", "place", "why", "shown"),
    [
        ("old", "pkg/old.py:2", "Missing parentheses", ["# <old>", 'print "hello"']),
        ("templates/t", "pkg/templates/t.py:1", "invalid", ["class {{ cookiecutter.name }}: pass"]),
        ("open", "pkg/open.py:1", "unterminated triple-quoted string", ['x = """']),
        (
            "latin",
            "pkg/latin.py:1",
            "encoding declaration",
            ["# caf\N{REPLACEMENT CHARACTER}", "x = 1"],
        ),
        ("fails", "pkg/fails.py:5", "nobody is there", FAILS.splitlines()[3:]),
    ],
)
def test_what_python_cannot_read_or_run_is_a_page_that_says_so(
    built: tuple[Path, str], name: str, place: str, why: str, shown: list[str]
) -> None:
    folder, said = built
    page = page_of(folder, name)
    assert [text for _, text in page.lines] == shown
    (missing,) = page.texts(".//p[@class='missing']")
    assert why in missing and f"line {place.rpartition(':')[2]}" in missing
    assert re.search(rf"{re.escape(place)}: .*{why}", said)
    # A strict project stops, and names the same place.
    settings = folder / "pyproject.toml"
    before = settings.read_text()
    settings.write_text(before.replace("strict = false", ""))
    failed = run(folder, "literate", "check")
    settings.write_text(before)
    assert failed.returncode == 1 and "Traceback" not in failed.stderr
    if name != "fails":
        assert re.search(rf"{re.escape(place)}: .*{why}", failed.stderr)
