r"""
---
title: A Museum of Mistakes
summary: What published attentions do wrong, what it costs, and tests that find it in yours.
---

Attention is ten lines, and each of them can be wrong in such a way that everything has the right
shape and the model trains. All the mistakes here were made in public, in tutorials, courses and
libraries, two of PyTorch's own tutorials among them, by people who know what they do. That is the
point: it can't be helped by being careful, only by tests.

Each wrong line is code that runs, and the right line stands beside it. Each was trained, to see
what it does to the loss that one prints, and to the [honest loss](../../training/leaks.py): of
[22](../../../results/mistakes.json#values.mistakes),
[9](../../../results/mistakes.json#values.look_better) look *better* than the right
one. And each is put to a set of tests, which needs PyTorch and nothing else, and finds all of them.
**[Run it on your attention](attention_tests.py#check_attention).**

What is right:

1. [The right one](right_attention.py): a short attention, each step a method.
2. [The right model and its training](right_model.py) around it.

The mistakes:

3. [Widths and scales](projections.py): one projection for all, `/` for `//`, the wrong root.
4. [Masks](masks.py): unused, gone in evaluation, off by one, inverted, too late, zeros.
5. [Axes and views](axes.py): the softmax along another axis, a view for a transpose, globals.
6. [Positions, data and training](model_mistakes.py): the wrong axis, targets, dropout, the loss.
7. [Numbers and decoding](decoding.py): rows with nothing in them, finite masks, a cache.
8. [What they do to the loss](experiment.py): each of them trained.

The tests:

9. [A comparison with PyTorch's attention](comparison.py), with the same weights.
10. [Tests of an attention](single_tests.py), one by one.
11. [Tests of a whole model](model_tests.py), its batches and its training step.
12. [One call](attention_tests.py) for all of these, on an attention of your own.
13. [Which test finds which mistake](verdicts.py).
"""
