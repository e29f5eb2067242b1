r"""
---
title: Reinforcement Learning
summary: A model learns from a check of its own answers, where nobody has written the right ones.
---

A language model learns to predict how a text goes on. To learn answers in this way it needs right
answers to read, and no text shows it its own mistakes. Here it answers by itself, and learns from a
check of its answer. Each page answers a failure:

1. [A task with a verifier](verifier.py): right answers must be written by somebody, so there is a
   check that needs none. If the check has a hole, that is what the model learns.
2. [A start by imitation](imitation.py): an untrained model is never right, so it first imitates a
   few solved questions. With so few, it stops getting better.
3. [GRPO](grpo.py): a check is a number, without a gradient. So several answers to one question are
   compared with each other, and the better ones made likelier.
4. [What to watch](signals.py): the loss is nearly zero whatever happens, and a high reward proves
   little. So six numbers of a step together tell what goes wrong.
5. [Sorting from rewards alone](grpo_experiment.py): the training itself, with all that we changed
   about it.
6. [PPO and generalised advantages](ppo.py): all tokens of an answer get the same praise or blame,
   so a second model predicts the reward before each token.
"""
