r"""
---
title: Attention That Saves Memory
summary: Kernels that never hold all scores, and caches that keep less of each token.
---

[Attention](../mha.py) needs much memory in two places.

**In training** there is a score for each pair of positions, so a text twice as long has four times
as many. Kernels compute the same without holding all of them, and these pages show how:

* [What PyTorch's kernel computes](sdpa.py), spelled out, with the trap in its causal flag
* [Flash attention](flash.py), a tile at a time, and [its backward pass](flash_backward.py)
* [Attention from two functions](score_functions.py), one for a score and one for the mask
* [FlexAttention](flex.py), which makes a kernel of the two functions

**While a model writes**, the [cache](../kv_cache.py) holds a key and a value for each token, in
each head of each layer, and all of it is read for each new token. Take a model with 32 heads of 128
features, a text of 8,192 tokens, and count the numbers of one layer:

| attention | kept of each token | tokens kept | numbers |
| --- | --- | --- | --- |
| multi-head attention | 2 · 32 · 128 = 8,192 | 8,192 | 67,108,864 |
| [grouped queries](grouped_query.py), 8 heads of keys | 2 · 8 · 128 = 2,048 | 8,192 | 16,777,216 |
| [a sliding window](sliding_window.py) of 1,024 | 8,192 | 1,024 | 8,388,608 |
| [latent attention](latent_attention.py), 512 + 64 | 576 | 8,192 | 4,718,592 |

What they cost in loss is [measured](../variants/__init__.py), with the other variants, and what
they keep of a small layer stands in [one table](../../../docs/compare.md).

* [Attention sinks](attention_sinks.py): a model that was trained without a window needs its first
  token.
* [A learned sink](learned_sink.py) lets a window forget the first tokens, too.
* [Absorbed latent attention](absorbed_attention.py) attends to the latents themselves.
"""
