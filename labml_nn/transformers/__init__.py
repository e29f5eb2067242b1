r"""
---
title: Transformers
summary: The transformer piece by piece, from attention to a model that writes.
paper:
  title: Attention Is All You Need
  authors: Vaswani et al.
  year: 2017
  link: https://arxiv.org/abs/1706.03762
---

A transformer lets the positions of a sequence exchange what they know, and lets each
think it over, a few times in turn. These are its pieces, in the order in which they
need one another.

1. [Multi-head attention](mha.py) is the exchange: each position takes a weighted mean
   of the others, and learns whom to listen to. It can be written in
   [four ways](ways/__init__.py).
2. The [feed-forward network](feed_forward.py) is the thinking over, at each position
   alone.
3. [Positional encodings](positional_encoding.py) tell the model where a token stands,
   which it could not see otherwise.
4. [Models](models.py) puts these together: embeddings, layers, the stack, and a score
   for each token.
5. A [cache of keys and values](kv_cache.py) lets a model that writes compute each token
   only once.

The rest makes one of them learn to write, a character at a time:

6. [Data](../training/data.py) turns a text into tokens, and tokens into batches.
7. [Sampling](../training/sampling.py) makes a model write.
8. [The loop](../training/loop.py) trains it.
9. [An autoregressive transformer](basic/autoregressive_experiment.py) is the model, and
   the experiment from beginning to end.
10. [Two transformers](basic/comparison_experiment.py), the same but for one part.

Since then most of its parts have been replaced by better ones:

11. [Fused attention](fused_attention.py) is one call of PyTorch's kernel.
12. [Rotary positions](rotary.py) turn queries and keys instead of adding to tokens.
13. [RMSNorm](rms_norm.py) divides by the usual size and takes no mean off.
14. [SwiGLU](swiglu.py) is a feed-forward network with a gate, and
    [stacked linear layers](stacked_linear.py) make it one product less.
15. [A modern transformer](modern/__init__.py) has them all, and others.

Attention alone fills the rest of the pages:

* [Four ways to write it](ways/__init__.py), which are one function
* [Mistakes](mistakes/__init__.py) that are in print, what they do to a model, and a test for yours
* [Saving memory](memory/__init__.py): kernels that never hold all scores, and smaller caches
* [Positions](positions/__init__.py) that scores see as distances
* [Variants](variants/__init__.py), each of which changes one thing, from a gate to no softmax
  at all

All these parts can be tried in the small transformer, [by name](basic/parts_experiment.py).

The paper has an encoder and a decoder, for translation. Here is one stack only: what it
may see, a mask decides.
"""
