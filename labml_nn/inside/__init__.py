r"""
---
title: Looking Inside
summary: Which parts of a trained model do what, and how to prove it.
---

A trained model is a list of numbers. In a model that is small enough, you can find out what its
parts do: look at them, and then remove them.

1. [Induction heads](induction.py): two layers of attention find where a token stood before and copy
   what followed it; one layer doesn't. Two scores find the heads that do it.
2. [Knock-out and patching](patching.py): a score tells what a head looks at, and not whether the
   model needs it. Replace the head's output, and see.
3. [The heads of a small model](induction_experiment.py): train it, find the heads, look at their
   attention, and remove them.
4. [The logit lens](logit_lens.py): the loss tells what all layers do together, so the stream is
   read after each layer.
5. [Attention as two matrices](matrices.py): attention weights show where a head looked in one text;
   its matrices show what it looks for, and what it moves, in any text.

[The loss where sequences repeat: three seeds](../../results/induction.json#figures.loss)

**What did not help here:** looking alone. A model that has only seen parts of 16 tokens has a head
with an induction score of
[0.90](../../results/induction.json#tables.models.Two%20layers%2C%20parts%20of%2016.induction), and
still predicts
[0.0 %](../../results/induction.json#tables.models.Two%20layers%2C%20parts%20of%2016.pieces) where a
sequence goes on from another place. And a head with a [high score](patching.py) can be removed at
nearly no cost.
"""
