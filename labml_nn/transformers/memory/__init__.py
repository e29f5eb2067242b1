r"""
---
title: Attention That Saves Memory
summary: The scores that are never all held, and the keys and values that needn't all be kept.
---

[Attention](../mha.py) asks for memory twice. While a model **learns**, there is a score for each
pair of positions: twice as long a text makes four times as many. While it **writes**, there are
the [keys and values](../kv_cache.py) of the whole text, in each layer, and all of them are read
for each new token. These pages save the one or the other.

* [Grouped-query attention](grouped_query.py) keeps fewer heads of keys and values.
"""
