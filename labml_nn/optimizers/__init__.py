r"""
---
title: Optimizers
summary: How gradients become steps, and how long the steps are in the course of training.
---

A gradient says in which direction the loss falls, and not how far to go. An optimizer decides that.
Here are two of them, written out beside their formulas, and the schedules of their learning rates:

* [AdamW](adamw.py) looks at each number alone, and moves all of them by a similar amount.
* [Muon](muon.py) looks at a matrix as a whole, and moves it by the same amount in all directions.
* [Learning rate schedules](schedules.py) shorten the steps at the beginning and towards the end.

Their tests compare them with PyTorch's, step by step. [Training](../training/loop.py) uses
PyTorch's AdamW, which updates all parameters in one kernel, and the Muon of these pages, which
updates all matrices of one shape together.
"""
