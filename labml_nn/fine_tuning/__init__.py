r"""
---
title: Fine-Tuning
summary: A trained model learns a second text, or how to answer, without learning everything again.
---

A model that has learned to predict one text has learned much that a second task needs, too.
*Fine-tuning* goes on training it on the second task. Each page answers a failure of doing just
that:

"""
