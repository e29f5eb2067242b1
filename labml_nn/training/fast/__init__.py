r"""
---
title: Making It Fast
summary: What each measure saves of a whole training step, and what saved nothing.
---

The lessons are written to be read, and a training step takes longer than it has to. Each page here
is about one measure, with the plain version beside it. What counts is what it saves of a *whole*
step of the small transformer, so that is what we measured on two cores of a CPU:

[A training step, with one measure after the other](../../../results/speed.json#tables.steps)

* [Fused attention](../../transformers/fused_attention.py): scores, softmax and average in one
  kernel
* [Precision](../device.py): matrix products of 16-bit numbers
* [One projection](one_projection.py): queries, keys and values from one matrix product
* [The optimizer in few calls](optimizer_calls.py)
* [Compilation](compiled.py): many small operations become few large ones
* [CUDA graphs](cuda_graphs.py): all kernels of a step from one call, on a GPU
* [The key/value cache](../../transformers/kv_cache.py), for writing

Here fused attention saves most, then the fused optimizer. One matrix product for three projections
and compilation save less than a twentieth of a step each. With 16-bit numbers a step even took
longer, though this processor has instructions for their products: the backward pass of the fused
kernel is slow with them, so the training command computes [short contexts in another
way](../engine/short_contexts.py). On a GPU, for longer sequences or for wider models the order can
be another one: measure before you choose.
"""
