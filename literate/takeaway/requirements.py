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
`timed = true` the minutes on two cores are those of a run, and no count: the notebook looks at
numbers, and where nothing is computed there are none. Of the minutes on a GPU its training is
counted then, and the rest is that of the run.

A notebook may train a larger model where there is a GPU. It has `larger`, which is the place of the
recorded loss, or empty if there is none:

```toml
"my_package/large.py" = { cores = 1, gpu = 2, memory = 1, larger = "results/a.json#values.loss" }
```
"""

import tomllib
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any

from literate.settings import Settings

# The same text is read once for all pages.
_read = cache(tomllib.loads)


def said(
    settings: Settings,
    path: str,
    packages: Collection[str],
    on_gpu: bool = False,
    number: Callable[[str], str] = str,
) -> str:
    r"""
    ## The sentences of a page's notebook

    `packages` are those that it needs, by the names that pip knows. `on_gpu` says whether it runs
    on a GPU if there is one, and `number` gives the number at a place in a record.
    """
    names = sorted(packages)
    needs = " and ".join(part for part in (", ".join(names[:-1]), *names[-1:]) if part)
    parts = [f"Needs {needs}."] if needs else []
    name = settings.takes
    counted = _read((settings.root / name).read_text("utf-8")).get(path, {}) if name else {}
    if counted:
        parts.append(_times(counted))
    if "larger" in counted:
        # Without it, the minutes read as if a GPU were slower.
        place = counted["larger"]
        to = f", to a loss of about {number(place)}" if place else ", whose loss isn't recorded"
        parts.append(f"On a GPU it trains a larger model{to}.")
    elif on_gpu and "gpu" not in counted:
        parts.append("It runs on a GPU, if there is one.")
    if on_gpu or "gpu" in counted:
        parts.append("In Colab, choose one under Runtime, Change runtime type.")
    return " ".join(parts)


def _times(counted: Mapping[str, Any]) -> str:
    timed, count = ", by a timed run", ", by a count of the operations"
    text = f"Takes about {_minutes(counted['cores'])} on two cores"
    if "gpu" not in counted:
        return f"{text}{timed if counted.get('timed') else count}."
    gpu = f"{_minutes(counted['gpu'])} on a Tesla T4 with {counted['memory']:.1f} GiB of its memory"
    if counted.get("timed"):
        return f"{text}{timed}, or {gpu}, if all but the training takes as long as on the cores."
    return f"{text}, or {gpu}{count}."


def _minutes(number: float) -> str:
    r"""
    In seconds below one minute, because 1.5 and 0.2 minutes aren't two and one.
    """
    if number < 0.95:
        return f"{max(5, 5 * round(12 * number))} seconds"
    shown = f"{number:.1f}".removesuffix(".0") if number < 9.95 else f"{number:.0f}"
    return f"{shown} minute{'' if shown == '1' else 's'}"
