r"""A run that is killed with SIGKILL, and resumed. `make soak` does it fifty times."""

import signal
from pathlib import Path

from tests.forks import train
from tests.soak import SMALL, TEXT, begun, compare, ended


def test_a_run_that_is_killed_and_resumed_ends_with_the_same_bits(tmp_path: Path) -> None:
    (tmp_path / "text").write_text(TEXT)
    options = [*SMALL, "--steps=110"]
    ended(options, tmp_path, tmp_path / "straight")
    runs = tmp_path / "killed"
    # Before there is a run or a checkpoint, within a history, within a checkpoint.
    for syncs in (1, 2, 5, 6, 9, 8, 3):
        process = train(tmp_path, *(begun(runs) or [*options, f"--runs={runs}"]), syncs=syncs)
        process.join()
        assert process.exitcode == -signal.SIGKILL, (tmp_path / "err").read_text()
    ended(options, tmp_path, runs)
    compare(tmp_path)
