r"""
---
title: Four Ways to Write Attention
summary: The same function in the four shapes in which people meet it, and the proof that it is one.
paper:
  title: Attention Is All You Need
  authors: Vaswani et al.
  year: 2017
  link: https://arxiv.org/abs/1706.03762
---

Whoever learns attention from two sources sees two programs that have hardly a line in common. They
differ in the order of the axes, and in where the heads are while scores are computed. What they
compute is the same. These pages write it in the four ways that are most often met.

* [Sequence first](../mha.py): positions are the first axis, and einsum names every axis that it
  sums over. It is the attention of the other pages, and [the seam](seam.py) is what lets each of
  the following three take its place.
* [Batch first](batch_first.py): sequences are the first axis, heads become an axis of their own
  before the positions, and one product serves them all.
* [Heads folded into the batch](folded_heads.py): each head of each sequence is a sequence of its
  own, and nothing downstream knows of heads.
* [One head at a time](one_head_at_a_time.py): a module for each head, a list of them, and the
  reasons for having many.

[Side by side](side_by_side.py) all four get the same weights. They give the same results and the
same gradients, and they don't cost the same.

They are here to be read. Where attention has to be fast, none of them is used, but
[what PyTorch has for it](../fast_attention.py).
"""
