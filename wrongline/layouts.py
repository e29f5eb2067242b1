r"""
---
title: Batch First or Sequence First
summary: A model whose sequences are mixed is called with turned tokens, and may be right then.
know: model_tests.py
---

Most code has the batch first, and older code, as PyTorch's tutorial, the sequence. Both run with
both, and in the wrong one the sequences of a batch are mixed. So if they are mixed, the model is
called with turned tokens. If no sequence of the batch matters to another one then, that is how it
is meant to be called.

For a recurrent layer without `batch_first=True` that proves nothing. It has no mask and no
positions, so either axis would do, and to forget that argument is the usual mistake.

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

    One in the middle: if they are taken for positions, it sees those before it.
    """
    tokens = whole.inputs
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
    layers = [one for one in whole.model.modules() if isinstance(one, nn.RNNBase)]
    # (What can't be called is told by the tests.)
    try:
        if any(not one.batch_first for one in layers) or not is_mixed(whole):
            return whole
        turned = replace(whole, predict=sequence_first)
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
        Neither: its layers want the sequence first, and its positions the batch. With turned tokens
        each sequence has the position of its place in the batch.
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
