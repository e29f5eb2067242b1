r"""
---
title: Variants of Attention
summary: What people have changed in the function itself, a page for each.
---

[Attention](../mha.py) has stayed what it was in 2017: scores, a softmax, a mean. Each of these
pages changes one thing about it, and takes its place at the same seam.

1. [Query-key normalisation](query_key_norm.py) gives queries and keys a known length, so that
   scores can't run away.
2. [Soft-capped scores](soft_cap.py) are bent instead, so that none gets beyond a cap.
3. [Gated attention](gated_attention.py) lets a token refuse what its heads bring home.
4. [Differential attention](differential_attention.py) takes one map of weights off another.
5. [Linear attention](linear_attention.py) has no softmax, and so needs no more than a state
   of fixed size.
6. [The gated delta rule](delta_rule.py) lets such a state forget, and correct itself.
7. [Cross-attention](cross_attention.py) is to another sequence, whose keys and values are made
   once.

With all but the last, [the small transformer](../basic/comparison_experiment.py) can be trained:
their notebooks end with that.
"""
