r"""
---
title: Set-up
summary: The little code that a notebook has and its page has not.
---

A notebook begins by looking at the machine that it finds itself on, and shows the shapes of its
example. Both are functions that stand in the notebook, in closed cells.

What the second one prints is known before anybody runs it: the example has been
[measured](measure.py), with the very sizes that a notebook gives it.
"""

import re

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
    from importlib.metadata import version
    from importlib.util import find_spec

    missing = {name: package for name, package in needed.items() if find_spec(name) is None}
    if "torch" in missing:
        raise ModuleNotFoundError(
            "This notebook needs torch: https://pytorch.org/get-started tells how to install it."
        )
    packages = list(missing.values())
    if packages and "google.colab" not in sys.modules:
        print(f"This notebook also needs {', '.join(packages)}: pip install {' '.join(packages)}")
    elif packages:
        # The torch that is here stays: a package that wants another one is not installed.
        kept = [f"torch=={version('torch')}"] if "torch" in needed else []
        command = [sys.executable, "-m", "pip", "install", "--quiet", *packages, *kept]
        subprocess.run(command, check=True)
    found = [f"Python {platform.python_version()}"]
    if "torch" in needed:
        import torch

        found.append(f"torch {torch.__version__}")
        if torch.cuda.is_available():
            found.append(torch.cuda.get_device_name())
        elif torch.backends.mps.is_available():
            found.append("Apple GPU")
        else:
            found.append("no GPU, so the CPU does the work")
    print(", ".join(found))


'''

# Prints what `shapes` says.
SHAPES_NAME = "show_shapes"
SHAPES = r'''#@title Shapes
def show_shapes(example) -> None:
    """Call it; print the shape of each tensor that it names and returns."""
    import sys
    from itertools import islice

    named = {}

    def look(frame, event, _) -> None:
        if event == "return" and frame.f_code is example.__code__:
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
