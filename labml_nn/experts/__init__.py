r"""
---
title: Experts
summary: More weights for the same work, since each token uses only a few of them.
---

In a transformer, most weights are in the [feed-forward networks](../transformers/feed_forward.py),
and each token uses all of them. Many large language models replace each network by many smaller
ones, *experts*, and a token uses a few of them. Each page answers a failure of the one before:

1. [Mixture of experts](mixture.py): a wider network costs more for each token, so a router picks
   two of sixteen narrow ones.
2. [Balancing the experts](balancing.py): the router sends most tokens to a few of them, so a loss
   or a bias evens out their load.
3. [Shared and fine-grained experts](shared_expert.py): each expert has to learn what all tokens
   need, so one expert works on every token.
4. [The load of each expert](experiment.py): train a small model with each kind of balancing, and
   look.

[In place of the network of a small transformer: means of three
seeds](../../results/experts.json#tables.layers)

In this model, a network that is eight times as wide lowers the loss, and experts with a balancing
loss get [0.65](../../results/experts.json#values.gained) of that gain. What did not help here:
balancing evens out the load but hardly changes the loss, and neither do narrower experts or a
shared one. Nor do experts save much time in such narrow layers.
"""
