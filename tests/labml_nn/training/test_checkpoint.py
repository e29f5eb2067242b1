import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from labml_nn.training.checkpoint import load_checkpoint, restore, save_checkpoint
from labml_nn.training.data import InputError
from labml_nn.training.loop import TrainConfig, Trainer

CONFIG = TrainConfig(
    steps=12, batch_size=3, seq_len=7, device="cpu", precision="float32", learning_rate=0.01
)


def two_optimizers(model: nn.Module, config: TrainConfig) -> list[torch.optim.Optimizer]:
    embedding, _, linear = model
    return [
        torch.optim.AdamW(embedding.parameters(), config.learning_rate),
        torch.optim.SGD(linear.parameters(), 0.1, momentum=0.9),
    ]


def make_trainer(d_model: int = 11, config: TrainConfig = CONFIG) -> Trainer:
    torch.manual_seed(config.seed)
    model = nn.Sequential(nn.Embedding(5, d_model), nn.Dropout(0.5), nn.Linear(d_model, 5))
    text = torch.randint(5, (997,), generator=torch.Generator().manual_seed(3))
    return Trainer(model, text, text[:101], config, two_optimizers)


def run(trainer: Trainer, until: int = 12) -> None:
    trainer.run(lambda step, values: None, should_stop=lambda: trainer.step == until)


def everything(trainer: Trainer) -> dict[str, Any]:
    r"""All that the next step depends on, in a form that can be compared."""
    return {
        "step": trainer.step,
        "weights": [value.tolist() for value in trainer.model.state_dict().values()],
        "moments": {
            index: {name: value.tolist() for name, value in state.items()}
            for index, state in enumerate(
                state
                for optimizer in trainer.optimizers
                for state in optimizer.state_dict()["state"].values()
            )
        },
        "dropout": torch.get_rng_state().tolist(),
    }


@pytest.mark.parametrize("stop", [1, 5, 12])
def test_a_run_that_was_stopped_and_continued_ends_with_the_same_bits(
    tmp_path: Path, stop: int
) -> None:
    straight = make_trainer()
    run(straight)
    expected = everything(straight)

    first = make_trainer()
    run(first, until=stop)
    save_checkpoint(tmp_path / "checkpoint", first, {})

    # Nothing of the new trainer's own start may be left.
    second = make_trainer()
    torch.manual_seed(99)
    restore(second, load_checkpoint(tmp_path / "checkpoint"), tmp_path / "checkpoint")
    assert second.seconds == first.seconds
    run(second)
    assert everything(second) == expected


def test_what_the_checkpoint_is_about_comes_back(tmp_path: Path) -> None:
    about = {"config": {"d_model": 11, "device": "auto"}, "symbols": "\n aä"}
    save_checkpoint(tmp_path / "checkpoint", make_trainer(), about)
    assert load_checkpoint(tmp_path / "checkpoint")["about"] == about


def test_a_checkpoint_of_another_shape_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    other = make_trainer(d_model=13)
    run(other)
    save_checkpoint(path, other, {})

    trainer = make_trainer()
    before = everything(trainer)
    with pytest.raises(InputError) as caught:
        restore(trainer, load_checkpoint(path), path)
    assert str(caught.value) == (
        f"{path} holds a model of another shape: 0.weight is [5, 13] there and [5, 11] here; "
        "use the sizes it was trained with"
    )
    assert everything(trainer) == before


def test_a_checkpoint_with_more_layers_is_of_another_shape_too(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    save_checkpoint(path, make_trainer(), {})
    model = nn.Sequential(nn.Embedding(5, 11), nn.Dropout(0.5))
    trainer = Trainer(model, torch.zeros(9).long(), torch.zeros(9).long(), CONFIG)
    with pytest.raises(InputError, match=r"2.weight is \[5, 11\] there and missing here"):
        restore(trainer, load_checkpoint(path), path)


def test_a_truncated_or_altered_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    save_checkpoint(path, make_trainer(), {})
    content = path.read_bytes()
    for damaged in (content[: len(content) // 2], b"", b"hello", b"PK\x03\x04" + bytes(100)):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"checkpoint is not a checkpoint, or it is damaged"):
            load_checkpoint(path)


def test_a_file_that_would_run_code_is_refused(tmp_path: Path) -> None:
    class Touch:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "touched",)

    for write in (torch.save, lambda value, path: path.write_bytes(pickle.dumps(value))):
        write({"format": Touch()}, tmp_path / "checkpoint")
        with pytest.raises(InputError, match="not a checkpoint"):
            load_checkpoint(tmp_path / "checkpoint")
    assert not (tmp_path / "touched").exists()


@pytest.mark.parametrize("value", [{}, {"format": "another 1"}, [1, 2], torch.zeros(3)])
def test_a_file_of_another_program_is_refused(tmp_path: Path, value: object) -> None:
    torch.save(value, tmp_path / "weights")
    with pytest.raises(InputError, match="weights is not a checkpoint that this program saved"):
        load_checkpoint(tmp_path / "weights")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read .*/nowhere: No such file"):
        load_checkpoint(tmp_path / "nowhere")
    with pytest.raises(InputError, match="cannot read .*: Is a directory"):
        load_checkpoint(tmp_path)


def test_a_checkpoint_that_cannot_be_written_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "checkpoint"
    trainer = make_trainer()
    save_checkpoint(path, trainer, {"number": 1})

    def full(self: Path, content: bytes) -> None:
        self.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(InputError, match=r"cannot write .*checkpoint: No space left on device"):
        save_checkpoint(path, trainer, {"number": 2})
    assert load_checkpoint(path)["about"] == {"number": 1}
    assert list(tmp_path.iterdir()) == [path]
