r"""
---
title: The recorded run of a page
summary: The step that a page shows of its recorded run, and the files that have the others.
---

The example of a page was [recorded](../../page_runner/recording.py) while it ran. The page itself
shows one step of it, and a reader who steps on fetches the rest.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from literate.measuring.measure import Measurement
from literate.reading.source import Source
from page_runner import trace
from page_runner.beginning import begun, inputs_of


@dataclass(frozen=True)
class RecordedRun:
    r"""
    ## What a page has of its recorded run

    * `first_step` is for the template; None, where there is nothing to step through
    * `files` are the record as data and as a script, by their names in the folder of the page
    """

    first_step: Mapping[str, Any] | None
    files: Mapping[str, str]


def recorded_run(source: Source, measurement: Measurement | None) -> RecordedRun:
    r"""
    ## The recorded run of a source
    """
    record = begun(measurement.record, inputs_of(source.tree)) if measurement else {}
    if not record:
        return RecordedRun(None, {})
    written = trace.written(record)
    files = {"trace.json": written, "trace.js": trace.telling(written)}
    return RecordedRun(trace.first_step(record, source.text), files)
