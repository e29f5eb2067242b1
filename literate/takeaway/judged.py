r"""
---
title: Judged exercises
summary: An author is told which exercise judges wrongly, before any reader meets it.
---

An exercise can be wrong in two ways: a mistake that it names is judged right, or the page's own
line is refused. Which of them is the case, only a run can tell. So each line of an exercise is
[judged](judging_run.py) as a reader's would be, in a child process, and what was said is kept until
the page, a module that it imports, or the exercise changes.

Only pages are run that the [settings](../settings.py#Settings.runs) name. On any other page, and on
one without an example, nothing can judge; that is said by [the exercises](exercises.py) themselves.
"""

import json
import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from literate.measuring.child import PACKAGES, Child, Died, NotStarted
from literate.measuring.store import Store
from literate.problems import LiterateError, Problem
from literate.reading.source import Source
from literate.settings import Settings
from literate.takeaway import assembly, exercises
from literate.takeaway.exercises import Asked

PROGRAM = Path(__file__).with_name("judging_run.py")

# When one of these changes, everything is judged again.
TOOLS = [
    PROGRAM,
    *(Path(PACKAGES, "page_runner/edit", f"{name}.py") for name in ("judging", "running")),
]

RIGHT = "Right"
KNOWN = "Not yet. This is a known mistake: "
STILL = "Not yet. The bug is still there."

# What was said of the page's own text, which has no name, and of each mistake.
Said = Mapping[str, str]

# An exercise as its file has it, and as the editor is told.
Told = tuple[Asked, Mapping[str, Any]]


def problems(
    settings: Settings,
    sources: Iterable[Source],
    report: Callable[[str], None],
    seconds: float = 60,
) -> Iterator[Problem]:
    r"""
    ## Exercises that judge wrongly

    Of these sources. `report` gets a line for each page that is really judged, and one line of an
    exercise may take so many `seconds`.
    """
    root = settings.root.resolve()
    store = Store(root / settings.store / "judged", root, TOOLS)
    child = Child(root, PROGRAM)
    try:
        for source in sources:
            told = _told(settings, source)
            if told and exercises.is_judged(settings, source):
                yield from _of_page(source, told, store, child, report, seconds)
    finally:
        child.stop()


def _told(settings: Settings, source: Source) -> list[Told]:
    r"""
    The exercises of a page, each with what its editor is told. That one doesn't fit the page is
    said already.
    """
    told: list[Told] = []
    for one in exercises.exercises(settings, source.path):
        with suppress(LiterateError):
            told.append((one, exercises.told_to_editor(source, one)))
    with suppress(LiterateError):
        shuffled = assembly.told(settings, source)
        told += zip(exercises.to_assemble(settings, source.path), shuffled, strict=True)
    return told


def _of_page(
    source: Source,
    told: Sequence[Told],
    store: Store,
    child: Child,
    report: Callable[[str], None],
    seconds: float,
) -> Iterator[Problem]:
    module = source.module
    at = store.of_folder(store.root / source.import_folder)
    key = at.key(module, json.dumps([source.text, [exercise for _, exercise in told]]))
    said = at.load(module, key)
    if said is None:
        try:
            said = [_said(source, at.root, exercise, child, seconds) for _, exercise in told]
        except NotStarted:
            yield Problem(source.path, 1, "its exercises can't be judged: no process starts.")
            return
        at.save(module, key, said)
        report(f"judged the exercises of {source.path}")
    for (one, _), verdicts in zip(told, said, strict=True):
        yield from _wrong(one, verdicts)


def _said(
    source: Source, folder: Path, exercise: Mapping[str, Any], child: Child, seconds: float
) -> Said:
    r"""
    What is said of the page's own text, and of that with each mistake. The page is imported from
    the `folder`.
    """
    said = {}
    path = posixpath.relpath(source.path, source.import_folder or ".")
    for name, text in {"": source.text, **exercise["wrong"]}.items():
        child.start()
        try:
            answer = child.ask([str(folder), path, text, exercise], seconds)
        except Died as death:
            said[name] = f"running the page {death}"
            continue
        error = answer["error"]
        said[name] = f"{error['type']}: {error['message']}" if error else answer["said"]
    return said


def _wrong(asked: Asked, said: Said) -> Iterator[Problem]:
    own = said[""]
    if own.startswith("running the page"):
        yield asked.problem(f"the page's own line can't be judged: {own}.", "line")
    elif not own.startswith(RIGHT):
        why = own.removeprefix("Not yet: ").rstrip(".")
        sentence = f"the page's own line is refused: {why}; judged twice, it must give the same."
        yield asked.problem(sentence, "line")
    for name, verdict in said.items():
        if not name:
            continue
        begins = json.dumps(name, ensure_ascii=False)
        start = f"the mistake “{name}”"
        if verdict.startswith(RIGHT):
            sentence = f"{start} is judged right: the example gives the same with it."
            yield asked.problem(sentence, begins)
        elif verdict.startswith("running the page"):
            yield asked.problem(f"with {start} {verdict}.", begins)
        elif verdict.startswith("SyntaxError"):
            yield asked.problem(f"{start} is no Python: {verdict}.", begins)
        elif verdict.startswith(KNOWN) and verdict != f"{KNOWN}{name}.":
            other = verdict.removeprefix(KNOWN).rstrip(".")
            sentence = f"{start} gives what “{other}” gives, so readers are told that name; "
            sentence += "let `example` call it with what tells them apart, or leave one out."
            yield asked.problem(sentence, begins)
        elif verdict == STILL and name != asked.bug:
            sentence = f"{start} gives what the bug gives, so readers are told that it is there."
            yield asked.problem(sentence, begins)
