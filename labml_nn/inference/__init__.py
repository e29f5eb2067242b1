r"""
---
title: Inference
summary: Use a trained model with less time and fewer bytes.
---

A trained model is *used* far more often than it is trained. Writing is slow because each token
needs a pass of its own through all weights; the [cache of keys and
values](../transformers/kv_cache.py) makes that pass short. These pages go on from there:

* [Speculative decoding](speculative.py): a cheap draft guesses some letters, and one pass of the
  model checks them all. Each text has the probability that it has with the model alone.
* [A cache that goes back](rewind.py): the keys and values of wrong guesses are cut off.
* [Drafts without a second model](prompt_lookup.py): letters that were counted, and the text itself.
* [Which draft pays](speculative_experiment.py): train a target and a draft, and compare.
* [Weights in eight bits](../training/trained.py): a quarter of the bytes, and the same loss.
"""
