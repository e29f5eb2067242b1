r"""
---
title: A Small Transformer
summary: The parts put together into a model of text, trained, and compared.
---

The lessons before this section have the parts. Here they become [a model](autoregressive_model.py)
of 810,306 parameters, [trained](autoregressive_experiment.py) to predict the next character of a
text on two cores, in a few minutes. Where a page has a replacement for one of its parts, two
models are [trained side by side](comparison_experiment.py). Attention itself is compared with
[nothing in its place](heads_experiment.py).
"""
