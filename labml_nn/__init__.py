r"""
---
title: Annotated Transformers
summary: Learn how transformers work from code that runs, with a note beside every step.
layout: front
---

Learn how transformers work from code that runs. Each page is a Python module with one idea.
Notes on the left say what each step means, and what fails without it.

[A small transformer, trained on Shakespeare's plays, writes letter by
letter.](../results/recipes.json#tables.written "typed")

[It goes on from your own beginning, in your browser](../results/writing.json#tables.written
"write")

* **[The course](course/__init__.py)**
  [4.190](../results/course.json#tables.steps.Guessing.loss) →
  [1.538](../results/recipes.json#tables.losses.modern.loss)

    Twelve steps, from guessing letters to a modern transformer. The numbers are losses: lower is
    better.

* **[The lessons](transformers/__init__.py)** `attn = scores.softmax(dim=1)`

    The parts of transformers, and what is built with them.

* **[The museum of mistakes](transformers/mistakes/__init__.py)**
  [22](../results/mistakes.json#values.mistakes) mistakes

    Each is one line, all but one published. [9](../results/mistakes.json#values.look_better) of
    them make the printed loss *better*. [Test yours here](../wrongline/pasted.py), or [by a
    call](../wrongline/language_model.py).

## A page at work

[Multi-head attention](transformers/mha.py#MultiHeadAttention.forward "at work")

Shapes are measured, numbers name their run. The [guide](../docs/guide.md) says how to read a page.
"""

import sys
import warnings
from pathlib import Path

# The folder in which an installer notes what it has installed.
if any(any(Path(folder).glob("labml_nn-*.*-info")) for folder in sys.path):
    warnings.warn(
        "labml-nn of PyPI is installed, too, under the same import name, so its modules may have "
        "replaced ours: run `pip uninstall labml-nn`, then install annotated-transformers again.",
        stacklevel=2,
    )
