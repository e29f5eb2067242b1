r"""A result is stale by a definition that is new, by a file, and by how its experiment is run."""

from pathlib import Path

import pytest

from literate.results.made_of import Code
from tests.literate.projects import write
from tests.literate.recorded import result

FILES = {
    "pkg/__init__.py": "",
    "pkg/trial.py": """from pathlib import Path

from pkg.parts import used


def measure(runner):
    return used(), Path(__file__).with_name("words.txt").read_text()


def report(found):
    return found


EXPERIMENT = Experiment(title="A", measure=measure, report=report, threads=1, small={"A": 1})
""",
    "pkg/parts.py": "def used():\n    return 1\n\n\ndef other():\n    return 2\n",
    "pkg/words.txt": "To be",
}


@pytest.mark.parametrize(
    ("path", "old", "new", "changed"),
    [
        ("pkg/trial.py", "used()", "used() + 0", ["pkg/trial.py:measure"]),
        ("pkg/trial.py", "return found", "return [found]", ["pkg/trial.py:report"]),
        ("pkg/trial.py", "threads=1", "threads=2", ["pkg/trial.py:EXPERIMENT"]),
        ("pkg/trial.py", '"A", measure', '"B", measure', []),
        ("pkg/trial.py", '{"A": 1}', '{"A": 2}', []),
        ("pkg/words.txt", "To be", "Or not", ["pkg/words.txt"]),
        # What is new, or gone, counts with who uses it.
        ("pkg/parts.py", "return 1", "return other()", ["pkg/parts.py:other", "pkg/parts.py:used"]),
        ("pkg/trial.py", "used(), ", "", ["pkg/trial.py:measure", "pkg/parts.py:used"]),
        ("pkg/parts.py", "return 2", "return 3", []),
    ],
)
def test_what_makes_a_result_stale(
    path: str, old: str, new: str, changed: list[str], tmp_path: Path
) -> None:
    write(tmp_path, FILES)
    known = Code(tmp_path, ["pkg"]).sources("pkg.trial")
    assert old in FILES[path]
    write(tmp_path, {path: FILES[path].replace(old, new)})
    found = Code(tmp_path, ["pkg"]).changed(result(sources=known, of="pkg.trial"))
    assert sorted(found) == sorted(changed)
