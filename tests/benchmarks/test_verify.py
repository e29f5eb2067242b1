r"""A result is verified if the code of then and today's give the same, and if what changed ran."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from benchmarks.record import code_of
from benchmarks.verify import difference, verify
from literate.settings import load
from tests.literate.projects import ROOT

TOY = '''r"""Does a toy work?"""

import time

from benchmarks.library.experiment import Experiment
from labml_nn.toy import Square

SIDE = 5


def measure(runner):
    begun = time.perf_counter()
    found = {"values": {"area": Square(SIDE).area(3), "seconds": time.perf_counter() - begun}}
    if SIDE > 3:
        found["values"]["edge"] = Square(SIDE).edge()
    return found


EXPERIMENT = Experiment(title="Toy", measure=measure, small={"SIDE": 2}, threads=None)
'''
# The runner is that of this project.
SETTINGS = f"""
[tool.literate]
sources = {{ labml_nn = "" }}

[tool.literate.experiments]
packages = ["benchmarks", "labml_nn"]
runner = {load(ROOT).experiments["runner"]}
"""
LESSON = """class Square:
    def __init__(self, side):
        self.side = side

    def area(self, other):
        return self.side * other + 1

    def edge(self):
        return 4 * self.side
"""


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    r"""An experiment with a result, and the history of both."""
    folder = tmp_path_factory.mktemp("history")
    for package in ("benchmarks", "literate", "labml_nn"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, folder / package, ignore=ignored)
    (folder / "labml_nn" / "toy.py").write_text(LESSON, encoding="utf-8")
    (folder / "benchmarks" / "toy.py").write_text(TOY, encoding="utf-8")
    (folder / "pyproject.toml").write_text(SETTINGS, encoding="utf-8")
    known = code_of(folder).sources("benchmarks.toy")
    content = {"schema": 1, "command": "", "machine": {}, "sources": known, "made": "2026-11-01"}
    (folder / "results").mkdir()
    result(folder).write_text(json.dumps(content | {"of": "benchmarks.toy"}))
    git(folder, "init", "-q")
    commit(folder)
    return folder


@pytest.fixture
def project(history: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(history, tmp_path / "project"))


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True)


def commit(folder: Path) -> None:
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "a")


def change(project: Path, path: str, old: str, new: str) -> None:
    text = (project / path).read_text(encoding="utf-8")
    assert old in text
    (project / path).write_text(text.replace(old, new), encoding="utf-8")


def result(project: Path) -> Path:
    return project / "results" / "toy.json"


def read(project: Path) -> dict:
    return json.loads(result(project).read_text(encoding="utf-8"))


def test_what_gives_the_same_is_verified_and_each_time_is_told(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = read(project)["sources"]
    change(project, "labml_nn/toy.py", "self.side * other", "other * self.side")
    # Whoever has committed the change since can verify it as well.
    commit(project)
    assert verify("toy", project)
    change(project, "labml_nn/toy.py", "        self.side = side", "        self.side = +side")
    assert verify("toy", project)
    found = read(project)
    assert found["made"] == "2026-11-01"
    assert found["sources"] == code_of(project).sources("benchmarks.toy")
    # The title, the area, and the seconds of a clock that counts.
    assert [(one["by"], one["cells"]) for one in found["verified"]] == [("small", 3)] * 2
    assert [*found["verified"][0]["differing"]] == ["labml_nn/toy.py:Square"]
    hashes = [one["differing"]["labml_nn/toy.py:Square"] for one in found["verified"]]
    last = found["sources"]["labml_nn/toy.py"].partition(":")[2]
    assert hashes == [
        [first["labml_nn/toy.py"].partition(":")[2], hashes[1][0]],
        [hashes[1][0], last],
    ]
    assert verify("toy", project)
    assert "nothing has changed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("path", "old", "new", "said"),
    [
        ("labml_nn/toy.py", "* other + 1", "* other + 2", "values.area: 7 then, 8 today"),
        # The small run gives the same, for it doesn't come by what has changed.
        ("labml_nn/toy.py", "4 * self", "5 * self", "toy.py:Square, edge in line 8. Run it again"),
        ("benchmarks/toy.py", "SIDE = 5", "SIDE = 6", "toy.py:SIDE changed, which no small run"),
    ],
)
def test_what_may_differ_is_told_and_the_result_stays(
    project: Path, path: str, old: str, new: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = result(project).read_bytes()
    change(project, path, old, new)
    assert not verify("toy", project)
    assert said in capsys.readouterr().out
    assert result(project).read_bytes() == before


def test_what_the_history_does_not_have_is_run_again(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = read(project)
    other["sources"]["labml_nn/toy.py"] = "Square:01234567"
    result(project).write_text(json.dumps(other))
    assert not verify("toy", project)
    assert "no commit has its code" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="there is no result 'other'"):
        verify("other", project)


RECORDS = sorted((ROOT / "results").glob("*.json"))


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_what_was_verified_can_be_undone(path: Path) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    entries = content.get("verified", [])
    # Those of before definitions had hashes name files, and come first.
    old = [one for one in entries if "differing" not in one]
    assert entries[: len(old)] == old and all("files" in one for one in old)
    hashes = {place: new for place, (_, new) in difference({}, content["sources"]).items()}
    for entry in reversed(entries[len(old) :]):
        for place, (then, now) in entry["differing"].items():
            assert hashes.get(place, "") == now, place
            hashes[place] = then


def test_what_cannot_be_measured_here_says_so(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = read(project) | {"of": "labml_nn.toy:Square", "command": "python -m benchmarks toy"}
    result(project).write_text(json.dumps(content))
    assert not verify("toy", project)
    assert "measured here. Run it again: python -m benchmarks toy" in capsys.readouterr().out
