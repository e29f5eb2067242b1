r"""
---
title: Standard library
summary: The names of Python lead to its documentation.
---

`json.dumps` in a note is a link to its place in Python's documentation. The page of a name follows
from the rules by which that is written: each module has a page, and each name an anchor there.
Modules that are documented elsewhere, or in parts, are left out: a name is only linked where the
rules are known to hold. That the name exists is asked of Python itself.
"""

import builtins
import keyword
import sys
from functools import cache
from importlib.util import find_spec

from literate.python.names_in_notes import ACTIVE, exists

ADDRESS = "https://docs.python.org/3/library/"

# Everybody knows them, and notes are full of them.
PLAIN = {"bool", "bytes", "dict", "float", "int", "list", "object", "set", "str", "tuple", "type"}

# The built-in types that are described among types, and not among functions.
_TYPES = {"bytearray", "frozenset", "memoryview", "range"}

# What the program `site` adds for those who type.
_TYPED = {"copyright", "credits", "exit", "help", "license", "quit"}

# Their names stand on pages with other names, or on several.
_ELSEWHERE = {
    *(
        "asyncio",
        "cProfile",
        "curses",
        "dbm",
        "distutils",
        "email",
        "encodings",
        "idlelib",
        "lib2to3",
    ),
    *("logging", "pstats", "pydoc_data", "site", "test", "this", "tkinter", "wsgiref", "xml"),
}
# These are described on the page of the package.
_TOGETHER = {
    *(f"importlib.{name}" for name in ("abc", "machinery", "util")),
    *(f"multiprocessing.{name}" for name in ("connection", "dummy", "pool", "sharedctypes")),
}
# And these on pages of other modules.
_ON_OTHERS = {
    *("concurrent.futures.process", "concurrent.futures.thread", "ctypes.util"),
    *("multiprocessing.managers", "urllib.response"),
}
# A function and a module of one name, and a program.
_BOTH = {"json.tool", "unittest.main"}


@cache
def address(name: str) -> str | None:
    r"""
    ## Where a name is documented

    `name` is the full one, `os.path.join`, or a built-in one. None if that is not known.
    """
    parts = name.split(".")
    if len(parts) == 1 and name in dir(builtins):
        return _of_builtin(name)
    root = parts[0]
    is_public = not any(part.startswith("_") for part in parts)
    known = sys.stdlib_module_names - ACTIVE - _ELSEWHERE
    if root not in known or not is_public or not exists(parts):
        return None
    if name in _BOTH:
        return None
    module = next(filter(_is_module, (".".join(parts[:end]) for end in range(len(parts), 0, -1))))
    if module in _ON_OTHERS:
        return None
    page = root if module in _TOGETHER else module
    anchor = f"module-{name}" if name == module else name
    return f"{ADDRESS}{page}.html#{anchor}"


def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _of_builtin(name: str) -> str | None:
    thing = getattr(builtins, name)
    if name.startswith("_") or keyword.iskeyword(name) or name in PLAIN | _TYPED:
        return None
    if isinstance(thing, type) and issubclass(thing, BaseException):
        # Two of them are other names of `OSError`.
        return f"{ADDRESS}exceptions.html#{name}"
    if not callable(thing):
        return f"{ADDRESS}constants.html#{name}"
    return f"{ADDRESS}{'stdtypes' if name in _TYPES else 'functions'}.html#{name}"
