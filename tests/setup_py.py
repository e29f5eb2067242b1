r"""The facts in setup.py, read from its text: the checkout need not be installed to be tested."""

import ast
from pathlib import Path

from packaging.requirements import Requirement


def facts() -> dict[str, object]:
    r"""The arguments of `setup()` that are plain literals."""
    text = Path(__file__).resolve().parents[1].joinpath("setup.py").read_text(encoding="utf-8")
    call = ast.parse(text).body[-1].value  # type: ignore[attr-defined]
    known = {}
    for argument in call.keywords:
        try:
            known[argument.arg] = ast.literal_eval(argument.value)
        except ValueError:  # it is computed, as the list of packages is
            continue
    return known


def requirements(extra: str) -> list[Requirement]:
    r"""The requirements of an extra; those of the model library are called "torch"."""
    known = facts()
    return [Requirement(text) for text in known["extras_require"][extra]]
