import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from labml_nn.training.engine import distributed
from labml_nn.training.engine.command_line import main
from labml_nn.training.engine.history import read_history
from labml_nn.training.engine.sharded import layers_of
from tests.labml_nn.training.engine.models import TEXT
from tests.labml_nn.training.engine.two_processes import (
    CONFIG,
    half_and_half,
    make_trainer,
    second_half,
    with_muon,
)

ROOT = Path(__file__).resolve().parents[4]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2"]
# The store of the processes is on this machine, at a port that is free.
TORCHRUN += ["--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0", "--local-addr=127.0.0.1"]


def environment() -> dict[str, str]:
    own = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    return os.environ | own


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    r"""What one process did, and after that two."""
    folder = tmp_path_factory.mktemp("processes")
    alone = {"plain": half_and_half(CONFIG, folder / "one"), "muon": with_muon(CONFIG)}
    (folder / "alone.json").write_text(json.dumps(alone))
    script = str(Path(__file__).with_name("two_processes.py"))
    subprocess.run(
        [*TORCHRUN, script, str(folder)], env=environment(), cwd=ROOT, check=True, timeout=300
    )
    return folder


@pytest.fixture(scope="module")
def alone(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "alone.json").read_text())


@pytest.fixture(scope="module")
def ranks(folder: Path) -> list[dict[str, Any]]:
    return [json.loads((folder / f"rank-{rank}.json").read_text()) for rank in range(2)]


@pytest.mark.parametrize("kind", ["plain", "parts", "sharded", "sharded parts"])
def test_two_processes_have_the_losses_of_one(
    kind: str, alone: dict[str, Any], ranks: list[dict[str, Any]]
) -> None:
    assert alone["plain"][-1] < alone["plain"][0]
    for seen in ranks:
        assert seen[kind] == pytest.approx(alone["plain"], abs=1e-5)


def test_muon_on_shards_is_muon(alone: dict[str, Any], ranks: list[dict[str, Any]]) -> None:
    assert ranks[0]["muon sharded"] == pytest.approx(alone["muon"], abs=1e-5)


@pytest.mark.parametrize("kind", ["plain from one", "sharded from one"])
def test_two_processes_go_on_from_the_checkpoint_of_one(
    kind: str, alone: dict[str, Any], ranks: list[dict[str, Any]]
) -> None:
    for seen in ranks:
        assert seen[kind] == pytest.approx(alone["plain"][3:], abs=1e-5)


@pytest.mark.parametrize("name", ["two", "parts", "sharded", "sharded_parts"])
def test_one_process_goes_on_from_the_checkpoint_of_two(
    name: str, folder: Path, alone: dict[str, Any]
) -> None:
    assert second_half(CONFIG, folder / name) == pytest.approx(alone["plain"][3:], abs=1e-5)


def test_each_process_holds_half_of_a_sharded_model(ranks: list[dict[str, Any]]) -> None:
    whole = ranks[0]["numbers"]
    assert sum(seen["own numbers"] for seen in ranks) == whole
    # Layers of few numbers don't divide evenly.
    assert all(0.4 < seen["own numbers"] / whole < 0.6 for seen in ranks)


def test_processes_agree(ranks: list[dict[str, Any]]) -> None:
    assert [seen["place"] for seen in ranks] == [[0, 2], [1, 2]]
    assert all(seen["any"] == [True, False] for seen in ranks)
    assert all(seen["first"] == "from 0" for seen in ranks)


def test_each_draws_numbers_of_its_own_and_the_same_after_restoring(
    ranks: list[dict[str, Any]],
) -> None:
    (first, again), (other, other_again) = (seen["random"] for seen in ranks)
    assert first == again
    assert other == other_again
    assert first != other


def test_a_batch_that_two_cannot_share_is_refused(ranks: list[dict[str, Any]]) -> None:
    sentence = (
        "batch_size must be a multiple of micro_batches times processes, got batch_size=9, "
        "micro_batches=1 and processes=2"
    )
    assert [seen["refused"] for seen in ranks] == [sentence, sentence]


def test_only_rank_0_wrote(folder: Path) -> None:
    assert {len(list(path.iterdir())) for path in folder.iterdir() if path.is_dir()} == {1}


def test_a_single_process_needs_none_of_it() -> None:
    batch = torch.randn(7, 5)
    assert (distributed.rank(), distributed.world_size()) == (0, 1)
    assert distributed.own_columns(batch).equal(batch)
    assert distributed.all_reduce_mean(batch) is batch
    assert (distributed.any_rank(True), distributed.any_rank(False)) == (True, False)
    assert distributed.broadcast(lambda: 5) == 5
    assert distributed.error_prefix() == ""
    trainer = make_trainer(replace(CONFIG, sharded=True))
    assert trainer.replica is trainer.model
    with distributed.process_group():
        assert distributed.world_size() == 1


def test_the_layers_of_a_model_are_what_is_in_its_lists() -> None:
    trainer = make_trainer(CONFIG)
    assert layers_of(trainer.model) == list(trainer.model.encoder.layers)


RECIPE = [
    "--steps=120", "--evaluate-every=60", "--save-every=20", "--record-every=5", "--device=cpu",
    "--seq-len=7", "--precision=float32", "--d-model=12", "--heads=2", "--n-layers=2", "--d-ff=22",
    "--sample-length=5",
]  # fmt: skip


@pytest.fixture
def two_processes(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    r"""The command of a run, in two processes."""
    (tmp_path / "text").write_text(TEXT)
    source = [f"--text={tmp_path / 'text'}", f"--runs={tmp_path / 'runs'}"]
    with subprocess.Popen(
        [*TORCHRUN, "-m", "labml_nn.training.engine", *RECIPE, *source],
        env=environment(),
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        yield process
        process.kill()


def begun(process: subprocess.Popen[str]) -> Path:
    r"""The folder of the run, once there is a checkpoint."""
    assert "characters" in process.stdout.readline()
    run = Path(process.stdout.readline().removeprefix("run ").strip())
    deadline = time.monotonic() + 120
    while not list(run.glob("checkpoints/step-*.pt")):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return run


def process_of_rank(launcher: int, rank: int) -> int:
    r"""Which of the children of `launcher` has that rank."""
    children = Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
    (found,) = [
        int(child)
        for child in children
        if f"RANK={rank}".encode() in Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
    ]
    return found


def test_when_one_process_is_killed_the_other_says_so_and_the_run_goes_on(
    two_processes: subprocess.Popen[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = begun(two_processes)
    os.kill(process_of_rank(two_processes.pid, 1), signal.SIGKILL)
    _, err = two_processes.communicate(timeout=120)
    assert two_processes.returncode == 1
    sentence = (
        f"error: another process has ended: go on with --resume; the checkpoints of {run} are kept"
    )
    assert sentence in err.splitlines()
    # The launcher says which one.
    assert re.search(r"rank +: 1 .*\n.*exitcode +: -9", err.partition("Root Cause")[2])

    # One process is enough to go on.
    assert read_history(run)[-1][0] < 120
    assert main([f"--resume={run}"]) == 0
    assert re.search(r"^from step \d+$", capsys.readouterr().out, re.MULTILINE)
    assert [step for step, _ in read_history(run)] == list(range(5, 121, 5))


def test_processes_that_are_told_to_stop_save_once_and_stop_together(
    two_processes: subprocess.Popen[str],
) -> None:
    run = begun(two_processes)
    two_processes.send_signal(signal.SIGTERM)
    out, err = two_processes.communicate(timeout=120)
    (step,) = re.findall(rf"stopped after step (\d+); --resume {re.escape(str(run))} goes on", out)
    assert len(list(run.glob(f"checkpoints/step-{int(step):06}-*.pt"))) == 1
    assert "another process" not in err
