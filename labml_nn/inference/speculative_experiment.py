r"""
---
title: Drafts Compared
summary: x
---
"""

import time
from collections.abc import Mapping

import torch
from torch import Tensor

from labml_nn.inference.prompt_lookup import CountedLetters, PromptLookup
from labml_nn.inference.rewind import RewindingTransformer
from labml_nn.inference.speculative import Draft, Propose, last, speculate
from labml_nn.training.counting import BackOff
from labml_nn.training.data import CharTokenizer, prepare
from labml_nn.transformers.basic.autoregressive_experiment import fit, read_text
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer


def train_writer(
    tokens: Tensor, n_vocab: int, d_model: int, n_layers: int, seq_len: int, steps: int, seed: int
) -> RewindingTransformer:
    sizes = (n_vocab, d_model, 4, n_layers, 4 * d_model, seq_len)
    torch.manual_seed(seed)
    model = AutoregressiveTransformer(*sizes)
    fit(model, tokens, steps, seq_len, 768 // seq_len, seed)
    writer = RewindingTransformer(*sizes).eval()
    writer.load_state_dict(model.state_dict())
    return writer
