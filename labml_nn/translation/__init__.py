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

[What each change does: means of three seeds](../../results/translation.json#tables.models)

**What matters here** is a view of the whole source, and its order. Without positions in the source
the memory says which characters there are, and not in which order, and
[10.3 %](../../results/translation.json#tables.models.No%20positions%20in%20the%20source.right) of
held-out dates are translated exactly. If the target isn't shifted, the loss of the training is
nearly zero, and nothing is translated.

**What did not help here:**

* Letting each character of the source see those after it. With a causal mask in the encoder,
  [99.97 %](../../results/translation.json#tables.models.Causal%20encoder.right) are exact, and
  halfway through the training
  [92.9 %](../../results/translation.json#tables.models.Causal%20encoder.half) beside
  [81.5 %](../../results/translation.json#tables.models.Encoder%20and%20decoder.half). The decoder
  sees the whole source in any case.
* An embedding for each side:
  [99.4 %](../../results/translation.json#tables.models.Two%20embeddings.right).
* Post-norm, as in the paper:
  [99.5 %](../../results/translation.json#tables.models.Post-norm.right).
* *Beam search*, which keeps several beginnings and goes on with the likeliest ones. Four, as in the
  paper, give [99.7 %](../../results/translation.json#values.beam.end.4), and one gives
  [99.7 %](../../results/translation.json#values.beam.end.1). Halfway it is
  [82.2 %](../../results/translation.json#values.beam.half.4) and
  [81.5 %](../../results/translation.json#values.beam.half.1).
"""
