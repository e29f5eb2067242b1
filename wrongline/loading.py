r"""
---
title: Load a Class
summary: A file is run as what it is, a script or a module of a package, and its class is taken.
---

A file need not be anywhere in particular. It may import what lies beside it, as a script does, or
its neighbours by the name of the package that it belongs to.

**In:** what somebody has typed for the [command](command.py), such as `my_file.py:MyModel`.
**Out:** the class, or a function that makes a model.
"""

import ast
import importlib
import importlib.util
import sys
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from types import ModuleType

from torch import nn

from wrongline.definitions import run_definitions, trains

Makes = Callable[..., nn.Module]


def inside_a_package(path: Path) -> tuple[Path, str]:
    r"""
    ## The folder and the name by which a file is imported

    A file of a package may import its neighbours by the package's name. A folder without
    `__init__.py` is a package, too, for a file that has its name, such as `model/model.py`.
    """
    folder = path.resolve().parent
    names = [path.stem]
    # Each folder with that file belongs to the package.
    while (folder / "__init__.py").exists():
        names.insert(0, folder.name)
        folder = folder.parent
    if names == [folder.name]:
        package = ModuleType(folder.name)
        package.__path__ = [str(folder)]
        sys.modules[folder.name] = package
        return folder.parent, f"{folder.name}.{folder.name}"
    return folder, ".".join(names)


def import_packages(full: str, path: Path) -> ImportError | None:
    r"""
    ## Import the packages of a file

    They run before it. If one of them can't be imported, since it imports more than the file, empty
    ones take their place. The error is returned: it counts if the file needs what they have.
    """
    # A file outside of any package has a name without dots.
    *packages, _ = full.split(".")
    if not packages:
        return None
    try:
        importlib.import_module(".".join(packages))
    except ImportError as error:
        # An empty package still knows its folder, so the file finds its neighbours there.
        folders = [*path.resolve().parents][: len(packages)][::-1]
        for number, folder in enumerate(folders, 1):
            package = ModuleType(".".join(packages[:number]))
            package.__path__ = [str(folder)]
            sys.modules.setdefault(package.__name__, package)
        return error
    return None


def load_file(path: Path, wanted: str, definitions: bool = False) -> ModuleType:
    r"""
    ## Load a file

    Only its [definitions](definitions.py) are run if that is asked for, or if it trains.
    """
    # What lies beside it comes first, as for a script, and then its package. Some packages have no
    # `__init__.py`: they are found from where the command is typed.
    folder, full = inside_a_package(path)
    sys.path[:0] = dict.fromkeys([str(path.parent), str(folder), str(Path.cwd())])
    text = path.read_text("utf-8")
    # A mistake in it is told with its name.
    ast.parse(text, str(path))
    is_whole = not definitions and not trains(text)

    # As a whole it runs after its packages, one of which may have run it already: then it isn't run
    # a second time.
    missing = import_packages(full, path) if is_whole else None
    known = sys.modules.get(full)
    if is_whole and "." in full and known and getattr(known, "__file__", "") == str(path.resolve()):
        return known
    spec = importlib.util.spec_from_file_location(full, path.resolve())
    # What ends in `.py` has one.
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # What looks for its own module by name must find it.
    sys.modules[full] = module

    if is_whole:
        try:
            spec.loader.exec_module(module)
        except ImportError as error:
            # It needs what a package would have had.
            if missing and error.name and f"{full}.".startswith(f"{error.name}."):
                raise missing from error
            raise
        return module
    # Of definitions alone the packages come later: they find the module, and don't train it.
    import_packages(full, path)
    left_out = run_definitions(text, str(path), vars(module))
    if wanted in left_out:
        raise ValueError(f"{wanted} isn't a definition of {path}: {left_out[wanted]}")
    # What is used instead of a name that wasn't defined is told.
    guessed = [f"{one}={vars(module)[one]}" for one in left_out if one in vars(module)]
    print("; ".join([f"only the definitions of {path.name} are run", *guessed]))
    return module


def load(name: str, definitions: bool = False) -> Makes:
    r"""
    ## Find the class

    `name` is that of a file or of a module, a colon, and that of a class or of a function that
    makes a model.
    """
    # A colon can't be part of either.
    place, _, wanted = name.rpartition(":")
    if not place:
        raise ValueError(f"say FILE:CLASS or MODULE:CLASS, not {name}")

    path = Path(place)
    if path.suffix == ".py":
        module = load_file(path, wanted, definitions)
    else:
        # Whatever Python can import here, as `python -m` does.
        sys.path.insert(0, str(Path.cwd()))
        module = importlib.import_module(place)

    # A class that isn't there is an error that names both.
    try:
        kind = attrgetter(wanted)(module)
    except AttributeError as error:
        raise ValueError(f"{place} has no {wanted}") from error
    if not callable(kind):
        raise ValueError(f"{wanted} in {place} is not a class, and no function that makes a model")
    return kind


def example() -> Makes:
    r"""
    ## Example

    PyTorch's own layer.

    ### Exercises

    ??? question "A file lies in a folder with `__init__.py`. Why is it imported by a longer name?"
        It may import its neighbours by the name of the package.

    ??? question "Why isn't it an error if that package can't be imported?"
        It may import a tokenizer, say, that the model does without. If the file needs what is
        missing, it is an error.
    """
    return load("torch.nn:Linear")
