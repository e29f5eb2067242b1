import json
import sys
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import record, stale
from literate.results import files as results
from literate.results.machine import cores, processor
from tests.literate.projects import write as files

FACTS = {"title": "A trial", "command": "python trial.py"}
PAGE = "package/page.py"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    files(tmp_path, {PAGE: 'r"""\nA note.\n"""\n\nx = 1\n'})
    return tmp_path


def write(root: Path, name: str = "trial", **other: Any) -> Any:
    r"""Record something, and give back what the file says."""
    path = record.write(name, **FACTS | {"sources": [PAGE]} | other, root=root)
    assert path == root / "results" / f"{name}.json"
    return json.loads(path.read_text("utf-8"))


def test_the_file_says_what_was_found_and_by_what(root: Path) -> None:
    # Numbers have six digits.
    given = {"third": 1 / 3, "run": {"large": 123456789.0, "small": 1.23456789e-9, "count": 7}}
    kept = {"third": 0.333333, "run": {"large": 123457000.0, "small": 1.23457e-09, "count": 7}}
    assert write(root, values=given) == FACTS | {
        "schema": 1,
        "made": date.today().isoformat(),
        "machine": record.machine(),
        "sources": record.fingerprints([PAGE], root),
        "values": kept,
        "tables": {},
        "figures": {},
    }
    path = root / "results" / "trial.json"
    first = path.read_bytes()
    assert first.startswith(b'{\n "command": "python trial.py",\n "figures": {},\n')
    assert first.endswith(b"}\n")
    # The same content in another order is the same file.
    write(root, values=dict(reversed(kept.items())))
    assert path.read_bytes() == first


def test_the_machine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda = SimpleNamespace(is_available=lambda: True, get_device_name=lambda: "Fast 1")
    other = SimpleNamespace(cuda=cuda, __version__="2.13.0+cu130")
    monkeypatch.setitem(sys.modules, "torch", other)
    found = record.machine()
    assert found == {
        "processor": processor(),
        "cores": cores(),
        "accelerator": "Fast 1",
        "torch": "2.13.0",
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
    }
    assert found["cores"] >= 1
    # A program without torch records none.
    monkeypatch.delitem(sys.modules, "torch")
    assert record.machine() == found | {"accelerator": None, "torch": None}


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"values": {"loss": float("nan")}}, r"values\.loss is nan: only finite"),
        ({"values": {"loss": [1.0, float("inf")]}}, r"values\.loss\[1\] is inf: only finite"),
        ({"values": {"loss": {"best": -float("inf")}}}, r"values\.loss\.best is -inf: only finite"),
        ({"values": {"loss": {1, 2}}}, r"values\.loss is a set: record numbers"),
        ({"values": {"loss": b"1"}}, r"values\.loss is a bytes: record numbers"),
        ({"values": {"loss": {1: 2}}}, r"values\.loss has the name 1, a int; use str"),
        (
            {"tables": {"ways": {"columns": [{"name": "way"}], "rows": [{"loss": 1.0}]}}},
            r"`tables\.ways\.rows\[0\]` has `loss`, which is no col",
        ),
        ({"sources": "it.py"}, "a list of paths, not the text"),
        ({"sources": ["gone.py"]}, r"no file of the repository: gone\.py"),
        *(
            ({"name": name}, "is no name of a file")
            for name in ("", "../secret", "a.b", "Big", "-x", "a b")
        ),
    ],
)
def test_what_cannot_be_recorded_is_refused(
    root: Path, other: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        write(root, **other)
    assert not (root / "results").exists()


def test_lines_are_drawn(root: Path) -> None:
    lines = [{"name": "<a>", "points": [[1, 2.0], [4, 3.0]]}, {"name": "b", "points": [[1, 1]]}]
    axes = {"x": {"title": "Size", "scale": "log"}, "y": {"title": "Time", "unit": "ms", "low": 0}}
    write(root, figures={"time": {"title": "T", "lines": lines, **axes}})
    picture = results.read(root, "results")["results/trial.json"].figures["time"].picture
    assert "<desc>Time against Size. &lt;a&gt;: from 2 at 1 to 3 at 4. b: from 1" in picture
    assert ">Time (ms)</text>" in picture and ">&lt;a&gt;</text>" in picture
    assert "stroke-line-1" in picture and "fill-line-2" in picture
    # Exponents on the axis would be too small on a phone.
    assert ">4</text>" in picture and "baseline-shift" not in picture and "<tspan" not in picture


def test_a_picture_is_a_file_of_its_own_which_the_result_names(root: Path) -> None:
    svg = '<svg viewBox="0 0 9 9"><path d="M0 0h9"/></svg>'
    found = write(root, figures={"seen": {"title": "S", "picture": svg}})
    named = found["figures"]["seen"]
    assert named.keys() == {"title", "picture", "digest"}
    assert named["picture"] == "pictures/trial-seen.svg"
    assert (root / "results/pictures/trial-seen.svg").read_text(encoding="utf-8") == svg
    (read,) = results.read(root, "results").values()
    assert read.figures["seen"].picture == svg
    with pytest.raises(ValueError, match="is no <svg>"):
        write(root, figures={"seen": {"title": "S", "picture": "<b>"}})
    assert (root / "results/pictures/trial-seen.svg").read_text(encoding="utf-8") == svg


def test_what_is_there_stays_when_writing_fails(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, values={"loss": 1})

    def full(*_: Any, **__: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="no space left"):
        write(root, values={"loss": 2})
    (file,) = (root / "results").iterdir()
    assert json.loads(file.read_text("utf-8"))["values"] == {"loss": 1}


@pytest.mark.parametrize("name", ["no python", "x = '\n", "data"])
def test_any_file_can_be_a_source(root: Path, name: str) -> None:
    for suffix in ("py", "bin"):
        (root / f"it.{suffix}").write_bytes(name.encode() + b"\xff")
    assert len(set(write(root, sources=["it.py", "it.bin"])["sources"].values())) == 1


def test_the_sources_are_printed_whose_code_has_changed_or_that_are_gone(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stale, "ROOT", root)
    began = write(root)["sources"]
    head = f"results/trial.json  {date.today().isoformat()}  python trial.py\n    changed since: "

    def printed() -> str:
        stale.main()
        # What costs how much stands behind.
        return capsys.readouterr().out.removeprefix(head).partition("\nMinutes")[0]

    assert printed() == "nothing\n"
    (root / PAGE).write_text('r"""\nAnother note: 1.5.\n"""\n\n# And one more.\nx = 1\n', "utf-8")
    assert printed() == "nothing\n"
    (root / PAGE).write_text('r"""\nA note.\n"""\n\nif True:\n    x = 1\n', "utf-8")
    assert printed() == f"{PAGE}\n"
    # A long run gives the fingerprints of when it began.
    assert write(root, sources=began)["sources"] == began
    (root / PAGE).unlink()
    assert printed() == f"{PAGE}\n"
