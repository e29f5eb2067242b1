r"""
---
title: What a Notebook Takes
summary: The packages that it needs, the minutes, and the memory of a GPU.
---

The head of a notebook says it, because a reader decides there whether to run it. Minutes come from
the file that `takes` in the [settings](../settings.py) names. A program of the project counts or
measures them, and writes for each page what it found:

```toml
"my_package/experiment.py" = { cores = 2.1, gpu = 1.4, memory = 0.9 }
```

`cores` are minutes on two cores, `gpu` those on a Tesla T4, and `memory` is what of its memory the
notebook uses at a time, in GiB. A notebook that does not ask for a GPU has no `gpu`. With
`timed = true` the minutes on two cores are those of a run, and no count.
"""

import tomllib
from collections.abc import Collection, Mapping
from functools import cache

from literate.settings import Settings

# The same text is read once for all pages.
_read = cache(tomllib.loads)


def said(settings: Settings, path: str, packages: Collection[str]) -> str:
    r"""
    ## The sentences of a page's notebook

    `packages` are those that it needs, by the names that pip knows.
    """
    names = sorted(packages)
    needs = " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)
    parts = [f"Needs {needs}."] if needs else []
    name = settings.takes
    counted = _read((settings.root / name).read_text("utf-8")).get(path) if name else None
    if counted:
        parts.append(_times(counted))
    return " ".join(parts)


def _times(counted: Mapping[str, float]) -> str:
    text = f"Takes about {_minutes(counted['cores'])} on two cores"
    if counted.get("timed"):
        text += ", by a timed run"
    if "gpu" in counted:
        memory = f"{counted['memory']:.1f} GiB of its memory"
        text += f", or {_minutes(counted['gpu'])} on a Tesla T4 with {memory}"
    if "gpu" in counted or not counted.get("timed"):
        text += ", by a count of the operations"
    where = " In Colab, choose one under Runtime, Change runtime type." if "gpu" in counted else ""
    return f"{text}.{where}"


def _minutes(number: float) -> str:
    r"""
    In seconds below one minute, because 1.5 and 0.2 minutes aren't two and one.
    """
    if number < 0.95:
        return f"{max(5, 5 * round(12 * number))} seconds"
    shown = f"{number:.1f}".removesuffix(".0") if number < 9.95 else f"{number:.0f}"
    return f"{shown} minute{'' if shown == '1' else 's'}"
