r"""
---
title: Making It Fast
summary: What each measure saves of a whole training step, and what saved nothing.
---

The lessons are written to be read. A training step of the small transformer takes several times as
long as it has to. Each page here is about one measure, with the plain version beside it. What
counts is what it saves of a *whole* step, so that is what we measured:

[A training step, with one measure after the other](../../../results/speed.json#tables.steps)

* [Fused attention](../../transformers/fused_attention.py): scores, softmax and average in one
  kernel
* [Precision](../device.py): matrix products of 16-bit numbers
* [One projection](one_projection.py): queries, keys and values from one matrix product
* [The optimizer in few calls](optimizer_calls.py)
* [Compilation](compiled.py): many small operations become few large ones
* [The key/value cache](../../transformers/kv_cache.py), for writing

Which of them pays depends on the machine and on the sizes. On a GPU, and for long sequences, the
fused kernel matters most; on this CPU, at 64 positions, it is the optimizer and the compiler.

One measure was left out because it saved less than a twentieth of a step: all small parameters in
one vector.
"""
