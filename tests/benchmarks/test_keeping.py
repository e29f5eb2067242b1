r"""What is kept between runs is read again only if it is of today's sources, and unchanged."""

import ast
import importlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import averaging, long
from benchmarks.__main__ import is_experiment, modules
from benchmarks.library.experiment import Experiment, Job, Runner, label
from benchmarks.library.keeping import Kept, described, key_of
from benchmarks.record import code_of

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
EXPERIMENTS = [name for name, tree in modules().items() if is_experiment(tree)]
# What a run would never find.
FALSE = 0.123
# To read all sources takes most of the time of a test, and no test changes one.
READ_ONCE = cache(code_of)


@pytest.fixture(autouse=True)
def sources_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("benchmarks.census", "benchmarks.library.experiment"):
        monkeypatch.setattr(f"{module}.code_of", READ_ONCE)


class Asked(Exception):
    r"""A run that would be made now."""


def first_job(experiment: Experiment, folder: Path) -> tuple[Runner, Job | None]:
    r"""The first run that an experiment asks for, which isn't made."""
    runner = Runner(experiment, folder)
    asked: list[Job] = []

    def note(jobs: list[Job]) -> None:
        asked.extend(jobs)
        raise Asked

    runner.all = note
    try:
        experiment.measure(runner)
    except Asked:
        pass
    # Its own method again.
    del runner.all
    return runner, asked[0] if asked else None


def keeps(name: str) -> bool:
    r"""Whether the module of an experiment asks its runner for anything."""
    text = (BENCHMARKS / f"{name}.py").read_text(encoding="utf-8")
    return any(f"runner.{way}(" in text for way in ("once", "runs", "all"))


def would_be_made(runner: Runner, job: Job) -> bool:
    r"""Whether the runner makes a run, and doesn't take what it finds."""
    function, *arguments = job

    def refuse(jobs: dict[int, Job]) -> list[Any]:
        if jobs:
            raise Asked
        return []

    runner._made = refuse
    try:
        runner.once(function, *arguments)
    except Asked:
        return True
    return False


KEEPING = [name for name in EXPERIMENTS if keeps(name)]


@pytest.mark.parametrize("name", KEEPING)
def test_a_stale_or_false_entry_is_no_result(name: str, tmp_path: Path) -> None:
    experiment = importlib.import_module(f"benchmarks.{name}").EXPERIMENT
    runner, job = first_job(experiment, tmp_path)
    assert job is not None
    key, found = runner.key(job), {"loss": FALSE}
    assert would_be_made(runner, job)

    # Of today's sources: it is taken.
    runner.kept.put(label(job), key, found)
    assert not would_be_made(runner, job)
    path = runner.kept.path(label(job), key)
    entry = json.loads(path.read_text())

    # False: somebody has written another number into it.
    for part, other in (("found", {"loss": FALSE / 2}), ("seconds", FALSE)):
        path.write_text(json.dumps(entry | {part: other}))
        assert would_be_made(runner, job), part

    # As a file of before there were keys.
    path.write_text(json.dumps({"loss": FALSE}))
    assert would_be_made(runner, job)

    # Stale: of another version of any of its sources, and of the experiment's own code.
    assert f" {job[0].__name__}:" in f" {key['sources'][f'benchmarks/{name}.py']}"
    for source in key["sources"]:
        other = key | {"sources": key["sources"] | {source: "0123456789abcdef"}}
        runner.kept.put(label(job), other, found)
        assert would_be_made(runner, job), source

    # Of other arguments, or of other constants.
    for part, changed in (("arguments", [*key["arguments"], 1]), ("settings", {"STEPS": 1})):
        assert runner.kept.get(label(job), key | {part: changed}) is None


def test_the_network_that_is_averaged_has_the_weights_of_its_run(tmp_path: Path) -> None:
    path = tmp_path / "checkpoints" / "step-000003-a.pt"
    path.parent.mkdir()
    path.write_bytes(b"weights")
    known = long.weights_of(tmp_path)
    path.write_bytes(b"others")
    with pytest.raises(SystemExit, match="has no longer its weights"):
        averaging.network(tmp_path, known, 3)
    path.unlink()
    with pytest.raises(SystemExit, match="has no longer its weights"):
        averaging.network(tmp_path, known, 3)


def test_a_stale_or_false_finding_of_the_census_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchmarks import census

    looked: list[str] = []

    def look(kind: str, limit: float) -> dict[str, Any]:
        looked.append(kind)
        return {"said": {}, "seconds": FALSE}

    monkeypatch.setattr(census, "with_limit", look)
    kept = Kept(tmp_path)
    first = census.all_of_them(kept, 1, ["gpt2", "llama"])
    assert looked == ["gpt2", "llama"]
    # Of today's sources: it is taken.
    assert census.all_of_them(kept, 1, ["gpt2", "llama"]) == first
    assert looked == ["gpt2", "llama"]

    # False: somebody has written another number into one.
    path = kept.path("llama", census.kept_under("llama"))
    path.write_text(path.read_text().replace(str(FALSE), "0.5"))
    assert census.all_of_them(kept, 1, ["gpt2", "llama"]) == first
    assert looked == ["gpt2", "llama", "llama"]

    # Stale: another test, another way to examine, another release.
    key = census.kept_under("gpt2")
    assert "wrongline/cache_tests.py" in key["sources"]
    others = [{"sources": key["sources"] | {one: "f:01234567"}} for one in key["sources"]]
    others += [{"transformers": "5.0.0"}]
    for other in others:
        kept.put("gpt2", key | other, {"said": {}, "seconds": FALSE})
        looked.clear()
        census.all_of_them(kept, 1, ["gpt2"])
        assert looked == ["gpt2"], other


def test_nothing_else_of_the_benchmarks_keeps_anything() -> None:
    ways = {"torch.save", "torch.load", "pickle.dump", "pickle.load"}
    for path in sorted(BENCHMARKS.glob("*.py")):
        tree = ast.parse(path.read_bytes())
        called = {ast.unparse(one.func) for one in ast.walk(tree) if isinstance(one, ast.Call)}
        assert not called & ways, path.name
        texts = [one.value for one in ast.walk(tree) if isinstance(one, ast.Constant)]
        runs = [one for one in texts if isinstance(one, str) and one.startswith("runs/")]
        assert not runs or "Kept" in path.read_text(), path.name


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


def key(*arguments: Any, **sources: str) -> dict[str, Any]:
    return key_of(sources, arguments, {})


def test_what_is_kept_comes_back_as_it_did_at_first(kept: Kept) -> None:
    found = {"loss": 1 / 3, 7: [1, (2, None)], "weights": {"a": torch.randn(3, 2)}}
    at_first = kept.put("a run", key("it", 1), found, seconds=2.5)
    again = kept.get("a run", key("it", 1))
    for one in (at_first, again):
        # Names are texts, and tuples are lists: the same as from a file.
        assert one["loss"] == 1 / 3 and one["7"] == [1, [2, None]]
        assert one["weights"]["a"].equal(found["weights"]["a"])
    assert kept.seconds("a run", key("it", 1)) == 2.5
    # Weights that are not those that were written.
    path = kept.path("a run", key("it", 1)).with_suffix(".pt")
    torch.save([torch.randn(3, 2)], path)
    assert kept.get("a run", key("it", 1)) is None
    path.unlink()
    assert kept.get("a run", key("it", 1)) is None


def test_half_a_file_is_none(kept: Kept) -> None:
    kept.put("a run", key("it"), {"loss": 1.0})
    path = kept.path("a run", key("it"))
    path.write_text(path.read_text()[:-20])
    assert kept.get("a run", key("it")) is None


def test_other_arguments_stand_beside_and_other_sources_in_their_place(kept: Kept) -> None:
    kept.put("a run", key("it", 1, a="x"), 1)
    kept.put("a run", key("it", 2, a="x"), 2)
    assert kept.get("a run", key("it", 1, a="x")) == 1
    kept.put("a run", key("it", 1, a="y"), 3)
    assert kept.get("a run", key("it", 1, a="x")) is None
    assert kept.get("a run", key("it", 2, a="x")) == 2


def test_an_argument_is_told_by_what_it_is(kept: Kept) -> None:
    one = torch.arange(6.0)
    assert described({"w": one}) == described({"w": one.clone()})
    assert described(one) != described(one + 1) != described(one.view(2, 3))
    with pytest.raises(TypeError, match="can't have a Linear as argument"):
        described(torch.nn.Linear(1, 1))


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_small_way_of_each_experiment_can_be_kept(name: str) -> None:
    small = importlib.import_module(f"benchmarks.{name}").EXPERIMENT.small
    assert key_of({}, [], small)["settings"].keys() == small.keys()
