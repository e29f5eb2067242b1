r"""
---
title: Training
summary: From a text to a trained model, one page for each step.
---

To train a language model takes six lines:

```python
tokenizer, train_tokens, validation_tokens = prepare(tiny_shakespeare(), seq_len=64)
batches = RandomWindows(train_tokens, seq_len=64, batch_size=12, seed=1)
model = AutoregressiveTransformer(len(tokenizer))
train(model, batches.at, [adamw(model)], steps=2000)
print(evaluate(model, validation_tokens, seq_len=64))
print(write(model, tokenizer, "ROMEO:\n", 200, seq_len=64))
```

Read the pages in this order:

1. [Text as training data](data.py): characters become numbers, windows become inputs and targets
2. [Counting letters](counting.py): how low the loss gets without a network
3. [Sampling](sampling.py): text from a model, in ten lines
4. [The training loop](loop.py): predict, compare, differentiate, move
5. [An honest loss](leaks.py): how to find out that a model cheats
6. [The rules of a measurement](rules.py): what makes a loss comparable, tested from outside

The [transformer](../transformers/basic/autoregressive_experiment.py) puts them to use. These pages
can be read in any order:

* [Averaging predictions](averaging.py) of a network and of counted letters
* [Sampling strategies](strategies.py): top-k, top-p and min-p
* [Byte-pair encoding](../basics/byte_pairs.py) in place of characters
* [Device and precision](device.py): CPU or GPU, 32 or 16 bits
* [Weights in eight bits](trained.py), and how to load them
* [Figures](figures.py) and [progress](progress.py)
* [A run that can stop](run.py), for notebooks: with [a curve](run_progress.py), [a stop
  button](stop_button.py), [a file](run_file.py) and [batches that nobody waits for](to_device.py)
* [A step in 16 bits](mixed_step.py)

Long, resumed and distributed runs, and the command line, are made of the same pages, with
[an engine](engine/__init__.py) around them.
"""
