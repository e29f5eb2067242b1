r"""Two processes train as one does; and what one does when the other is gone."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from labml_nn.training.engine.command_line import main
from labml_nn.training.engine.records import read_history
from tests import forks
from tests.labml_nn.training.engine import two_processes
from tests.labml_nn.training.engine.models import TEXT
from tests.labml_nn.training.engine.two_processes import (
    CONFIG,
    half_and_half,
    second_half,
    with_muon,
)
from tests.soak import SMALL

# What torchrun tells each process.
BOTH = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
BOTH |= {"TORCHELASTIC_RUN_ID": "test", "TORCHELASTIC_RESTART_COUNT": "0"}
BOTH |= {"TORCHELASTIC_USE_AGENT_STORE": "True", "GLOO_SOCKET_IFNAME": "lo"}


def environments() -> tuple[torch.distributed.TCPStore, list[dict[str, str]]]:
    r"""For two processes, and what they share; its port is free."""
    store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    each = [{"RANK": str(n), "LOCAL_RANK": str(n), "MASTER_PORT": str(store.port)} for n in (0, 1)]
    return store, [BOTH | one for one in each]


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    r"""What each of two processes saw, after one process was there alone, whose is the last."""
    folder = tmp_path_factory.mktemp("processes")
    alone = {"plain": half_and_half(CONFIG, folder / "one"), "muon": with_muon(CONFIG)}
    _store, both = environments()
    started = [
        forks.CONTEXT.Process(target=two_processes.main, args=(folder, one), daemon=True)
        for one in both
    ]
    for process in started:
        process.start()
    for process in started:
        process.join()
    assert [process.exitcode for process in started] == [0, 0]
    seen = [json.loads((folder / f"rank-{rank}.json").read_text()) for rank in range(2)]
    return [*seen, alone | {"folder": folder}]


def test_two_processes_have_the_losses_of_one_and_go_on_from_its_checkpoint_and_it_from_theirs(
    ranks: list[dict[str, Any]],
) -> None:
    *both, alone = ranks
    assert alone["plain"][-1] < alone["plain"][0]
    whole, rest = (pytest.approx(found, abs=1e-5) for found in (alone["plain"], alone["plain"][3:]))
    for name in ("plain", "parts", "sharded", "sharded parts"):
        assert [seen[name] for seen in both] == [whole, whole], name
        # Only rank 0 wrote.
        assert len(list((alone["folder"] / name).iterdir())) == 1
        assert second_half(CONFIG, alone["folder"] / name) == rest, name
    for name in ("plain from one", "sharded from one"):
        assert [seen[name] for seen in both] == [rest, rest], name
    muon = pytest.approx(alone["muon"], abs=1e-5)
    assert [seen["muon sharded"] for seen in both] == [muon, muon]


def test_processes_share_a_model_agree_and_draw_numbers_of_their_own(
    ranks: list[dict[str, Any]],
) -> None:
    both = ranks[:2]
    # Layers of few numbers don't divide evenly.
    shares = [seen["own numbers"] / seen["numbers"] for seen in both]
    assert sum(shares) == pytest.approx(1)
    assert all(0.4 < share < 0.6 for share in shares)
    assert [seen["place"] for seen in both] == [[0, 2], [1, 2]]
    assert [seen["error prefix"] for seen in both] == ["", "process 1: "]
    assert all(seen["any"] == [True, False] for seen in both)
    assert all(seen["first"] == "from 0" for seen in both)
    assert all("got batch_size=9, micro_batches=1 and processes=2" in r["refused"] for r in both)
    # The same ones after a checkpoint was restored.
    (first, again), (other, other_again) = (seen["random"] for seen in both)
    assert first == again != other == other_again


RECIPE = [*SMALL, "--evaluate-every=60", "--record-every=5", "--precision=float32"]


def test_processes_of_which_one_is_told_to_stop_save_once_and_stop_together(
    tmp_path: Path,
) -> None:
    (tmp_path / "text").write_text(TEXT)
    _store, both = environments()
    started = [forks.train(tmp_path, *RECIPE, "--steps=1000000", environment=one) for one in both]
    while not list(tmp_path.glob("runs/classic/*/checkpoints/step-*.pt")):
        assert all(process.is_alive() for process in started)
        time.sleep(0.01)
    os.kill(started[1].pid, signal.SIGTERM)
    for process in started:
        process.join()
    assert [process.exitcode for process in started] == [143, 143]
    out = (tmp_path / "out").read_text()
    ((step, run),) = re.findall(r"stopped after step ([\d,]+); --resume (\S+) goes on", out)
    step = int(step.replace(",", ""))
    assert len(list(Path(run).glob(f"checkpoints/step-{step:06}-*.pt"))) == 1
    assert (tmp_path / "err").read_text() == ""


def test_when_one_process_of_torchrun_is_killed_the_other_says_so_and_the_run_goes_on(
    tmp_path: Path, repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text").write_text(TEXT)
    # The store of the processes is on this machine, at a port that is free.
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2"]
    torchrun += ["--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0", "--local-addr=127.0.0.1"]
    engine = ["-m", two_processes.__name__, "--steps=120", "--device=cpu", *RECIPE]
    done = subprocess.run(
        [*torchrun, *engine],
        env=os.environ | {"PYTHONPATH": str(repository), "GLOO_SOCKET_IFNAME": "lo"},
        cwd=tmp_path,
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 1
    (run,) = (tmp_path / "runs" / "classic").iterdir()
    sentence = (
        f"error: another process has ended: go on with --resume; the checkpoints of {run} are kept"
    )
    assert sentence in done.stderr.splitlines()
    # The launcher says which one.
    assert re.search(r"rank +: 1 .*\n.*exitcode +: -9", done.stderr.partition("Root Cause")[2])

    # One process is enough to go on.
    assert [step for step, _ in read_history(run)] == list(range(5, 51, 5))
    assert main([f"--resume={run}"]) == 0
    assert "\nfrom step 40\n" in capsys.readouterr().out
    assert [step for step, _ in read_history(run)] == list(range(5, 121, 5))
