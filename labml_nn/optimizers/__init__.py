r"""
---
title: Optimizers
summary: How gradients become steps, and how large the steps are in the course of a training.
---

A gradient says in which direction the loss falls. An optimizer makes a step of it, and on these
pages is written out, to be read beside the formulas:

* [AdamW](adamw.py) looks at each number alone, and gives all of them steps of a similar size.
* [Muon](muon.py) looks at a matrix as a whole, and gives all of its *directions* the same size.
* [Schedules](schedules.py) make the steps smaller at the beginning and at the end.

They give the same steps as PyTorch's own, which is what their tests show. In
[training](../training/loop.py) AdamW is PyTorch's, which is fused into one kernel; Muon is the one
here, which takes matrices of one shape together.
"""
