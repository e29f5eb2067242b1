r"""
---
title: Annotated Transformers
summary: Transformers in PyTorch, with notes beside the code and every shape measured.
---

Each page of this site is a Python module, whole and as it runs: the notes on the left
say what the code on their right does, and why. They say it in the file itself, so that
one can't be changed without the other in sight.

## How to read a page

* The lines have the numbers that they have in the file.
* Beside a line stand the shapes of the tensors that it made. They were measured: each
  page was run twice, with sizes that tell its axes apart.
* A shape in a note is a claim. It was compared with what was measured, and a page with
  a wrong one is not built.
* Sequences have their positions on the first axis, the batch on the second and the
  features on the last, on every page that doesn't say otherwise.

## What to do with it

* **Read** from the top: a page builds only on those that come before it.
* **Open** a notebook. It holds the modules that it needs, and runs in Colab or wherever
  PyTorch is.
* **Copy** a piece. This prints a definition with all that it needs from other pages,
  and nothing else:

```sh
python -m literate snippet labml_nn/transformers/mha.py:MultiHeadAttention
```

## Where to begin

With [the transformer](transformers/__init__.py), whose first page is
[attention](transformers/mha.py). What makes a model learn is in
[training](training/__init__.py) and its [optimizers](optimizers/__init__.py). The tool
that makes and measures the pages is [annotated too](../literate/__init__.py).
"""
