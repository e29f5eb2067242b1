r"""A result is renewed if the code of then and today's give the same, and not otherwise."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from benchmarks.verify import verify
from literate.results.fingerprints import fingerprint
from tests.literate.projects import ROOT

TOY = '''r"""Does a toy work?"""

import time

from benchmarks.library.experiment import Experiment
from labml_nn.toy import area

SIDE = 5


def measure(runner):
    begun = time.perf_counter()
    return {{"values": {{"area": {call}, "seconds": time.perf_counter() - begun}}}}


EXPERIMENT = Experiment(
    "Toy", ["labml_nn/toy.py"], measure, small={{"SIDE": 2}}, threads=None
)
'''
SOURCES = ("benchmarks/toy.py", "labml_nn/toy.py")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    r"""An experiment with a result, and the history of both."""
    for package in ("benchmarks", "literate", "labml_nn"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=ignored)
    write(tmp_path, "def area(a, b): return a * b + 1", "area(SIDE, 3)")
    known = {source: fingerprint(tmp_path / source) for source in SOURCES}
    (tmp_path / "results").mkdir()
    result(tmp_path).write_text(json.dumps({"sources": known, "made": "2026-11-01"}))
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "a"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    return tmp_path


def write(project: Path, definition: str, call: str) -> None:
    (project / "labml_nn" / "toy.py").write_text(f"{definition}\n", encoding="utf-8")
    (project / "benchmarks" / "toy.py").write_text(TOY.format(call=call), encoding="utf-8")


def result(project: Path) -> Path:
    return project / "results" / "toy.json"


def test_a_lesson_may_be_cut_in_two_and_its_experiment_change_as_well(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = "labml_nn/moved.py"
    # This one was there when the result was made, and nobody has written down what it said.
    other = "labml_nn/training/loop.py"
    write(project, "from labml_nn.moved import area", "area(3, SIDE)")
    (project / moved).write_text("def area(b, a): return a * b + 1\n", encoding="utf-8")
    experiment = project / "benchmarks" / "toy.py"
    text = experiment.read_text(encoding="utf-8")
    experiment.write_text(
        text.replace('["labml_nn/toy.py"]', f'["labml_nn/toy.py", "{moved}", "{other}"]')
    )
    assert verify("toy", project)
    found = json.loads(result(project).read_text(encoding="utf-8"))
    sources = (*SOURCES, moved)
    assert found["sources"] == {source: fingerprint(project / source) for source in sources}
    assert found["made"] == "2026-11-01"
    # The title, the area, and the seconds of a clock that counts.
    assert found["verified"]["files"] == sorted(sources) and found["verified"]["cells"] == 3
    assert verify("toy", project)
    assert "nothing has changed" in capsys.readouterr().out


def test_another_number_is_shown_and_nothing_is_renewed(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = result(project).read_bytes()
    write(project, "def area(a, b): return a * b + 2", "area(SIDE, 3)")
    assert not verify("toy", project)
    assert "values.area: 7 then, 8 today" in capsys.readouterr().out
    assert result(project).read_bytes() == before


def test_what_the_history_does_not_have_is_run_again(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result(project).write_text(json.dumps({"sources": dict.fromkeys(SOURCES, "0" * 16)}))
    assert not verify("toy", project)
    assert "Run it again" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="there is no result 'other'"):
        verify("other", project)
