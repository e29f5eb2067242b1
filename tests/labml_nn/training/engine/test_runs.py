import json
from pathlib import Path
from typing import Any

import pytest

from labml_nn.training.engine.errors import InputError
from labml_nn.training.engine.runs import keep, new_run, newest_good, read_about
from tests.labml_nn.training.engine.models import make_trainer, run

ABOUT: dict[str, Any] = {
    "preset": "toy",
    "config": {"steps": 12, "seed": 1},
    "text": {"corpus": "python"},
    "text_checksum": "0123",
    "symbols": "abcde",
}


def train(folder: Path, steps: int, best: int = 0) -> None:
    r"""A checkpoint after each step; the one after `best` is the best."""
    trainer = make_trainer()
    for step in range(1, steps + 1):
        run(trainer, until=step)
        keep(folder, trainer, ABOUT, is_best=step == best)


def kept(folder: Path) -> list[str]:
    return sorted(path.name[:11] for path in (folder / "checkpoints").iterdir())


def test_the_newest_two_and_the_best_are_kept_and_nothing_half_written(tmp_path: Path) -> None:
    train(tmp_path, 7, best=3)
    assert kept(tmp_path) == ["best-000003", "step-000006", "step-000007"]
    # As a killed process leaves it.
    (tmp_path / "checkpoints" / ".step-000002-00.pt.4711").write_text("half")
    train(tmp_path, 2, best=2)
    assert kept(tmp_path) == ["best-000002", "step-000001", "step-000002"]


def test_the_newest_good_checkpoint_is_used_and_damage_is_told(tmp_path: Path) -> None:
    assert newest_good(tmp_path, ABOUT) is None
    train(tmp_path, 4, best=2)
    victims: list[Path] = []
    # The best one comes last, and then there is none.
    for name in ("step-000004", "step-000003", "best-000002"):
        state, path, refused = newest_good(tmp_path, ABOUT)
        assert (state["step"], path.name[:11]) == (int(name[5:]), name)
        told = zip(victims, refused, strict=True)
        assert all(str(victim) in sentence for victim, sentence in told)
        path.write_bytes(path.read_bytes()[:-9])
        victims.append(path)
    with pytest.raises(InputError, match=f"{tmp_path} has no good checkpoint: .*; .* is damaged"):
        newest_good(tmp_path, ABOUT)


OTHERS = [
    ({"config": {"steps": 12, "seed": 2}}, "another configuration: seed is 1 there and 2 here"),
    ({"config": {"steps": 12}}, "another configuration: seed is 1 there and None here"),
    ({"symbols": "abcd"}, "another text"),
    ({"text_checksum": "4567"}, "another text"),
    ({"preset": "other"}, "another preset"),
]


def test_a_checkpoint_of_something_else_is_refused(tmp_path: Path) -> None:
    train(tmp_path, 1)
    for changed, sentence in OTHERS:
        with pytest.raises(InputError, match=f"step-000001-.*.pt is of {sentence}"):
            newest_good(tmp_path, ABOUT | changed)


def test_what_a_run_is_about_is_read_and_a_damaged_description_refused(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps(ABOUT))
    assert read_about(tmp_path) == ABOUT
    for content in ("", "{", "[]", "{}", '{"config": 1}'):
        (tmp_path / "run.json").write_text(content)
        with pytest.raises(InputError, match=r"run\.json is (damaged|not that of a run)"):
            read_about(tmp_path)


def test_runs_of_the_same_second_and_letters_get_two_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    letters = iter(["aa", "aa", "bb"])
    module = "labml_nn.training.engine.runs"
    monkeypatch.setattr(f"{module}.secrets.token_hex", lambda _: next(letters))
    monkeypatch.setattr(f"{module}.time.strftime", lambda _: "now")
    paths = [new_run(tmp_path, "name") for _ in range(2)]
    assert paths == [tmp_path / "name" / "now_aa", tmp_path / "name" / "now_bb"]
