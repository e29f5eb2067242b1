r"""
---
title: Annotated Transformers
summary: Learn how transformers work from code that runs, with a note beside every step.
---

Learn how transformers work from code that runs. Each page is one idea: a short Python module,
whole, with notes on the left that say what each step means and what fails without it.

## The course

In twelve steps of about ten minutes you build a model that writes. This is what such a model writes
untrained, after four seconds on two cores, after eighteen, and after a bit more than a minute, at
[35.6](../results/speed.json#tables.steps.fused%20AdamW.milliseconds) milliseconds a step:

[What the classic model writes after more and more steps](../results/recipes.json#tables.written)

It can write for you, here in your browser. It does so twice with the same random numbers: with a
[cache of keys and values](transformers/kv_cache.py), and without one.

[What it wrote in a browser, and how fast](../results/writing.json#tables.written)

The [course](course/__init__.py) begins with guessing, at a loss of
[4.190](../results/course.json#tables.steps.Guessing.loss), and ends with a modern transformer, at
[1.538](../results/recipes.json#tables.losses.modern.loss). Each step answers a failure of the one
before. You need Python and a little PyTorch. This is a page at work:

![Multi-head attention: notes on the left, numbered code with the shapes of its tensors on the
right](../docs/images/page.png)

## The reference

* **The parts**, from [multi-head attention](transformers/mha.py) to the
  [modern transformer](transformers/modern/__init__.py), in
  [the order of the lessons](transformers/__init__.py).
* **The families**, each about one part: [four ways](transformers/ways/__init__.py) to write
  attention, [saving memory](transformers/memory/__init__.py),
  [positions](transformers/positions/__init__.py) and [variants](transformers/variants/__init__.py).
* **What is built with them:** [fine-tuning](fine_tuning/__init__.py), [learning from
  rewards](reinforcement/__init__.py), [mixtures of experts](experts/__init__.py),
  [inference](inference/__init__.py), [translation](translation/__init__.py),
  [encoders](encoders/__init__.py), [images](images/__init__.py), [published
  weights](pretrained/__init__.py), [quantisation](quantisation/__init__.py), [state
  spaces](state_spaces/__init__.py), and what is [inside](inside/__init__.py) a trained model.
* **[Training](training/__init__.py)** has the loop, and an engine for long runs. The
  [optimizers](optimizers/__init__.py) have pages of their own.

## The museum of mistakes

Your model doesn't learn, or its loss is too good to be true? The
[museum](transformers/mistakes/__init__.py) has [22](../results/mistakes.json#values.mistakes)
mistakes found in published code. [9](../results/mistakes.json#values.look_better) of them make the
printed loss *better* by more than 0.1. One call [tests your
attention](transformers/mistakes/attention_tests.py) for those that an attention can have, another
one [tests the model](transformers/mistakes/model_tests.py) around it.

## How to read a page

* Notes are on the left, code on the right, with the line numbers of the file. At the end of a line
  stands the shape of the tensor that it made, with a letter for each axis. The names of the axes
  are below the first code that has a shape. “(+1)” says that there was another shape, too; point
  at it to read both.
* Sequences have their positions on the first axis, the batch on the second and the features on the
  last, on every page that doesn't say otherwise.
* Names that are underlined with dots lead to their definition. Point at a symbol, and its other
  places light up, in formulas and in code.
* Below the introduction you can step through a run of the page: the arrows light up one line after
  another, with the numbers that it bound. Pages of attentions and transformers also
  [run with your own text](../livepage/__init__.py).
* Most pages end with exercises. Their answers are folded. The last button asks for shapes, and the
  notebooks have lines for you to write.

## What to take with you

* **A notebook** of each lesson, for Colab or wherever PyTorch is. It needs nothing of this
  repository.
* **A piece** of code that runs by itself. The buttons beside the code copy it; this prints the
  same:

```sh
python -m literate snippet labml_nn/transformers/mha.py:MultiHeadAttention
```

* **The tool.** It makes such pages of any package, and is [annotated too](../literate/__init__.py).

## What you can rely on

Code that is explained in prose goes stale, and nobody notices. Here the build does:

* **Shapes are measured.** Building the site runs each page and records the shape of each tensor. A
  shape that a note claims is compared with those, and a wrong one stops the build.
* **Modules are compared with the code of others:** PyTorch's, Hugging Face's, ONNX's, in outputs
  and gradients. Then their tests are tried on broken copies: [page by page](../docs/proof.md).
* **Everything was run:** each piece that can be copied, alone, and each notebook, from top to
  bottom.
* **Numbers name their run.** A loss or a time on a page leads to the command, the machine and the
  day that it comes from.
"""
