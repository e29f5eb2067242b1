import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from labml_nn.training.data import InputError
from labml_nn.training.loop import TrainConfig, Trainer
from labml_nn.training.runs import keep, new_run, newest_good, read_about, text_checksum

ABOUT: dict[str, Any] = {
    "experiment": "package.toy",
    "config": {"steps": 12, "seed": 1},
    "text": {"corpus": "python", "file": None},
    "text_checksum": "0123",
    "symbols": "abcde",
}


def make_trainer() -> Trainer:
    torch.manual_seed(1)
    text = torch.arange(100) % 5
    config = TrainConfig(steps=12, batch_size=3, seq_len=7, device="cpu")
    return Trainer(nn.Embedding(5, 5), text, text, config)


def train(run: Path, steps: int, best: int = 0) -> Trainer:
    r"""A checkpoint after each step; the one after `best` is the best."""
    trainer = make_trainer()
    for _ in range(steps):
        trainer.train_step()
        keep(run, trainer, ABOUT, best=trainer.step == best)
    return trainer


def steps_of(run: Path) -> set[str]:
    return {path.stem for path in (run / "checkpoints").glob("*.json")}


def test_the_newest_two_and_the_best_stay_with_their_tensors(tmp_path: Path) -> None:
    train(tmp_path, 7, best=3)
    assert steps_of(tmp_path) == {"step-000006", "step-000007", "best"}
    tensors = {path.stem[:11] for path in (tmp_path / "checkpoints").glob("*.safetensors")}
    assert tensors == {"step-000003", "step-000006", "step-000007"}
    assert len(list((tmp_path / "checkpoints").iterdir())) == 6


def test_what_a_killed_process_left_half_written_goes(tmp_path: Path) -> None:
    train(tmp_path, 1)
    (tmp_path / "checkpoints" / ".step-000002.json.4711").write_text("{")
    (tmp_path / "checkpoints" / "step-000009-aaaaaaaa.safetensors").write_text("half")
    train(tmp_path, 2)
    assert len(list((tmp_path / "checkpoints").iterdir())) == 4


def test_the_newest_checkpoint_is_used(tmp_path: Path) -> None:
    train(tmp_path, 3, best=1)
    state, path, wrong = newest_good(tmp_path, ABOUT)
    assert (state["step"], path.name, wrong) == (3, "step-000003.json", [])


@pytest.mark.parametrize("pattern", ["step-000003.json", "step-000003-*.safetensors"])
def test_if_it_is_damaged_the_one_before_is_used_and_the_damage_told(
    tmp_path: Path, pattern: str
) -> None:
    train(tmp_path, 3)
    (victim,) = (tmp_path / "checkpoints").glob(pattern)
    victim.write_bytes(victim.read_bytes()[:-9])
    state, _, wrong = newest_good(tmp_path, ABOUT)
    assert state["step"] == 2
    assert len(wrong) == 1
    assert str(victim) in wrong[0]


def test_the_best_one_is_used_when_the_others_are_damaged(tmp_path: Path) -> None:
    train(tmp_path, 4, best=2)
    for path in (tmp_path / "checkpoints").glob("step-*.json"):
        path.write_text("")
    state, path, wrong = newest_good(tmp_path, ABOUT)
    assert (state["step"], path.name, len(wrong)) == (2, "best.json", 2)


def test_no_good_checkpoint_is_an_error_and_no_checkpoint_is_none(tmp_path: Path) -> None:
    assert newest_good(tmp_path, ABOUT) is None
    train(tmp_path, 2)
    for path in (tmp_path / "checkpoints").glob("*.safetensors"):
        path.write_text("")
    with pytest.raises(InputError, match=f"{tmp_path} has no good checkpoint: .*; .* is not whole"):
        newest_good(tmp_path, ABOUT)


def test_checkpoints_of_a_future_that_is_made_again_go(tmp_path: Path) -> None:
    train(tmp_path, 5)
    train(tmp_path, 2)
    assert steps_of(tmp_path) == {"step-000001", "step-000002"}


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"config": {"steps": 12, "seed": 2}}, "another configuration: seed is 1 there and 2 here"),
        ({"config": {"steps": 12}}, "another configuration: seed is 1 there and None here"),
        ({"symbols": "abcd"}, "another text"),
        ({"text_checksum": "4567"}, "another text"),
        ({"experiment": "package.other"}, "another experiment"),
    ],
)
def test_a_checkpoint_of_something_else_is_refused(
    tmp_path: Path, changed: dict[str, Any], sentence: str
) -> None:
    train(tmp_path, 1)
    with pytest.raises(InputError, match=f"step-000001.json is of {sentence}"):
        newest_good(tmp_path, ABOUT | changed)


def test_what_a_run_is_about_is_read(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps(ABOUT))
    assert read_about(tmp_path) == ABOUT


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"config": 1}'])
def test_a_damaged_description_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(InputError, match=r"run\.json is (damaged|not that of a run)"):
        read_about(tmp_path)


def test_a_folder_that_is_no_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"{tmp_path} is not the folder of a run: cannot read"):
        read_about(tmp_path)


def test_runs_never_share_a_folder(tmp_path: Path) -> None:
    paths = {new_run(tmp_path, "name") for _ in range(20)}
    assert len(paths) == 20
    assert {path.parent for path in paths} == {tmp_path / "name"}


def test_runs_that_draw_the_same_letters_share_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    letters = iter(["aa", "aa", "bb"])
    monkeypatch.setattr("labml_nn.training.runs.secrets.token_hex", lambda _: next(letters))
    monkeypatch.setattr("labml_nn.training.runs.time.strftime", lambda _: "now")
    paths = [new_run(tmp_path, "name") for _ in range(2)]
    assert [path.name for path in paths] == ["now_aa", "now_bb"]
    assert list(letters) == []


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    with pytest.raises(InputError, match="cannot write .*/file/runs/name/.*: Not a directory"):
        new_run(tmp_path / "file" / "runs", "name")
    assert (tmp_path / "file").read_text() == "kept"


def test_texts_that_differ_in_one_character_have_other_fingerprints() -> None:
    assert len({text_checksum(text) for text in ("abc", "abd", "abc ", "äbc")}) == 4
