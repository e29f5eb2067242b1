r"""
---
title: Quantisation
summary: Weights, and the keys and values of a text, in eight, four or two bits.
---

A trained model needs less precision than its training did. Fewer bits for each number means fewer
bytes to store, to send and to read for each token. [Eight bits with a scale for each
row](../training/trained.py) cost our model nothing. In three bits, with one scale for each matrix,
its loss goes from [1.679](../../results/quantisation.json#values.float) to
[2.292](../../results/quantisation.json#tables.bits.3.matrix). These pages bring it back.

* [Weights in four bits](groups.py): a scale for each group of weights, and two weights in a byte.
* [GPTQ](gptq.py): the weights that are still to be rounded make up for the errors of those that
  were.
* [A cache in few bits](cache.py): keys by channel, values by token.
* [How few bits?](quantisation_experiment.py) Train a model, round it, and look at the loss.

[LoRA on quantised weights](../fine_tuning/quantised_base.py) trains an adapter beside weights that
were rounded.
"""
