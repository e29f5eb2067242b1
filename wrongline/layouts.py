r"""
---
title: Batch First or Sequence First
summary: A model that mixes sequences is called with its axes exchanged, and may be right then.
know: model_tests.py
---

Three texts of five tokens are a tensor of 3 by 5 in most code, with the batch first. In older code,
as in PyTorch's tutorial, they are 5 by 3, with the sequence first. A model of either kind runs with
either tensor, and with the wrong one it takes texts for positions: the texts of a batch are mixed.
So if they are, we transpose the tokens and call the model again. If no text depends on another one
then, the model is meant to have the sequence first.

For a recurrent layer without `batch_first=True` that proves nothing. It has no mask and no
positions, so it works along either axis, and to forget that argument is the usual mistake.

**In:** [what is tested](whole.py#Whole). **Out:** the same, with the way to call it.
"""

from dataclasses import replace

import torch
from torch import Tensor, nn

from wrongline.logits import sequence_first
from wrongline.model_tests import TURNED, each_sequence_alone, other_tokens
from wrongline.whole import Whole


def is_mixed(whole: Whole) -> bool:
    r"""
    ## Does a sequence depend on the others?

    All others of the batch are changed. The one in the middle is compared: if the batch is taken
    for the sequence, it sees those before it, even under a causal mask.
    """
    tokens = whole.inputs
    # With one sequence there is nothing to mix, and vectors are no tokens to change.
    if len(tokens) < 2 or tokens.dtype.is_floating_point:
        return False
    with whole.rough() as model:
        row = slice(len(tokens) // 2, len(tokens) // 2 + 1)
        changed = other_tokens(tokens)
        changed[row] = tokens[row]
        found = whole.predict(model, changed)[row]
        return whole.place_of(model, found, whole.logits(model)[row]) is not None


def with_layout(whole: Whole) -> Whole:
    r"""
    ## Find out which axis is first
    """
    # LSTM, GRU and RNN.
    layers = [one for one in whole.model.modules() if isinstance(one, nn.RNNBase)]
    # If a call fails here, a test says so later.
    try:
        if any(not one.batch_first for one in layers) or not is_mixed(whole):
            return whole
        turned = replace(whole, predict=sequence_first)
        # `TURNED` is what that test says of a model that is right with the sequence first.
        if each_sequence_alone(turned) != TURNED:
            return whole
    except Exception:
        return whole
    turned.known["call's way"] = "the sequence first"
    return turned


def example(batch_size: int = 3, seq_len: int = 5, n_vocab: int = 11) -> tuple[bool, str]:
    r"""
    ## Example

    A running sum along the first axis.

    ### Exercises

    ??? question "A Transformer has `batch_first=False`, and positions along axis 1. Which is it?"
        Neither: its layers want the sequence first, and its positions the batch. If the tokens are
        transposed, axis 1 is the batch, so all tokens of the third text get position 2.
    """

    class Sums(nn.Embedding):
        def forward(self, tokens: Tensor) -> Tensor:
            r"""
            From tokens, the sequence first, to sums of rows.
            """
            return super().forward(tokens).cumsum(0)

    tokens = torch.randint(n_vocab, (batch_size, seq_len))
    whole = with_layout(Whole(Sums(n_vocab, n_vocab), tokens, tokens))
    return whole.predict is sequence_first, each_sequence_alone(whole)
