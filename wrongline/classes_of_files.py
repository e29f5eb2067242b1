r"""
---
title: Classes of a File
summary: Which classes a file has, for somebody who has named none of them.
---

**In:** what somebody has typed for the [command](command.py), such as `my_file.py:MyModel`.
**Out:** the other classes of that file, if the one that was named can't be tested.
"""

import ast
import re
from pathlib import Path

# What a function is called that makes a model.
MAKES = r"^(make|build|create|get|init|new|load)_?\w*(model|net|network|gpt|lm|transformer)\w*$"


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


def example() -> tuple[str, str]:
    r"""
    ## Example

    This file, which has no class, and one that has several.

    ### Exercises

    ??? question "Why is the file read, and not imported?"
        It may be that it can't be imported, and that is when somebody wants to know what is in it.
    """
    return classes_of(__file__), classes_of(f"{Path(__file__).parent}/verdicts.py")
