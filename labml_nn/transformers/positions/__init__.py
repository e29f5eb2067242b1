r"""
---
title: Positions
summary: How a transformer knows where a token stands, and what that is worth on longer texts.
---

[Attention](../mha.py) compares features and knows nothing of order. Something has to tell it where
tokens stand, or how far apart they are. The kinds differ most on texts that are longer than those
of training.

**Added to tokens.** Each position has a vector:

1. [Sines and cosines, or learned vectors](../positional_encoding.py).

**Added to scores.** Only the distance of a query and a key matters:

2. [Relative positions](shaw_relative.py): a learned vector for each distance, up to a greatest one.
3. [Transformer-XL](transformer_xl.py): sines of the distance, projected, at any distance.
4. [ALiBi](alibi.py): a penalty that grows with the distance, and nothing learned.

**Rotated.** Queries and keys are rotated, each by angles that grow with its position. So a score
depends on the distance of the two:

5. [Rotary positions](../rotary.py), and [which features are a pair](rotary_pairs.py).
6. [Attention](rotary_attention.py) with them.
7. [Scaling](rotary_scaling.py) for longer texts: interpolation, NTK and YaRN.

[Extrapolation](extrapolation.py) measures them all: trained at one length, evaluated at longer
ones.

If there are fewer queries than keys, the queries are the *last* positions on all these pages. So
one new token, with the keys of all tokens before it, is where it would be in the whole text.

To see what one kind changes in the code of another, read them [side by
side](../../../docs/compare.md).
"""
