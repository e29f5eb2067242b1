r"""
---
title: Looking Inside
summary: What can be read from the layers and the weights of a trained model.
---

A trained model is a list of numbers, and its loss doesn't say how it gets its predictions. These
pages read them from the small transformer of this site:

1. [The logit lens](logit_lens.py): the loss is that of the last layer alone, so we read the
   residual stream after each layer.
2. [Attention as two matrices](matrices.py): the weights of an attention show where a head looked in
   one text, and its matrices what it looks for in any text.
"""
