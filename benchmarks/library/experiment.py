r"""
What an experiment is, and how it is run.

A module of this package says by `EXPERIMENT` how to measure and what to report. Its runs are kept
while the sources are the same, so a run that was stopped goes on; then the report is written to
`results/`.
"""

import importlib
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.library.keeping import Kept, key_of
from benchmarks.library.progress import Progress
from benchmarks.library.watched import accounted
from benchmarks.record import ROOT, code_of, write
from literate.results.fingerprints import fingerprint

# A function at the top of the experiment's module, and its arguments.
Job = tuple[Any, ...]
# What becomes the file: its `values`, `tables` and `figures`.
Report = dict[str, Any]


def as_it_is(found: Report) -> Report:
    r"""The report of an experiment that measures and reports in one go."""
    return found


@dataclass(frozen=True, kw_only=True)
class Experiment:
    r"""
    One question, and how it is answered. Its arguments have their names: what a result is made of
    is found by them.

    * `title` is that of the result
    * `measure` trains and measures what isn't kept, by the runner it is given
    * `report` makes values, tables and figures of what `measure` returns, if that isn't these
    * `reads` are files that are read and are no code, such as weights
    * `small` are other values for constants of the module, with which all is run in seconds
    * `threads` is how many PyTorch may use; None leaves that to PyTorch
    """

    title: str
    measure: Callable[["Runner"], Any]
    report: Callable[[Any], Report] = as_it_is
    reads: Sequence[str] = ()
    small: Mapping[str, Any] = field(default_factory=dict)
    threads: int | None = 1

    @property
    def module(self) -> str:
        r"""The full name of the module that the experiment is defined in."""
        return self.measure.__module__

    @property
    def name(self) -> str:
        r"""That of the module, of the command and of the result."""
        return self.module.rpartition(".")[2]

    @property
    def command(self) -> str:
        r"""What records the result again."""
        return f"python -m benchmarks {self.name}"

    def with_settings(self, settings: Mapping[str, Any]) -> None:
        r"""Change constants of the module; there must be such constants."""
        module = sys.modules[self.module]
        for name, value in settings.items():
            if not hasattr(module, name):
                raise ValueError(f"{self.module} has no constant {name}")
            setattr(module, name, value)

    def run(self, runner: "Runner", root: Path = ROOT) -> Path:
        r"""Measure, and write the result below `root`."""
        if self.threads is not None:
            import torch

            torch.set_num_threads(self.threads)
        started = time.monotonic()
        with accounted(self.module) as sources:
            found = self.measure(runner)
        seconds = time.monotonic() - started - runner.spent + runner.worth
        return write(
            self.name,
            title=self.title,
            command=self.command,
            of=self.module,
            sources=sources,
            seconds=seconds,
            root=root,
            **self.report(found),
        )


class Runner:
    r"""Makes the runs of an experiment that aren't kept, one after the other or side by side."""

    def __init__(
        self,
        experiment: Experiment,
        folder: Path | None = None,
        settings: Mapping[str, Any] | None = None,
        processes: int = 1,
    ) -> None:
        r"""
        * `folder` is where runs are kept; `runs/NAME` if it isn't given
        * `settings` are constants of the module that were changed
        * `processes` is how many runs are made at a time
        """
        self.experiment = experiment
        self.kept = Kept(folder or ROOT / "runs" / experiment.name)
        self.settings = dict(settings or {})
        self.processes = processes
        self._before = {
            path: fingerprint(ROOT / path) for path in code_of(ROOT).sources(experiment.module)
        }
        self._sources: dict[Callable, dict[str, str]] = {}
        # Seconds that were spent here on runs, and those that all runs have taken by themselves.
        self.spent, self.worth = 0.0, 0.0

    def once(self, function: Callable, *arguments: Any) -> Any:
        r"""What a function finds with these arguments, now or when it was kept."""
        (found,) = self.all([(function, *arguments)])
        return found

    def runs(
        self, function: Callable, names: Iterable[str], seeds: Sequence[int], *more: Any
    ) -> dict[str, list[Any]]:
        r"""For each name what a function of name, seed and `more` finds, in the order of seeds."""
        names = list(names)
        jobs = [(function, name, seed, *more) for seed in seeds for name in names]
        found = self.all(jobs)
        return {name: found[at :: len(names)] for at, name in enumerate(names)}

    def all(self, jobs: Sequence[Job]) -> list[Any]:
        r"""What each of the jobs finds, in their order."""
        begun = time.monotonic()
        keys = [self.key(job) for job in jobs]
        found = [self.kept.get(label(job), key) for job, key in zip(jobs, keys, strict=True)]
        missing = [at for at, one in enumerate(found) if one is None]
        progress = Progress(len(missing), min(self.processes, max(1, len(missing))))
        for at, (one, seconds) in self._made({at: jobs[at] for at in missing}):
            found[at] = self.kept.put(label(jobs[at]), keys[at], one, seconds)
            progress.ended(label(jobs[at]), found[at])
        self.worth += sum(
            self.kept.seconds(label(job), key) for job, key in zip(jobs, keys, strict=True)
        )
        self.spent += time.monotonic() - begun
        return found

    def _made(self, jobs: Mapping[int, Job]) -> Iterable[tuple[int, tuple[Any, float]]]:
        r"""What jobs have found, with the seconds they took, as soon as each is done."""
        if self.processes == 1 or len(jobs) < 2:
            for at, (function, *arguments) in jobs.items():
                begun = time.monotonic()
                one = function(*arguments)
                yield at, (one, time.monotonic() - begun)
            return
        about = (self.experiment.module, self.settings)
        with ProcessPoolExecutor(self.processes, get_context("spawn")) as pool:
            running = {
                pool.submit(_in_a_process, *about, function.__name__, arguments): at
                for at, (function, *arguments) in jobs.items()
            }
            for done in as_completed(running):
                yield running[done], done.result()

    def key(self, job: Job) -> dict[str, Any]:
        r"""All that a run is made of."""
        function, *arguments = job
        if function not in self._sources:
            found = code_of(ROOT).sources_of((function.__module__, function.__name__))
            found |= {path: fingerprint(ROOT / path) for path in self.experiment.reads}
            changed = [
                path
                for path, known in self._before.items()
                if path in found and fingerprint(ROOT / path) != known
            ]
            if changed:
                # What is in memory is no longer what the files say.
                raise SystemExit(f"changed while it runs: {', '.join(changed)}. Begin again.")
            self._sources[function] = found
        sources = self._sources[function]
        return key_of(sources, [function.__name__, *arguments], self.settings)


def label(job: Job) -> str:
    r"""A job in a few words, for people and for the name of its file."""
    function, *arguments = job
    shown = [str(one) for one in arguments if isinstance(one, str | int | float)]
    return ", ".join([function.__name__, *shown])


def _in_a_process(
    module: str, settings: Mapping[str, Any], name: str, arguments: Sequence[Any]
) -> tuple[Any, float]:
    r"""Make one run in a process of its own."""
    loaded = importlib.import_module(module)
    experiment: Experiment = loaded.EXPERIMENT
    experiment.with_settings(settings)
    if experiment.threads is not None:
        import torch

        torch.set_num_threads(experiment.threads)
    begun = time.monotonic()
    found = getattr(loaded, name)(*arguments)
    return found, time.monotonic() - begun
