r"""
---
title: Annotated Transformers
summary: Transformers in PyTorch, with notes beside the code and every shape measured.
---

Learn how transformers work from code that runs. Each page is a Python module, whole: the notes
on the left say what the code on their right does, and why.

## What you can rely on

Code that is explained in prose goes stale, and nobody notices. Here the build does:

* **Shapes are measured.** Building the site runs each page and writes the shape of each tensor at
  the end of the line that made it. A shape that a note claims is compared with those, and a
  wrong one stops the build.
* **Modules are compared with the code of others:** PyTorch's, Hugging Face's, ONNX's, in outputs
  and gradients. Then their tests are tried on broken copies:
  [page by page](../docs/proof.md).
* **Everything was run:** each piece that can be copied, alone, and each notebook, from top to
  bottom.
* **Numbers name their run.** A loss or a time on a page leads to the command, the machine and the
  day that it comes from.

## Where to begin

* **With transformers:** [attention](transformers/mha.py) is the first page, and
  [the others](transformers/__init__.py) build on it, up to
  [a model that learns to write](transformers/basic/autoregressive_experiment.py).
* **With what came later:** the [modern transformer](transformers/modern/__init__.py), attention
  that [saves memory](transformers/memory/__init__.py), other
  [positions](transformers/positions/__init__.py), and
  [variants](transformers/variants/__init__.py).
* **With a model that does not learn, or learns too well:** a
  [museum of mistakes](transformers/mistakes/__init__.py). Of
  [22](../results/mistakes.json#values.mistakes) that are in print,
  [9](../results/mistakes.json#values.look_better) make the printed loss look *better*. One call
  [tests your attention](transformers/mistakes/attention_tests.py) for them.
* **With training:** [how a model learns](training/__init__.py), and the
  [optimizers](optimizers/__init__.py) that move it.

## How to read a page

* The lines have the numbers that they have in the file.
* Sequences have their positions on the first axis, the batch on the second and the features on
  the last, on every page that doesn't say otherwise.
* What is underlined with dots leads to its definition. Point at a symbol, and its other places
  light up, in formulas and in code.

## What to take with you

* **A notebook** of each page. It holds all that the page needs, and runs in Colab or wherever
  PyTorch is.
* **A piece** that runs by itself. The buttons beside the code copy it; this prints the same:

```sh
python -m literate snippet labml_nn/transformers/mha.py:MultiHeadAttention
```

* **The tool.** It makes such pages of any package, and is [annotated too](../literate/__init__.py).
"""
