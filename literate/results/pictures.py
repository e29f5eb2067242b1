r"""
---
title: Pictures
summary: A chart is drawn from its numbers once, and kept until something that draws it changes.
---
"""

import hashlib
import importlib.metadata
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# What decides how a chart looks, beside its numbers and the version of Matplotlib.
_DRAWN_BY = [Path(__file__).with_name(name) for name in ("charts.py", "drawing.py")]


def of_chart(content: Mapping[str, Any], name: str, store: Path | None) -> str:
    r"""
    ## The picture of a chart

    The SVG of the [chart](charts.py#chart); it is kept below the folder `store`, if there is one.
    """
    if store is None:
        return _drawn(content, name)
    made_from = [
        json.dumps(content, sort_keys=True),
        name,
        importlib.metadata.version("matplotlib"),
    ]
    made_from += [path.read_text(encoding="utf-8") for path in _DRAWN_BY]
    kept = store / "charts" / f"{digest(json.dumps(made_from))}.svg"
    if not kept.is_file():
        beside = kept.with_name(f"{kept.name}.{os.getpid()}")
        kept.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(_drawn(content, name), encoding="utf-8")
        beside.replace(kept)
    return kept.read_text(encoding="utf-8")


def _drawn(content: Mapping[str, Any], name: str) -> str:
    # Matplotlib takes long to import, and a project without charts needs none.
    from literate.results.charts import chart

    return chart(content, name)


def digest(text: str) -> str:
    r"""
    ## What tells a text from any other

    The beginning of its hash.
    """
    return hashlib.sha256(text.encode()).hexdigest()[:16]
