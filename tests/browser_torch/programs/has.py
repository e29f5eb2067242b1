r"""Which names this world has, and with which keywords: ANSWER USES, a pickled list of both."""

import ast
import importlib
import inspect
import pickle
import re
import sys
import textwrap
import warnings
from pathlib import Path
from typing import Any

import torch

MISSING = object()
HERE = str(Path(__file__).parents[3] / "browser_torch")


def value_of(name: str) -> Any:
    r"""What a full name stands for; a module that nobody has imported yet is one, too."""
    parts = name.split(".")
    value: Any = torch
    for place, part in enumerate(parts[1:], 2):
        try:
            found = getattr(value, part, MISSING)
        except RuntimeError:
            # `torch.classes` fails so for what isn't there.
            return MISSING
        if found is MISSING and inspect.ismodule(value):
            try:
                found = importlib.import_module(".".join(parts[:place]))
            except ImportError:
                return MISSING
        if found is MISSING:
            return MISSING
        value = found
    return value


def takes(value: Any, keywords: tuple[str, ...]) -> bool:
    r"""Whether a call accepts the keywords; what has no signature names them where it is explained.

    PyTorch takes NumPy's words for two of them everywhere.
    """
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        named = {"axis", "keepdims", *re.findall(r"\w+", value.__doc__ or "")}
        return {*keywords} <= named
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return True
    named = {one.name for one in parameters if one.kind is not one.POSITIONAL_ONLY}
    return {*keywords} <= named | {*getattr(value, "also_takes", ())}


def refuses(value: Any) -> bool:
    r"""Whether a function of the stand-in does nothing but say what to use instead of it."""
    if not inspect.isfunction(value) or not value.__code__.co_filename.startswith(HERE):
        return False
    try:
        defined = ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]
    except SyntaxError:
        # A function within an expression.
        return False
    body = defined.body if isinstance(defined, ast.FunctionDef) else []
    return len(body) == 2 and isinstance(body[1], ast.Raise) and "browser" in ast.dump(body[1])


def has(name: str, keywords: tuple[str, ...] | None) -> bool:
    r"""Whether a use of a name can run: a call with keywords, or the name alone."""
    value = value_of(name)
    if value is MISSING or refuses(value):
        return False
    return not keywords or takes(value, keywords)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    uses = pickle.loads(Path(sys.argv[2]).read_bytes())
    Path(sys.argv[1]).write_bytes(pickle.dumps([has(*one) for one in uses]))
