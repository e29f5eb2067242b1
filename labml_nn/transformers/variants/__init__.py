r"""
---
title: Variants of Attention
summary: What people have changed in the function itself, a page for each.
---

[Attention](../mha.py) is still what it was in 2017: scores, a softmax, an average. Each of these
pages changes one thing about it, in answer to one failure, and takes its place in a model.

1. [Query-key normalisation](query_key_norm.py): scores grow until the softmax is stuck, so queries
   and keys get a known length.
2. [Soft-capped scores](soft_cap.py): the same failure, but the scores are bent below a cap.
3. [Gated attention](gated_attention.py): a head must look somewhere, so a gate lets a token refuse
   what the head found.
4. [Differential attention](differential_attention.py): many small weights on irrelevant keys add
   up, so one attention map is subtracted from another.
5. [Linear attention](linear_attention.py): the cost grows with the square of the length. Without a
   softmax a state of fixed size is enough.
6. [The gated delta rule](delta_rule.py): nothing ever leaves that state, so this one forgets and
   corrects itself.
7. [Cross-attention](cross_attention.py): a translator has to see the original, so keys and values
   come from another sequence.

What they do in a small model of two layers, trained for 500 steps:

[Loss: mean and range of three seeds](../../../results/families.json#figures.losses)

The gated delta rule is ahead and linear attention behind. Latents are ahead too, but they come with
rotary positions, and all others with added sines. The rest is within about two hundredths of
multi-head attention, about as far as its own seeds are apart: those variants answer failures of
large models, which a small one doesn't have.

[The numbers](../../../results/families.json#tables.losses)

All but the last can be trained in [the small transformer](../basic/comparison_experiment.py).
Parameters, caches and FLOPs of all, and the code of any two side by side, are on [a page of their
own](../../../docs/compare.md).
"""
