r"""
---
title: Transformers
summary: From a text and a loss to a model that writes, one lesson after the other.
paper:
  title: Attention Is All You Need
  authors: Vaswani et al.
  year: 2017
  link: https://arxiv.org/abs/1706.03762
---

A transformer reads a sequence of *tokens*, characters here, and gives at each position a
probability for every token that may come next. These pages build one from nothing, and take ten to
twenty minutes each. Is this your first time? Then take the [course](../course/__init__.py), which
leads over the main ones in this order and measures what each adds. Here are all of them, to look
something up.

```text
First Ci     the text so far, as tokens
   |
embedding    a vector for each token
   |
4 layers     attention, then feed-forward, four times
   |
logits       a score for each token that may come next
   |
   t         the next token
```

**A text, a loss, and what counting can do**

* [Text as training data](../training/data.py): characters become numbers, and each is the target of
  the one before it.
* [Counting letters](../training/counting.py): how far you get without any neural network. Further
  than you might think.
* [Sampling](../training/sampling.py): text from probabilities, in ten lines.
* [The training loop](../training/loop.py): predict, compare, differentiate, move. A table of pairs
  is its first model, and should come near the loss that counting pairs reached.

**The parts of a transformer**

* [One head at a time](ways/one_head_at_a_time.py): attention by hand, for one query and three keys,
  then for all.
* [Positional encodings](positional_encoding.py) tell a model where a token stands.
* [Multi-head attention](mha.py): the same for many heads at once, with the mask that hides the
  future. What happens when a mask hides nothing is in the [museum](mistakes/masks.py).
* [The feed-forward network](feed_forward.py) works on what attention has gathered.
* [Layer normalisation](layer_norm.py) gives the vectors of all tokens one mean and one size.
* [The transformer layer](models.py) adds what attention and network compute to a stream, and
  normalises what they read.

**A model that writes**

* [The autoregressive model](basic/autoregressive_model.py) is all of that together, in about 50
  lines.
* [A transformer learns to write](basic/autoregressive_experiment.py): train it, and read what it
  writes.
* [One part exchanged](basic/comparison_experiment.py): train the model twice, once with another
  part; [no attention, one head, four](basic/heads_experiment.py).
* [The key/value cache](kv_cache.py): write without computing everything anew for each token.

**What has changed since 2017**

* [Rotary positions](rotary.py), [RMSNorm](rms_norm.py) and [SwiGLU](swiglu.py) take the place of
  three of the parts.
* [A modern transformer](modern/__init__.py) has them all, and a few more.

Then come the families, each about one part: [four ways](ways/__init__.py) to write attention,
[mistakes](mistakes/__init__.py) that are in print, [saving memory](memory/__init__.py),
[positions](positions/__init__.py) and [variants](variants/__init__.py). Any two attentions can be
[compared](../../docs/compare.md), in numbers and line by line. Last of all comes speed: [fused
attention](fused_attention.py) and what else makes a training step faster.

The paper has an encoder and a decoder, for translation. Here is one stack only. Its mask makes it
the decoder of a language model.
"""
