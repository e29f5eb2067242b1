r"""
---
title: Measure
summary: The example of a page runs, and every tensor on every line gets its shape, with names.
---

A page may end with an example whose parameters are the names of axes, with different primes as
their sizes:

```python
def example(seq_len: int = 7, batch_size: int = 3, heads: int = 5, d_k: int = 2) -> torch.Tensor:
```

It is called with these sizes and with [three sets of others](axes.py#all_runs), and every tensor
that the module binds or returns is written down. A page can then say nothing about a tensor but
what was measured.

The code runs in a [child process](child.py); what it gave is [kept](store.py) until the sources
change. PyTorch is not imported here.
"""

import ast
import os
import time
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.util import find_spec
from marshal import dumps
from pathlib import Path
from typing import Any

from literate.measuring import axes, clearest
from literate.measuring.axes import Sizes
from literate.measuring.child import PACKAGES, Child, Died, NotStarted
from literate.measuring.store import Store
from literate.problems import LiterateError, Problem
from literate.reading.import_folders import module_name
from literate.reading.source import Source
from page_runner import instrument, trace

# The line, the qualified name that the value is part of, and its name.
Place = tuple[int, str | None, str]

# What the child tells about one tensor: shape and dtype, and in the first run its place in the
# record, and the calls in which it was so.
Seen = list[Any]

_HAS_TORCH = find_spec("torch") is not None

# When one of these changes, everything is measured again.
TOOLS = [
    *sorted(Path(__file__).parent.glob("*.py")),
    *(
        Path(PACKAGES, "page_runner", f"{name}.py")
        for name in ("calls", "instrument", "recording", "trace", "values")
    ),
]


@dataclass(frozen=True)
class Tensor:
    r"""
    ## One tensor, seen at one place

    * `name` is the name it is bound to: `scores`, `self.attn`, an argument; or `return`, or
      `yield`; or a part of something of that name, `return[0]`
    * `sizes` are its shapes, one for each run
    * `axes` are their names
    * `dtype` is `float32`, for example
    * `index` is its place among the tensors of the record, which have its numbers in the first run
    * `calls` are the numbers of the calls in which it was seen, in the first run
    """

    name: str
    sizes: tuple[tuple[int, ...], ...]
    axes: tuple[str, ...]
    dtype: str
    index: int | None = None
    calls: tuple[int, ...] = ()


@dataclass(frozen=True)
class Measurement:
    r"""
    ## All that was measured on a page

    * `axes` are the names that may stand in a claim, with their sizes in all runs: the parameters
      of the example and the numbers that it assigns
    * `lines` holds, for the first line of a statement, what it binds or returns, in this order; an
      argument of a function is on its own line. What was seen in the [clearest call](clearest.py)
      comes first
    * `functions` holds the arguments and results of each function, by qualified name; and for a
      class, what it binds in its body and on `self`
    * `record` is the first run, [step by step](../../page_runner/recording.py#Recording.told), with
      the names of the axes
    """

    axes: dict[str, Sizes]
    lines: dict[int, tuple[Tensor, ...]]
    functions: dict[str, tuple[Tensor, ...]]
    record: Mapping[str, Any] = field(default_factory=dict)


class Bench(AbstractContextManager):
    r"""
    ## What measuring takes

    A [store](store.py) and a [child](child.py) that runs pages, for the folder `root`. A `with`
    statement ends the child, whatever happens. One bench can serve many times, which saves the
    start of the child; between two times, the store has to be told to
    [look again](store.py#Store.look_again).
    """

    def __init__(self, root: Path, store: Path) -> None:
        self.store = Store(store, root.resolve(), TOOLS)
        self.child = Child(root.resolve())

    def __exit__(self, *_: object) -> None:
        self.child.stop()


def measure(
    sources: Sequence[Source],
    root: Path,
    store: Path,
    *,
    seconds: float = 60,
    report: Callable[[str], None] = lambda line: None,
    bench: Bench | None = None,
) -> dict[str, Measurement]:
    r"""
    ## Measure the pages that have an example

    * `sources` are the pages. One without a top-level `example` is never run, and where PyTorch
      isn't installed, none that doesn't import it: it has no tensors
    * `root` is the folder of the project
    * `store` is the folder in which measurements are kept
    * `seconds` is how long one page may take
    * `report` gets a line for each page that is really run
    * `bench` is what to measure with; without one, a bench is set up and cleared away

    The result has the paths of the sources as its keys. Raises a
    [LiterateError](../problems.py#LiterateError) with the problems of all the pages whose example
    can't be measured.
    """
    root = root.resolve()
    measured: dict[str, Measurement] = {}
    problems: list[Problem] = []
    with nullcontext(bench) if bench else Bench(root, store) as at:
        for source in sources:
            example = source.once(axes.example_of)
            if example is None:
                continue
            try:
                page = _Page(source, root, example)
                store_of_page = at.store.of_folder(page.folder)
                if not _HAS_TORCH and not store_of_page.needs(page.module, "torch"):
                    continue
                measured[source.path] = page.measure(store_of_page, at.child, seconds, report)
            except NotStarted:
                sentence = "can't be measured: see what `python -c 'import torch'` says."
                if not _HAS_TORCH:
                    sentence = "can't be measured, because PyTorch is missing: `pip install torch`."
                raise LiterateError([Problem(source.path, example.lineno, sentence)]) from None
            except LiterateError as error:
                problems += error.problems
    if problems:
        raise LiterateError(problems)
    return measured


class _Page:
    r"""
    A page on its way to its measurement.
    """

    def __init__(self, source: Source, root: Path, example: ast.FunctionDef) -> None:
        self.source = source
        self.example = example
        self.file = Path(os.path.abspath(root / source.path))
        if not self.file.is_relative_to(root):
            raise self.error(f"can't be imported, because the file is not in {root}")
        self.folder = root / source.import_folder
        self.module = module_name(self.file.relative_to(root).as_posix(), source.import_folder)
        self.first = axes.first_run(source, example)

    @cached_property
    def runs(self) -> list[dict[str, int]]:
        r"""
        Looked for only if the page is run.
        """
        return axes.all_runs(self.first)

    def error(self, sentence: str, line: int | None = None) -> LiterateError:
        problem = Problem(self.source.path, line or self.example.lineno, f"{sentence}.")
        return LiterateError([problem])

    def measure(
        self, store: Store, child: Child, seconds: float, report: Callable[[str], None]
    ) -> Measurement:
        r"""
        What is kept, or else what the child says.
        """
        key = store.key(self.module, self.source.text)
        kept = store.load(self.module, key)
        if kept is not None:
            return _from_json(kept)
        child.start()
        started = time.perf_counter()
        measurement = self.compare(self.run(child, seconds))
        store.save(self.module, key, asdict(measurement))
        report(f"measured {self.source.path} in {time.perf_counter() - started:.1f} s")
        return measurement

    def run(self, child: Child, seconds: float) -> dict[str, Any]:
        r"""
        What was seen in each run, and the record of the first.
        """
        file = str(self.file)
        code = instrument.instrument(self.source.text, file)
        request = {
            "folder": str(self.folder),
            "module": self.module,
            "file": file,
            "code": b64encode(dumps(code)).decode(),
            "hook": instrument.HOOK,
            "runs": self.runs,
        }
        try:
            answer = child.ask(request, seconds)
        except Died as death:
            raise self.error(f"running the page {death}") from None
        if "error" not in answer:
            return answer
        reason = answer["error"].rstrip(".")
        if answer["stage"] == "import":
            raise self.error(f"can't be imported: {reason}", answer["line"])
        raise self.error(f"{self.call(int(answer['stage']))} raises {reason}", answer["line"])

    def call(self, run: int) -> str:
        r"""
        The call of one run, as one would type it.
        """
        arguments = (f"{name}={size}" for name, size in self.runs[run].items())
        return f"example({', '.join(arguments)})"

    def compare(self, answer: Mapping[str, Any]) -> Measurement:
        r"""
        What was seen at a place in the first run is the same tensor as what was seen there in the
        others. So its axes have names, which the steps of the record get, too.
        """
        runs, record = answer["runs"], answer["record"]
        known = {name: tuple(run[name] for run in self.runs) for name in self.runs[0]}
        for name in runs[0]["axes"]:
            if all(name in run["axes"] for run in runs):
                known.setdefault(name, tuple(run["axes"][name] for run in runs))
        name_of = axes.namer(known)

        lines: dict[int, dict[Any, Tensor]] = {}
        functions: dict[str, dict[Any, Tensor]] = {}
        by_place = [_places(run) for run in runs]
        for place in {place: None for places in by_place for place in places}:
            line, owner, name = place
            for matching in self.matched(place, [places.get(place, []) for places in by_place]):
                _, dtype, index, calls = matching[0]
                sizes = tuple(tuple(seen[0]) for seen in matching)
                named = tuple(map(name_of, zip(*sizes, strict=True)))
                tensor = Tensor(name, sizes, named, dtype, index, tuple(calls))
                # The same again, with other numbers, is nothing new.
                lines.setdefault(line, {}).setdefault((name, sizes, dtype), tensor)
                if owner is not None:
                    functions.setdefault(owner, {}).setdefault((name, sizes, dtype), tensor)
        return Measurement(
            axes=known,
            lines=clearest.first(self.source, lines),
            functions={name: tuple(tensors.values()) for name, tensors in functions.items()},
            record=_from_lists(trace.with_axes(record, lines)),
        )

    def matched(self, place: Place, runs: Sequence[Sequence[Seen]]) -> list[tuple[Seen, ...]]:
        r"""
        What was seen at a place, one tensor of each run at a time. Where something grows in a loop
        that goes round more often in one run than in another, the first and the last one.
        """
        line, _, name = place
        if not all(runs) and "[" in name:
            # A list may have more elements in one run.
            return []
        if all(runs) and len({len(seen) for seen in runs}) > 1:
            runs = [[seen[0], seen[-1]] for seen in runs]
        first = runs[0]
        for number, seen in enumerate(runs):
            if _kinds(seen) != _kinds(first):
                raise self.error(
                    f"`{name}` is {_shapes(first)} in {self.call(0)}, but {_shapes(seen)} in "
                    f"{self.call(number)}; the steps of an example can't depend on its sizes",
                    line,
                )
        return list(zip(*runs, strict=True))


def _kinds(seen: Sequence[Seen]) -> list[tuple[int, str]]:
    r"""
    The numbers of axes and the types of what was seen in one run.
    """
    return [(len(shape), dtype) for shape, dtype, *_ in seen]


def _places(run: Mapping[str, Any]) -> dict[Place, list[Seen]]:
    return {(line, owner, name): seen for line, owner, name, seen in run["places"]}


def _shapes(seen: Sequence[Seen]) -> str:
    return ", ".join(f"{shape} {dtype}" for shape, dtype, *_ in seen) or "not there"


def _from_json(kept: Any) -> Measurement:
    r"""
    JSON knows no tuples, and only strings as keys.
    """
    kept = _from_lists(kept)
    return Measurement(
        **kept | {"lines": {int(line): tensors for line, tensors in kept["lines"].items()}}
    )


def _from_lists(kept: Any) -> Any:
    if isinstance(kept, list):
        return tuple(map(_from_lists, kept))
    if not isinstance(kept, dict):
        return kept
    inside = {name: _from_lists(value) for name, value in kept.items()}
    return Tensor(**inside) if isinstance(inside.get("name"), str) else inside
