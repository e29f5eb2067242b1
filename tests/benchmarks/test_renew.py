r"""A fingerprint is renewed where a run can't have changed, and nowhere else."""

import json
import subprocess
from pathlib import Path

import pytest

from benchmarks.renew import renew
from literate.results.fingerprints import fingerprint

PAGE = "package/page.py"
CODE = """def f(x):
    return {f}


def example():
    return f({x})


def notebook():
    {n}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    r"""A page that was committed and measured."""
    (tmp_path / "package").mkdir()
    (tmp_path / "results").mkdir()
    write(tmp_path, f="2 * x", x=3, n="f(1)")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    measure(tmp_path)
    return tmp_path


def measure(project: Path) -> None:
    r"""The page as it is now is committed, and a result says that it was measured."""
    known = {"sources": {PAGE: fingerprint(project / PAGE)}}
    (project / "results" / "run.json").write_text(json.dumps(known), encoding="utf-8")
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["add", "."], [*who, "commit", "-q", "-m", "a"]):
        subprocess.run(["git", *command], cwd=project, check=True)


def write(project: Path, **parts: object) -> None:
    (project / PAGE).write_text(CODE.format(**parts), encoding="utf-8")


def is_renewed(project: Path) -> bool:
    sources = json.loads((project / "results" / "run.json").read_text("utf-8"))["sources"]
    return sources[PAGE] == fingerprint(project / PAGE)


@pytest.mark.parametrize(
    ("parts", "with_example", "expected"),
    [
        ({"f": "2 * x", "x": 3, "n": "f(2)"}, False, True),
        ({"f": "x + x", "x": 3, "n": "f(1)"}, False, False),
        ({"f": "x + x", "x": 3, "n": "f(1)"}, True, True),
        ({"f": "3 * x", "x": 3, "n": "f(1)"}, True, False),
        ({"f": "2 * x", "x": 5, "n": "f(1)"}, True, False),
    ],
)
def test_what_is_renewed(
    project: Path, parts: dict[str, object], with_example: bool, expected: bool
) -> None:
    write(project, **parts)
    said = renew(PAGE, with_example, project)
    assert is_renewed(project) == expected
    assert ("renewed in run.json" in said) == expected


def test_a_page_may_change_together_with_what_it_imports(project: Path) -> None:
    def write_both(definition: str, call: str) -> None:
        (project / "package" / "other.py").write_text(f"{definition}\n", encoding="utf-8")
        text = f"from package.other import g\n\n\ndef example():\n    return {call}\n"
        (project / PAGE).write_text(text, encoding="utf-8")

    write_both("def g(a, b): return 10 * a + b", "g(2, 3)")
    measure(project)
    write_both("def g(b, a): return 10 * a + b", "g(3, 2)")
    assert "renewed in run.json" in renew(PAGE, True, project)


def test_a_page_without_an_example_stays(project: Path) -> None:
    (project / PAGE).write_text("def f(x):\n    return 3 * x\n", encoding="utf-8")
    (said,) = renew(PAGE, True, project)
    assert "has no example" in said and not is_renewed(project)


def test_what_the_history_does_not_have_stays(project: Path) -> None:
    known = {"sources": {PAGE: "0" * 16}}
    (project / "results" / "run.json").write_text(json.dumps(known), encoding="utf-8")
    (said,) = renew(PAGE, True, project)
    assert "not in the history" in said and not is_renewed(project)
