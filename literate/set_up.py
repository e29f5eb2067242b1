r"""
---
title: Set-up
summary: The little code that a notebook has and its page has not.
---

A notebook begins by looking at the machine that it finds itself on, and shows the shapes of its
example. Both are functions that stand in the notebook, in one hidden cell.

What the second one prints is known before anybody runs it: the example has been
[measured](measure.py), with the very sizes that a notebook gives it.
"""

import json
import re
from collections.abc import Iterable

from literate.axes import example_of
from literate.measure import Measurement, Tensor
from literate.source import Source

# Where a package has another name for pip than for Python.
DISTRIBUTIONS = {
    "PIL": "pillow",
    "cv2": "opencv-python",
    "labml_helpers": "labml-helpers",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "PyYAML",
}
# The first code of every notebook. Its imports are its own, so that it leaves no other name behind.
SET_UP_NAME = "set_up_notebook"
SET_UP = r'''#@title Set-up
def set_up_notebook(needed: dict[str, str]) -> None:
    """Say what this machine has; on Colab, install what it lacks."""
    import platform
    import subprocess
    import sys
    from importlib.util import find_spec

    missing = " ".join(package for name, package in needed.items() if find_spec(name) is None)
    if missing and "google.colab" not in sys.modules:
        raise ModuleNotFoundError(f"This notebook needs more packages: pip install {missing}")
    if missing:
        pip = [sys.executable, "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, *missing.split()], check=True)
    found = f"Python {platform.python_version()}"
    if "torch" in needed:
        import torch

        gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no NVIDIA GPU"
        found += f", torch {torch.__version__}, {gpu}"
    print(found)
'''

# Prints what `shapes` says.
SHAPES_NAME = "show_shapes"
SHAPES = r'''
def show_shapes(example) -> None:
    """Call it; print the shape of each tensor that it names and returns."""
    import sys
    from inspect import unwrap
    from itertools import islice

    named, code = {}, unwrap(example).__code__

    def look(frame, event, _) -> None:
        if event == "return" and frame.f_code is code:
            named.update(frame.f_locals)

    def show(name: str, value, depth: int) -> None:
        if hasattr(value, "shape") and hasattr(value, "dtype"):
            print(f"{name}: {list(value.shape)} {str(value.dtype).removeprefix('torch.')}")
        elif depth and isinstance(value, tuple | list | dict):
            parts = value.items() if isinstance(value, dict) else enumerate(value)
            for key, part in islice(parts, 8):
                show(f"{name}[{key!r}]", part, depth - 1)

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        result = example()
    finally:
        sys.setprofile(before)
    for name, value in named.items():
        show(name, value, 0)
    show("result", result, 2)
'''


def set_up(packages: Iterable[str], shows_shapes: bool) -> str:
    r"""
    ## The first code of a notebook

    * `packages` are those that it imports, by Python's names
    * `shows_shapes` is whether it has an example whose shapes are shown
    """
    needed = json.dumps({name: DISTRIBUTIONS.get(name, name) for name in packages})
    return f"{SET_UP}\n{SHAPES if shows_shapes else ''}\n{SET_UP_NAME}({needed})"


def shapes(source: Source, measurement: Measurement) -> str:
    r"""
    ## What the example prints

    The tensors that the example of the page binds, each as it was last, and those of its result.
    """
    example = example_of(source)
    assert example is not None
    last = example.end_lineno or example.lineno
    found: dict[str, Tensor] = {}
    for line, tensors in sorted(measurement.lines.items()):
        if example.lineno <= line <= last:
            found |= {one.name: one for one in tensors}
    results = [name for name in found if _RESULT.match(name)]
    names = [name for name in found if name.isidentifier() and name not in results]
    return "".join(
        f"{_RESULT.sub('result', name)}: {list(found[name].sizes[0])} {found[name].dtype}\n"
        for name in [*names, *results]
    )


# `return[0]` is a part of what is returned; what a value has as attributes is left out.
_RESULT = re.compile(r"return(?=(\[[^\]]*\])*$)")
