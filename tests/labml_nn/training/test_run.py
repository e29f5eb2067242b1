r"""A run that is stopped is compared, bit for bit, with the loop, which knows nothing of stops."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from labml_nn.training.loop import adamw, train
from labml_nn.training.run import Run

SEQ_LEN, BATCH_SIZE, N_VOCAB, STEPS = 5, 3, 11, 37

Batch = tuple[Tensor, Tensor]


def batch_at(step: int) -> Batch:
    text = torch.arange(SEQ_LEN + 1)[:, None] + 2 * torch.arange(BATCH_SIZE) + step
    return text[:-1] % N_VOCAB, text[1:] % N_VOCAB


def make(seed: int = 1) -> nn.Module:
    r"""With dropout, so that the random numbers count."""
    torch.manual_seed(seed)
    return nn.Sequential(nn.Embedding(N_VOCAB, 7), nn.Dropout(0.3), nn.Linear(7, N_VOCAB))


def run_of(model: nn.Module, batches: Callable[[int], Batch] = batch_at, **more: object) -> Run:
    return Run(model, batches, [adamw(model)], **{"say": lambda *words: None, **more})


def pressed_at(step: int) -> Callable[[int], Batch]:
    r"""Batches that are good as new, but for the stop button in the middle of a step."""

    def batches(at: int) -> Batch:
        if at == step:
            signal.raise_signal(signal.SIGINT)
        return batch_at(at)

    return batches


def lost_at(step: int) -> Callable[[int], Batch]:
    r"""Batches of a machine that is taken away at a step."""

    def batches(at: int) -> Batch:
        if at == step:
            raise ConnectionError
        return batch_at(at)

    return batches


def weights(model: nn.Module) -> list[list[float]]:
    return [one.flatten().tolist() for one in model.state_dict().values()]


@pytest.fixture
def expected() -> tuple[list[float], list[list[float]]]:
    r"""The losses and the weights of the loop."""
    model = make()
    losses: list[float] = []
    train(
        model, batch_at, [adamw(model)], STEPS,
        after_step=lambda step, loss: losses.append(loss.item()),
    )  # fmt: skip
    return losses, weights(model)


@pytest.mark.parametrize("step", [0, 1, 9, 20, 36])
def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(
    expected: tuple[list[float], list[list[float]]], step: int
) -> None:
    run = run_of(make(), pressed_at(step))
    with pytest.raises(KeyboardInterrupt):
        run.train(STEPS)
    # The step in which it was pressed is done, and no other one.
    assert (run.done, len(run.losses)) == (step + 1, step + 1)
    # Other cells draw, and leave the model in another mode.
    torch.rand(100)
    run.model.eval()
    run.batch_at = batch_at
    run.train(STEPS)
    assert (run.losses, weights(run.model)) == expected


def test_a_file_goes_on_with_a_run_where_its_machine_was_taken_away(
    expected: tuple[list[float], list[list[float]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(ConnectionError):
        run_of(make(), lost_at(25), keep_in="kept", name="a b/c").train(STEPS)
    # Another session. The last tenth was at step 24.
    said: list[str] = []
    how = {"keep_in": "kept", "name": "a b/c", "say": lambda *words: said.append(words[-1])}
    run = run_of(make(), **how)
    run.train(STEPS)
    assert said[:2] == [
        "taken from kept/a_b_c.pt. To start anew, remove it and make a new run.",
        f"goes on after step 24 of {STEPS}.",
    ]
    assert (run.losses, weights(run.model)) == expected
    # In the next one nothing is left to do, and the model is the trained one and knows it.
    said.clear()
    done = run_of(make(), **how)
    done.train(STEPS)
    assert (done.losses, weights(done.model)) == expected
    assert done.model.steps_trained == STEPS
    # From scratch is what it says in the end, and the run is made again.
    assert said[-1].endswith("scratch, remove kept/a_b_c.pt and run the cell that makes the run.")
    Path("kept/a_b_c.pt").unlink()
    run_of(make(), **how).train(2)
    assert "2 steps, from scratch." in said


@pytest.mark.parametrize(("seed", "shift"), [(2, 0), (1, 1)])
def test_the_file_of_another_run_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, shift: int
) -> None:
    monkeypatch.chdir(tmp_path)
    run_of(make(), keep_in="kept").train(2)
    other = run_of(make(seed), lambda step: batch_at(step + shift), keep_in="kept")
    with pytest.raises(ValueError, match="kept/model.pt has a run that began with other weights"):
        other.train(2)


def test_a_folder_that_cannot_be_written_to_is_told_before_the_first_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("kept").write_text("no folder", encoding="utf-8")
    run = run_of(make(), keep_in="kept")
    with pytest.raises(OSError, match="kept/model.pt can't be written"):
        run.train(STEPS)
    assert run.done == 0
    # Nothing was lost: it begins once the folder is there, and a file without a step isn't told.
    Path("kept").unlink()
    said: list[str] = []
    with pytest.raises(ConnectionError):
        run_of(make(), lost_at(1), keep_in="kept").train(STEPS)
    run_of(make(), keep_in="kept", say=said.append).train(STEPS)
    assert said[0] == f"{STEPS} steps, from scratch."


def test_a_file_is_on_the_drive_where_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labml_nn.training.run_file.DRIVE", tmp_path)
    run_of(make(), keep_in="kept").train(1)
    assert [one.name for one in (tmp_path / "kept").iterdir()] == ["model.pt"]


def test_it_says_where_it_begins_and_that_nothing_is_left() -> None:
    said: list[str] = []
    model = make()
    run = run_of(model, name="base", say=lambda *words: said.append(" ".join(words)))
    run.train(2)
    run.train(2)
    run.train(4)
    new = run_of(model, say=said.append)
    new.train(3)
    assert [one for one in said if "left" not in one and "step " not in one] == [
        "base: 2 steps, from scratch.",
        "3 steps, from weights that were trained for 4 before.",
    ]
    assert said[3].startswith("base: 2 steps are done, and nothing is left to do.")
    goes_on = "base: goes on after step 2 of 4. Its learning rate is now that of a run of 4."
    assert goes_on in said
    assert model.steps_trained == 7


def test_with_no_step_to_make_it_says_that_nothing_is_trained() -> None:
    said: list[str] = []
    run = run_of(make(), say=said.append)
    run.train(-5)
    run.train(0)
    expected = "asked for {} steps, so nothing is trained: ask for 1 or more."
    assert said == [expected.format(-5), expected.format(0)]
    assert run.losses == []


def test_a_look_has_no_dropout_and_what_it_sees_is_kept() -> None:
    run = run_of(make())
    run.train(10, lambda: run.model.training, times=5)
    assert run.seen == dict.fromkeys((2, 4, 6, 8, 10), False)
    assert run.model.training
    # What only prints leaves nothing.
    run.train(11, lambda: None)
    assert len(run.seen) == 5


def test_what_belongs_to_a_step_gets_its_number_and_its_loss() -> None:
    found: list[tuple[int, float]] = []
    run = run_of(make(), after_step=lambda step, loss: found.append((step, loss.item())))
    run.train(3)
    assert found == list(enumerate(run.losses, 1))


def test_the_press_that_comes_in_the_last_step_stops_the_cells_below() -> None:
    run = run_of(make(), pressed_at(2))
    with pytest.raises(KeyboardInterrupt):
        run.train(3)
    assert run.done == 3


def test_losses_are_read_twenty_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    plain = torch.Tensor.tolist
    monkeypatch.setattr(
        torch.Tensor, "tolist", lambda tensor: read.append(len(tensor)) or plain(tensor)
    )
    run_of(make()).train(500)
    # At each tenth, so after 50 steps, and twice before it.
    assert read == [20, 20, 10] * 10
