r"""
---
title: Running an edited page
summary: A page whose source a reader has changed is imported, and its example is run.
---

This module runs in the reader's browser, in a Python that is started once. It runs a page as often
as the reader likes, each time from the beginning:

* All modules of our packages are forgotten, and what the reader has changed takes the place of its
  file. So no module keeps anything of an earlier run, and pages that import a changed module get
  it, too. (What a run changes in other people's modules stays.)
* The page itself is [instrumented](../instrument.py): what its lines bind is [seen](seen.py).
* Code that is as it was is not compiled again.

Nothing here knows that it's in a browser. The tests run the same module with PyTorch itself. A page
that imports neither PyTorch nor NumPy needs neither of them.
"""

import gc
import importlib
import inspect
import json
import linecache
import operator
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from page_runner.edit.drawing import offer_figures, show_what_is_left
from page_runner.edit.failure import told
from page_runner.edit.judging import Run, judge_runs
from page_runner.edit.printed import Printed
from page_runner.edit.seen import Seen
from page_runner.instrument import HOOK, instrument


class Sources:
    r"""
    ## The modules of the packages, as the reader has them

    This stands before Python's own finders. `edited` has the texts that are not those of the
    files, by the path below the root; `watched` is the path of the page that runs.
    """

    def __init__(self, root: Path, packages: Sequence[str]) -> None:
        self.root = root
        self.packages = packages
        self.edited: Mapping[str, str] = {}
        self.watched = ""
        self.seen = Seen()
        self._compiled: dict[tuple[str, bool, str], CodeType] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        r"""
        ### Find a module
        """
        if name.partition(".")[0] not in self.packages:
            return None
        places = [str(self.root)] if path is None else path
        spec = PathFinder.find_spec(name, places)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = Loader(name, spec.loader.path, self)
        return spec

    def path_of(self, file: str) -> str:
        r"""
        ### The path of a file below the root
        """
        return Path(file).relative_to(self.root).as_posix()

    def text_of(self, path: str) -> str:
        r"""
        ### What a module says now
        """
        if path in self.edited:
            return self.edited[path]
        return (self.root / path).read_text(encoding="utf-8")

    def code_of(self, path: str) -> CodeType:
        r"""
        ### A module, compiled

        Of each module the last text is kept with its code.
        """
        text, file, watched = self.text_of(path), str(self.root / path), path == self.watched
        key = path, watched, text
        if key not in self._compiled:
            for old in [one for one in self._compiled if one[:2] == key[:2]]:
                del self._compiled[old]
            make = instrument if watched else compiled
            self._compiled[key] = make(text, file)
        return self._compiled[key]

    def begin(self, watched: str, edited: Mapping[str, str]) -> None:
        r"""
        ### A new run begins

        A traceback then shows the lines of the changed module.
        """
        for name in [one for one in sys.modules if one.partition(".")[0] in self.packages]:
            del sys.modules[name]
        self.watched, self.edited, self.seen = watched, edited, Seen()
        linecache.clearcache()
        for path, text in edited.items():
            file = str(self.root / path)
            linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file


class Loader(SourceFileLoader):
    r"""
    ## The import of one module

    The page that runs has its recorder before its first line.
    """

    def __init__(self, name: str, file: str, sources: Sources) -> None:
        super().__init__(name, file)
        self.sources = sources

    def get_code(self, fullname: str) -> CodeType:
        r"""
        ### What is run
        """
        return self.sources.code_of(self.sources.path_of(self.path))

    def exec_module(self, module: ModuleType) -> None:
        r"""
        ### Run it
        """
        if self.sources.path_of(self.path) == self.sources.watched:
            setattr(module, HOOK, self.sources.seen)
        super().exec_module(module)


class Program:
    r"""
    ## What the page asks for

    * `root` is the folder of the packages, and `packages` are their names
    * `say` is called with what a program prints, and `draw` with the figures that it shows
    """

    def __init__(
        self,
        root: str,
        packages: Sequence[str],
        say: Callable[[str], Any],
        draw: Callable[[str], Any],
    ) -> None:
        self.sources = Sources(Path(root), packages)
        self.say = say
        sys.meta_path.insert(0, self.sources)
        sys.dont_write_bytecode = True
        offer_figures(draw)

    def run(self, path: str, edited: str) -> str:
        r"""
        ### Run a page

        `edited` has the texts that the reader has changed, by their paths, as JSON. So is the
        result: `lines` with what was [seen](seen.py), the `error` if there was one, `seconds`, and
        whether the page has an `example`.
        """
        began = time.perf_counter()
        result: dict[str, Any] = {"error": None, "example": True}
        self.sources.begin(path, json.loads(edited))
        printed = Printed(self.say)
        with redirect_stdout(printed), redirect_stderr(printed):
            try:
                reset()
                module = importlib.import_module(module_name(path))
                result["example"] = hasattr(module, "example")
                if result["example"]:
                    reset()
                    module.example()
                show_what_is_left()
            # A program that leaves with `sys.exit` has failed, too.
            except BaseException as error:
                result["error"] = told(error, self.sources.root, self.sources.packages)
        printed.flush()
        result["lines"] = self.sources.seen.told()
        result["seconds"] = time.perf_counter() - began
        return json.dumps(result)

    def judge(self, path: str, edited: str, exercise: str) -> str:
        r"""
        ### Judge an exercise

        `exercise` has the function that it is `of`, the names that its line has `bound`, whether
        the reader should `mend` a bug, and the texts of the page with known mistakes, which are
        `wrong`. The result has what is `said`, and the `error` with which the example ended.
        """
        asked = json.loads(exercise)
        runs = self._ready(path, {}, asked), self._ready(path, json.loads(edited), asked)
        wrong = {
            name: self._ready(path, {path: text}, asked) for name, text in asked["wrong"].items()
        }
        result: dict[str, Any] = {"said": "", "error": None}
        printed = Printed(lambda text: None)
        with redirect_stdout(printed), redirect_stderr(printed):
            try:
                result["said"] = judge_runs(*runs, wrong, asked["bound"], asked["kind"] == "mend")
            except BaseException as error:
                result["error"] = told(error, self.sources.root, self.sources.packages)
        return json.dumps(result)

    def _ready(self, path: str, edited: Mapping[str, str], asked: Mapping[str, Any]) -> Run:
        def make() -> tuple[CodeType, Callable[[], Any]]:
            self.sources.begin("", edited)
            reset()
            module = importlib.import_module(module_name(path))
            function = function_of(operator.attrgetter(asked["of"])(module))
            return function.__code__, module.example

        return make

    def call(self, target: str, arguments: str) -> Iterator[str]:
        r"""
        ### Call a function of the packages

        `target` is `package.module:function`. It yields what it has to tell, one thing after
        another, and so does this, as JSON; an error is told as the last.
        """
        self.sources.begin("", {})
        printed = Printed(self.say)
        try:
            reset()
            name, _, function = target.partition(":")
            told_by = getattr(importlib.import_module(name), function)(**json.loads(arguments))
            while True:
                with redirect_stdout(printed):
                    value = next(told_by, None)
                printed.flush()
                if value is None:
                    return
                yield json.dumps(value)
        except BaseException as error:
            yield json.dumps({"error": told(error, self.sources.root, self.sources.packages)})

    def rest(self) -> None:
        r"""
        ### Between two runs

        The tensors of the last run are given back.
        """
        gc.collect()


def function_of(thing: Any) -> Any:
    r"""
    ## The function that is run

    That of a property, of a class method, or of what a decorator has made.
    """
    held = (getattr(thing, name, None) for name in ("fget", "func", "__func__"))
    return inspect.unwrap(next(filter(None, held), thing))


def compiled(text: str, file: str) -> CodeType:
    r"""
    ## A module that isn't looked at
    """
    return compile(text, file, "exec", dont_inherit=True)


def module_name(path: str) -> str:
    r"""
    ## The name of a module

    `package/part/__init__.py` is `package.part`.
    """
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def reset() -> None:
    r"""
    ## The same beginning for every run

    As when the page was measured: the same defaults and the same random numbers, of each library
    that is there.
    """
    random.seed(0)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(0)
    if torch := sys.modules.get("torch"):
        torch.set_default_dtype(torch.float32)
        torch.set_grad_enabled(True)
        torch.manual_seed(0)
