r"""
How long does an author wait for a saved file?

From the moment a module is saved to the moment its page is served with what is new in it, while
`mkdocs serve` runs; the page is asked for again and again. Two things are saved: a word more in a
note, and a line of code in a `forward`, which has to be measured. The sites are those of build.py.
"""

import argparse
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.build import LARGE, SMALL, environment, modules, write_project

BAR = 5.0
# Nobody waits longer; then something is broken.
PATIENCE = 300.0
PAGE = "part1/copy1/transformers/mha/"
MODULE = "labml_nn_1/transformers/mha.py"
# Each stands there once.
NOTE = "# A hidden key gets the smallest finite score,"
CODE = "        attn = scores.softmax(dim=1)\n"


@contextmanager
def served(folder: Path) -> Iterator[str]:
    r"""Serve a project; give its address when its first page is there."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [sys.executable, "-m", "mkdocs", "serve", "--quiet", "--dev-addr", address]
    with subprocess.Popen(command, cwd=folder, env=environment()) as server:
        try:
            until(lambda: get(f"http://{address}/{PAGE}") != "")
            yield f"http://{address}/"
        finally:
            server.send_signal(signal.SIGINT)
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                # In the background of a shell, a process may not hear the signal of Ctrl+C.
                server.kill()


def get(address: str) -> str:
    r"""A page, or nothing."""
    try:
        with urllib.request.urlopen(address, timeout=60) as answer:
            return answer.read().decode()
    except OSError:
        return ""


def until(is_there: Callable[[], bool]) -> float:
    r"""How many seconds it takes until something is there."""
    started = time.perf_counter()
    while not is_there():
        if time.perf_counter() - started > PATIENCE:
            sys.exit("serve.py: what was saved is never served")
        # Not faster: the server has something else to do.
        time.sleep(0.03)
    return time.perf_counter() - started


def text_of(page: str) -> str:
    r"""What stands on a page."""
    return re.sub(r"<[^>]*>", "", page)


def measure(folder: Path, edits: int, pause: float) -> dict[str, list[float]]:
    r"""The seconds of each kind of edit."""
    taken: dict[str, list[float]] = {}
    path = folder / MODULE
    whole = path.read_text(encoding="utf-8")

    def save(kind: str, text: str, is_there: Callable[[str], bool]) -> None:
        # As most editors do it: nobody reads half of a file.
        beside = path.with_suffix(".saved")
        beside.write_text(text, encoding="utf-8")
        os.replace(beside, path)
        taken.setdefault(kind, []).append(until(lambda: is_there(get(address + PAGE))))
        time.sleep(pause)

    with served(folder) as address:
        time.sleep(10)
        for number in range(1, edits + 1):
            new = f"Edit {number}: for an"
            text = whole.replace(NOTE, NOTE.replace("A hidden", new))
            save("a note", text, lambda page, new=new: new in text_of(page))

            bound = f"doubled_{number}"
            text = whole.replace(CODE, f"{CODE}        {bound} = 2 * query\n")
            # It is right when its shape is there, too.
            shown = rf'data-shape="[^"]+"[^\n]*{bound}'
            save("a line of code", text, lambda page, shown=shown: re.search(shown, page))
    return taken


def main() -> int:
    r"""Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--edits", type=int, default=7, help="edits of each kind (%(default)s)")
    parser.add_argument(
        "--pause", type=float, default=2.0, help="seconds between two edits (%(default)s)"
    )
    arguments = parser.parse_args()
    print(f"Seconds from a saved file to its page, of {arguments.edits} edits; bar {BAR} s\n")
    print(f"{'modules':>8}  {'saved':18}{'median':>10}{'most':>10}")
    for size in (SMALL, LARGE):
        with tempfile.TemporaryDirectory() as temporary:
            write_project(Path(temporary), modules(size))
            for kind, seconds in measure(Path(temporary), arguments.edits, arguments.pause).items():
                median, most = statistics.median(seconds), max(seconds)
                print(f"{size:>8}  {kind:18}{median:>8.2f} s{most:>8.2f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
