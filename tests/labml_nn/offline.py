r"""Programs in a process of their own: labml keeps one experiment for each."""

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
# Whoever opens a connection fails.
REFUSE = """
import socket

def refuse(*args, **kwargs):
    raise AssertionError("a connection")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
"""


def offline(program: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    r"""What it said, in a folder that is its home as well."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", REFUSE + program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        check=False,
    )
