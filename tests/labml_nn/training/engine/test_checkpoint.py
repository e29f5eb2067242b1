import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from labml_nn.training import checkpoint
from labml_nn.training.checkpoint import checksum, load_checkpoint, restore, save_checkpoint
from labml_nn.training.data import InputError
from labml_nn.training.loop import TrainConfig, Trainer, adamw

CONFIG = TrainConfig(
    steps=12,
    batch_size=3,
    seq_len=7,
    device="cpu",
    precision="float32",
    learning_rate=0.01,
    record_every=4,
    evaluate_every=6,
)


def two(model: nn.Module, config: TrainConfig) -> list[torch.optim.Optimizer]:
    r"""One for the last layer, with a memory of another kind, and AdamW for the rest."""
    last = torch.optim.SGD(model[-1].parameters(), 0.1, momentum=0.9)
    return [last, *adamw(model[:-1], config)]


def make_trainer(d_model: int = 11, config: TrainConfig = CONFIG) -> Trainer:
    torch.manual_seed(config.seed)
    model = nn.Sequential(nn.Embedding(5, d_model), nn.Dropout(0.5), nn.Linear(d_model, 5))
    text = torch.randint(5, (997,), generator=torch.Generator().manual_seed(3))
    return Trainer(model, text, text[:101], config, two)


Points = list[tuple[int, dict[str, float]]]


def run(trainer: Trainer, until: int = 12) -> Points:
    points: Points = []
    trainer.run(
        lambda step, values: points.append((step, values)),
        should_stop=lambda: trainer.step == until,
    )
    return [
        (step, {name: value for name, value in values.items() if name != "tokens_per_second"})
        for step, values in points
    ]


def everything(trainer: Trainer) -> dict[str, Any]:
    r"""All that the next step depends on, in a form that can be compared."""
    memories = [optimizer.state_dict()["state"] for optimizer in trainer.optimizers]
    return {
        "step": trainer.step,
        "best": trainer.best,
        "weights": [value.tolist() for value in trainer.model.state_dict().values()],
        "memories": [
            {
                index: {name: torch.as_tensor(value).tolist() for name, value in state.items()}
                for index, state in memory.items()
            }
            for memory in memories
        ],
        "losses": [loss.item() for loss in trainer.losses],
        "dropout": torch.get_rng_state().tolist(),
    }


@pytest.mark.parametrize("stop", [1, 4, 5, 7, 12])
def test_a_run_that_was_stopped_and_continued_ends_with_the_same_bits(
    tmp_path: Path, stop: int
) -> None:
    straight = make_trainer()
    expected_points = run(straight)
    expected = everything(straight)

    first = make_trainer()
    points = run(first, until=stop)
    save_checkpoint(tmp_path / "checkpoint.json", first, {})

    # Another start: nothing of it may be left.
    second = make_trainer()
    nn.init.normal_(second.model[0].weight)
    torch.manual_seed(99)
    restore(second, load_checkpoint(tmp_path / "checkpoint.json"), tmp_path / "checkpoint.json")
    assert second.seconds == first.seconds
    assert second.interval == first.interval
    points += run(second)
    assert everything(second) == expected
    assert points == expected_points


def test_what_is_remembered_of_each_parameter_has_its_shape(tmp_path: Path) -> None:
    trainer = make_trainer()
    run(trainer)
    save_checkpoint(tmp_path / "step.json", trainer, {})
    state = load_checkpoint(tmp_path / "step.json")
    # The last layer has an optimizer of its own, and the matrix before it the other.
    last, first = state["optimizers"]
    assert [list(one["momentum_buffer"].shape) for one in last["state"].values()] == [[5, 11], [5]]
    assert [list(one["exp_avg"].shape) for one in first["state"].values()] == [[5, 11]]


def test_what_the_checkpoint_is_about_comes_back(tmp_path: Path) -> None:
    about = {"config": {"d_model": 11, "device": "auto"}, "symbols": "\n aä"}
    save_checkpoint(tmp_path / "checkpoint.json", make_trainer(), about)
    assert load_checkpoint(tmp_path / "checkpoint.json")["about"] == about


def test_tensors_are_in_safetensors_and_the_rest_is_strict_json(tmp_path: Path) -> None:
    from safetensors.torch import load_file

    trainer = make_trainer()
    run(trainer, until=5)
    save_checkpoint(tmp_path / "step.json", trainer, {})
    (beside,) = tmp_path.glob("*.safetensors")
    tensors = load_file(beside)
    for name, value in trainer.model.state_dict().items():
        assert tensors[f"model.{name}"].equal(value)

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    text = (tmp_path / "step.json").read_text()
    document = json.loads(text, parse_constant=refuse)
    assert document["tensors"] == beside.name
    assert document["state"]["step"] == 5


def test_a_checkpoint_of_another_shape_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.json"
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
    path = tmp_path / "checkpoint.json"
    save_checkpoint(path, make_trainer(), {})
    model = nn.Sequential(nn.Embedding(5, 11), nn.Dropout(0.5))
    trainer = Trainer(model, torch.zeros(9).long(), torch.zeros(9).long(), CONFIG)
    with pytest.raises(InputError, match=r"2.weight is \[5, 11\] there and missing here"):
        restore(trainer, load_checkpoint(path), path)


def saved(folder: Path) -> tuple[Path, Path]:
    trainer = make_trainer()
    run(trainer, until=3)
    save_checkpoint(folder / "step.json", trainer, {"symbols": "abcde"})
    (beside,) = folder.glob("*.safetensors")
    return folder / "step.json", beside


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "half": lambda content: content[: len(content) // 2],
    "without the last byte": lambda content: content[:-1],
    "with one byte more": lambda content: content + b"x",
    "empty": lambda content: b"",
    "something else": lambda content: b"hello",
    "one bit": lambda content: content[:1000] + bytes([content[1000] ^ 1]) + content[1001:],
}


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_truncated_or_altered_file_is_refused(tmp_path: Path, which: int, damage: str) -> None:
    path = saved(tmp_path)[which]
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    with pytest.raises(InputError, match=str(path)):
        load_checkpoint(tmp_path / "step.json")


@pytest.mark.parametrize("field", ["step", "seconds", "best", "interval"])
def test_a_number_that_was_altered_is_seen(tmp_path: Path, field: str) -> None:
    path, _ = saved(tmp_path)
    document = json.loads(path.read_text())
    document["state"][field] = 4
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match="step.json was altered after it was saved"):
        load_checkpoint(path)


def test_tensors_that_are_missing_are_named(tmp_path: Path) -> None:
    path, beside = saved(tmp_path)
    beside.unlink()
    with pytest.raises(InputError, match=f"cannot read {beside}: No such file"):
        load_checkpoint(path)


def test_tensors_come_by_name_in_whatever_order_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = saved(tmp_path)
    library, seen = checkpoint.safetensors(), []

    class Shuffled:
        @staticmethod
        def load(content: bytes) -> dict[str, torch.Tensor]:
            return dict(sorted(library.load(content).items(), reverse=True))

    monkeypatch.setattr(checkpoint, "safetensors", Shuffled)
    unpack = checkpoint.unpack
    monkeypatch.setattr(checkpoint, "unpack", lambda one, all: seen.append(all) or unpack(one, all))
    load_checkpoint(path)
    assert len(seen[0]) > 1
    assert list(seen[0]) == sorted(seen[0])


def test_tensors_are_looked_for_beside_the_text_only(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    path, beside = saved(tmp_path / "inner")
    beside.rename(tmp_path / beside.name)
    document = json.loads(path.read_text())
    document["tensors"] = f"../{beside.name}"
    document["checksum"] = checksum(document)
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match=f"cannot read {beside}: No such file"):
        load_checkpoint(path)


def test_a_file_that_would_run_code_is_refused(tmp_path: Path) -> None:
    class Touch:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "touched",)

    path, beside = saved(tmp_path)
    for victim in (beside, path):
        torch.save({"format": Touch()}, victim)
        with pytest.raises(InputError, match="altered|not a checkpoint"):
            load_checkpoint(path)
    assert not (tmp_path / "touched").exists()


@pytest.mark.parametrize("value", [{}, {"format": "another 1"}, [1, 2], None, {"format": 3}])
def test_a_file_of_another_program_is_refused(tmp_path: Path, value: object) -> None:
    (tmp_path / "weights").write_text(json.dumps(value))
    with pytest.raises(InputError, match="weights is not a checkpoint, or it is damaged"):
        load_checkpoint(tmp_path / "weights")


def test_a_file_of_another_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "old").write_text('{"format": "annotated-transformers 2"}')
    with pytest.raises(InputError, match="old was saved by another version of this program"):
        load_checkpoint(tmp_path / "old")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read .*/nowhere: No such file"):
        load_checkpoint(tmp_path / "nowhere")
    with pytest.raises(InputError, match="cannot read .*: Is a directory"):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize("method", ["write_bytes", "write_text"])
def test_a_checkpoint_that_cannot_be_written_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    path = tmp_path / "checkpoint.json"
    trainer = make_trainer()
    save_checkpoint(path, trainer, {"number": 1})
    trainer.train_step()

    def full(self: Path, content: object, encoding: str = "") -> None:
        self.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, method, full)
    with pytest.raises(InputError, match=r"cannot write .*checkpoint.*: No space left on device"):
        save_checkpoint(path, trainer, {"number": 2})
    assert load_checkpoint(path)["about"] == {"number": 1}
    assert load_checkpoint(path)["step"] == 0
    assert [one for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def test_without_safetensors_one_sentence_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "safetensors.torch", None)
    with pytest.raises(InputError, match="need the package safetensors: python -m pip install"):
        save_checkpoint(tmp_path / "checkpoint.json", make_trainer(), {})


def test_a_model_whose_weights_share_their_memory_is_saved(tmp_path: Path) -> None:
    embedding, last = nn.Embedding(5, 7), nn.Linear(7, 5, bias=False)
    last.weight = embedding.weight
    text = torch.zeros(99).long()
    trainer = Trainer(nn.Sequential(embedding, last), text, text, replace(CONFIG))
    save_checkpoint(tmp_path / "checkpoint.json", trainer, {})
    state = load_checkpoint(tmp_path / "checkpoint.json")
    assert state["model"]["1.weight"].equal(embedding.weight)
