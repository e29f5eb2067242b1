r"""
Record one result, or list what can be recorded.

    python -m benchmarks                  # all experiments, and the minutes that each takes
    python -m benchmarks encoders         # writes results/encoders.json
    python -m benchmarks encoders --small # does it run? in seconds; writes nothing
"""

import argparse
import ast
import importlib
import json
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "results"
# For results that were recorded before they said how long they took.
ESTIMATES = HERE / "minutes.toml"


def modules() -> dict[str, ast.Module]:
    r"""The modules of this package that can be run, by their names."""
    trees = {
        path.stem: ast.parse(path.read_bytes())
        for path in sorted(HERE.glob("*.py"))
        if not path.name.startswith("_")
    }
    return {name: tree for name, tree in trees.items() if is_experiment(tree) or has_main(tree)}


def is_experiment(tree: ast.Module) -> bool:
    r"""Whether the module defines an experiment, which the runner runs."""
    return any(
        isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == "EXPERIMENT"
        for one in tree.body
    )


def has_main(tree: ast.Module) -> bool:
    r"""Whether the module is a program with options of its own."""
    return any(isinstance(one, ast.FunctionDef) and one.name == "main" for one in tree.body)


def question(tree: ast.Module) -> str:
    r"""The first sentence of the module's docstring, on one line."""
    text = " ".join(str(ast.get_docstring(tree)).split("\n\n")[0].split())
    for end in ("? ", ". "):
        if end in text:
            text = text[: text.index(end) + 1]
    return text


def recorded_seconds(name: str) -> float | None:
    r"""How long the recorded run took, on the machine of the result, if the result says so."""
    path = RESULTS / f"{name}.json"
    if not path.is_file():
        return None
    return json.loads(path.read_text(encoding="utf-8")).get("seconds")


def minutes(name: str) -> str:
    r"""The minutes of the recorded run; if they are not known, about how many it takes."""
    seconds = recorded_seconds(name)
    if seconds is not None:
        return "< 1" if seconds < 60 else f"{seconds / 60:.0f}"
    about = tomllib.loads(ESTIMATES.read_text(encoding="utf-8")).get(name)
    if about is None:
        return "–"
    return "< 1" if about < 1 else f"~ {about}"


def show() -> None:
    r"""Print a line for each module."""
    found = modules()
    experiments = [name for name, tree in found.items() if is_experiment(tree)]
    others = [name for name in found if name not in experiments]
    print("python -m benchmarks NAME records a result:\n")
    print(f"{'minutes':>9}  {'name':18}(~ about so many, of one core)")
    for name in experiments:
        print(f"{minutes(name):>9}  {name:18}{question(found[name])}")
    print("\nPrograms with options of their own: python -m benchmarks NAME --help\n")
    for name in others:
        print(f"{minutes(name):>9}  {name:18}{question(found[name])}")


def shorten_the_text(length: int = 66_000) -> None:
    r"""
    Let experiments that are imported from now on see the beginning of the text alone.

    Before it stand all letters of the whole text: a model that another program has trained on the
    whole has as many.
    """
    data = importlib.import_module("labml_nn.training.data")
    text = data.tiny_shakespeare()
    beginning = "".join(sorted(set(text))) + text[:length]
    data.tiny_shakespeare = lambda: beginning


def main(arguments: Sequence[str] | None = None) -> int:
    r"""Run what is named, or list what there is."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if not given:
        show()
        return 0
    name, rest = given[0], given[1:]
    if name in ("-h", "--help"):
        print(__doc__)
        return 0
    found = modules()
    if name not in found:
        print(f"there is no benchmark {name!r}; `python -m benchmarks` lists them", file=sys.stderr)
        return 2
    if "--small" in rest and is_experiment(found[name]):
        shorten_the_text()
    try:
        module = importlib.import_module(f"benchmarks.{name}")
    except ModuleNotFoundError as error:
        print(
            f"{name} needs {error.name}, which isn't installed here; `make .venv/made/test` "
            "installs what the tests and all benchmarks need",
            file=sys.stderr,
        )
        return 2
    if not is_experiment(found[name]):
        sys.argv = [f"python -m benchmarks {name}", *rest]
        return int(module.main() or 0)

    from benchmarks.library.experiment import Experiment, Runner

    experiment: Experiment = module.EXPERIMENT
    parser = argparse.ArgumentParser(
        prog=experiment.command,
        description=module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--small", action="store_true", help="does it run? Nothing is written")
    parser.add_argument("--processes", type=int, default=1, metavar="N", help="runs at a time")
    parser.add_argument(
        "--kept", type=Path, metavar="FOLDER", help=f"where runs are kept (runs/{name})"
    )
    options = parser.parse_args(rest)
    if not options.small:
        print(experiment.run(Runner(experiment, options.kept, processes=options.processes)))
        return 0
    experiment.with_settings(experiment.small)
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        runner = Runner(experiment, at / "runs", experiment.small, options.processes)
        experiment.run(runner, at)
    print("It runs. Nothing was written.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
