r"""
---
title: The Transformer, Ten Years Later
summary: What became of the transformer in ten years, in a model as small as the classic one.
---

The [classic](../basic/autoregressive_experiment.py) small transformer and this one have the same
number of layers, heads, features and steps, and nearly the same number of weights. In
between lie ten years in which most parts were replaced by better ones.

* [The model](model.py), with [rotary positions](../rotary.py), [RMSNorm](../rms_norm.py) and
  [SwiGLU](../swiglu.py)
* [The experiment](experiment.py), in which [Muon](../../optimizers/muon.py) trains it
* [A longer run](long_experiment.py) on two cores of a CPU, beside a graphics card's
* [The size for a graphics card](gpu_experiment.py)
* [What each change is worth](ablation.py), from nanoGPT's recipe to this one, tried with
  [a model with switches](switches.py)
"""
