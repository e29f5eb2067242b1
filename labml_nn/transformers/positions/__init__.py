r"""
---
title: Positions
summary: Ways to tell a transformer where a token stands, and how each fares with longer texts.
---

Attention has no idea of order. Something has to tell it, and each way has another answer to the
question what happens at a length that never came up in training.

**Added to tokens**, each position has a vector:

1. [Sines and cosines, or learned vectors](../positional_encoding.py).

**Seen by scores**, there is nothing but the distance of a query and a key:

2. [Relative positions](shaw_relative.py): a learned vector for each distance, up to a greatest
   one.
3. [Transformer-XL](transformer_xl.py): sines of the distance, projected, at any distance.
4. [ALiBi](alibi.py): a penalty that grows with the distance, and nothing learned.

**Turned**, queries and keys have the distance between their angles:

5. [Rotary positions](../rotary.py), the table of cosines and sines.
6. [Which features are a pair](rotary_pairs.py), and how to convert weights.
7. [Attention with rotary positions](rotary_attention.py).
8. [Scaling](rotary_scaling.py) the speeds for longer texts: interpolation, NTK and YaRN.

And then all of them:

9. [Extrapolation](extrapolation.py): trained at one length, evaluated at longer ones.

In all of them the queries are the *last* positions of the keys' sequence. So one new token, with
the keys of all before it, is where it would be in the whole text.
"""
