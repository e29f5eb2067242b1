r"""
---
title: A smaller standard library
summary: What a browser fetches of Python's own modules, compiled when the site is built.
---

More than half of the bytes of Python's standard library are comments, documentation, and modules
that no lesson needs: mail, XML, servers. This program runs in the Python that the reader's
browser will run, once, when the site is built. It keeps the modules that are wanted and all that
they import. It compiles them, so that no browser has to: Python starts in a third of the time.
Which line each instruction comes from is left out, a third of the bytes: an error is told with
lines of the pages, whose sources the browser has.
"""

import ast
import importlib
import marshal
import sys
import zipfile
from collections.abc import Iterable
from importlib.machinery import FrozenImporter
from importlib.util import MAGIC_NUMBER
from types import CodeType

# What a reader may type who tries out a line, and what Python itself imports when it is needed.
USUAL = (
    "__future__ _ast_unparse abc argparse array ast bisect builtins collections collections.abc "
    "contextlib copy dataclasses datetime enum functools gc hashlib heapq inspect io itertools "
    "json linecache math operator os pathlib pprint random re statistics string struct sys "
    "textwrap time timeit keyword logging numbers traceback types typing warnings weakref "
    "encodings.latin_1 encodings.ascii importlib.readers importlib.resources.readers "
    "importlib.resources._adapters"
).split()

# What a browser has no use for: no C library is called, and nothing is fetched.
LEFT_OUT = {"ctypes", "unittest", "unittest.mock", "urllib.request"}

# A lesson that would fetch something imports this. It can open what it has written itself; at any
# other address it is told that there is no network. Nothing in such a path needs to be quoted.
REQUEST = """
def pathname2url(path, *, add_scheme=False):
    return ("file://" if add_scheme else "") + str(path)


def urlopen(address, *given, **named):
    scheme, _, path = address.partition("://")
    if scheme == "file":
        return open(path, "rb")
    raise OSError("in the browser no address is opened")
"""
IN_PLACE = {"urllib/__init__.py": "", "urllib/request.py": REQUEST}

# A fixed date: the same sources give the same bytes.
DATE = (1980, 1, 1, 0, 0, 0)

# Documentation is left out of compiled modules.
WITHOUT_TEXTS = 2
# How CPython's tables spell a place that isn't known.
NOWHERE = 0x80 | 15 << 3


def trim(library: str, wanted: Iterable[str], target: str) -> list[str]:
    r"""
    ## Write a smaller library

    `library` is the archive that comes with Python. The result are the wanted modules that it
    hasn't.
    """
    missing = []
    for name in sorted({*USUAL, *wanted}):
        if any(f"{name}.".startswith(f"{one}.") for one in LEFT_OUT):
            continue
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
    with zipfile.ZipFile(library) as old, zipfile.ZipFile(target, "w") as new:
        for file in sorted(old.namelist()):
            module = sys.modules.get(module_name(file))
            # What is frozen into the program itself is not looked for anywhere else.
            if module is None or getattr(module.__spec__, "loader", None) is FrozenImporter:
                continue
            if file not in IN_PLACE:
                add(new, f"{file}c", pyc(compiled(old.read(file), file)))
        for file, text in IN_PLACE.items():
            add(new, f"{file}c", pyc(compiled(text.encode(), file)))
    return missing


def pack(files: Iterable[tuple[str, str]], target: str) -> None:
    r"""
    ## Write modules into an archive

    `files` are their names there, and where they lie. Modules are compiled.
    """
    with zipfile.ZipFile(target, "w") as new:
        for name, place in sorted(files):
            with open(place, "rb") as file:
                text = file.read()
            if name.endswith(".py"):
                add(new, f"{name}c", pyc(compiled(without_types(text), name)))
            else:
                add(new, name, text)


def add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    r"""
    ## Put a file into an archive
    """
    about = zipfile.ZipInfo(name, DATE)
    archive.writestr(about, content, zipfile.ZIP_DEFLATED, compresslevel=9)


def without_types(text: bytes) -> ast.Module:
    r"""
    ## A module without the types of arguments and results

    Nothing asks for them in a page, and they are a seventh of what is compiled. Those of fields
    stay: they make a dataclass what it is.
    """
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
    return tree


def compiled(text: bytes | ast.Module, file: str) -> CodeType:
    r"""
    ## Compile a module
    """
    return without_lines(compile(text, file, "exec", dont_inherit=True, optimize=WITHOUT_TEXTS))


def without_lines(code: CodeType) -> CodeType:
    r"""
    ## Leave out the numbers of lines

    The table has one byte for eight instructions at most, which says that they have none.
    """
    full, rest = divmod(len(code.co_code) // 2, 8)
    table = bytes([NOWHERE | 7]) * full + bytes([NOWHERE | rest - 1] * bool(rest))
    inside = (without_lines(one) if isinstance(one, CodeType) else one for one in code.co_consts)
    return code.replace(co_linetable=table, co_consts=tuple(inside))


def pyc(code: CodeType) -> bytes:
    r"""
    ## A compiled module, as Python reads it

    The number of the version, the mark of a file that is not compared with its source, and eight
    bytes for the hash that nobody asks for.
    """
    return MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8) + marshal.dumps(code)


def module_name(file: str) -> str:
    r"""
    ## The name of a module in the archive
    """
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
