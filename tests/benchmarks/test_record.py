import json
import platform
import sys
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import record
from tests.literate.projects import write as files


@pytest.fixture
def root(tmp_path: Path) -> Path:
    files(tmp_path, {"package/page.py": 'r"""\nA note.\n"""\n\nx = 1\n'})
    return tmp_path


def write(root: Path, name: str = "trial", **other: Any) -> Any:
    r"""Record something, and give back what the file says."""
    known = {"title": "A trial", "command": "python trial.py", "sources": ["package/page.py"]}
    path = record.write(name, **known | other, root=root)
    assert path == root / "results" / f"{name}.json"
    return json.loads(path.read_text("utf-8"))


def test_the_file_says_what_was_found_and_by_what(root: Path) -> None:
    result = write(root, values={"loss": 1.5, "tried": {"name": "ours", "steps": 7}})
    assert result["schema"] == 1
    assert (result["title"], result["command"]) == ("A trial", "python trial.py")
    assert result["values"] == {"loss": 1.5, "tried": {"name": "ours", "steps": 7}}
    assert (result["tables"], result["figures"]) == ({}, {})
    assert result["made"] == date.today().isoformat()


def test_the_machine_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    machine = write(root)["machine"]
    assert set(machine) == {"processor", "cores", "accelerator", "torch", "python"}
    assert machine["processor"].strip()
    assert machine["cores"] >= 1
    assert machine["torch"] == torch.__version__.partition("+")[0]
    assert platform.python_version().startswith(f"{machine['python']}.")

    cuda = SimpleNamespace(is_available=lambda: True, get_device_name=lambda: "Fast 1")
    other = SimpleNamespace(cuda=cuda, __version__="2.13.0+cu130")
    monkeypatch.setitem(sys.modules, "torch", other)
    assert (record.machine()["accelerator"], record.machine()["torch"]) == ("Fast 1", "2.13.0")
    # A program without torch records none.
    monkeypatch.delitem(sys.modules, "torch")
    assert (record.machine()["accelerator"], record.machine()["torch"]) == (None, None)


def test_the_processor_has_the_name_that_its_maker_gives_or_at_least_a_kind(tmp_path: Path) -> None:
    information = tmp_path / "cpuinfo"
    assert record.processor(information)
    for text in ("", "processor : 0\n", "model name :\n"):
        information.write_text(text)
        assert record.processor(information)
    information.write_text("processor : 0\nmodel name\t: A  Good\tProcessor \nmodel name: B\n")
    assert record.processor(information) == "A Good Processor"


def test_numbers_have_six_digits(root: Path) -> None:
    given = {"third": 1 / 3, "large": 123456789.0, "small": 1.23456789e-9, "count": 123456789}
    kept = {"third": 0.333333, "large": 123457000.0, "small": 1.23457e-09, "count": 123456789}
    assert write(root, values=given)["values"] == kept


def test_the_file_is_the_same_for_the_same_content(root: Path) -> None:
    path = root / "results" / "trial.json"
    write(root, values={"a": 1, "b": {"d": 2, "c": "x"}})
    first = path.read_bytes()
    write(root, values={"b": {"c": "x", "d": 2}, "a": 1})
    assert path.read_bytes() == first
    assert first.endswith(b"}\n")
    assert first.startswith(b'{\n "command": "python trial.py",\n "figures": {},\n')


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ({"loss": float("nan")}, r"values\.loss is nan: only finite"),
        ({"loss": [1.0, float("inf")]}, r"values\.loss\[1\] is inf: only finite"),
        ({"loss": {"best": -float("inf")}}, r"values\.loss\.best is -inf: only finite"),
        ({"loss": object()}, r"values\.loss is a object: record numbers"),
        ({"loss": {1, 2}}, r"values\.loss is a set: record numbers"),
        ({"loss": b"1"}, r"values\.loss is a bytes: record numbers"),
        ({"loss": {1: 2}}, r"values\.loss has the name 1, a int; use str"),
    ],
)
def test_what_is_not_json_or_not_finite_is_refused(root: Path, value: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        write(root, values=value)
    assert not (root / "results").exists()


def test_lines_are_drawn(root: Path) -> None:
    lines = [{"name": "<a>", "points": [[1, 2.0], [4, 3.0]]}, {"name": "b", "points": [[1, 1]]}]
    axes = {"x": {"title": "Size", "scale": "log"}, "y": {"title": "Time", "unit": "ms", "low": 0}}
    found = write(root, figures={"time": {"title": "T", "lines": lines, **axes}})
    picture = found["figures"]["time"]["picture"]
    assert "<desc>Time against Size. &lt;a&gt;: from 2 at 1 to 3 at 4. b: from 1" in picture
    assert ">Time (ms)</text>" in picture and ">&lt;a&gt;</text>" in picture
    assert "stroke-line-1" in picture and "fill-line-2" in picture
    # Exponents on the axis would be too small on a phone.
    assert ">4</text>" in picture and "baseline-shift" not in picture and "<tspan" not in picture


def test_what_the_pages_could_not_show_is_refused(root: Path) -> None:
    table = {"columns": [{"name": "way"}], "rows": [{"loss": 1.0}]}
    with pytest.raises(ValueError, match=r"`tables\.ways\.rows\[0\]` has `loss`, which is no col"):
        write(root, tables={"ways": table})
    for name in ("", "../secret", "a/b", "a.b", "Big", "-x", "a b"):
        with pytest.raises(ValueError, match="is no name of a file"):
            write(root, name)
    assert not (root / "results").exists()


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


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ('r"""\nAnother note: 1.5.\n"""\n\n# And one more.\nx = 1\n', True),
        ('r"""\nA note.\n"""\n\nx = 2\n', False),
        ('r"""\nA note.\n"""\n\nif True:\n    x = 1\n', False),
        (None, False),
    ],
)
def test_a_source_has_changed_when_its_code_has_or_it_is_gone(
    root: Path, text: str | None, same: bool
) -> None:
    began = record.fingerprints(["package/page.py"], root)
    write(root)
    page, path = root / "package" / "page.py", root / "results" / "trial.json"
    assert record.changed(path, root) == []
    page.unlink() if text is None else page.write_text(text, "utf-8")
    assert record.changed(path, root) == ([] if same else ["package/page.py"])
    # A long run gives the fingerprints of when it began.
    assert write(root, sources=began)["sources"] == began
    assert record.changed(path, root) == ([] if same else ["package/page.py"])


@pytest.mark.parametrize("name", ["no python", "x = '\n", "data"])
def test_any_file_can_be_a_source(root: Path, name: str) -> None:
    for suffix in ("py", "bin"):
        (root / f"it.{suffix}").write_bytes(name.encode() + b"\xff")
    assert len(set(write(root, sources=["it.py", "it.bin"])["sources"].values())) == 1
    with pytest.raises(ValueError, match="a list of paths, not the text"):
        write(root, sources="it.py")
    with pytest.raises(ValueError, match=r"no file of the repository: gone\.py"):
        write(root, sources=["gone.py"])


def test_as_a_program_it_prints_what_has_changed(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(root)
    monkeypatch.setattr(record, "ROOT", root)
    monkeypatch.setattr(record.changed, "__defaults__", (root,))
    record.main()
    (root / "package" / "page.py").write_text("x = 2\n", "utf-8")
    record.main()
    day = date.today().isoformat()
    head = f"results/trial.json  {day}  python trial.py\n    changed since: "
    assert capsys.readouterr().out == f"{head}nothing\n{head}package/page.py\n"
