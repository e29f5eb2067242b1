import json
import pickle
import subprocess
from array import array
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from benchmarks.results import __main__ as command
from benchmarks.results import documents, nanogpt, one_run
from benchmarks.results.one_run import Run

TEXT = "the quick brown fox jumps over the lazy dog\n" * 60

# A peer that learns nothing: its checkpoint holds a table of logits.
MODEL = """
from dataclasses import dataclass
import torch
import torch.nn as nn

@dataclass
class GPTConfig:
    vocab_size: int = 0

class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.table = nn.Embedding(config.vocab_size, config.vocab_size)

    def forward(self, idx, targets=None):
        logits = self.table(idx)
        return logits if targets is not None else logits[:, [-1]], None
"""
SCRIPT = """
import os, pickle, sys, torch
from model import GPT, GPTConfig

meta = pickle.load(open("data/shakespeare_char/meta.pkl", "rb"))
torch.manual_seed(1)
model = GPT(GPTConfig(vocab_size=meta["vocab_size"]))
print("step 0: train loss 4.1, val loss 4.2")
for step, time in enumerate([900.0, 20.0, 10.0, 20.0, 500.0]):
    print(f"iter {step}: loss 4.0000, time {time}ms, mfu -100.00%")
print("step 4: train loss 1.5, val loss 1.75")
os.mkdir("out-shakespeare-char")
weights = {f"_orig_mod.{name}": one for name, one in model.state_dict().items()}
torch.save(
    {"model": weights, "model_args": {"vocab_size": meta["vocab_size"]}},
    "out-shakespeare-char/ckpt.pt",
)
open(sys.argv[0] + ".told", "w").write("\\n".join(sys.argv[1:]))
"""


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text"
    path.write_text(TEXT)
    return path


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "peer"
    (folder / "config").mkdir(parents=True)
    for name, content in (("model.py", MODEL), ("train.py", SCRIPT), ("configurator.py", "")):
        (folder / name).write_text(content)
    (folder / "config" / "train_shakespeare_char.py").write_text("")
    return folder


def read(tmp_path: Path, name: str) -> dict[str, Any]:
    return json.loads((tmp_path / "results" / f"{name}.json").read_text())


def made_run(loss: float, seconds: float = 2.0, steps: int = 4, seed: int = 1) -> Run:
    r"""A run whose second half was twice as fast as its first."""
    tokens = steps * 12 * 64
    result = {
        **{"val_loss": loss, "honest_loss": loss, "seconds": seconds, "steps": steps},
        **{"tokens_per_second": tokens / seconds, "parameters": 7, "seed": seed},
    }
    speed = tokens / seconds
    history = [
        (steps // 2, {"loss.validation": 2 * loss, "tokens_per_second": 0.75 * speed}),
        (steps - 1, {"loss.train": 1.0, "tokens_per_second": 1.5 * speed}),
        (steps, {"loss.validation": loss, "tokens_per_second": 1.5 * speed}),
    ]
    return Run(result, history, seconds + 5)


def test_settings_become_options() -> None:
    changes = {"d_ff": 336, "rms": True, "in_turn": False, "learning_rate": 1e-3}
    assert one_run.options_of(changes) == [
        *["--d-ff=336", "--rms", "--no-in-turn", "--learning-rate=0.001"]
    ]


def test_a_curve_is_against_steps_or_seconds_of_training() -> None:
    run = made_run(1.5)
    assert run.curve() == [[2, 3.0], [4, 1.5]]
    assert run.curve("seconds") == [[pytest.approx(4 / 3), 3.0], [pytest.approx(2.0), 1.5]]


def test_a_key_tells_runs_apart() -> None:
    keys = [
        one_run.key_of("modern", ["--seed=1"], b"text", b"code"),
        one_run.key_of("modern", ["--seed=2"], b"text", b"code"),
        one_run.key_of("modern", ["--seed=1"], b"texT", b"code"),
        one_run.key_of("modern", ["--seed=1"], b"text", b"Code"),
        one_run.key_of("modern", ["--seed=1"], b"textc", b"ode"),
        one_run.key_of("classic", ["--seed=1"], b"text", b"code"),
    ]
    assert len(set(keys)) == len(keys)
    assert "labml_nn.training.loop " in one_run.code()
    assert "labml_nn.transformers.modern.model " in one_run.code()
    assert "labml_nn.training.engine.trainer " in one_run.code()


def test_a_finished_run_is_written_down_and_kept(
    tmp_path: Path,
    text: Path,
    checkout: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    r"""A real run of the command, with a model of the real size and two steps."""
    folder = tmp_path / "runs"
    run = one_run.train("modern", {"steps": 2}, text, folder)
    assert run.curve() == [[2, run.result["val_loss"]]]

    # The second time nothing is trained.
    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "run", None)
        capsys.readouterr()
        assert one_run.train("modern", {"steps": 2}, text, folder).result == run.result
        assert "kept from before" in capsys.readouterr().out

    # What any finished run came to can be written down, with a text by it.
    options = [f"--text={text}", f"--runs={folder}", f"--to={tmp_path}"]
    arguments = ["gpu", f"--run={run.result['run']}", f"--nanogpt={checkout}", *options]
    assert command.main(arguments) == 0
    found = read(tmp_path, "gpu")
    values = found["values"]
    # Everything but the folders of this machine.
    told = "python -m benchmarks.results gpu --text FILE --nanogpt DIR --run RUN"
    assert found["command"] == told
    assert len(values["sample"]) == 501
    assert values["loss"] == pytest.approx(run.result["val_loss"], rel=1e-5)
    assert values["steps"] == 2
    assert values["writing"].keys() == {"texts_1", "texts_16"}
    assert min(values["writing"].values()) > 0
    assert [one["steps"] for one in found["tables"]["run"]["rows"]] == [2, 5000]
    seconds = values["nanogpt_script"]["seconds"]
    assert seconds == pytest.approx(5000 * 0.02)
    assert values["times_faster"] == pytest.approx(seconds / values["seconds"], rel=1e-4)
    lines = found["tables"]["sample"]["rows"]
    assert [one["line"] for one in lines] == [x for x in values["sample"].split("\n") if x]


def test_a_run_that_fails_is_not_kept(tmp_path: Path, text: Path) -> None:
    with pytest.raises(SystemExit, match=r"a run failed: --preset=modern --steps=0"):
        one_run.train("modern", {"steps": 0}, text, tmp_path / "runs")
    assert not list(tmp_path.glob("runs/*.json"))


def test_the_peers_script_runs_as_it_is_and_all_of_the_text_is_measured(
    tmp_path: Path, text: Path, checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(path.name for path in checkout.rglob("*"))
    peer = nanogpt.run_script(checkout, text, tmp_path / "runs", steps=4)
    assert (peer.estimate, peer.steps) == (1.75, 4)
    assert [(step, loss) for step, _, loss in peer.estimates] == [(0, 4.2), (4, 1.75)]
    assert peer.seconds == pytest.approx(4 * 0.02)
    assert peer.tokens_per_second == pytest.approx(12 * 64 / 0.02)
    assert peer.wall > peer.estimates[-1][1] > 0

    symbols = sorted(set(TEXT))
    validation = torch.tensor([symbols.index(x) for x in TEXT[int(len(TEXT) * 0.9) :]])
    torch.manual_seed(1)
    table = torch.nn.Embedding(len(symbols), len(symbols)).weight.detach()
    expected = F.cross_entropy(table[validation[:-1]], validation[1:]).item()
    assert peer.loss == pytest.approx(expected, rel=1e-5)
    assert peer.parameters == len(symbols) ** 2

    # Nothing is left in the checkout, and the second time nothing is run.
    assert sorted(path.name for path in checkout.rglob("*")) == before
    (checkout / "data").write_text("")
    assert nanogpt.run_script(checkout, text, tmp_path / "runs", steps=4) == peer
    assert "kept from before" in capsys.readouterr().out


def test_the_peer_gets_the_text_as_its_own_script_would_make_it(tmp_path: Path) -> None:
    validation, n_vocab = nanogpt.write_tokens("banana bandana", tmp_path / "data")
    meta = pickle.loads((tmp_path / "data" / "meta.pkl").read_bytes())
    assert meta["stoi"] == {" ": 0, "a": 1, "b": 2, "d": 3, "n": 4}
    assert {v: k for k, v in meta["itos"].items()} == meta["stoi"]
    assert n_vocab == meta["vocab_size"] == 5
    train, val = (
        array("H", (tmp_path / "data" / f"{name}.bin").read_bytes()) for name in ("train", "val")
    )
    assert "".join(meta["itos"][i] for i in [*train, *val]) == "banana bandana"
    assert (len(train), list(val)) == (12, validation.tolist())


def test_a_folder_that_is_no_checkout_is_refused(tmp_path: Path, text: Path) -> None:
    with pytest.raises(SystemExit, match=r"is no checkout of nanoGPT: there is no train.py"):
        nanogpt.run_script(tmp_path, text, tmp_path)


@pytest.fixture
def peer() -> nanogpt.Peer:
    return nanogpt.Peer(
        **{"parameters": 9, "loss": 1.9, "estimate": 1.88, "seconds": 60.0, "wall": 67.0},
        **{"tokens_per_second": 25e3, "steps": 2000, "estimates": [[0, 1.0, 4.2], [9, 66.0, 1.9]]},
    )


def test_recipes_are_written_with_their_means_and_when_the_peer_is_passed(
    tmp_path: Path, text: Path, peer: nanogpt.Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = []

    def train(preset: str, changes: dict[str, Any], *_: object) -> Run:
        told.append((preset, changes))
        # With more steps the loss is lower: 1.91 after 250, 1.89 after 275.
        loss = 2.2 - changes.get("steps", 0) / 1000 + changes["seed"] / 10 - 0.135
        return made_run(loss, seed=changes["seed"])

    monkeypatch.setattr(documents, "train", train)
    documents.recipes(text, tmp_path, [1, 2, 3], {}, peer, "make it", tmp_path)
    result = read(tmp_path, "modern")
    values = result["values"]
    assert values["modern"]["loss"] == pytest.approx(2.265)
    losses = {"seed_1": 2.165, "seed_2": 2.265, "seed_3": 2.365}
    assert values["modern"]["losses"] == pytest.approx(losses)
    assert values["modern"]["spread"] == pytest.approx(0.2)
    assert values["passing"]["reached"] is True
    assert values["passing"]["steps"] == 4
    assert values["passing"]["loss"] == pytest.approx(1.89)
    assert values["passing"]["times_faster"] == pytest.approx(30.0)
    assert values["passing"]["times_faster_wall"] == pytest.approx(67 / 7, rel=1e-5)
    assert [changes.get("steps") for _, changes in told[6:]] == [200, 225, 250, 275]
    assert [row["run"] for row in result["tables"]["runs"]["rows"]] == [
        f"{preset}, seed {seed}" for preset in ("modern", "classic") for seed in (1, 2, 3)
    ]
    assert [row["run"] for row in result["tables"]["means"]["rows"]] == [
        *["modern", "classic", "modern, in fewer steps", "nanoGPT's script as it is"]
    ]
    assert [row["seeds"] for row in result["tables"]["means"]["rows"]] == [
        *["1, 2, 3", "1, 2, 3", "1", "1337"]
    ]
    lines = result["figures"]["curves"]["lines"]
    # At 30 ms a step.
    assert lines[2]["points"] == [[0.0, 4.2], [pytest.approx(0.27), 1.9]]
