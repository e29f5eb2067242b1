r"""
---
title: Encoders
summary: Transformers that see both sides, which fill gaps and classify.
---

A language model sees what comes before a letter. An *encoder* sees both sides. It can't write, but
it can fill gaps, and classify text. Each page answers a failure of the one before:

1. [Masked tokens](masked_tokens.py): a model that sees both sides sees the answer, too. So letters
   are hidden, and guessed (BERT).
2. [Masked language model](masked_model.py): a language model sees the left side alone. So an
   encoder takes its place, without the causal mask.
3. [Modern encoder](modern_encoder.py): at our size, BERT hardly learns in 600 steps. Rotary
   positions change that, and local attention helps, too (ModernBERT).
4. [Filling gaps](experiment.py): does it learn at our size? Train it, and look at its guesses.
5. [Classifier on an encoder](classifier.py): labels are expensive. So an encoder that has filled
   gaps is trained further on a few of them.
6. [Finding questions](classifier_experiment.py): what is that worth? The same training from two
   starts.

What did not help here: BERT's own positions, pre-norm, and pretraining where there are only 100
labels.

[What fills a gap best: means of three seeds](../../results/encoders.json#tables.objectives)
"""
