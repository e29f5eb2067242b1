r"""
---
title: Training
summary: From a text to a trained model, one page for each part of the way.
---

Everything that turns a model and a text into a trained model, small enough to be read in
an evening. It needs PyTorch; the pages say where something else makes it nicer.

* [Text as training data](data.py): tokens, random windows to train on, and fixed ones to
  measure with
* [Each window in turn](batches.py): the order in which a text is used best
* [Files](files.py) that are never half written
* [Where the text comes from](corpora.py): a file, a checked download, or Python's own sources
* [Which token comes next](strategies.py): greedy, temperature, top-k, nucleus, min-p, and a
  penalty for repetition
* [Sampling](sampling.py): text from a model
* [Device and precision](device.py): where to compute, and with how many bits
* [The fastest way to make a step](speed.py): tried out on the machine
* [Weights side by side](joined.py): few calls for many small parameters
* [The training loop](loop.py): learning rate, steps, and the loss over a whole text
* [Checkpoints](checkpoint.py): stop, and continue with the same bits; before that,
  [states](state.py) as tensors and text
* [An honest loss](leaks.py), and [one command](honest.py) for it
* [The memory](memory.py) of a step, and [how much of the machine](utilisation.py) it uses
* [Progress](progress.py), [pictures](figures.py) and the record of a run, [its own](history.py)
  and [labml's](recorder.py)
* [The folder of a run](runs.py), and [runs side by side](compare.py)
* [Byte pairs](byte_pairs.py) in place of characters, and [tokens in a file](token_file.py)
* [Several processes](distributed.py), and [a model in shards](sharded.py)
* [Options](options.py), [experiments on the command line](command_line.py),
  [recipes by name](presets.py) and [the command](__main__.py) that trains them

The [autoregressive transformer](../transformers/basic/autoregressive_experiment.py)
puts them to use.
"""
