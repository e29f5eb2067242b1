r"""
---
title: Fine-Tuning
summary: A trained model learns a second text, or how to answer, without learning everything again.
---

A model that has learned to predict one text has learned much that a second task needs, too.
*Fine-tuning* goes on training it on the second task. Each page answers a failure of doing just
that:

* [LoRA](lora.py): the whole model is copied for each task, and forgets the first. So only a small
  product beside each matrix is trained.
* [Shakespeare learns Python](lora_experiment.py): does that work at our size? Losses on both texts,
  and bytes.
* [DoRA](dora.py): one product makes rows longer and turns them. So lengths get numbers of their
  own.
* [LoRA on quantised weights](quantised_base.py): the frozen weights fill the memory. So they are
  stored in eight bits.
"""
