r"""Runs edited examples: ANSWER EDITS, a pickled list of (module, path, source)."""

import contextlib
import importlib
import io
import linecache
import pickle
import signal
import sys
import types
import warnings
from pathlib import Path
from typing import Any

import torch
from plain import plain

# Most take less than one. A search for a mistake in a model takes ten.
SECONDS = 30


class TooLate(BaseException):
    r"""An edited example takes too long."""


def too_late(*_: Any) -> None:
    r"""The alarm."""
    raise TooLate


def line_of(error: BaseException, path: str) -> int | None:
    r"""The line of the page where an error came up."""
    line, trace = None, error.__traceback__
    while trace:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def outcome(name: str, path: str, source: str) -> tuple[Any, ...]:
    r"""What an edited page's example gave, or how it failed and where."""
    module = types.ModuleType(name)
    module.__file__ = path
    before = sys.modules.get(name)
    sys.modules[name] = module
    linecache.cache[path] = (len(source), None, source.splitlines(True), path)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with contextlib.redirect_stdout(io.StringIO()), torch.enable_grad():
            exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
            torch.manual_seed(0)
            return "ok", plain(module.example())
    except TooLate:
        return ("late",)
    except RecursionError:
        return "error", "RecursionError", "", None
    except BaseException as error:
        return "error", type(error).__name__, str(error), line_of(error, path)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        if before is not None:
            sys.modules[name] = before


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    # Time of the processor: a busy machine makes no example late.
    signal.signal(signal.SIGPROF, too_late)
    torch.set_num_threads(1)
    outcomes = []
    for module_name, file_name, text in pickle.loads(Path(sys.argv[2]).read_bytes()):
        importlib.import_module(module_name)
        outcomes.append(outcome(module_name, file_name, text))
    Path(sys.argv[1]).write_bytes(pickle.dumps(outcomes))
