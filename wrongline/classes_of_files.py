r"""
---
title: Classes of a File
summary: Which classes a file has, and the name by which it is imported.
---

**In:** what somebody has typed for the [command](command.py), such as `my_file.py:MyModel`.
**Out:** the other classes of that file, if the one that was named can't be tested, and the folder
from which a file of a package is imported.
"""

import ast
import re
import sys
from pathlib import Path
from types import ModuleType

# What a function is called that makes a model.
MAKES = r"^(make|build|create|get|init|new|load)_?\w*(model|net|network|gpt|lm|transformer)\w*$"


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


def classes_of(name: str) -> str:
    r"""
    ## Which classes a file has

    As the end of a sentence, for somebody who has named none, or one that can't be tested. The last
    one is often the model. Functions that make one are listed, too.
    """
    place, _, chosen = name.rpartition(":")
    path = Path(place or chosen)
    try:
        body = ast.parse(path.read_text(encoding="utf-8")).body
    # It isn't a file of Python's.
    except (OSError, SyntaxError, ValueError):
        return ""
    # What inherits from nothing is no module, and what makes nothing is no model.
    names = [
        one.name
        for one in body
        if isinstance(one, ast.ClassDef)
        and one.bases
        or isinstance(one, ast.FunctionDef)
        and (re.search(MAKES, one.name) or "attention" in one.name.lower())
    ]
    others = [one for one in names if one != chosen]
    has = f"{path.name} also has" if chosen in names else "it has"
    return f"; {has} {', '.join(others)}" if others else ""


def example() -> tuple[Path, str]:
    r"""
    ## Example

    This file, which has no class.

    ### Exercises

    ??? question "A file lies in a folder with `__init__.py`. Why is it imported by a longer name?"
        It may import its neighbours by the name of the package.
    """
    assert not classes_of(__file__)
    return inside_a_package(Path(__file__))
