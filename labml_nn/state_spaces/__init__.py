r"""
---
title: State Spaces
summary: Layers that carry a state of fixed size along the text, in the place of attention.
---

Attention keeps every token of the text. A *state space model* keeps a state of fixed size, so a
token costs the same in a short text and in a long one. But what the state forgets is gone.

* [Mamba](mamba.py): each token decides what the state keeps, what is added and what is read.
* [Mamba-2](mamba2.py): with one rate for a whole head, the scan becomes a matrix product.
* [Letters among dots](letters_experiment.py): train three layers on a task that needs selection.
* [A language model without attention](text_experiment.py): train it on a text, beside a
  transformer.

[Linear attention](../transformers/variants/linear_attention.py) and [the delta
rule](../transformers/variants/delta_rule.py) carry a state, too.
"""
