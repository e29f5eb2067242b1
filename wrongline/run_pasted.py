r"""
---
title: Run a Pasted Text
summary: A text becomes classes, though half of what it imports is not there.
---

Somebody pastes a class, with or without the first lines of its file. Without them, `nn` and `torch`
are unknown. With them, a library may be imported that isn't here, which most often the class
doesn't even use. Neither is a mistake of the attention.

**In:** a text. **Out:** the names that it defines. The [next page](pasted_text.py) looks for the
classes among them.
"""

import ast
import copy
import linecache
import math
import re
from typing import Any

import torch
from torch import Tensor, nn

# What the text is called in error messages.
FILE = "pasted.py"

# Prompts of Python and of a notebook; commands of a notebook, and the fence of a README.
PROMPT = r"^(>>>|\.\.\.|In ?\[\d*\]:|\s*\.\.\.:)( |$)"
COMMAND = r"^([!%]\S|```)"


class Missing:
    r"""
    ## What can't be imported here

    Most texts import more than they need. So it fails when it is called, and not before.
    """

    def __init__(self, name: str) -> None:
        r"""
        * `name` is what the error will call it
        """
        # A path, such as `numpy.linalg`.
        self.name = name

    def __getattr__(self, name: str) -> "Missing":
        r"""
        A part of it is missing as well.
        """
        # Python itself asks for names with underscores, to see whether they are there.
        if name.startswith("__"):
            raise AttributeError(name)
        return Missing(f"{self.name}.{name}")

    def __call__(self, *inputs: Any, **others: Any) -> Any:
        r"""
        It raises an error that says what is here.
        """
        # The reader can then write it with what is here.
        raise ImportError(
            f"{self.name} is not here. There is Python’s library, and what lessons use of PyTorch"
        )


def is_here(node: ast.stmt) -> bool:
    r"""
    ## Can it be imported?
    """
    # The statement is tried, with names of its own. A dot at its beginning would stand for the
    # folder of a file, and here is none.
    try:
        exec(compile(ast.Module([node], []), FILE, "exec"), {"__package__": ""})
    # Whatever else goes wrong in it is an error of that library.
    except ImportError:
        return False
    return True


def without_missing(text: str) -> tuple[ast.Module, dict[str, Missing]]:
    r"""
    ## Leave out what can't be imported

    The text, read by Python, and what stands for the rest, by its names.
    """
    # A text that can't be read is an error of its own.
    tree = ast.parse(text, FILE)
    body: list[ast.stmt] = []
    missing = {}

    # Imports of the outermost level only: others may have a `try` around them.
    for node in tree.body:
        # A class, a number or a docstring stays as it is.
        if not isinstance(node, ast.Import | ast.ImportFrom):
            body.append(node)
            continue

        # Each name of the line by itself.
        for one in node.names:
            # A copy keeps its line, so that errors are told at theirs.
            alone = copy.copy(node)
            alone.names = [one]
            if is_here(alone):
                body.append(alone)
                continue
            # What isn't here gets a stand-in. `import a.b` makes the name `a` alone.
            origin = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            name = one.asname or one.name.partition(".")[0]
            missing[name] = Missing(".".join([*origin, one.name]).strip("."))

    # The text as it was, without some of its imports.
    tree.body = body
    return tree, missing


def without_prompts(text: str) -> str:
    r"""
    ## What was copied beside the code

    From a terminal or a notebook. Lines are emptied and not removed, so that they keep their
    numbers. Where there are prompts, what has none was printed.
    """
    try:
        ast.parse(text)
        return text
    except SyntaxError:
        lines = text.split("\n")
    if any(re.match(r">>> |In ?\[", line) for line in lines):
        lines = [re.sub(PROMPT, "", one) if re.match(PROMPT, one) else "" for one in lines]
    return "\n".join("" if re.match(COMMAND, one) else one for one in lines)


def run_text(text: str) -> dict[str, Any]:
    r"""
    ## Run what was pasted

    What most such code imports is there already. The classes that it defines are those of a module.
    """
    # Tests copy the module, and errors show its lines: both look here for the text.
    linecache.cache[FILE] = len(text), None, text.splitlines(keepends=True), FILE

    # Most people copy a class without the first lines of its file.
    names = {"__name__": "pasted", "torch": torch, "nn": nn, "F": nn.functional}
    # Some write `nn.functional`, some `F`.
    names |= {"math": math, "Tensor": Tensor}

    # What isn't here has a name as well, and fails when it is called.
    # All that the text defines comes to the names.
    tree, missing = without_missing(text)
    names |= missing
    exec(compile(tree, FILE, "exec"), names)
    return names


def example(batch_size: int = 3, seq_len: int = 7, d_model: int = 5) -> tuple[Tensor, str]:
    r"""
    ## Example

    A class whose file imports what isn't here, called; and what is said where that is needed.

    ### Exercises

    ??? question "Why is a missing import no error at once?"
        Most files import more than the pasted class needs: a plot, a progress bar, a data set.

    ??? question "Why are imports within `try` left alone?"
        Their author has said what to do without them.

    ??? question "Why are the lines left where they are?"
        An error, and a likely mistake, are told with their line.
    """
    # Neither library exists.
    names = run_text(
        "import torch_plots as plots\nfrom torch_cuts import cut\n"
        "class Twice(nn.Module):\n    def forward(self, x):\n        return x + x\n"
    )
    # One that needs nothing of them.
    output = names["Twice"]()(torch.randn(batch_size, seq_len, d_model))

    # One is needed after all.
    try:
        names["cut"](output)
    except ImportError as error:
        # It says which one.
        said = str(error)
    return output, said
