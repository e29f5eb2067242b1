import json
import re
import shutil
import signal
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from torch import Tensor, nn

from labml_nn.training.data import tiny_shakespeare
from labml_nn.training.engine import command_line
from labml_nn.training.engine.checkpoint import load_checkpoint
from labml_nn.training.engine.config import TrainConfig, setting
from labml_nn.training.engine.presets import Preset
from labml_nn.training.engine.records import read_history
from labml_nn.training.engine.text import prepare_text
from labml_nn.training.engine.trainer import Trainer
from labml_nn.training.loop import evaluate
from tests.labml_nn.training.engine.models import TEXT, as_on_a_gpu

SMALL = ["--steps=12", "--evaluate-every=5", "--save-every=5", "--sample-length=20"]
SMALL += ["--device=cpu", "--precision=float32"]


@dataclass(frozen=True)
class Config(TrainConfig):
    d_model: int = setting(11, "features of a token")


def make_model(config: Config, n_vocab: int) -> nn.Module:
    return nn.Sequential(nn.Embedding(n_vocab, config.d_model), nn.Linear(config.d_model, n_vocab))


TOY = Preset(Config, make_model)


@dataclass
class Command:
    r"""The command with a small recipe; what is given comes last and wins."""

    folder: Path
    capsys: pytest.CaptureFixture[str]

    def main(self, *arguments: str, preset: Preset = TOY) -> tuple[int, str, str]:
        status = command_line.main(arguments, {"toy": preset})
        return status, *self.capsys.readouterr()

    def __call__(self, *arguments: str, preset: Preset = TOY) -> tuple[int, str, str]:
        given = [*SMALL, f"--runs={self.folder / 'runs'}", f"--text={self.folder / 'text'}"]
        return self.main(*given, *arguments, preset=preset)

    def resume(self, *options: str) -> tuple[int, str, str]:
        return self.main(f"--resume={self.run}", "--sample-length=20", *options)

    @property
    def run(self) -> Path:
        (path,) = (self.folder / "runs" / "toy").iterdir()
        return path


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    (tmp_path / "text").write_text(TEXT)
    return Command(tmp_path, capsys)


def saved(folder: Path, step: int = 12) -> dict[str, Any]:
    (path,) = folder.glob(f"**/step-{step:06}-*.pt")
    return load_checkpoint(path)


def end_of(folder: Path, out: str) -> tuple[str, str, list[Any]]:
    r"""The loss and the sample that were printed, and the weights that were saved."""
    weights = [one.tolist() for one in saved(folder)["model"].values()]
    return re.search("validation loss .* nats.*", out)[0], out.rpartition("\n\n")[2], weights


def test_a_run_leaves_its_loss_its_record_and_its_checkpoints(command: Command) -> None:
    status, out, err = command("--seed=3", "--json")
    assert (status, err) == (0, "")
    path = command.run
    out, _, last = out.rstrip("\n").rpartition("\n")
    assert f"run {path}\n" in out
    assert "2,200 characters, 29 in the vocabulary, 667 parameters, on cpu in float32, " in out
    speed = r"^12 steps in \d+\.\d seconds, [\d,]+ tokens a second, at most [\d,]+ MB of memory$"
    assert re.search(speed, out, re.MULTILINE)
    assert re.search(r"^honest loss (\d.\d{4}), teacher-forced \1, at the", out, re.MULTILINE)
    assert b"<svg" in (path / "losses.svg").read_bytes()[:1000]
    assert [step for step, _ in read_history(path)] == [5, 10, 12]

    # The loss that is printed is the loss of what was saved.
    state, prepared = saved(path), prepare_text(TEXT, 64)
    assert (state["step"], state["about"]["config"]["seed"]) == (12, 3)
    assert state["about"]["symbols"] == prepared.tokenizer.symbols
    model = make_model(Config(), 29)
    model.load_state_dict(state["model"])
    loss = evaluate(model, prepared.validation, 64)
    assert f"validation loss {loss:.4f} nats a token" in out
    # The sample begins as the text does, and is as long as was asked for.
    sample = out.rpartition("\n\n")[2]
    assert sample.startswith("t")
    assert len(sample) == 1 + 20

    result = json.loads(last)
    assert result.keys() >= {"val_loss", "honest_loss", "best_val_loss", "peak_memory", "honest"}
    known = {"seed": 3, "steps": 12, "parameters": 667, "honest": True, "run": str(path)}
    assert result.items() >= known.items()
    assert result["val_loss"] == read_history(path)[-1][1]["loss.validation"]
    assert result["tokens_per_second"] == pytest.approx(12 * 12 * 64 / result["seconds"])
    assert json.loads((path / "result.json").read_text()) == result


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_that_is_told_to_stop_is_saved_and_goes_on_to_the_same_end(
    command: Command, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, status: int
) -> None:
    straight, other = command.folder / "straight", command.folder / "other"
    expected = end_of(straight, command("--batch-size=5", f"--runs={straight}")[1])
    another = end_of(other, command("--batch-size=5", f"--runs={other}", "--seed=2")[1])
    assert all(one != other for one, other in zip(expected, another, strict=True))
    batch_at = Trainer.batch_at

    def interrupted(trainer: Trainer, step: int) -> tuple[Tensor, Tensor]:
        # The seventh step; the steps are counted from 0, and the first batch is asked for twice.
        if step == 6:
            signal.raise_signal(number)
        return batch_at(trainer, step)

    monkeypatch.setattr(Trainer, "batch_at", interrupted)
    found, out, err = command("--batch-size=5")
    assert (found, err) == (status, "")
    assert out.endswith(f"stopped after step 7; --resume {command.run} goes on\n")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

    monkeypatch.undo()
    _, out, _ = command.resume()
    assert f"run {command.run}\nfrom step 7\n" in out
    assert end_of(command.run, out) == expected


def test_a_run_goes_on_from_whatever_checkpoint_is_good(command: Command) -> None:
    command()
    history = read_history(command.run)
    (newest,) = command.run.glob("checkpoints/step-000012-*.pt")

    # It is finished: only the sample is another.
    _, out, _ = command.resume("--prompt=fox", "--precision=auto", "--steps=12")
    assert "from step 12\n" in out
    assert out.rpartition("\n\n")[2].startswith("fox")
    assert read_history(command.run) == history
    newest.write_bytes(newest.read_bytes()[:-100])
    _, out, err = command.resume()
    assert "from step 10\n" in out
    assert err == f"not used: {newest} is damaged, or was altered after it was saved\n"
    assert saved(command.run)["step"] == 12


@pytest.mark.parametrize(
    ("argument", "sentence"),
    [
        ("--text={tmp}/nowhere", "cannot read {tmp}/nowhere: No such file or directory"),
        ("--text={tmp}", "cannot read {tmp}: Is a directory"),
        ("--text={tmp}/empty", "{tmp}/empty is empty"),
        ("--text={tmp}/latin", "{tmp}/latin is not UTF-8: byte 0xf6 at position 1 "),
        ("--seq-len=1980", "2,200 characters are too few for a context of 1,980"),
        ("--corpus=bible", "argument --corpus: invalid choice: 'bible'"),
        ("--corpus=python", "argument --corpus: not allowed with argument --text"),
        ("--preset=great", "argument --preset: invalid choice: 'great'"),
        ("--steps=0", "steps must be at least 1, got 0"),
        ("--steps=many", "argument --steps: invalid int value: 'many'"),
        ("--device=cuda:99", "the device 'cuda:99' cannot be used here: "),
        ("--precision=float8", "unknown precision 'float8'"),
        ("--prompt=", "the prompt is empty"),
        ("--temperature=-1", "temperature and top_k must be at least 0"),
        ("--runs={tmp}/text/runs", "cannot write {tmp}/text/runs/toy/"),
        ("--prompt=fö!", "the training text has no '!', 'ö'"),
        ("--micro-batches=5", "batch_size must be a multiple of micro_batches times processes"),
        ("--resume={tmp}/nowhere", "{tmp}/nowhere is not the folder of a run: cannot read "),
        ("--resume={tmp}/text", "{tmp}/text is not the folder of a run: cannot read "),
        ("--unknown", "unrecognized arguments: --unknown"),
        ("--step=3", "unrecognized arguments: --step=3"),
    ],
)
def test_a_mistake_is_told_in_one_sentence_before_anything_is_made(
    command: Command, tmp_path: Path, argument: str, sentence: str
) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "latin").write_bytes("wölf".encode("latin-1"))
    status, out, err = command(argument.format(tmp=tmp_path))
    assert (status, out) == (2, "")
    assert err.startswith("error: " + sentence.format(tmp=tmp_path))
    assert err.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"text", "empty", "latin"}
    assert (tmp_path / "text").read_text() == TEXT


def test_the_text_is_that_of_the_package_or_another_that_has_a_name(command: Command) -> None:
    one = ["--steps=1", "--device=cpu", "--sample-length=1", f"--runs={command.folder / 'runs'}"]
    _, out, _ = command.main(*one)
    assert out.startswith(f"{len(tiny_shakespeare()):,} characters, 66 in the")
    about = json.loads((command.run / "run.json").read_text())
    assert about["text"] == {"corpus": "tiny_shakespeare"}
    assert command.main(*one, "--corpus=python")[1].startswith("1,115,394 characters")


def test_byte_pairs_are_learned_and_resumed(command: Command) -> None:
    _, out, _ = command("--n-vocab=270", "--seq-len=8")
    assert "tokens, 270 in the vocabulary" in out
    assert json.loads((command.run / "tokenizer.json").read_text())["model"]["type"] == "BPE"
    assert end_of(command.run, command.resume()[1])[:2] == end_of(command.run, out)[:2]


def test_a_run_goes_on_with_a_graph_or_without(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    with as_on_a_gpu(monkeypatch):
        assert "recorded as a CUDA graph" in command()[1]
    # Where there is no GPU, and where a model turned out to be none that can be recorded.
    for options in ([], ["--no-cuda-graph"]):
        status, out, _ = command.resume(*options)
        assert status == 0
        assert "not compiled" in out


def test_a_run_is_not_resumed_as_another(command: Command, tmp_path: Path) -> None:
    (tmp_path / "other").write_text(TEXT.upper())
    command("--seq-len=8")
    run = command.run
    before = {path: path.read_bytes() for path in run.rglob("*.*")}
    cases = {
        "--d-model=13": f"{run} has d_model=11, not 13: leave out --d-model, or start a new run",
        "--steps=13": f"{run} has steps=12, not 13: leave out --steps, or start a new run",
        f"--text={tmp_path / 'other'}": f"{run} was trained on another text",
    }
    for option, sentence in cases.items():
        assert command.resume(option) == (2, "", f"error: {sentence}\n")
    assert {path: path.read_bytes() for path in run.rglob("*.*")} == before

    # Without a checkpoint, too, where nothing else could tell that the tokens are others.
    shutil.rmtree(run / "checkpoints")
    pairs = [f"--text={tmp_path / 'text'}", "--n-vocab=270"]
    sentence = f"{run} was trained on other tokens: leave out --n-vocab"
    assert command.resume(*pairs) == (2, "", f"error: {sentence}\n")

    # Its text, or what the run is about, was changed meanwhile.
    (tmp_path / "text").write_text(TEXT.replace("quick", "QUICK", 1))
    assert command.resume() == (2, "", f"error: {run} was trained on another text\n")
    about = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(about | {"preset": "os.system"}))
    assert command.resume()[2] == f"error: {run} has an unknown preset, 'os.system'\n"


def test_a_loss_that_is_not_finite_ends_with_a_sentence_and_keeps_what_was_good(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    wild = ["--learning-rate=1e30", "--clip=1e30", "--steps=50", "--warmup=0.9", "--save-every=1"]
    status, _, err = command(*wild, "--record-every=1", "--evaluate-every=50")
    sentence = r"error: .* not finite in step (\d+), whose .*; the checkpoints of .* are kept\n"
    good = int(re.fullmatch(sentence, err)[1]) - 1
    assert (status, saved(command.run, good)["step"]) == (2, good)

    # So does a full disk.
    full = Mock(side_effect=OSError(28, "No space left on device"))
    monkeypatch.setattr(Path, "write_bytes", full)
    sentence = r"error: cannot write .*step-000005.*: No space left .*; the checkpoints .* kept\n"
    status, _, err = command()
    assert status == 2
    assert re.fullmatch(sentence, err)


class Leaking(nn.Sequential):
    def forward(self, tokens: Tensor) -> Tensor:
        return super().forward(tokens.roll(-1, dims=0))


def test_a_run_whose_model_leaks_says_so_and_fails(command: Command) -> None:
    leaking = replace(TOY, model=lambda config, n_vocab: Leaking(*make_model(config, n_vocab)))
    status, out, err = command("--steps=300", "--learning-rate=0.1", "--json", preset=leaking)
    result = json.loads(out.splitlines()[-1])
    assert result["val_loss"] < 0.5 < 2 < result["honest_loss"]
    assert (status, result["honest"]) == (1, False)
    assert err == f"error: {result['honest_sentence']}\n"


def test_a_mistake_in_the_program_keeps_its_traceback(command: Command) -> None:
    broken = replace(TOY, model=lambda config, n_vocab: nn.Linear(int("many"), n_vocab))
    with pytest.raises(ValueError, match="invalid literal for int"):
        command(preset=broken)


def test_every_field_of_the_recipe_is_an_option_with_its_default(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as left:
        command_line.main(["--help"], {"toy": replace(TOY, defaults={"steps": 7})})
    assert left.value.code == 0
    told = " ".join(capsys.readouterr().out.split())
    assert told.startswith("usage: python -m labml_nn.training.engine ")
    for field in fields(Config):
        option = field.name.replace("_", "-")
        kind = f", --no-{option}" if "bool" in str(field.type) else ""
        kind = kind or f" {field.type.__name__.upper()}"
        default = {"steps": 7}.get(field.name, field.default)
        shown = "" if default is None else f" (default: {default})"
        assert f"--{option}{kind} {field.metadata['help']}{shown}" in told
