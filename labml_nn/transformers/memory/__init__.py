r"""
---
title: Attention That Saves Memory
summary: Scores that are never all held, and keys and values that needn't all be kept.
---

[Attention](../mha.py) asks for memory twice. While a model **learns**, there is a score for each
pair of positions: a text twice as long has four times as many. While it **writes**, there are
the [keys and values](../kv_cache.py) of the whole text, in each layer, and all of them are read
for each new token. Each of these pages saves the one or the other.

The scores:

* [What PyTorch's kernel computes](sdpa.py), spelled out, and the backends behind it
* [Flash attention](flash.py), a tile at a time, forward and backward
* [Attention from two functions](score_functions.py), one for a score and one for what is seen
* [FlexAttention](flex.py), which makes a kernel of these two

The keys and values:

* [Grouped-query attention](grouped_query.py) has fewer heads of them.
* [A sliding window](sliding_window.py) forgets all but the last, and the first.
* [A learned sink](learned_sink.py) lets go of the first, too.
* [Latent attention](latent_attention.py) keeps a short vector, from which they are made.

What a page adds should cost nothing where the kernel can compute it. Here is each attention of the
site beside the kernel, given the same projections, forward and backward, from 256 to 4,096
positions. The worst of all ratios, of time or of memory, is
[1.046](../../../results/seam.json#values.worst).

[Time beside the kernel's](../../../results/seam.json#figures.time)

[Memory beside the kernel's](../../../results/seam.json#figures.memory)

[All ratios](../../../results/seam.json#tables.seam)
"""
