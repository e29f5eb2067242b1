r"""
---
title: A Transformer That Writes
summary: The parts put together into a model of text, and trained.
---

The pages of the [section](../__init__.py) have the parts. Here they become
[one model](autoregressive_experiment.py), trained to predict the next character of a text, on
a laptop, in about a minute. A [cache](../kv_cache.py) lets it write fast. Where a page has another way to do one of its parts, the two are [trained side by
side](comparison_experiment.py), and on the command line any of those parts is tried [by its
name](parts_experiment.py).
"""
