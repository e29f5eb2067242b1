r"""Results for the tests, as a program would have recorded them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from literate.page.links import Links
from literate.reading.source import Source
from literate.results import files
from literate.results.pictures import digest
from literate.results.records import Result

FIGURE = {
    "title": "Time of a call",
    "x": {"title": "Size"},
    "y": {"title": "Time", "unit": "ms"},
    "lines": [{"name": "mean", "points": [[1, 2.5], [2, 3.5]]}],
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


def seen(svg: str, title: str = "Seen") -> dict[str, str]:
    r"""A figure that is a picture in a file of its own, which has this text."""
    return {"title": title, "picture": "pictures/trials-seen.svg", "digest": digest(svg)}


def result(svg: str | None = None, **other: Any) -> Result:
    r"""A result, as it is read, with the text of its picture if that is there."""

    def text_of(name: str) -> str:
        if svg is None:
            raise FileNotFoundError(name)
        return svg

    return files.parse(json.dumps(content(**other)).encode(), "results/trials.json", text_of)


def links(root: Path, pages: Mapping[str, Source], **other: Any) -> Links:
    r"""What the notes of these sources can link to, the result among it."""
    uris = {path: path.removesuffix(".py").removeprefix("pkg/") + ".md" for path in pages}
    found = result(**other)
    documents = {"NEWS.md": "news.md"}
    return Links(pages, uris, root, "docs", documents, results={found.path: found})
