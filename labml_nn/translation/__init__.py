r"""
---
title: Translation
summary: The transformer of the 2017 paper, which reads one text and writes another.
---

A [language model](../transformers/basic/autoregressive_model.py) goes on with a text. A translator
has *two* texts: it reads one as a whole and writes the other. The transformer was made for that,
with a stack of layers for each.

1. [Dates to translate](dates.py): a language that two cores can learn in half a minute, and why
   whole days are held out.
2. [The model](encoder_decoder.py): an encoder that sees all of the source, a decoder that sees what
   it has written and looks at the source, the loss, and greedy decoding.
3. [A small model translates dates](translation_experiment.py): train it and two models that lack
   something, and draw where it looks.

[How many held-out dates are translated exactly: mean and range of three
seeds](../../results/translation.json#figures.shares)

The attention between the two stacks has [a page of its
own](../transformers/variants/cross_attention.py).

[Two held-out dates in all forms, translated by one model of each
kind](../../results/translation.json#tables.written)

**What matters here** is a view of the whole source, and its order. Without positions in the source
the memory says which characters there are, and not in which order, and
[10.3 %](../../results/translation.json#tables.models.No%20positions%20in%20the%20source.right) of
held-out dates are translated exactly. [What did not help](encoder_decoder.py#example) is on the
page of the model.
"""
