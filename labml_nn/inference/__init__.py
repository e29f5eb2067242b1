r"""
---
title: Inference
summary: Use a trained model with less time and fewer bytes.
---

A trained model is *used* far more often than it is trained. Writing is slow because each token
needs a pass of its own through all weights; the [cache of keys and
values](../transformers/kv_cache.py) makes that pass short. These pages go on from there:

* [Weights in eight bits](../training/trained.py): a quarter of the bytes, and the same loss.
"""
