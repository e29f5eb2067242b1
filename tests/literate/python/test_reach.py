r"""What a run can reach is found, and changes that no run could tell change no hash."""

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from unittest.mock import ANY

import pytest

from literate.python.reach import EFFECTS, GUARD, Ours, Prints, Reach, differing, reach, unseen

FILES = {
    "pkg/__init__.py": "from pkg.inner import shown as offered\n",
    "pkg/main.py": '''
        from importlib import import_module
        from math import sqrt as root
        import pkg.whole
        from pkg import offered, registry
        from pkg.base import Base as Parent, make
        from pkg.stars import *
        STEPS = 3
        PAGES = {"one": "parts/one"}
        COUNT = 0
        UNUSED = 4

        class Child(Parent):
            def step(self, x):
                return x + 1

            def other(self):
                return helper()

        def helper(y=STEPS):
            return (lambda z: z * root(y))(2)

        def count():
            global COUNT
            COUNT += 1

        def apart():
            return UNUSED

        def take_here(name):
            return globals()[name]

        def measure(runner: "Child"):
            """A note."""
            first = Child()
            total = sum(make(each) for each in range(STEPS))
            page = import_module(f"pkg.{PAGES['one'].replace('/', '.')}")
            def inner(a):
                return total + a + pkg.whole.deep(a)
            count()
            return first, page.in_place(), inner(1), offered, registry.TABLE, starred()
    ''',
    "pkg/base.py": """
        from pkg.below import Lowest

        class Base(Lowest):
            size: int = 1

            def step(self, x):
                return x

            def also(self):
                return 2

        def make(x):
            return x

        def unused():
            return make(1)
    """,
    "pkg/below.py": "class Lowest:\n    def run(self):\n        return self.step(1)\n",
    "pkg/inner.py": "def shown():\n    return 1\n",
    "pkg/stars.py": "from pkg.more import *\n",
    "pkg/more.py": "def starred():\n    return 1\n\n\ndef unstarred():\n    return 1\n",
    "pkg/whole.py": "def deep(x):\n    return x\n\n\ndef shallow(x):\n    return x\n",
    "pkg/registry.py": """
        from pkg import plugins
        from pkg.add import TABLE
    """,
    "pkg/add.py": """
        TABLE = {}

        def add(function):
            TABLE[function.__name__] = function
            return function
    """,
    "pkg/plugins.py": """
        from pathlib import Path
        from pkg.add import TABLE, add

        @add
        def plugged():
            return Path(__file__).with_name("plugged.txt").read_text()

        TABLE["a"] = 1
        FINE = {"a": Path("b")}
    """,
    "pkg/plugged.txt": "To be",
    "pkg/apart.txt": "To be",
    "pkg/parts/__init__.py": "",
    "pkg/parts/one.py": "def in_place():\n    return 1\n\n\ndef example():\n    return 1\n",
    "pkg/parts/two.py": "def in_place():\n    return 1\n",
    "pkg/program.py": "if __name__ == '__main__':\n    print(1)\n",
    "pkg/far.py": "def starred():\n    return 2\n",
    "pkg/late.py": """
        from pkg.add import TABLE
        from pkg.latest import handed_on
        TABLE["late"] = 1
    """,
    "pkg/latest.py": "def handed_on():\n    return 1\n",
}

Measured = Callable[..., tuple[Reach, dict]]


@pytest.fixture
def project(tmp_path: Path) -> Measured:
    r"""What `measure` reaches, after changes of files."""

    def after(*changes: tuple[str, str, str]) -> tuple[Reach, dict]:
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        for path, text in FILES.items():
            text = textwrap.dedent(text)
            for where, old, new in changes:
                if where == path:
                    assert old in text
                    text = text.replace(old, new)
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)
        found = reach(Ours(folder, ["pkg"]), [("pkg.main", "measure")])
        return found, found.prints()

    return after


def test_what_is_reached(project: Measured) -> None:
    found, prints = project()
    assert {path: set(names) for path, names in prints.items()} == {
        "pkg/main.py": {"measure", "Child", "helper", "count", "STEPS", "PAGES", "COUNT"},
        "pkg/base.py": {"Base", "make"},
        "pkg/below.py": {"Lowest"},
        "pkg/inner.py": {"shown"},
        "pkg/more.py": {"starred"},
        "pkg/whole.py": {"deep"},
        "pkg/add.py": {"TABLE", "add"},
        # A decorator of ours, and an entry of a table, are effects of the import.
        "pkg/plugins.py": {EFFECTS},
        "pkg/parts/one.py": {"in_place"},
    }
    assert found.data == {"pkg/plugged.txt"}
    assert unseen(found, ["pkg.plugins", "pkg.far"], ["pkg/apart.txt"]) == [
        "pkg.far",
        "pkg/apart.txt",
    ]


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("pkg/main.py", "A note", "Another"),
        ("pkg/main.py", '(runner: "Child")', "(runner)"),
        ("pkg/main.py", "total", "renamed"),
        ("pkg/main.py", "each", "one"),
        ("pkg/main.py", "UNUSED = 4", "UNUSED = 5"),
        ("pkg/main.py", "return UNUSED", "return 7"),
        ("pkg/main.py", "first = Child()", "first = (  # A comment.\n        Child())"),
        ("pkg/base.py", "return make(1)", "return make(2)"),
        ("pkg/more.py", "unstarred", "other"),
        ("pkg/whole.py", "shallow", "low"),
        ("pkg/parts/one.py", "example", "sample"),
        ("pkg/parts/two.py", "1", "2"),
        ("pkg/plugins.py", "FINE", "FINER"),
        ("pkg/far.py", "2", "3"),
        # The order of methods, and that of definitions.
        (
            "pkg/base.py",
            "    def step(self, x):\n        return x\n\n    def also(self):\n        return 2\n",
            "    def also(self):\n        return 2\n\n    def step(self, x):\n        return x\n",
        ),
        ("pkg/main.py", "STEPS = 3\nPAGES", "PAGES"),
    ],
)
def test_a_change_that_no_run_can_tell(project: Measured, path: str, old: str, new: str) -> None:
    changes = [(path, old, new)]
    if old.startswith("STEPS"):
        changes.append((path, "UNUSED = 4", "UNUSED = 4\nSTEPS = 3"))
    if path == "pkg/main.py" and old == "UNUSED = 4":
        assert "return UNUSED" in FILES[path]
    assert differing(project()[1], project(*changes)[1]) == []


@pytest.mark.parametrize(
    ("path", "old", "new", "changed"),
    [
        ("pkg/main.py", "STEPS = 3", "STEPS = 4", "main.py:STEPS"),
        ("pkg/main.py", "y=STEPS", "y=2", "main.py:helper"),
        ("pkg/main.py", "lambda z: z * root", "lambda z: z + root", "main.py:helper"),
        # One name, and another thing behind it.
        ("pkg/main.py", "from math import sqrt as root", "from math import exp as root", ":helper"),
        ("pkg/main.py", "from pkg.stars import *", "from pkg.far import starred", "far.py:starred"),
        ("pkg/__init__.py", "pkg.inner import shown", "pkg.base import make", "main.py:measure"),
        ("pkg/main.py", "COUNT = 0", "COUNT = 1", "main.py:COUNT"),
        ("pkg/main.py", "return total + a", "return total - a", "main.py:measure"),
        ("pkg/main.py", "parts/one", "parts/two", "main.py:PAGES"),
        # A method that overrides another one, one of a base, and a value of a class.
        ("pkg/main.py", "return x + 1", "return x + 2", "main.py:Child"),
        ("pkg/below.py", "self.step(1)", "self.step(2)", "below.py:Lowest"),
        ("pkg/base.py", "size: int = 1", "size: int = 2", "base.py:Base"),
        ("pkg/base.py", "size: int = 1", "size: float = 1", "base.py:Base"),
        ("pkg/inner.py", "1", "2", "inner.py:shown"),
        ("pkg/more.py", "def starred():", "def starred(a=1):", "more.py:starred"),
        ("pkg/whole.py", "deep(x):\n    return x", "deep(x):\n    return -x", "whole.py:deep"),
        ("pkg/parts/one.py", "in_place():\n    return 1", "in_place():\n    return 2", "one.py"),
        # What an import does.
        ("pkg/plugins.py", '"a"] = 1', '"a"] = 2', "plugins.py:import"),
        ("pkg/plugins.py", "return Path", "return 'a' + Path", "plugins.py:import"),
        ("pkg/plugins.py", "FINE = {", "print()\nFINE = {", "plugins.py:import"),
        ("pkg/below.py", "class", "import random\nrandom.seed(1)\nclass", "below.py:import"),
        ("pkg/parts/__init__.py", "", "import random\nrandom.seed(1)\n", "__init__.py:import"),
        # That of the package itself: a text of it may be the name of a file.
        ("pkg/__init__.py", "from", "open('')\nfrom", "pkg/__init__.py:import"),
    ],
)
def test_a_change_that_a_run_may_tell(
    project: Measured, path: str, old: str, new: str, changed: str
) -> None:
    found = differing(project()[1], project((path, old, new))[1])
    assert any(changed in one for one in found), found


def test_a_definition_in_another_file_is_the_same(project: Measured) -> None:
    moved = project(
        ("pkg/main.py", "from pkg.base import Base as Parent, make", MOVED),
        ("pkg/base.py", "def make(x):\n    return x\n", "from pkg.far import make\n"),
        ("pkg/far.py", "def starred", "def make(x):\n    return x\n\n\ndef starred"),
    )
    assert differing(project()[1], moved[1]) == []


TWINS = {"a.py": {"f": "1"}, "b.py": {"f": "1"}}


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ({"a.py": {"f": "1"}}, {"b.py": {"f": "1"}}, []),
        ({"a.py": {"f": "1"}}, {"b.py": {"f": "2"}}, ["a.py:f", "b.py:f"]),
        ({"a.py": {"f": "1"}}, {"a.py": {"f": "1", "g": "2"}}, ["a.py:g"]),
        ({"a.py": {"f": "1", "g": "2"}}, {"a.py": {"f": "1"}}, ["a.py:g"]),
        # One of two that have the name, and what an import does: who was it?
        (TWINS, {"c.py": {"f": "1"}}, ["a.py:f", "b.py:f", "c.py:f"]),
        ({"a.py": {EFFECTS: "1"}}, {"b.py": {EFFECTS: "1"}}, ["a.py:import", "b.py:import"]),
    ],
)
def test_what_differs(before: Prints, after: Prints, changed: list[str]) -> None:
    assert sorted(differing(before, after)) == changed


MOVED = "from pkg.base import Base as Parent\nfrom pkg.far import make"


def test_a_module_whose_name_is_put_together(project: Measured) -> None:
    listed = ("pkg/main.py", '"parts/one"}', '"parts/one", **{x: f"parts/{x}" for x in UNUSED}}')
    _, prints = project(listed)
    assert "in_place" in prints["pkg/parts/one.py"]
    assert "in_place" in prints["pkg/parts/two.py"]
    assert "starred" not in prints.get("pkg/far.py", {})


@pytest.mark.parametrize("also", ["inspect.getsource(make)", "make.__annotations__"])
def test_where_names_are_read_names_count(project: Measured, also: str) -> None:
    reads = ("pkg/main.py", "count()\n    return", f"count()\n    {also}\n    return")
    before = project(reads)[1]
    assert differing(before, project(reads, ("pkg/main.py", "total", "renamed"))[1])


# What calls functions of ours and imports modules, each in a way of its own. No text says the names
# that are spelled backwards.
WAYS = [
    "import pkg.far\n    pkg.far.starred()",
    "import pkg.far as there\n    there.starred()",
    "from pkg import far\n    far.starred()",
    "from pkg.far import starred as there\n    there()",
    "from pkg import far as there\n    getattr(there, 'starred')()",
    "import_module('pkg.far').starred()",
    "import_module('pkg.late')",
    # It hands on what another module defines, and does something itself.
    "from pkg.late import handed_on\n    handed_on()",
    "from pkg import far\n    [getattr(far, one)() for one in ['derrats'[::-1]]]",
    "[getattr(pkg.whole, one)(1) for one in ['wollahs'[::-1]]]",
    "[getattr(import_module('pkg.far'), one)() for one in ['derrats'[::-1]]]",
    "from pkg import far\n    vars(far)['derrats'[::-1]]()",
    "from pkg import far\n    far.__dict__['derrats'[::-1]]()",
    "import inspect\n    from pkg import far\n    dict(inspect.getmembers(far))['derrats'[::-1]]()",
    "globals()['trapa'[::-1]]()",
    "take_here('apart')()",
]
TRACED = """
import os
import sys

ran = set()


def trace(frame, event, argument):
    ran.add((frame.f_code.co_filename, frame.f_code.co_qualname.partition(".")[0]))


sys.settrace(trace)
from pkg.main import measure

measure(None)
sys.settrace(None)
for path, name in ran:
    if path.startswith(os.getcwd() + os.sep):
        print(os.path.relpath(path), name)
"""


@pytest.mark.parametrize("inside", WAYS)
def test_what_runs_was_found_before(project: Measured, inside: str) -> None:
    found, prints = project(
        ("pkg/main.py", "count()\n    return", f"count()\n    {inside}\n    return")
    )
    folder = found.ours.root
    command = [sys.executable, "-S", "-c", TRACED]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    ran = [line.split() for line in done.stdout.splitlines()]
    assert ["pkg/main.py", "measure"] in ran
    for path, name in ran:
        if name == "<module>":
            module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            assert module in found.runs
        elif "<" not in name:
            assert name in prints[path]


def test_a_program_that_is_started_counts(project: Measured) -> None:
    started = "import subprocess\n    subprocess.run(['python', '-m', 'pkg.program'])"
    _, prints = project(
        ("pkg/main.py", "count()\n    return", f"count()\n    {started}\n    return")
    )
    assert prints["pkg/program.py"] == {GUARD: ANY}
