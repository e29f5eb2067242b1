r"""
---
title: The Transformer Today
summary: What became of the parts of the transformer since 2017, in a model as small as the classic.
---

The [classic](../basic/autoregressive_experiment.py) small transformer and this one have the same
number of layers, heads, features and steps, and nearly the same number of weights. Between the two
lie the years since 2017, in which most parts were replaced. Read these pages in this order:

1. [Rotary positions](../rotary.py), [RMSNorm](../rms_norm.py) and [SwiGLU](../swiglu.py), each on
   its own
2. [The attention](attention.py), with rotary positions and normalised queries and keys
3. [The model](model.py), which puts the parts together
4. [Training it](experiment.py), with [Muon](../../optimizers/muon.py)
5. [The ablation](ablation.py): what each change is worth

Two presets of the [command line](../../training/engine/__init__.py) train it at larger sizes:
[`long`](../../../docs/long_run.md) on a CPU, and [`gpu`](../../../docs/on_a_gpu.md) with the size
that nanoGPT trains.
"""
