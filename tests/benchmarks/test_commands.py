r"""The command that stands on a page is one that exists, and nothing runs by default."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from benchmarks import __main__ as program
from benchmarks.__main__ import has_main, is_experiment, modules

ROOT = Path(__file__).resolve().parents[2]
RESULTS = sorted((ROOT / "results").glob("*.json"))
MODULES = modules()
EXPERIMENTS = [name for name, tree in MODULES.items() if is_experiment(tree)]


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_the_command_of_a_result_can_be_run(path: Path) -> None:
    python, first, *rest = json.loads(path.read_text(encoding="utf-8"))["command"].split()
    assert python == "python"
    if first == "-m":
        # Another package has a program of its own for each name.
        assert rest[0] != "benchmarks" or rest[1] in MODULES
        assert (ROOT / rest[0].replace(".", "/")).with_suffix(".py").is_file() or len(rest) > 1
    else:
        # By itself a file finds the packages beside its folder only if it looks for them.
        assert "sys.path.insert" in (ROOT / first).read_text(encoding="utf-8")


def test_without_a_name_it_lists_everything_and_imports_none_of_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    before = set(sys.modules)
    assert program.main([]) == 0
    listed = capsys.readouterr().out
    lines = [line.split() for line in listed.splitlines()]
    names = {name for line in lines for name in line[1:3]}
    assert set(MODULES) <= names
    assert not [one for one in set(sys.modules) - before if one.startswith("benchmarks.")]


def test_a_benchmark_says_what_it_needs_that_is_not_installed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "playwright.sync_api", None)
    monkeypatch.delitem(sys.modules, "benchmarks.editing", raising=False)
    for name in [one for one in sys.modules if one.startswith(("benchmarks.figures", "tests."))]:
        monkeypatch.delitem(sys.modules, name)
    assert program.main(["editing", "--help"]) == 2
    assert capsys.readouterr().err.startswith("editing needs playwright.sync_api, which isn't")


def test_minutes_are_those_of_the_recorded_run_or_about_so_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "RESULTS", tmp_path)
    monkeypatch.setattr(program, "ESTIMATES", tmp_path / "minutes.toml")
    (tmp_path / "minutes.toml").write_text("old = 12\nquick = 0.3\n")
    for name, content in (("long", {"seconds": 1499.0}), ("short", {"seconds": 7}), ("old", {})):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    found = [program.minutes(name) for name in ("long", "short", "old", "quick", "none")]
    assert found == ["25", "< 1", "~ 12", "< 1", "–"]


def test_the_minutes_of_every_experiment_are_known() -> None:
    assert [name for name in EXPERIMENTS if program.minutes(name) == "–"] == []
    # An estimate goes when the result says how long it took.
    estimated = tomllib.loads(program.ESTIMATES.read_text(encoding="utf-8"))
    told = [name for name in estimated if program.recorded_seconds(name) is not None]
    assert told == []


def test_an_unknown_name_is_refused() -> None:
    assert program.main(["encoder"]) == 2


def test_a_module_is_an_experiment_or_a_program_and_says_what_it_asks() -> None:
    for name, tree in MODULES.items():
        assert is_experiment(tree) != has_main(tree), name
        assert len(program.question(tree)) > 20, name


@pytest.mark.whole
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_each_experiment_runs_in_a_small_way(name: str) -> None:
    before = {path: path.read_bytes() for path in RESULTS}
    command = [sys.executable, "-m", "benchmarks", name, "--small"]
    told = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    assert told.stdout.endswith("It runs. Nothing was written.\n")
    assert {path: path.read_bytes() for path in RESULTS} == before
