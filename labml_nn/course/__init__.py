r"""
---
title: Course
summary: Twelve steps of about ten minutes, from guessing letters to a modern transformer.
---

You build a model that writes, in twelve steps of about ten minutes. Each step is one page, and the
answer to a failure of the step before. You need Python and a little PyTorch. Tick off what you have
read; your browser remembers it, and nobody else does.

**A loss, and how far counting gets**

* [ ] **[A text and a loss](../training/data.py).** Before you can improve a model you have to
  measure it.
* [ ] **[Letters and pairs](../training/counting.py).** Guessing knows nothing of the text.
* [ ] **[Longer contexts](../training/counting.py#BackOff).** A pair knows one letter. Counting a
  few letters back is good, and the loss goes up again after that, because most contexts were never
  seen.
* [ ] **[A table that learns](../training/loop.py).** A counted table can't be a part of anything
  larger, and a learned one can. It has to reach the counted loss; then the loop works.

**Looking back**

* [ ] **[The mean of the past](one_attention.py#MeanOfThePast).** A table sees the last letter only.
  A mean sees all of them, and forgets which was the last.
* [ ] **[One head](../transformers/ways/one_head_at_a_time.py).** A mean treats all letters alike. A
  head chooses.
* [ ] **[Positions](../transformers/positional_encoding.py).** A head without them can't tell which
  letter was the last but one.
* [ ] **[Many heads](../transformers/mha.py).** One head takes one average. Several take several,
  with as many weights.

**A transformer**

* [ ] **[The layer](../transformers/models.py).** Attention only takes averages. A layer works on
  them, too.
* [ ] **[The recipe](../transformers/basic/autoregressive_experiment.py).** The same model with a
  rate that rises and falls, and long gradients are clipped.
* [ ] **[The cache](../transformers/kv_cache.py).** The loss stays, but writing is slow: each new
  letter computes all the others again.
* [ ] **[The modern parts](../transformers/modern/__init__.py).** What has changed since 2017. What
  each part is worth is the [ablation](../transformers/modern/ablation.py).

[One notebook](experiment.py) trains the models of the course. The [models](steps.py) are those of
the lessons.
"""
