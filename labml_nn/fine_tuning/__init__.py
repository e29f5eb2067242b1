r"""
---
title: Fine-Tuning
summary: A trained model learns a second text, or how to answer, without learning everything again.
---

A model that has learned to predict one text has learned much that a second task needs, too.
*Fine-tuning* trains it further on the second task. Each page answers a failure of doing just that:

* [LoRA](lora.py): each task needs a copy of the whole model, and the copy forgets the first task.
  So only a small product beside each matrix is trained.
* [Shakespeare learns Python](lora_experiment.py): does that work at our size? Losses on both texts,
  and bytes.
* [DoRA](dora.py): one product makes rows longer and turns them. So lengths get numbers of their
  own.
* [LoRA on quantised weights](quantised_base.py): the frozen weights fill the memory. So they are
  stored in eight bits.
* [A small world of facts](facts.py): to see what fine-tuning adds, one has to know what the model
  has read. So there are two texts about the same 146 facts.
* [Dialogues](dialogues.py): a language model continues a question instead of answering it. A
  template tells it whose turn it is, and a mask leaves only the answers in the loss.
* [Packing](packing.py): dialogues differ in length. Several share a window, each hidden from the
  others.
* [A model learns to answer](dialogue_experiment.py): what each of these parts does, measured.
* [Preferences](preferences.py): it is easier to say which of two answers is better than to write
  one. Ten lines of loss learn from such pairs (DPO).
* [A model learns what is preferred](preference_experiment.py): what it gains, and what it loses.
"""
