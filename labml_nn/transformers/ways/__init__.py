r"""
---
title: Four Ways to Write Attention
summary: The same function in the four layouts in which you meet it, and the proof that it is one.
paper:
  title: Attention Is All You Need
  authors: Vaswani et al.
  year: 2017
  link: https://arxiv.org/abs/1706.03762
---

If you learn attention from two sources, you see two programs with hardly a line in common. They
differ in the order of the axes, and in where the heads are while scores are computed. What they
compute is the same. These pages write it in the four ways that you meet most often.

1. [One head at a time](one_head_at_a_time.py): one query by hand, a module for one head, and a list
   of such modules. Start here if attention is new to you.
2. [Batch first](batch_first.py): heads become an axis before the positions, and one product serves
   them all. Most courses write it so.
3. [Heads folded into the batch](folded_heads.py): each head of each sequence is a sequence of its
   own, and nothing after that knows of heads.
4. [Sequence first](../mha.py): positions are the first axis, and einsum names every axis. It is the
   attention of all other pages.

[Side by side](side_by_side.py) all four get the same weights and give the same results and the same
gradients, at different costs. The code of any two can be [compared](../../../docs/compare.md), line
by line.

To train a large model, use none of them but [fused attention](../fused_attention.py).
"""
