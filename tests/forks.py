r"""Processes that need not import PyTorch, because each is a fork of one that has."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

CONTEXT = get_context("forkserver")
CONTEXT.set_forkserver_preload(
    [
        *("torch.distributed.fsdp", "torch._dynamo", "matplotlib.backends.backend_svg"),
        "tests.literate.imported",
    ]
)


def forked(function: Callable[..., Any], *arguments: Any) -> Any:
    r"""What a function of a module returns in a process of its own."""
    with ProcessPoolExecutor(1, CONTEXT) as pool:
        return pool.submit(function, *arguments).result()


def train(
    folder: Path, *options: str, environment: Mapping[str, str] | None = None, syncs: int = 0
) -> BaseProcess:
    r"""The training command, started in a folder; what it says goes to “out” and “err” there.

    With `syncs`, it is killed when it is about to write to the disk for that time.
    """
    given = (folder, options, dict(environment or {}), syncs)
    process = CONTEXT.Process(target=_train, args=given, daemon=True)
    process.start()
    return process


def _train(folder: Path, options: tuple[str, ...], environment: dict, syncs: int) -> None:
    import tqdm

    from labml_nn.training.engine.command_line import main

    # A lock that other processes could see would outlive one that is killed.
    tqdm.tqdm.set_lock(threading.RLock())
    os.environ.update(environment)
    os.chdir(folder)
    for stream, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND), stream)
    fsync, left = os.fsync, syncs

    def counted(file: int) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        fsync(file)

    os.fsync = counted
    sys.exit(main([*options, "--device=cpu", "--sample-length=5"]))
