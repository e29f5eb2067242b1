r"""A snippet runs by itself, and says what its source says."""

import ast
import importlib
import json
import subprocess
import sys
import sysconfig
import warnings
from fnmatch import fnmatch
from pathlib import Path

import pytest
import torch
from torch.utils._pytree import tree_leaves, tree_map

from literate.problems import LiterateError
from literate.python.closure import closure
from literate.python.statements import Import, take_apart
from literate.reading.source import read
from literate.settings import load
from literate.takeaway.alone import copied, installed
from literate.takeaway.snippet import import_lines, snippets, without
from tests.literate.packages import own_sources, package, program, run

FILES = {
    "pkg/base.py": '''
        r"""
        ---
        title: Base
        ---
        """
        import json
        import math
        from collections.abc import Iterator

        # A half,
        # and no more.
        HALF = 0.5
        THIRD = 1 / 3  # about
        QUARTER = 0.25

        class Base:
            r"""
            ## Base

            What is `# here` is no comment.
            """
            # The shape.
            sides = 4

            def parts(self) -> Iterator[float]:
                r"""Both."""
                yield HALF  # one
                # two
                yield THIRD

                # It ends here.
    ''',
    "pkg/wanted.py": '''
        import math
        from functools import cache
        from pkg.base import QUARTER, Base
        LIMIT = QUARTER

        # Only once.

        @cache
        def area(side: float) -> float:
            r"""
            ## Area
            """
            return math.pow(side, Wanted.sides) + LIMIT

        class Wanted(Base):
            r"""Nothing but this."""

        Wanted_dimensions = 2

        def example() -> float:
            return area(sum(Wanted().parts()))
    ''',
}

SCRIPT = """\
# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///

"""
WITH_NOTES = '''\
# area from pkg/wanted.py
# with code from pkg/base.py, where its notes are

import math
from collections.abc import Iterator
from functools import cache

HALF = 0.5
THIRD = 1 / 3  # about
QUARTER = 0.25


class Base:
    sides = 4

    def parts(self) -> Iterator[float]:
        yield HALF  # one
        yield THIRD


LIMIT = QUARTER


# Only once.
@cache
def area(side: float) -> float:
    r"""
    ## Area
    """
    return math.pow(side, Wanted.sides) + LIMIT


class Wanted(Base):
    r"""Nothing but this."""
'''


def test_a_snippet_is() -> None:
    noted, bare = snippets(package(FILES), "pkg.wanted", "area")
    assert noted == SCRIPT + WITH_NOTES
    noted = noted.replace("# Only once.\n", "").replace('    r"""\n    ## Area\n    """\n', "")
    assert bare == noted.replace('r"""Nothing but this."""', "pass")


def test_a_snippet_of_a_module_has_all_that_it_defines_in_its_order() -> None:
    noted, _ = snippets(package(FILES), "pkg.wanted")
    assert noted.startswith(
        f"{SCRIPT}# Everything from pkg/wanted.py\n"
        "# with code from pkg/base.py, where its notes are\n"
    )
    assert run(noted)["example"]() == pytest.approx((0.5 + 1 / 3) ** 4 + 0.25)
    text = "b = 1\n\n\ndef a():\n    return c\n\n\nc = b\nd = c\n\n# Last.\ne = 2\n"
    copied, _ = snippets(package({"pkg/__init__.py": text}), "pkg")
    assert copied == f"{SCRIPT}# Everything from pkg/__init__.py\n\n{text}"


def test_a_module_that_has_nothing_to_copy_is_an_error() -> None:
    sources = package({"pkg/__init__.py": "import json"})
    with pytest.raises(LiterateError, match=r"pkg/__init__\.py:1: defines nothing to copy\."):
        snippets(sources, "pkg")
    with pytest.raises(LiterateError, match=r"pkg\.none:1: is not a module of the package\."):
        snippets(sources, "pkg.none")


def test_windows_line_endings_become_newlines() -> None:
    text = "X = '''a\r\nb'''\r\ndef f():\r\n    # note\r\n    return X\r\n"
    noted, _ = snippets(package({"pkg/a.py": text}), "pkg.a", "f")
    assert run(noted)["f"]() == "a\nb" and "\r" not in noted


def test_lazy_annotations_stay_lazy() -> None:
    text = "from __future__ import annotations\ndef f(x: Undefined): return 1"
    copied, _ = snippets(package({"pkg/a.py": text}), "pkg.a", "f")
    assert run(copied)["f"](0) == 1


def test_imports_are_sorted_in_groups() -> None:
    text = """
        import torch.nn.functional as F
        from torch import nn as layers, Tensor
        import os.path
        import zlib, ast
        from torch import optim
        from collections.abc import Callable
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            from torch.nn import Module
            from decimal import Decimal

        def f(a: "Module", b: "Decimal"):
            return F, layers, Tensor, os, zlib, ast, optim, Callable
    """
    found = closure(package({"pkg/a.py": text}), "pkg.a", ["f"])
    assert import_lines(found.imports, found.lazy_annotations) == (
        "import ast\n"
        "import os.path\n"
        "import zlib\n"
        "from collections.abc import Callable\n"
        "from typing import TYPE_CHECKING\n"
        "\n"
        "import torch.nn.functional as F\n"
        "from torch import Tensor, nn as layers, optim\n"
        "\n"
        "if TYPE_CHECKING:\n"
        "    from decimal import Decimal\n"
        "    from torch.nn import Module\n"
    )


def test_a_long_import_takes_a_line_for_each_name() -> None:
    names = [f"a_rather_long_name_{number}" for number in range(5)]
    inside = "".join(f"    {name},\n" for name in names)
    found = import_lines([Import("outside", name, "") for name in names])
    assert found == f"from outside import (\n{inside})\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('class C:\n    """One."""\n\n    # c\n\n    x = 1\n', "class C:\n    x = 1\n"),
        ("def f():\n    x = 1\n\n    # c\n    y = 2\n", "def f():\n    x = 1\n    y = 2\n"),
        ("if x:\n    x = 1\n\n    # c\n    @a\n    def f(): ...\n",)
        + ("if x:\n    x = 1\n\n    @a\n    def f(): ...\n",),
        ("x = 1\n\n# c\ny = 2\n", "x = 1\n\ny = 2\n"),
        ("x = 1\n# c\n\ny = 2\n", "x = 1\n\ny = 2\n"),
        ("# c\n\nx = '''\n\n# no comment\n\n\n'''\n", "x = '''\n\n# no comment\n\n\n'''\n"),
        ("x = [\n    # one\n    1,\n    # two\n    2,\n]\n", "x = [\n    1,\n    2,\n]\n"),
        ("x = 1 + \\\n    2\ny = 3 \\\n    # c\nz = 4\n", "x = 1 + \\\n    2\ny = 3 \\\n\nz = 4\n"),
        ('async def f():\n    """One."""\n    await g()\n', "async def f():\n    await g()\n"),
        # What stands on a line of code stays.
        *[(text, text) for text in ('def f(): "One."\n', "x = 1  # c\n")],
        ('f()\n"No docstring."\n', 'f()\n"No docstring."\n'),
        ('x = 1\n"The docstring of x."\n', "x = 1\n"),
    ],
)
def test_without_notes_there_is(text: str, expected: str) -> None:
    assert without(text, "docstring", "comment") == expected


def test_docstrings_can_be_taken_away_and_comments_stay() -> None:
    text = 'class C:\n    """One."""\n\n    def f(self):\n        """Two."""\n        # d\n'
    assert without(text, "docstring") == "class C:\n    def f(self):\n        pass\n        # d\n"


def test_without_notes_the_standard_library_is_the_same_program() -> None:
    library = Path(sysconfig.get_path("stdlib"))
    modules = [*sorted(library.glob("*.py"))[1::12], *sorted(library.glob("test/test_f*.py"))[::6]]
    assert len(modules) > 15
    for path in modules:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text = read(path).text.replace("\r\n", "\n")
            tree = ast.parse(text)
            bare = without(text, "docstring", "comment")
            assert program(ast.parse(bare)) == program(tree), path


# An object of a copy is of another class than that of its page, but says the same of itself.
PLAIN = "lambda it: it if isinstance(it, torch.Tensor | int | float | str) else repr(it)"
# Runs copies, each with nothing but itself, and keeps what their examples return.
RUN_COPIES = """
import json, linecache, sys, torch
from torch.utils._pytree import tree_map

torch.set_num_threads(1)
sys.modules["labml_nn"] = sys.modules["literate"] = None
results = {}
for key, text in json.load(open("copies.json")).items():
    names = {"__name__": "__main__"}
    # As in a file of its own, whose source can be looked up.
    linecache.cache[key] = len(text), None, text.splitlines(True), key
    exec(compile(text, key, "exec", dont_inherit=True), names)
    if "example" in names:
        torch.manual_seed(1)
        results[key] = tree_map(PLAIN, names["example"]())
torch.save(results, "results.pt")
"""


def test_every_definition_of_our_pages_runs_alone_and_examples_give_the_same(
    repository: Path, tmp_path: Path
) -> None:
    known = installed(load(repository), None)
    assert known == {"wrongline": "wrongline"}
    sources = copied(own_sources(repository).values(), known)
    machinery = load(repository).machinery
    copies = {
        f"{module}:{name}": snippets(sources, module, name, installed=known)[0]
        for module, source in sources.items()
        if not any(fnmatch(source.path, pattern) for pattern in machinery)
        for name in take_apart(source).defined
    }
    # What tests a model is a package: what calls it imports it, says so, and stays short.
    called = copies["labml_nn.transformers.mistakes.language_model:example"]
    assert '# dependencies = ["torch", "wrongline"]' in called
    assert "from wrongline import find_in_language_model" in called
    assert called.count("\n") <= 450
    (tmp_path / "copies.json").write_text(json.dumps(copies))
    child = subprocess.run(
        [sys.executable, "-I", "-W", "error", "-c", RUN_COPIES.replace("PLAIN", PLAIN)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    results = torch.load(tmp_path / "results.pt")
    examples = [key for key in copies if ":example" in key]
    assert sorted(results) == sorted(examples)
    assert len(examples) >= 10
    for key in examples:
        torch.manual_seed(1)
        original = importlib.import_module(key.partition(":")[0]).example()
        found = tree_leaves(results[key])
        expected = tree_leaves(tree_map(eval(PLAIN), original))
        assert list(map(type, found)) == list(map(type, expected))
        for one, two in zip(found, expected, strict=True):
            # Sentences, too, are what an example may give, and a mistake what is no number.
            if not isinstance(one, str):
                torch.testing.assert_close(one, two, equal_nan=True)
            else:
                assert one == two


def test_what_documents_an_assignment_goes_with_the_comments() -> None:
    text = 'class A:\n    """Doc."""\n    x = 1\n    """X."""\n    # why\n    y = 2\n'
    # A notebook has no other place for it.
    assert without(text, "docstring") == text.replace('    """Doc."""\n', "")
    assert without(text, "docstring", "comment") == "class A:\n    x = 1\n    y = 2\n"
