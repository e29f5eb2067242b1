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
from labml_nn.training.command_line import HELP, run_experiment
from labml_nn.training.corpora import python_sources
from labml_nn.training.data import CharTokenizer, split
from labml_nn.training.loop import TrainConfig, Trainer, evaluate

TEXT = "the quick brown fox jumps over the lazy dog\n" * 50

Command = Callable[..., int]


@dataclass(frozen=True)
class Config(TrainConfig):
    d_model: int = 11


def make_trainer(config: Config, text: str) -> tuple[Trainer, CharTokenizer]:
    torch.manual_seed(config.seed)
    tokenizer = CharTokenizer(text)
    train, validation = split(tokenizer.encode(text), config.seq_len)
    model = nn.Sequential(
        nn.Embedding(len(tokenizer), config.d_model), nn.Linear(config.d_model, len(tokenizer))
    )
    return Trainer(model, train, validation, config), tokenizer


@pytest.fixture
def command(tmp_path: Path) -> Command:
    r"""The command with a small recipe; what is given comes last and wins."""
    (tmp_path / "text").write_text(TEXT)
    small = ["--steps=12", "--evaluate-every=5", "--sample-length=20", "--device=cpu"]
    small += ["--precision=float32", f"--runs={tmp_path / 'runs'}"]

    def run(*arguments: str, text: Path | None = tmp_path / "text") -> int:
        source = [] if text is None else [f"--text={text}"]
        return run_experiment(
            "package.toy", Config, make_trainer, [*small, *source, *map(str, arguments)]
        )

    return run


def the_run(tmp_path: Path) -> Path:
    (path,) = (tmp_path / "runs" / "toy").iterdir()
    return path


def test_a_run_leaves_its_loss_its_record_and_its_checkpoint(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("--seed=3") == 0
    out, err = capsys.readouterr()
    path = the_run(tmp_path)
    assert err == ""
    assert f"run {path}\n" in out
    assert f"checkpoint {path / 'checkpoint.pt'}\n" in out
    assert "2,200 characters of 28 kinds, 644 parameters, on cpu in float32, " in out
    assert re.search(r"^12 steps in \d+\.\d seconds, [\d,]+ tokens a second$", out, re.MULTILINE)
    assert (path / "log.jsonl").stat().st_size > 0
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler

    # The loss that is printed is the loss of what was saved.
    state = load_checkpoint(path / "checkpoint.pt")
    assert state["step"] == 12
    assert state["about"]["config"]["seed"] == 3
    trainer, tokenizer = make_trainer(Config(device="cpu"), TEXT)
    assert state["about"]["symbols"] == tokenizer.symbols
    trainer.model.load_state_dict(state["model"])
    loss = evaluate(trainer.model, trainer.validation, 64)
    assert f"validation loss {loss:.4f} nats a character" in out
    # The sample begins as the text does, and is as long as was asked for.
    sample = out.rpartition("\n\n")[2]
    assert sample.startswith("t")
    assert len(sample) == 1 + 20 + 1


def test_the_same_seed_prints_the_same(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = []
    for seed in (1, 1, 2):
        command(f"--seed={seed}")
        out = capsys.readouterr().out
        printed.append((re.search("validation loss (.*) nats", out)[1], out.rpartition("\n\n")[2]))
    assert printed[0] == printed[1] != printed[2]


def test_an_interrupted_run_is_saved_and_goes_on_to_the_same_end(
    command: Command,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert command("--batch-size=5") == 0
    straight = capsys.readouterr().out
    train_step = Trainer.train_step
    interrupt = [lambda: None, lambda: signal.raise_signal(signal.SIGINT)]

    def interrupted_step(trainer: Trainer) -> torch.Tensor:
        loss = train_step(trainer)
        interrupt[trainer.step == 7]()
        return loss

    monkeypatch.setattr(Trainer, "train_step", interrupted_step)
    assert command("--batch-size=5", f"--runs={tmp_path / 'interrupted'}") == 130
    out, err = capsys.readouterr()
    (path,) = (tmp_path / "interrupted" / "toy").iterdir()
    assert err == ""
    assert out.endswith(f"stopped after step 7; --resume {path / 'checkpoint.pt'} goes on\n")
    assert '"status": "interrupted"' in (path / "run_log.jsonl").read_text()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    before = (path / "checkpoint.pt").read_bytes()

    monkeypatch.undo()
    assert command("--batch-size=5", f"--resume={path / 'checkpoint.pt'}") == 0
    resumed = capsys.readouterr().out
    ends = [re.search("validation loss .* nats.*", out)[0] for out in (straight, resumed)]
    assert ends[0] == ends[1]
    assert straight.rpartition("\n\n")[2] == resumed.rpartition("\n\n")[2]
    assert (path / "checkpoint.pt").read_bytes() == before


def test_a_finished_run_can_be_sampled_again(
    command: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command()
    first = capsys.readouterr().out
    checkpoint = the_run(tmp_path) / "checkpoint.pt"
    assert command(f"--resume={checkpoint}", "--prompt=fox", f"--runs={tmp_path / 'again'}") == 0
    second = capsys.readouterr().out
    ends = [re.search("validation loss .* nats.*", out)[0] for out in (first, second)]
    assert ends[0] == ends[1]
    assert second.rpartition("\n\n")[2].startswith("fox")


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
        ("--top-k=0", "top_k must be at least 1, got 0"),
        ("--runs={tmp}/text/runs", "cannot write {tmp}/text/runs/toy/"),
        ("--resume={tmp}/nowhere", "cannot read {tmp}/nowhere: No such file or directory"),
        ("--resume={tmp}/text", "{tmp}/text is not a checkpoint, or it is damaged"),
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
        ("--d-model=13", r"holds a model of another shape: 0.weight is \[28, 11\] there and "),
        ("--text={tmp}/other", "was trained on a text with other characters"),
    ],
)
def test_a_checkpoint_of_another_model_or_text_is_refused_and_kept(
    command: Command,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    changed: str,
    sentence: str,
) -> None:
    (tmp_path / "other").write_text(TEXT.upper())
    command()
    checkpoint = the_run(tmp_path) / "checkpoint.pt"
    before = checkpoint.read_bytes()
    capsys.readouterr()
    assert command(f"--resume={checkpoint}", changed.format(tmp=tmp_path)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert re.match(f"error: {checkpoint} {sentence}", err)
    assert checkpoint.read_bytes() == before
    assert the_run(tmp_path) == checkpoint.parent


def test_a_loss_that_is_no_number_ends_with_a_sentence(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("--learning-rate=1e30", "--clip=1e30", "--steps=50") == 2
    assert re.search("error: the loss became (nan|inf) before step 5: ", capsys.readouterr().err)


def test_every_field_of_the_recipe_is_an_option_with_its_default(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as left:
        run_experiment("package.toy", Config, make_trainer, ["--help"])
    assert left.value.code == 0
    told = " ".join(capsys.readouterr().out.split())
    for field in fields(Config):
        option = field.name.replace("_", "-")
        kind = field.type.__name__.upper()
        meaning = f"--{option} {kind} {HELP[field.name]} (default: {field.default})"
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
    state = load_checkpoint(Path(stopped[2]))
    assert state["step"] == int(stopped[1].replace(",", ""))
