r"""Results for the tests, as a program would have recorded them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from literate.page.links import Links
from literate.reading.source import Source
from literate.results import files
from literate.results.records import Result

FIGURE = {
    "title": "Time of a call",
    "picture": '<svg viewBox="0 0 9 9"><text>Time</text><path d="M0 0h9"/></svg>',
}
TABLE = {
    "columns": [
        {"name": "way", "title": "Way"},
        {"name": "page", "title": "Page"},
        {"name": "loss", "title": "Loss", "unit": "nats", "digits": 3},
        {"name": "steps", "title": "Steps"},
    ],
    "rows": [
        {"way": "one at a time", "page": "pkg/a.py", "loss": 1.5, "steps": 12345},
        {"way": "v1.2", "page": "pkg/a.py#mean", "loss": 1.25},
    ],
}
VALUES = {"loss": 1.5512, "steps": 12345, "best": "fused", "small": 1.25e-05, "deep": {"s": 58.2}}


def content(**other: Any) -> dict[str, Any]:
    r"""What a file of results says."""
    known = {
        "schema": 1,
        "title": "Trials",
        "command": "python trials.py",
        "made": "2026-11-21",
        "machine": {"processor": "Fast(R) 1", "cores": 2, "accelerator": None, "torch": "2.13.0"},
        "sources": {},
        "values": VALUES,
        "tables": {"ways": TABLE},
        "figures": {"time": FIGURE},
    }
    return known | other


def result(**other: Any) -> Result:
    r"""A result, as it is read."""
    return files.parse(json.dumps(content(**other)).encode(), "results/trials.json")


def links(root: Path, pages: Mapping[str, Source], **other: Any) -> Links:
    r"""What the notes of these sources can link to, the result among it."""
    uris = {path: path.removesuffix(".py").removeprefix("pkg/") + ".md" for path in pages}
    found = result(**other)
    documents = {"NEWS.md": "news.md"}
    return Links(pages, uris, root, "docs", documents, results={found.path: found})
