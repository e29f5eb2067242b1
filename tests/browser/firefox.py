r"""Firefox, driven by Marionette: the protocol that it speaks to its own WebDriver."""

import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROGRAM = shutil.which("firefox-esr") or shutil.which("firefox")
PREFERENCES = """
user_pref("marionette.port", {port});
user_pref("app.update.enabled", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
"""

# In seconds, and as long as the slowest machine may take.
PATIENCE = 180


class Firefox:
    r"""One tab of a Firefox that has started."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.stream = connection.makefile("rb")
        self.asked = 0
        self._read()
        self.ask("WebDriver:NewSession")

    def _read(self) -> Any:
        r"""A message has its length before it, and a colon."""
        length = b""
        while (one := self.stream.read(1)) != b":":
            length += one
        return json.loads(self.stream.read(int(length)))

    def ask(self, name: str, **given: Any) -> Any:
        r"""Ask for something; an error is raised with its message."""
        self.asked += 1
        message = json.dumps([0, self.asked, name, given]).encode()
        self.connection.sendall(str(len(message)).encode() + b":" + message)
        _, _, error, result = self._read()
        assert error is None, error["message"]
        return result

    def go(self, address: str) -> None:
        r"""Open a page."""
        self.ask("WebDriver:Navigate", url=address)

    def run(self, script: str) -> Any:
        r"""What a script of the page returns."""
        return self.ask("WebDriver:ExecuteScript", script=script, args=[])["value"]

    def until(self, script: str) -> Any:
        r"""The first value of a script that is true."""
        return patiently(lambda: self.run(script))


def patiently(ask: Callable[[], Any]) -> Any:
    r"""The first answer that is true."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if answer := ask():
            return answer
        time.sleep(0.1)
    raise TimeoutError("nothing came of it")


@contextmanager
def running_firefox(folder: Path) -> Iterator[Firefox]:
    r"""A headless Firefox with a profile in an empty folder; it is ended at the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "user.js").write_text(PREFERENCES.format(port=port))
    command = [str(PROGRAM), "--headless", "--marionette", "--no-remote", "--profile", str(folder)]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env={**os.environ, "HOME": str(folder)}, **quiet)

    def connected() -> socket.socket | None:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except OSError:
            return None

    try:
        with patiently(connected) as connection:
            yield Firefox(connection)
    finally:
        process.terminate()
        process.wait(30)
