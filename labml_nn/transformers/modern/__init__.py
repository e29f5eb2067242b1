r"""
---
title: The Transformer Today
summary: What became of the parts of the transformer since 2017, in a model as small as the classic.
---

Most parts of the transformer were replaced since 2017. The
[classic](../basic/autoregressive_experiment.py) small transformer and the one of these pages have
the same number of layers, heads and features, nearly the same number of weights, and train for as
many steps. Read in this order:

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
