r"""Who may import whom, read from the sources of the packages and from the scripts.

Imports inside functions count too, and so do those for type checkers.
"""

import ast
import json
import re
import sys
from functools import cache
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

import pytest
from packaging.utils import canonicalize_name

from literate.measuring.axes import example_of
from literate.page.scripts import ADDRESS, MODULES, PLAIN
from literate.reading.source import read
from tests.setup_py import requirements

ROOT = Path(__file__).resolve().parents[1]
# A page of training or of an experiment may record, draw and show progress.
TRAINING = {"labml", "labml_helpers", "matplotlib", "tokenizers", "tqdm"}


def sources(folder: str, pattern: str = "*.py") -> list[Path]:
    r"""The modules below a folder, as paths relative to the repository."""
    found = sorted(path.relative_to(ROOT) for path in (ROOT / folder).rglob(pattern))
    assert found, f"no {pattern} in {folder}"
    return found


def module_name(path: Path) -> str:
    r"""`labml_nn/transformers/__init__.py` is `labml_nn.transformers`."""
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports(path: Path) -> list[tuple[int, str]]:
    r"""What a module imports, with the lines; `from a import b` is both `a` and `a.b`."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse((ROOT / path).read_bytes())):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            found.append((node.lineno, module))
            found += [(node.lineno, f"{module}.{alias.name}") for alias in node.names]
    return found


def packages(path: Path) -> set[tuple[str, str]]:
    r"""The packages outside the standard library that a module imports, each with `path:line`."""
    named = {(f"{path}:{line}", module.partition(".")[0]) for line, module in imports(path)}
    return {(place, name) for place, name in named if name not in sys.stdlib_module_names}


def imported(folder: str) -> dict[str, set[str]]:
    r"""Those packages, by the modules of a folder."""
    return {str(path): {name for _, name in packages(path)} for path in sources(folder)}


def test_lessons_never_import_machinery() -> None:
    machinery = {"labml_nn.training.engine", "labml_nn.page_models"}
    importers = {
        (name, path.parent.as_posix().replace("/", "."))
        for path in sources("labml_nn")
        for _, module in imports(path)
        for name in machinery
        if f"{module}.".startswith(f"{name}.")
    }
    # Each imports itself, so the test sees such imports.
    assert importers == {(name, name) for name in machinery}


@pytest.mark.parametrize(
    ("names", "allowed"),
    [
        ({"torch"}, ["literate/measuring/measured_run.py"]),
        ({"mkdocs"}, ["literate/engines/kept_html.py", "literate/engines/plugin.py"]),
        # Where charts are drawn; what needs none does without.
        (
            {"matplotlib"},
            # The letters of a picture that is shared.
            ["literate/page/shared_pictures.py"]
            + ["literate/results/charts.py", "literate/results/drawing.py"]
            # What draws in a notebook, and the letters of a figure.
            + ["literate/takeaway/look_inside.py", "literate/takeaway/rasters.py"],
        ),
        # Neither the pages nor what trains them.
        ({"labml_nn"} | TRAINING - {"matplotlib"}, []),
    ],
    ids=["torch", "mkdocs", "matplotlib", "training"],
)
def test_only_these_modules_of_the_tool_import(names: set[str], allowed: list[str]) -> None:
    assert [path for path, found in imported("literate").items() if names & found] == allowed


def test_what_runs_a_page_knows_neither_notes_nor_lessons() -> None:
    importers = imported("page_runner")
    assert not [path for path, names in importers.items() if names & {"labml_nn", "literate"}]
    # A build imports these, and no PyTorch with them.
    names = ("build", "dataflow", "steps", "trace", "instrument", "values")
    # A package of plain Python is edited and judged without it, too.
    of_editor = ("files", "judging", "running", "seen")
    without = {f"page_runner/{name}.py" for name in names}
    without |= {f"page_runner/edit/{name}.py" for name in of_editor}
    assert not [path for path in without if importers[path] - {"page_runner"}]


def test_what_tests_a_model_needs_torch_alone_and_only_the_museum_calls_it() -> None:
    needed = imported("wrongline")
    # It is read by pytest, where that is.
    assert needed.pop("wrongline/plugin.py") == {"pytest", "torch", "wrongline"}
    assert set().union(*needed.values()) == {"torch", "wrongline"}
    callers = {path for path, names in imported("labml_nn").items() if "wrongline" in names}
    museum = "labml_nn/transformers/mistakes"
    doors = ("__main__", "attention_tests", "language_model")
    assert callers == {f"{museum}/{name}.py" for name in doors}


def test_the_browsers_torch_imports_nothing_of_ours() -> None:
    # Its `torch` is its own; `js` is what Pyodide calls the page.
    allowed = {"torch", "browser_torch", "js"}
    strangers = [
        (path, names - allowed)
        for path, names in imported("browser_torch").items()
        if names - allowed
    ]
    assert strangers == []
    # The stand-in runs by itself: the package around it stays outside.
    inside = [
        path
        for path in imported("browser_torch/torch")
        if "browser_torch" in imported("browser_torch/torch")[path]
    ]
    assert inside == []


# Each room of the tool imports from itself and from those before it.
ROOMS = (
    "problems settings reading measuring python results page takeaway site engines __main__".split()
)


def test_the_rooms_of_the_tool_have_one_order() -> None:
    known = {module_name(path) for path in sources("literate")}
    arrows = {
        (module_name(path).split(".")[1], module.split(".")[1])
        for path in sources("literate")
        for _, module in imports(path)
        if module in known and "." in module and module_name(path) != "literate"
    }
    assert {one for arrow in arrows for one in arrow} == set(ROOMS)
    assert [arrow for arrow in arrows if ROOMS.index(arrow[1]) > ROOMS.index(arrow[0])] == []


@pytest.mark.parametrize("package", ["labml_nn", "literate", "page_runner", "wrongline"])
def test_imports_are_absolute_and_no_module_imports_itself_by_way_of_others(package: str) -> None:
    modules = {module_name(path): path for path in sources(package)}
    graph = {name: {module for _, module in imports(path)} for name, path in modules.items()}
    assert not [name for name, imported in graph.items() if any(one[0] == "." for one in imported)]
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the cycle


OURS = {
    "labml_nn",
    "literate",
    "page_runner",
    "browser_torch",
    "wrongline",
    "tests",
    "benchmarks",
}


# pytest reads it, and nothing else.
PLUGIN = Path("wrongline/plugin.py")


def test_make_site_runs_no_page_that_needs_pytest() -> None:
    assert example_of(read(ROOT / PLUGIN)) is None


@pytest.mark.parametrize(
    ("folder", "pattern", "extras"),
    [
        ("labml_nn", "*.py", "train"),
        ("literate", "*.py", "site notebooks imaging"),
        ("page_runner", "*.py", "site live"),
        # It needs torch alone.
        ("wrongline", "*.py", ""),
        ("benchmarks", "*.py", "train site notebooks imaging live test"),
        # Not all of tests/: what the tool is tried on may import what it likes.
        ("tests", "test_*.py", "train site notebooks imaging live test"),
        ("tests", "conftest.py", "train site notebooks imaging live test"),
    ],
)
def test_every_import_is_a_requirement_in_setup_py(folder: str, pattern: str, extras: str) -> None:
    required = chain(*map(requirements, ["torch", *extras.split()]))
    declared = {canonicalize_name(one.name) for one in required}
    distributions = packages_distributions()
    undeclared = [
        (place, name)
        for path in sources(folder, pattern)
        for place, name in packages(path)
        # Their models come from folders that the reader names.
        if not re.search(r"benchmarks/(faults/|wrong_cases/|published\.py)", path.as_posix())
        and path != PLUGIN
        and name not in OURS
        and not declared & {canonicalize_name(one) for one in distributions.get(name, [])}
    ]
    assert undeclared == []


# Folders of scripts, each with those whose scripts it may import.
SCRIPTS = {
    "page_runner/assets": set(),
    "page_runner/edit/scripts": {"page_runner/assets"},
    "literate/page/assets": {"page_runner/assets"},
}
# `import … from "x"` and `import "x"`; `import("x")`; `new Worker(new URL("x", …))`.
AT_ONCE = re.compile(
    r"""^(?:import|export)\s+(?:[\w*{][^"';()=]*?\sfrom\s+)?"([^"]+)";""", re.MULTILINE
)
LATER = re.compile(
    r"""\bimport\("([^"]+)"\)(?!\.)|new Worker\(new URL\("([^"]+)", import\.meta\.url\)"""
)
LOADED = re.compile(r"""\bload\("([^"]+)"\)""")


def imported_scripts(path: Path, kind: re.Pattern[str]) -> set[str]:
    r"""The scripts that a script imports, as paths from the repository; a package by its name."""
    found = kind.finditer((ROOT / path).read_text("utf-8"))
    names = {one[1] if one.lastindex == 1 else f"./{one[2]}" for one in found}
    beside = (ROOT / path).parent
    return {
        (beside / name).resolve().relative_to(ROOT).as_posix() if name[0] == "." else name
        for name in names
    }


@cache
def scripts() -> dict[str, dict[str, set[str]]]:
    r"""What each script of a page imports at once, and what it fetches later."""
    paths = [path for folder in SCRIPTS for path in sources(folder, "*.js")]
    return {
        path.as_posix(): {
            "at once": imported_scripts(path, AT_ONCE),
            "later": imported_scripts(path, LATER),
        }
        for path in paths
    }


def test_scripts_import_from_their_own_folder_or_from_what_it_serves() -> None:
    packages = json.loads((ROOT / "package.json").read_text("utf-8"))
    known = {*packages["dependencies"], *packages["devDependencies"]}
    # Pyodide's own script lies beside those of the editor as it came.
    known.add("page_runner/edit/scripts/pyodide.mjs")
    wrong = []
    for script, imports in scripts().items():
        folder = str(Path(script).parent)
        for name in imports["at once"] | imports["later"]:
            other = str(Path(name).parent)
            # The editor's packages are part of its scripts.
            package = folder == "page_runner/edit/scripts" and name in known
            allowed = {folder, *SCRIPTS[folder]}
            if not package and (other not in allowed or not (ROOT / name).is_file()):
                wrong.append((script, name))
    assert wrong == []


def test_no_script_imports_itself_by_way_of_others() -> None:
    graph = {script: imports["at once"] for script, imports in scripts().items()}
    assert sum(map(len, graph.values())) > 60
    TopologicalSorter(graph).prepare()


def test_the_site_has_the_scripts_that_are_fetched_later_and_no_script_is_dead() -> None:
    made = {path.relative_to(ROOT).as_posix() for path in (*PLAIN, *MODULES)}
    of_pages = {name: one for name, one in scripts().items() if "/edit/" not in name}
    later = set().union(*(imports["later"] for imports in of_pages.values()))
    assert later and later <= made
    # A plain script is named as it is on the site.
    named = {
        name for script in of_pages for name in LOADED.findall((ROOT / script).read_text("utf-8"))
    }
    assert named and named <= {path.name for path in PLAIN}
    # From those that the build makes all others are reached.
    reached, waiting = set(), [*made, ADDRESS.relative_to(ROOT).as_posix()]
    while waiting:
        script = waiting.pop()
        if script not in reached:
            reached.add(script)
            waiting += of_pages[script]["at once"]
    assert reached == of_pages.keys()


def test_no_script_hands_a_name_to_others_through_the_window() -> None:
    # What a script declares is its own: it is a module. An assignment to the window isn't.
    given = re.compile(r"\b(?:window|globalThis|self)\.\w+\s*\??=(?![=>])|\bvar\s")
    found = {
        script: given.findall((ROOT / script).read_text("utf-8"))
        for script in scripts()
        if Path(script).name != "worker.js"
    }
    assert not {script: names for script, names in found.items() if names}
