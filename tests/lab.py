r"""Open a notebook in JupyterLab, in a browser, and run it all there, as a reader does.

    python -m tests.lab [NOTEBOOK] [--picture FILE]

Starts JupyterLab on the loopback, with a token of its own, in a folder that holds nothing but the
notebook, with the smallest values in its form. Ends with status 0 when the parts from other pages
are folded and the formulas are set, every cell has run and none has an error, the bars of progress
have come to their ends, and each picture that was put out is shown and isn't blank. No test of the
suite, because JupyterLab and what it brings along are heavy: `make lab` installs and runs it.
"""

import argparse
import json
import os
import re
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.error import URLError

import nbformat
from playwright.sync_api import Page

from tests.browser.chromium import running_browser
from tests.kernels import FORM, fill_in

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOK = ROOT / "notebooks" / "transformers" / "mha.ipynb"
# For the server to start, and for the notebook to run.
START_SECONDS = 120
RUN_SECONDS = 600
# Everything that JupyterLab would keep or look up elsewhere.
CONFIG = [
    "--no-browser",
    "--ServerApp.ip=127.0.0.1",
    "--ServerApp.port_retries=0",
    "--ServerApp.allow_root=True",
    "--LabApp.expose_app_in_browser=True",
    "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
]
READY = """() => {
    const context = window.jupyterapp?.shell.currentWidget?.sessionContext;
    const kernel = context?.isReady && context.session?.kernel;
    return kernel && kernel.connectionStatus === "connected" && kernel.status === "idle";
}"""
# All cells, rendered or not, are in the model of the notebook.
CELLS = """() => {
    const notebook = window.jupyterapp.shell.currentWidget;
    const cells = notebook.content.model.sharedModel.cells;
    return cells.map(cell => cell.toJSON()).filter(cell => cell.cell_type === "code");
}"""
# Of each picture of the cell, once it is in view: how many colours it shows, 0 if it isn't shown.
COLOURS = """async at => {
    const content = window.jupyterapp.shell.currentWidget.content;
    const colours = image => {
        if (!image.checkVisibility() || !image.naturalWidth) return 0;
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
        const context = canvas.getContext("2d");
        context.drawImage(image, 0, 0);
        const bytes = context.getImageData(0, 0, canvas.width, canvas.height).data;
        return new Set(new Uint32Array(bytes.buffer)).size;
    };
    content.activeCellIndex = at;
    await content.scrollToItem(at, "center");
    for (let waits = 0; waits < 50; waits++) {
        const found = [...content.widgets[at].node.querySelectorAll("img")];
        if (found.length && found.every(one => one.complete)) return found.map(colours);
        await new Promise(done => setTimeout(done, 100));
    }
    return [];
}"""
# A picture with fewer is blank, or nearly so.
FEW_COLOURS = 20
# What is wrong with the notes: headings that should be folded, and formulas that are not set.
NOTES = """async () => {
    const content = window.jupyterapp.shell.currentWidget.content;
    const problems = [];
    for (let at = 0; at < content.widgets.length; at++) {
        const {model, node} = content.widgets[at];
        if (model.type !== "markdown") continue;
        const text = model.sharedModel.getSource();
        const first = text.split("\\n")[0];
        if (model.getMetadata("jp-MarkdownHeadingCollapsed")) {
            const next = content.widgets[at + 1];
            if (!content.widgets[at].headingCollapsed || !next.isHidden) {
                problems.push(`“${first}” isn't folded`);
            }
        }
        if (!text.includes("$$") || content.widgets[at].isHidden) continue;
        await content.scrollToItem(at, "center");
        let set = [];
        for (let waits = 0; waits < 100 && !set.length; waits++) {
            set = [...node.querySelectorAll("mjx-container")];
            await new Promise(done => setTimeout(done, 100));
        }
        if (!set.length || node.querySelector("mjx-merror")) {
            problems.push(`the formulas of “${first}” are not set`);
        }
    }
    return problems;
}"""


def main() -> int:
    r"""Run the notebook and say what was seen."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab", description=__doc__)
    parser.add_argument("notebook", nargs="?", type=Path, default=NOTEBOOK)
    parser.add_argument("--picture", type=Path, help="where to write what the last picture is in")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        place = Path(folder) / "here"
        place.mkdir()
        filled = fill_in(chosen.notebook.read_text(encoding="utf-8"), FORM)
        nbformat.write(filled, place / "notebook.ipynb")
        with serving(Path(folder), place) as address, running_browser() as browser:
            page = browser.new_page(viewport={"width": 1400, "height": 1000})
            page.goto(f"{address}&reset", wait_until="domcontentloaded")
            problems = run(page, chosen.picture)
    for one in problems:
        print(one, file=sys.stderr)
    return 1 if problems else 0


@contextmanager
def serving(home: Path, place: Path) -> Iterator[str]:
    r"""The address of the notebook in a JupyterLab that ends with the block."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = secrets.token_hex()
    names = ("HOME", "IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR")
    own = {name: str(home / name) for name in names}
    environment = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}
    command = [sys.executable, "-m", "jupyterlab", *CONFIG, f"--ServerApp.port={port}"]
    # It asks nobody whether news are wanted.
    config = home / "jupyter_lab_config.json"
    config.write_text(json.dumps({"LabApp": {"news_url": None}}), encoding="utf-8")
    log = home / "log.txt"
    with log.open("w") as stream:
        server = subprocess.Popen(
            [*command, f"--ServerApp.root_dir={place}"],
            cwd=place,
            # Not on the command line, where everybody on the machine could read it.
            env=environment | own | {"JUPYTER_TOKEN": token},
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
        )
        try:
            wait(f"http://127.0.0.1:{port}/api", server, log)
            yield f"http://127.0.0.1:{port}/lab/tree/notebook.ipynb?token={token}"
        finally:
            # It ends its kernels, which takes a while; that they end with it is enough.
            server.terminate()
            try:
                server.wait(30)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def wait(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    r"""Wait until the server answers."""
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (URLError, OSError):
            if server.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"JupyterLab doesn't start:\n{log.read_text()}") from None
        time.sleep(0.5)


def run(page: Page, picture: Path | None) -> list[str]:
    r"""Run all cells by the menu, and look at what they put out; gives what is wrong."""
    page.locator(".jp-NotebookPanel .jp-Cell").first.wait_for(timeout=START_SECONDS * 1000)
    # What is asked of a kernel before the window is connected to it is lost.
    page.wait_for_function(READY, timeout=START_SECONDS * 1000)
    in_notes = page.evaluate(NOTES)
    started = time.monotonic()
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    cells: list[dict] = []
    while time.monotonic() - started < RUN_SECONDS:
        cells = page.evaluate(CELLS)
        if failed(cells) or all(one["execution_count"] for one in cells):
            break
        page.wait_for_timeout(1000)
    problems = failed(cells)
    problems += [
        f"the bar of the cell `{first(one)}` ends with `{bars[-1]}`"
        for one in cells
        if (bars := re.findall(r"\d+%\|", printed(one))) and bars[-1] != "100%|" and not problems
    ]
    problems += [
        f"the cell `{first(one)}` has not run after {RUN_SECONDS} s"
        for one in cells
        if not one["execution_count"] and not problems
    ]
    n_pictures = 0
    kinds = page.evaluate(
        "() => window.jupyterapp.shell.currentWidget.content.model.sharedModel.cells"
        ".map(cell => cell.cell_type)"
    )
    places = [at for at, kind in enumerate(kinds) if kind == "code"]
    for at, cell in zip(places, cells, strict=True):
        expected = sum("image/png" in one.get("data", {}) for one in cell["outputs"])
        if expected:
            colours = page.evaluate(COLOURS, at)
            n_pictures += expected
            if len(colours) != expected or min(colours) < FEW_COLOURS:
                problems.append(
                    f"the cell `{first(cell)}` shows {len(colours)} of {expected} pictures, of "
                    f"{colours} colours"
                )
            if picture:
                page.screenshot(path=picture)
    if not any("100%|" in printed(one) for one in cells):
        problems.append("no cell shows a bar that has come to its end")
    if not n_pictures:
        problems.append("no cell has put out a picture")
    print(
        f"JupyterLab {version()}: {len(cells)} cells, {n_pictures} pictures, "
        f"{time.monotonic() - started:.0f} s"
    )
    return in_notes + problems


def printed(cell: dict) -> str:
    r"""What it has written, errors and bars too."""
    streams = (one for one in cell["outputs"] if one["output_type"] == "stream")
    return "".join("".join(one["text"]) for one in streams)


def failed(cells: list[dict]) -> list[str]:
    r"""The errors of the cells."""
    return [
        f"the cell `{first(cell)}` fails: {one['ename']}: {one['evalue']}"
        for cell in cells
        for one in cell["outputs"]
        if one["output_type"] == "error"
    ]


def first(cell: dict) -> str:
    r"""The line that a cell begins with."""
    return re.split("\n", "".join(cell["source"]))[0]


def version() -> str:
    r"""The version of JupyterLab that runs."""
    command = [sys.executable, "-m", "jupyterlab", "--version"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
