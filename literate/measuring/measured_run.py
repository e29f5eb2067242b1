r"""
---
title: The measured run
summary: A child process runs the example of a page and writes down every tensor it meets.
---

This file is a program of its own, which [measure](measure.py) starts. It is the only file of the
tool that knows PyTorch; it runs the code of a page, and what goes wrong there goes wrong here.

Requests come as lines of JSON, one module each, and each gets one line back. The code of the module
comes [instrumented](../../page_runner/instrument.py), and compiled; whatever it imports is run as
it is.
"""

import importlib
import importlib.util
import json
import marshal
import os
import random
import sys
import traceback
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from literate.measuring.channel import asked, limit_memory, open_channel
from page_runner.calls import NOWHERE, Moment
from page_runner.recording import Recording
from page_runner.values import tensors_in

# A longer list of plain numbers is no example by hand.
MOST_NUMBERS = 64

# A shape that comes again in further calls needs no more of them to be known.
MOST_CALLS = 32

# What one tensor was: shape and dtype, and in the first run its place in the record, and the calls
# in which it was so.
Seen = tuple[tuple[int, ...], str, int | None, list[int]]

# The line, the qualified name that it is part of, and the name of the value.
Place = tuple[int, str | None, str]


class Recorder:
    r"""
    ## The recorder

    * `places` holds what was seen at each place, each shape and dtype once, in the order in which
      they were seen
    * `axes` holds the numbers that `example` assigned
    * `record` is that of the first run, with numbers; the other runs are there for their shapes
    """

    def __init__(self) -> None:
        self.places: dict[Place, list[Seen]] = {}
        self.axes: dict[str, int] = {}
        self.record: Recording | None = Recording()

    def enter(self, function: str) -> None:
        r"""
        ### A function begins
        """
        if self.record:
            self.record.calls.enter(function, sys._getframe(1))

    def passes(self, name: str, things: Iterable[Any]) -> Iterable[Any]:
        r"""
        ### A loop goes through things
        """
        return self.record.calls.passes(name, things) if self.record else things

    def __call__(self, line: int, owner: str | None, name: str, value: Any) -> Any:
        r"""
        ### Record a value, and hand it on

        A page may define tensors of its own kind, or a mode that sees every call. Neither is called
        here: their methods are recorded themselves, and a mode would see calls that are not those
        of the page.
        """
        with torch.no_grad(), torch._C.DisableTorchFunction(), _disable_current_modes():
            moment = self.record.calls.now(sys._getframe(1)) if self.record else NOWHERE
            for part, tensor in tensors_in(name, value):
                self._see((line, owner, part), tensor, moment)
            record = self.record
            table = numbers_in(value) if record else None
            if record and table is not None:
                record.add(line, owner, name, table, False, moment)
        return value

    def axis(self, name: str, value: Any) -> None:
        r"""
        ### Record a number that may be the length of an axis
        """
        if type(value) is int and value > 0:
            self.axes[name] = value

    def _see(self, place: Place, tensor: torch.Tensor, moment: Moment) -> None:
        # The axes of a nested tensor have many lengths, or none that could be asked for.
        try:
            shape = tuple(int(size) for size in tensor.shape)
        except (RuntimeError, TypeError, ValueError):
            return
        dtype = str(tensor.dtype).removeprefix("torch.")
        seen = self.places.setdefault(place, [])
        same = next((known for known in seen if known[:2] == (shape, dtype)), None)
        index = self.record.add(*place, tensor, same is None, moment) if self.record else None
        if same is None:
            same = shape, dtype, index, []
            seen.append(same)
        calls = same[3]
        if moment.serial and moment.serial not in calls and len(calls) < MOST_CALLS:
            calls.append(moment.serial)


def numbers_in(value: Any) -> torch.Tensor | None:
    r"""
    ## A list of numbers, or a table of them, as a tensor

    A page that works something out by hand has no tensors, but it can be stepped through, too. Only
    floating-point numbers are meant: whole ones may count or name anything.
    """
    if not isinstance(value, list) or not 0 < len(value) <= MOST_NUMBERS:
        return None
    rows = value if isinstance(value[0], list) else [value]
    same = all(isinstance(row, list) and 0 < len(row) == len(rows[0]) for row in rows)
    if not same or len(rows) * len(rows[0]) > MOST_NUMBERS:
        return None
    if not all(type(number) is float for row in rows for number in row):
        return None
    return torch.tensor(value, dtype=torch.float64)


class Importer(SourceFileLoader):
    r"""
    ## The import of the measured module

    Stands before Python's own finders and answers for one name: with the code that the parent sent,
    and its recorder.
    """

    def __init__(self, request: Mapping[str, Any], recorder: Recorder) -> None:
        super().__init__(request["module"], request["file"])
        self.code: CodeType = marshal.loads(b64decode(request["code"]))
        self.hook = request["hook"]
        self.recorder = recorder

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        r"""
        ### Find the module
        """
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.path, loader=self)

    def get_code(self, fullname: str) -> CodeType:
        r"""
        ### Neither the file nor a compiled copy is read
        """
        return self.code

    def exec_module(self, module: ModuleType) -> None:
        r"""
        ### The recorder is there before the first line
        """
        setattr(module, self.hook, self.recorder)
        super().exec_module(module)


def measure(request: Mapping[str, Any]) -> dict[str, Any]:
    r"""
    ## Measure a module

    It is imported once and its example is called once for each set of sizes. What was seen during
    the import was seen in every run. An exception is told with its stage, "import" or the number
    of the run, and the last line of the module that it went through.
    """
    recorder = Recorder()
    importer = Importer(request, recorder)
    reset_torch()
    stage = "import"
    runs = []
    sys.meta_path.insert(0, importer)
    try:
        module = importlib.import_module(importer.name)
        imported = recorder.places
        for number, sizes in enumerate(request["runs"]):
            stage = str(number)
            recorder.places = {place: list(seen) for place, seen in imported.items()}
            recorder.axes = {}
            reset_torch()
            module.example(**sizes)
            places = [[*place, seen] for place, seen in recorder.places.items()]
            runs.append({"axes": recorder.axes, "places": places})
            if recorder.record:
                seen = [index for known in recorder.places.values() for _, _, index, _ in known]
                needed = {index for index in seen if index is not None}
                record, recorder.record = recorder.record.told(needed), None
    # An example that leaves with `sys.exit` has failed too.
    except BaseException as error:
        return {"stage": stage, "line": last_line(error, importer.path), "error": in_a_line(error)}
    finally:
        sys.meta_path.remove(importer)
    return {"runs": runs, "record": record}


def forget_modules(root: str) -> None:
    r"""
    ## Forget the modules under the root

    They are imported again, as if nothing had run before.
    """
    for name in [name for name in sys.modules if is_under(root, name)]:
        del sys.modules[name]
    importlib.invalidate_caches()


def is_under(root: str, name: str) -> bool:
    r"""
    ## Does a module belong to the root?

    It does if the package around it lies directly in it. What is installed in a folder of the
    root, PyTorch for example, does not.
    """
    package = sys.modules.get(name.partition(".")[0])
    places = [*getattr(package, "__path__", ()), getattr(package, "__file__", None) or ""]
    return any(os.path.dirname(str(place)) == root for place in places)


def reset_torch() -> None:
    r"""
    ## The same PyTorch for everybody

    Its defaults, one thread, and the same random numbers.
    """
    torch.set_default_dtype(torch.float32)
    torch.set_default_device(None)
    torch.set_grad_enabled(True)
    torch.set_num_threads(1)
    # New memory is filled, so that `torch.empty` has the same numbers every time. The public
    # function loads the compiler as well, which takes longer than all pages together.
    torch._C._set_deterministic_algorithms(True, warn_only=True)
    torch.manual_seed(0)
    random.seed(0)


def last_line(error: BaseException, file: str) -> int | None:
    r"""
    ## The innermost line of the file that an exception went through
    """
    frames = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in frames if frame.f_code.co_filename == file]
    return lines[-1] if lines else None


def in_a_line(error: BaseException) -> str:
    r"""
    ## An exception in one line
    """
    first, *_ = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def main(root: str) -> None:
    r"""
    ## Answer requests

    Each is one line. The first one that is sent says that the process is ready.
    """
    requests, answers = open_channel()
    limit_memory()
    sys.dont_write_bytecode = True
    outside, folder = [*sys.path], root
    print("{}", file=answers, flush=True)
    for request in asked(requests):
        forget_modules(folder)
        # The packages of one project may lie in several folders.
        folder = request["folder"]
        sys.path[:] = [folder, *outside]
        print(json.dumps(measure(request)), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
