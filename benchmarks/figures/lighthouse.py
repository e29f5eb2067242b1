r"""Lighthouse's four marks, for a phone, from a server with gzip: medians of several runs."""

import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urljoin

from benchmarks.figures.browser import MHA, MUSEUM
from benchmarks.figures.figure import Figure
from benchmarks.figures.server import served

PROGRAM = Path(__file__).parent / "node_modules" / "lighthouse" / "cli" / "index.js"
MARKS = {"performance": 95, "accessibility": 100, "best-practices": 100, "seo": 100}
# Hosts elsewhere are not found, in every run alike.
FLAGS = (
    "--headless=new --no-sandbox"
    " --host-resolver-rules='MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost'"
)


def lighthouse(site: Path, peer: tuple[Path, str] | None, rounds: int) -> Iterator[Figure]:
    r"""A figure for each of three pages; `peer` is a folder and its page."""
    if not PROGRAM.is_file():
        yield Figure("Lighthouse", "not installed", "95/100/100/100", None)
        return
    asked = {"attention page": (site, MHA), "home": (site, ""), "museum": (site, MUSEUM)}
    if peer is not None:
        asked["anchor"] = peer
    reports: dict[str, list[dict[str, Any]]] = {name: [] for name in asked}
    for _ in range(rounds):
        for name, (folder, path) in asked.items():
            with served(folder) as server:
                reports[name].append(_report(urljoin(server.address, path)))
    marks = {name: _medians(runs) for name, runs in reports.items()}
    beside = "/".join(map(str, marks["anchor"].values())) if peer else ""
    for name in ("attention page", "home", "museum"):
        yield Figure(
            what=f"Lighthouse, mobile, {name}, median of {rounds}",
            measured="/".join(map(str, marks[name].values())),
            bar="/".join(map(str, MARKS.values())),
            met=all(marks[name][key] >= bar for key, bar in MARKS.items()),
            peer=beside,
            details=tuple(_complaints(reports[name][-1])),
        )


def _report(url: str) -> dict[str, Any]:
    node = shutil.which("node", path=str(Path(sys.executable).parent)) or "node"
    with TemporaryDirectory() as folder:
        out = Path(folder, "report.json")
        command = [node, str(PROGRAM), url, "--quiet", "--output=json", f"--output-path={out}"]
        command += [f"--only-categories={','.join(MARKS)}", f"--chrome-flags={FLAGS}"]
        environment = {**os.environ}
        named = environment.get("CHROMIUM") or shutil.which("chromium")
        if named:
            environment["CHROME_PATH"] = named
        subprocess.run(command, env=environment, check=True, timeout=300)
        return json.loads(out.read_text(encoding="utf-8"))


def _medians(runs: list[dict[str, Any]]) -> dict[str, int]:
    return {
        key: round(statistics.median(run["categories"][key]["score"] * 100 for run in runs))
        for key in MARKS
    }


def _complaints(report: dict[str, Any]) -> Iterator[str]:
    r"""The audits that cost marks, and the times behind the first mark."""
    audits = report["audits"]
    names = {
        "first-contentful-paint": "first paint",
        "largest-contentful-paint": "largest paint",
        "total-blocking-time": "blocked",
        "speed-index": "speed index",
        "cumulative-layout-shift": "shift",
    }
    yield ", ".join(f"{name} {audits[key]['displayValue']}" for key, name in names.items())
    for category, one in report["categories"].items():
        for reference in one["auditRefs"]:
            audit = audits[reference["id"]]
            if reference["weight"] and audit["score"] is not None and audit["score"] < 0.9:
                yield f"{category}: {audit['id']} {audit.get('displayValue', '')}"
                for item in (audit.get("details") or {}).get("items", [])[:5]:
                    node = item.get("node") or {}
                    yield f"  {node.get('snippet') or item.get('description') or item}"
