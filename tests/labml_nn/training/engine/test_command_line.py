import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

import pytest
import torch
from torch import nn

from labml_nn.training.checkpoint import load_checkpoint
from labml_nn.training.command_line import run_experiment
from labml_nn.training.corpora import python_sources
from labml_nn.training.data import CharTokenizer, prepare
from labml_nn.training.history import read_history
from labml_nn.training.loop import TrainConfig, Trainer, evaluate
from labml_nn.training.options import HELP

TEXT = "the quick brown fox jumps over the lazy dog\n" * 50

Command = Callable[..., int]

SMALL = ["--steps=12", "--evaluate-every=5", "--save-every=5"]


@dataclass(frozen=True)
class Config(TrainConfig):
    d_model: int = 11


def make_trainer(config: Config, text: str) -> tuple[Trainer, CharTokenizer]:
    torch.manual_seed(config.seed)
    tokenizer, train, validation = prepare(text, config.seq_len)
    model = nn.Sequential(
        nn.Embedding(len(tokenizer), config.d_model), nn.Linear(config.d_model, len(tokenizer))
    )
    return Trainer(model, train, validation, config), tokenizer


@pytest.fixture
def command(tmp_path: Path) -> Command:
    r"""The command with a small recipe; what is given comes last and wins."""
    (tmp_path / "text").write_text(TEXT)
    small = [*SMALL, "--device=cpu", "--precision=float32"]
    always = ["--sample-length=20", f"--runs={tmp_path / 'runs'}"]

    def run(
        *arguments: str, recipe: list[str] = small, text: Path | None = tmp_path / "text"
    ) -> int:
        source = [] if text is None else [f"--text={text}"]
        given = [*recipe, *always, *source, *map(str, arguments)]
        return run_experiment("package.toy", Config, make_trainer, given)

    return run


def the_run(tmp_path: Path) -> Path:
    (path,) = (tmp_path / "runs" / "toy").iterdir()
    return path


def the_checkpoint(run: Path, step: int) -> Path:
    return run / "checkpoints" / f"step-{step:06}.json"


def test_a_run_leaves_its_loss_its_record_and_its_checkpoints(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("--seed=3") == 0
    out, err = capsys.readouterr()
    path = the_run(tmp_path)
    assert err == ""
    assert f"run {path}\n" in out
    assert "2,200 characters of 28 kinds, 667 parameters, on cpu in float32, " in out
    assert re.search(
        r"^12 steps in \d+\.\d seconds, [\d,]+ tokens a second, at most \d+ MB of memory$",
        out,
        re.MULTILINE,
    )
    assert re.search(r"^honest loss (\d.\d{4}), teacher-forced \1, at the", out, re.MULTILINE)
    assert (path / "log.jsonl").stat().st_size > 0
    assert [step for step, _ in read_history(path)] == [5, 10, 12]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

    # The loss that is printed is the loss of what was saved.
    state = load_checkpoint(the_checkpoint(path, 12))
    assert state["step"] == 12
    assert state["about"]["config"]["seed"] == 3
    trainer, tokenizer = make_trainer(Config(device="cpu", steps=1), TEXT)
    assert state["about"]["symbols"] == tokenizer.symbols
    trainer.model.load_state_dict(state["model"])
    loss = evaluate(trainer.model, trainer.validation, 64)
    assert f"validation loss {loss:.4f} nats a character" in out
    # The sample begins as the text does, and is as long as was asked for.
    sample = out.rpartition("\n\n")[2]
    assert sample.startswith("t")
    assert len(sample) == 1 + 20 + 1


def test_with_json_the_last_line_is_the_result(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("--json", "--seed=3") == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert result.keys() >= {"val_loss", "honest_loss", "best_val_loss", "step_memory", "honest"}
    assert result["seed"] == 3
    assert result["steps"] == 12
    assert result["parameters"] == 667
    assert result["honest"] is True
    assert result["run"] == str(the_run(tmp_path))
    assert result["val_loss"] == read_history(the_run(tmp_path))[-1][1]["loss.validation"]
    speed = 12 * 12 * 64 / result["seconds"]
    assert result["tokens_per_second"] == pytest.approx(speed)
    # Six for each weight of the only product; the share of a CPU's peak is not known.
    assert result["flops_per_second"] == pytest.approx(speed * 6 * 11 * 29, rel=1e-6)
    assert result["flop_utilisation"] is None
    assert json.loads((the_run(tmp_path) / "result.json").read_text()) == result


def test_the_same_seed_prints_the_same_and_has_the_same_bits(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = []
    for number, seed in enumerate((1, 1, 2)):
        command(f"--seed={seed}", f"--runs={tmp_path / str(number)}")
        out = capsys.readouterr().out
        (tensors,) = (tmp_path / str(number)).glob("toy/*/checkpoints/step-000012-*.safetensors")
        loss = re.search("validation loss (.*) nats", out)[1]
        printed.append((loss, out.rpartition("\n\n")[2], tensors.read_bytes()))
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
    train_step = Trainer.train_step
    interrupt = [lambda: None, lambda: signal.raise_signal(number)]

    def interrupted_step(trainer: Trainer) -> torch.Tensor:
        loss = train_step(trainer)
        interrupt[trainer.step == 7]()
        return loss

    monkeypatch.setattr(Trainer, "train_step", interrupted_step)
    assert command("--batch-size=5") == status
    out, err = capsys.readouterr()
    path = the_run(tmp_path)
    assert err == ""
    assert out.endswith(f"stopped after step 7; --resume {path} goes on\n")
    assert '"status": "interrupted"' in (path / "run_log.jsonl").read_text()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL

    monkeypatch.undo()
    assert command(f"--resume={path}", recipe=[], text=None) == 0
    resumed = capsys.readouterr().out
    assert f"run {path}\nfrom step 7\n" in resumed
    ends = [re.search("validation loss .* nats.*", out)[0] for out in (straight, resumed)]
    assert ends[0] == ends[1]
    assert straight.rpartition("\n\n")[2] == resumed.rpartition("\n\n")[2]
    (expected,) = (tmp_path / "straight").glob("toy/*/checkpoints/step-000012-*.safetensors")
    (found,) = path.glob("checkpoints/step-000012-*.safetensors")
    assert found.read_bytes() == expected.read_bytes()


def test_a_finished_run_can_be_sampled_again(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command()
    first = capsys.readouterr().out
    run = the_run(tmp_path)
    history = read_history(run)
    again = [f"--resume={run}", "--prompt=fox", "--precision=auto", "--steps=12"]
    assert command(*again, recipe=[], text=None) == 0
    second = capsys.readouterr().out
    ends = [re.search("validation loss .* nats.*", out)[0] for out in (first, second)]
    assert ends[0] == ends[1]
    assert second.rpartition("\n\n")[2].startswith("fox")
    assert read_history(run) == history
    assert the_run(tmp_path) == run


def test_a_run_without_a_checkpoint_begins_again(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command()
    run = the_run(tmp_path)
    ends = [re.search("validation loss .* nats.*", capsys.readouterr().out)[0]]
    for path in (run / "checkpoints").iterdir():
        path.unlink()
    assert command(f"--resume={run}", recipe=[], text=None) == 0
    out = capsys.readouterr().out
    assert "from step 0\n" in out
    assert ends == [re.search("validation loss .* nats.*", out)[0]]
    assert [step for step, _ in read_history(run)] == [5, 10, 12]


def test_a_damaged_checkpoint_is_named_and_the_one_before_it_used(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command()
    run = the_run(tmp_path)
    newest = the_checkpoint(run, 12)
    newest.write_text(newest.read_text()[:-100])
    ends = [re.search("validation loss .* nats.*", capsys.readouterr().out)[0]]
    assert command(f"--resume={run}", recipe=[], text=None) == 0
    out, err = capsys.readouterr()
    assert err == f"not used: {newest} is not a checkpoint, or it is damaged\n"
    assert "from step 10\n" in out
    assert ends == [re.search("validation loss .* nats.*", out)[0]]
    assert load_checkpoint(newest)["step"] == 12


def test_python_sources_need_no_file(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("--corpus=python", "--steps=1", text=None) == 0
    assert f"{len(python_sources()):,} characters" in capsys.readouterr().out


def test_offline_one_sentence_names_the_other_two_ways(
    command: Command,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LABML_NN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    assert command(text=None) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"error: cannot download .*--corpus python.*--text FILE.*\n", err)
    assert {path.name for path in tmp_path.iterdir()} == {"text"}


@pytest.mark.parametrize(
    ("argument", "sentence"),
    [
        ("--text={tmp}/nowhere", "cannot read {tmp}/nowhere: No such file or directory"),
        ("--text={tmp}", "cannot read {tmp}: Is a directory"),
        ("--text={tmp}/empty", "{tmp}/empty is empty"),
        ("--text={tmp}/latin", "{tmp}/latin is not UTF-8: byte 0xf6 at position 1 "),
        ("--seq-len=1980", "a text of 2,200 characters is too short: "),
        ("--corpus=bible", "argument --corpus: not allowed with argument --text"),
        ("--steps=0", "steps must be at least 1, got 0"),
        ("--steps=many", "argument --steps: invalid int value: 'many'"),
        ("--batch-size=-2", "batch_size must be at least 1, got -2"),
        ("--learning-rate=0", "learning_rate must be above 0, got 0.0"),
        ("--device=cuda:99", "the device 'cuda:99' cannot be used here: "),
        ("--precision=float8", "unknown precision 'float8'"),
        ("--precision=float16", "float16 needs a CUDA card"),
        ("--prompt=", "the prompt is empty"),
        ("--prompt=fox!", "the character '!' at position 3 is not among the 28 characters"),
        ("--temperature=-1", "the temperature must be at least 0, got -1"),
        ("--top-p=0", "top_p must be above 0 and at most 1, got 0"),
        ("--min-p=2", "min_p must be between 0 and 1, got 2"),
        ("--top-k=0", "top_k must be at least 1, got 0"),
        ("--runs={tmp}/text/runs", "cannot write {tmp}/text/runs/toy/"),
        ("--prompt=fö!", "the characters '!' at position 2, 'ö' at position 1 are not among the"),
        ("--schedule=up", "schedule must be cosine or linear, got 'up'"),
        ("--micro-batches=5", "batch_size must be a multiple of micro_batches, got batch_size=12"),
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


def test_an_unknown_corpus_is_refused(command: Command, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("--corpus=bible", text=None) == 2
    assert capsys.readouterr().err.startswith("error: unknown corpus 'bible': there are tiny_shak")


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ("--d-model=13", "{run} has d_model=11, not 13: leave out --d-model, or start a new run"),
        ("--steps=13", "{run} has steps=12, not 13: leave out --steps, or start a new run"),
        ("--text={tmp}/other", "{run} was trained on another text"),
    ],
)
def test_a_run_is_not_resumed_as_another(
    command: Command,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    changed: str,
    sentence: str,
) -> None:
    (tmp_path / "other").write_text(TEXT.upper())
    command()
    run = the_run(tmp_path)
    before = {path: path.read_bytes() for path in run.rglob("*.*")}
    capsys.readouterr()
    options = [f"--resume={run}", changed.format(tmp=tmp_path)]
    assert command(*options, recipe=SMALL[1:], text=None) == 2
    assert capsys.readouterr() == ("", f"error: {sentence.format(run=run)}\n")
    assert {path: path.read_bytes() for path in run.rglob("*.*")} == before
    assert the_run(tmp_path) == run


def test_a_text_that_was_changed_meanwhile_is_refused(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command()
    (tmp_path / "text").write_text(TEXT.replace("quick", "QUICK", 1))
    assert command(f"--resume={the_run(tmp_path)}", recipe=[], text=None) == 2
    assert capsys.readouterr().err.endswith("was trained on another text\n")


def test_checkpoints_of_another_run_are_refused(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command()
    run = the_run(tmp_path)
    about = json.loads((run / "run.json").read_text())
    about["config"]["seed"] = 2
    (run / "run.json").write_text(json.dumps(about))
    capsys.readouterr()
    assert command(f"--resume={run}", recipe=[], text=None) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"{run} has no good checkpoint: " in err
    assert f"{the_checkpoint(run, 12)} is of another configuration: seed is 1 there and 2" in err


def test_a_loss_that_is_no_number_ends_with_a_sentence_and_keeps_what_was_good(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wild = ["--learning-rate=1e30", "--clip=1e30", "--steps=50", "--warmup=0.9", "--save-every=1"]
    assert command(*wild, "--record-every=1", "--evaluate-every=50") == 2
    found = re.fullmatch(
        r"error: .* not finite in step (\d+), whose batch has the windows from the characters "
        r"(\d+, ){11}\d+ of the training part; train with a learning rate below 1e\+30; "
        r"the checkpoints of .* are kept\n",
        capsys.readouterr().err,
    )
    kept = sorted((the_run(tmp_path) / "checkpoints").glob("step-*.json"))
    assert load_checkpoint(kept[-1])["step"] == int(found[1]) - 1


class Leaking(nn.Module):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.model(tokens.roll(-1, dims=0))


def make_leaking_trainer(config: Config, text: str) -> tuple[Trainer, CharTokenizer]:
    trainer, tokenizer = make_trainer(config, text)
    return Trainer(Leaking(trainer.model), trainer.train, trainer.validation, config), tokenizer


def test_a_run_whose_model_leaks_says_so_and_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text").write_text(TEXT)
    options = [f"--text={tmp_path / 'text'}", f"--runs={tmp_path / 'runs'}", "--steps=300"]
    options += ["--device=cpu", "--learning-rate=0.1", "--json"]
    assert run_experiment("package.toy", Config, make_leaking_trainer, options) == 1
    out, err = capsys.readouterr()
    result = json.loads(out.splitlines()[-1])
    assert result["val_loss"] < 0.5 < 2 < result["honest_loss"]
    assert result["honest"] is False
    assert re.fullmatch(r"error: honest loss .* its losses mean nothing\n", err)


def test_a_full_disk_stops_the_run_with_a_sentence_and_keeps_the_last_checkpoint(
    command: Command,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_bytes = Path.write_bytes

    def full(self: Path, content: bytes) -> int:
        assert "step-000010" not in self.name, "asked for space"
        return write_bytes(self, content)

    def fail(self: Path, content: bytes) -> int:
        try:
            return full(self, content)
        except AssertionError:
            raise OSError(28, "No space left on device") from None

    monkeypatch.setattr(Path, "write_bytes", fail)
    assert command() == 2
    monkeypatch.undo()
    assert re.fullmatch(
        r"error: cannot write .*step-000010-\w+.safetensors: No space left on device; "
        r"the checkpoints of .* are kept\n",
        capsys.readouterr().err,
    )
    run = the_run(tmp_path)
    assert command(f"--resume={run}", recipe=[], text=None) == 0
    assert "from step 5\n" in capsys.readouterr().out


def test_every_field_of_the_recipe_is_an_option_with_its_default(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as left:
        run_experiment("package.toy", Config, make_trainer, ["--help"])
    assert left.value.code == 0
    told = " ".join(capsys.readouterr().out.split())
    for field in fields(Config):
        option = field.name.replace("_", "-")
        kind = {bool: f", --no-{option}"}.get(field.type, f" {field.type.__name__.upper()}")
        meaning = f"--{option}{kind} {HELP[field.name]} (default: {field.default})"
        assert meaning in told


def test_ctrl_c_in_a_real_process_saves_and_ends_with_130(tmp_path: Path, repository: Path) -> None:
    (tmp_path / "text").write_text(TEXT)
    command = [sys.executable, "-m", "labml_nn.transformers.basic.autoregressive_experiment"]
    options = ["--text=text", "--d-model=8", "--d-ff=8", "--n-layers=1", "--seq-len=8"]
    process = subprocess.Popen(
        [*command, *options, "--steps=10000000", "--device=cpu", "--evaluate-every=10"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(repository), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        # The first evaluation says that the training is under way.
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        assert next(line for line in lines if line.startswith("step 10:"))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, err) == (130, "")
    stopped = re.search(r"stopped after step ([\d,]+); --resume (\S+) goes on", out)
    step = int(stopped[1].replace(",", ""))
    assert load_checkpoint(the_checkpoint(Path(stopped[2]), step))["step"] == step
