import json
import re
import signal
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from torch import Tensor, nn

from labml_nn.training.data import tiny_shakespeare
from labml_nn.training.engine import command_line
from labml_nn.training.engine.checkpoint_file import load_checkpoint
from labml_nn.training.engine.config import TrainConfig, setting
from labml_nn.training.engine.history import read_history
from labml_nn.training.engine.presets import Preset
from labml_nn.training.engine.text import prepare_text
from labml_nn.training.engine.trainer import Trainer
from labml_nn.training.loop import evaluate
from tests.labml_nn.training.engine.models import TEXT

Command = Callable[..., int]

SMALL = ["--steps=12", "--evaluate-every=5", "--save-every=5"]


@dataclass(frozen=True)
class Config(TrainConfig):
    d_model: int = setting(11, "features of a token")


def make_model(config: Config, n_vocab: int) -> nn.Module:
    return nn.Sequential(nn.Embedding(n_vocab, config.d_model), nn.Linear(config.d_model, n_vocab))


TOY = Preset(Config, make_model)


@pytest.fixture
def command(tmp_path: Path) -> Command:
    r"""The command with a small recipe; what is given comes last and wins."""
    (tmp_path / "text").write_text(TEXT)
    small = [*SMALL, "--device=cpu", "--precision=float32"]
    always = ["--sample-length=20", f"--runs={tmp_path / 'runs'}"]

    def run(
        *arguments: str,
        recipe: list[str] = small,
        text: Path | None = tmp_path / "text",
        preset: Preset = TOY,
    ) -> int:
        source = [] if text is None else [f"--text={text}"]
        return command_line.main([*recipe, *always, *source, *arguments], {"toy": preset})

    return run


def the_run(tmp_path: Path) -> Path:
    (path,) = (tmp_path / "runs" / "toy").iterdir()
    return path


def the_checkpoint(run: Path, step: int) -> Path:
    (path,) = (run / "checkpoints").glob(f"step-{step:06}-*.pt")
    return path


def weights(folder: Path) -> list[Any]:
    (path,) = folder.glob("**/step-000012-*.pt")
    return [one.tolist() for one in load_checkpoint(path)["model"].values()]


def last_loss(out: str) -> str:
    return re.search("validation loss .* nats.*", out)[0]


def test_a_run_leaves_its_loss_its_record_and_its_checkpoints(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("--seed=3", "--json") == 0
    out, err = capsys.readouterr()
    path = the_run(tmp_path)
    assert err == ""
    out, _, last = out.rstrip("\n").rpartition("\n")
    assert f"run {path}\n" in out
    assert "2,200 characters, 29 in the vocabulary, 667 parameters, on cpu in float32, " in out
    speed = r"^12 steps in \d+\.\d seconds, [\d,]+ tokens a second, at most \d+ MB of memory$"
    assert re.search(speed, out, re.MULTILINE)
    assert re.search(r"^honest loss (\d.\d{4}), teacher-forced \1, at the", out, re.MULTILINE)
    assert b"<svg" in (path / "losses.svg").read_bytes()[:1000]
    assert [step for step, _ in read_history(path)] == [5, 10, 12]

    # The loss that is printed is the loss of what was saved.
    state = load_checkpoint(the_checkpoint(path, 12))
    assert state["step"] == 12
    assert state["about"]["config"]["seed"] == 3
    prepared = prepare_text(TEXT, 64)
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


def test_the_same_seed_prints_the_same_and_has_the_same_bits(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = []
    for number, seed in enumerate((1, 1, 2)):
        command(f"--seed={seed}", f"--runs={tmp_path / str(number)}")
        out = capsys.readouterr().out
        sample = out.rpartition("\n\n")[2]
        printed.append((last_loss(out), sample, weights(tmp_path / str(number))))
    assert printed[0] == printed[1]
    assert all(one != other for one, other in zip(printed[0], printed[2], strict=True))


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_that_is_told_to_stop_is_saved_and_goes_on_to_the_same_end(
    command: Command,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    number: signal.Signals,
    status: int,
) -> None:
    assert command("--batch-size=5", f"--runs={tmp_path / 'straight'}") == 0
    straight = capsys.readouterr().out
    batch_at = Trainer.batch_at

    def interrupted(trainer: Trainer, step: int) -> tuple[Tensor, Tensor]:
        # The seventh step; the steps are counted from 0, and the first batch is asked for twice.
        if step == 6:
            signal.raise_signal(number)
        return batch_at(trainer, step)

    monkeypatch.setattr(Trainer, "batch_at", interrupted)
    assert command("--batch-size=5") == status
    out, err = capsys.readouterr()
    path = the_run(tmp_path)
    assert err == ""
    assert out.endswith(f"stopped after step 7; --resume {path} goes on\n")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

    monkeypatch.undo()
    assert command(f"--resume={path}", recipe=[], text=None) == 0
    resumed = capsys.readouterr().out
    assert f"run {path}\nfrom step 7\n" in resumed
    assert last_loss(straight) == last_loss(resumed)
    assert straight.rpartition("\n\n")[2] == resumed.rpartition("\n\n")[2]
    assert weights(path) == weights(tmp_path / "straight")


def test_a_run_goes_on_from_whatever_checkpoint_is_good(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command()
    loss, run = last_loss(capsys.readouterr().out), the_run(tmp_path)
    history, newest = read_history(run), the_checkpoint(run, 12)

    def resumed(step: int, *options: str) -> tuple[str, str]:
        assert command(f"--resume={run}", *options, recipe=[], text=None) == 0
        out, err = capsys.readouterr()
        assert last_loss(out) == loss
        assert f"from step {step}\n" in out
        assert [step for step, _ in read_history(run)] == [5, 10, 12]
        return out.rpartition("\n\n")[2], err

    # It is finished: only the sample is another.
    sample, _ = resumed(12, "--prompt=fox", "--precision=auto", "--steps=12")
    assert sample.startswith("fox")
    assert read_history(run) == history
    newest.write_bytes(newest.read_bytes()[:-100])
    _, err = resumed(10)
    assert err == f"not used: {newest} is damaged, or was altered after it was saved\n"
    assert load_checkpoint(the_checkpoint(run, 12))["step"] == 12
    for path in (run / "checkpoints").iterdir():
        path.unlink()
    resumed(0)
    assert the_run(tmp_path) == run


@pytest.mark.parametrize(
    ("argument", "sentence"),
    [
        ("--text={tmp}/nowhere", "cannot read {tmp}/nowhere: No such file or directory"),
        ("--text={tmp}", "cannot read {tmp}: Is a directory"),
        ("--text={tmp}/empty", "{tmp}/empty is empty"),
        ("--text={tmp}/latin", "{tmp}/latin is not UTF-8: byte 0xf6 at position 1 "),
        ("--seq-len=1980", "2,200 characters are too few for a context of 1,980"),
        ("--corpus=python", "argument --corpus: not allowed with argument --text"),
        ("--preset=great", "argument --preset: invalid choice: 'great'"),
        ("--steps=0", "steps must be at least 1, got 0"),
        ("--steps=many", "argument --steps: invalid int value: 'many'"),
        ("--device=cuda:99", "the device 'cuda:99' cannot be used here: "),
        ("--precision=float8", "unknown precision 'float8'"),
        ("--precision=float16", "float16 needs "),
        ("--prompt=", "the prompt is empty"),
        ("--temperature=-1", "temperature and top_k must be at least 0"),
        ("--runs={tmp}/text/runs", "cannot write {tmp}/text/runs/toy/"),
        ("--prompt=fö!", "the training text has no '!', 'ö'"),
        ("--schedule=up", "schedule must be cosine or linear, got up"),
        ("--micro-batches=5", "batch_size must be a multiple of micro_batches times processes"),
        ("--resume={tmp}/nowhere", "{tmp}/nowhere is not the folder of a run: cannot read "),
        ("--resume={tmp}/text", "{tmp}/text is not the folder of a run: cannot read "),
        ("--unknown", "unrecognized arguments: --unknown"),
        ("--step=3", "unrecognized arguments: --step=3"),
    ],
)
def test_a_mistake_is_told_in_one_sentence_before_anything_is_made(
    command: Command,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    argument: str,
    sentence: str,
) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "latin").write_bytes("wölf".encode("latin-1"))
    assert command(argument.format(tmp=tmp_path)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: " + sentence.format(tmp=tmp_path))
    assert err.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"text", "empty", "latin"}
    assert (tmp_path / "text").read_text() == TEXT


def test_the_text_is_that_of_the_package_or_another_that_has_a_name(
    command: Command, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert command("--corpus=bible", text=None) == 2
    assert capsys.readouterr().err.startswith("error: argument --corpus: invalid choice: 'bible'")
    assert command("--steps=1", text=None) == 0
    assert capsys.readouterr().out.startswith(f"{len(tiny_shakespeare()):,} characters, 66 in the")
    about = json.loads((the_run(tmp_path) / "run.json").read_text())
    assert about["text"] == {"corpus": "tiny_shakespeare"}
    assert command("--corpus=python", "--steps=1", text=None) == 0
    assert capsys.readouterr().out.startswith("1,115,394 characters")


def test_byte_pairs_are_learned_and_resumed(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("--n-vocab=270", "--seq-len=8") == 0
    out = capsys.readouterr().out
    assert "tokens, 270 in the vocabulary" in out
    run = the_run(tmp_path)
    assert json.loads((run / "tokenizer.json").read_text())["model"]["type"] == "BPE"
    assert command(f"--resume={run}", recipe=[], text=None) == 0
    assert last_loss(capsys.readouterr().out) == last_loss(out)


def test_a_run_is_not_resumed_as_another(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other").write_text(TEXT.upper())
    command()
    run = the_run(tmp_path)
    before = {path: path.read_bytes() for path in run.rglob("*.*")}
    capsys.readouterr()

    def refused(option: str = "") -> str:
        given = [f"--resume={run}", *([option] if option else [])]
        assert command(*given, recipe=[], text=None) == 2
        out, err = capsys.readouterr()
        assert out == ""
        return err

    cases = {
        "--d-model=13": f"{run} has d_model=11, not 13: leave out --d-model, or start a new run",
        "--steps=13": f"{run} has steps=12, not 13: leave out --steps, or start a new run",
        f"--text={tmp_path / 'other'}": f"{run} was trained on another text",
    }
    for option, sentence in cases.items():
        assert refused(option) == f"error: {sentence}\n"
    assert {path: path.read_bytes() for path in run.rglob("*.*")} == before
    assert the_run(tmp_path) == run

    # What the run is about, or its text, was changed meanwhile.
    about = json.loads((run / "run.json").read_text())
    other_seed = about | {"config": about["config"] | {"seed": 2}}
    (run / "run.json").write_text(json.dumps(other_seed))
    err = refused()
    assert f"{run} has no good checkpoint: " in err
    assert f"{the_checkpoint(run, 12)} is of another configuration: seed is 1 there and 2" in err
    (tmp_path / "text").write_text(TEXT.replace("quick", "QUICK", 1))
    assert refused().endswith("was trained on another text\n")
    (run / "run.json").write_text(json.dumps(about | {"preset": "os.system"}))
    assert refused() == f"error: {run} has an unknown preset, 'os.system'\n"


def test_a_loss_that_is_not_finite_ends_with_a_sentence_and_keeps_what_was_good(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wild = ["--learning-rate=1e30", "--clip=1e30", "--steps=50", "--warmup=0.9", "--save-every=1"]
    assert command(*wild, "--record-every=1", "--evaluate-every=50") == 2
    sentence = r"error: .* not finite in step (\d+), whose .*; the checkpoints of .* are kept\n"
    found = re.fullmatch(sentence, capsys.readouterr().err)
    kept = sorted((the_run(tmp_path) / "checkpoints").glob("step-*.pt"))
    assert load_checkpoint(kept[-1])["step"] == int(found[1]) - 1


def test_so_does_a_full_disk(
    command: Command, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    full = Mock(side_effect=OSError(28, "No space left on device"))
    monkeypatch.setattr(Path, "write_bytes", full)
    assert command() == 2
    sentence = r"error: cannot write .*step-000005.*: No space left .*; the checkpoints .* kept\n"
    assert re.fullmatch(sentence, capsys.readouterr().err)


class Leaking(nn.Sequential):
    def forward(self, tokens: Tensor) -> Tensor:
        return super().forward(tokens.roll(-1, dims=0))


def test_a_run_whose_model_leaks_says_so_and_fails(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    leaking = replace(TOY, model=lambda config, n_vocab: Leaking(*make_model(config, n_vocab)))
    assert command("--steps=300", "--learning-rate=0.1", "--json", preset=leaking) == 1
    out, err = capsys.readouterr()
    result = json.loads(out.splitlines()[-1])
    assert result["val_loss"] < 0.5 < 2 < result["honest_loss"]
    assert result["honest"] is False
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
