r"""
---
title: From the Bottom
summary: What a transformer is trained with, in three pages, before the course begins.
---

The [course](../course/__init__.py) takes some things for granted: that PyTorch can differentiate,
what a tensor is, and that a text is a row of numbers. If you want to start below that, these are
the first chapters:

1. [Autograd](autograd.py): derivatives of a loss with respect to all weights, in one backward pass.
2. [Strides](strides.py): what a tensor is, and how transposing and broadcasting copy nothing.
3. [Byte-pair encoding](byte_pairs.py): a vocabulary of frequent pieces of words, where the course
   uses letters.

[A notebook](autograd_experiment.py) trains a small network with nothing but the first page.
"""
