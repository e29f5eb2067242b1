r"""
---
title: A Transformer with Switches
summary: One model that is nanoGPT's with all switches off, and the modern one with all of them on.
---

Between the transformer that most people know and [the modern one](model.py) lie a dozen changes.
To see what each is worth they have to be made one at a time, in one model that is the same in all
that wasn't changed. Here each change is a switch.

With all of them off it is the model of [nanoGPT](https://github.com/karpathy/nanoGPT): GPT-2
without biases, with learned positions that are added, layer normalisation, GELU, and a head that
has the weights of the embedding. With all of them on it is the modern one. Both are tests.

It is for trying and not for writing: there is no cache. It leaves out nanoGPT's dropout of
attention weights and hidden features; what a part adds, and the embedding, have dropout.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.fast_attention import mean_of_values
from labml_nn.transformers.feed_forward import FeedForward
from labml_nn.transformers.mha import causal_mask
from labml_nn.transformers.modern.model import SHARPNESS, Smear
from labml_nn.transformers.rms_norm import RMSNorm, rms_norm
from labml_nn.transformers.rotary import RotaryPositions
from labml_nn.transformers.stacked_linear import StackedLinear
from labml_nn.transformers.swiglu import SwiGLU


@dataclass(frozen=True)
class Switches:
    r"""
    ## The switches

    All of them are off.
    """

    # Queries and keys are turned, and no positions are added.
    rotary: bool = False

    # RMSNorm in place of layer normalisation, and of queries and keys, too.
    rms: bool = False
    query_key_norm: bool = False

    # A gated network, and a zero for the last matrix of each part and for a head of its own.
    gated: bool = False
    zero_outputs: bool = False

    # A head with its own weights, and embeddings of variance 1 that are normalised at once.
    untied: bool = False
    unit_embedding: bool = False

    # The previous token is mixed in, once, and the values of the first layer in all others.
    smear: bool = False
    value_residual: bool = False

    # It is mixed in again before each part; norms have no gains; scores are larger by half;
    # and matrices start with a size that keeps the variance.
    smear_parts: bool = False
    plain_norms: bool = False
    sharp: bool = False
    wide_start: bool = False


def make_norm(switches: Switches, d_model: int) -> Callable[[Tensor], Tensor]:
    r"""
    ## Which normalisation?
    """
    if not switches.rms:
        return nn.LayerNorm(d_model, bias=False)
    return rms_norm if switches.plain_norms else RMSNorm(d_model)


def make_smear(on: bool, d_model: int) -> nn.Module:
    r"""
    ### Is the previous token mixed in?
    """
    return Smear(d_model) if on else nn.Identity()


class SwitchedAttention(nn.Module):
    r"""
    ## Attention
    """

    def __init__(
        self, switches: Switches, d_model: int, heads: int, seq_len: int, first: bool
    ) -> None:
        r"""
        * `switches` say what is new
        * `d_model` is the number of features
        * `heads` is the number of heads, which must divide `d_model`
        * `seq_len` is the number of positions
        * `first` says whether it is in the first layer
        """
        super().__init__()
        if heads < 1 or d_model % heads:
            raise ValueError(
                f"d_model must be a positive multiple of heads, got d_model={d_model} and "
                f"heads={heads}"
            )
        self.heads, self.d_k, self.normed = heads, d_model // heads, switches.query_key_norm
        self.scale = (SHARPNESS if switches.sharp else 1.0) / math.sqrt(self.d_k)
        self.project = StackedLinear(3, d_model, d_model)
        self.turn = RotaryPositions(self.d_k, seq_len) if switches.rotary else nn.Identity()
        self.output = nn.Linear(d_model, d_model, bias=False)
        mixes = switches.value_residual and not first
        self.mix = nn.Parameter(self.output.weight.new_zeros(())) if mixes else None

        # Which [way](../fast_attention.py) is faster, who trains it finds out.
        self.kernel = True

    def forward(self, x: Tensor, mask: Tensor, first_value: Tensor | None) -> tuple[Tensor, Tensor]:
        r"""
        ### Attend

        `x` and the first result are `[seq_len, batch_size, d_model]`, the second one are the
        values, `[seq_len, batch_size, heads, d_k]`, and `mask` is `[1, 1, seq_len, seq_len]`.
        """
        query, key, value = self.project(x).unflatten(-1, (3 * self.heads, self.d_k)).chunk(3, 2)
        if self.normed:
            query, key = rms_norm(query), rms_norm(key)
        query, key = self.turn(query), self.turn(key)
        if self.mix is not None and first_value is not None:
            value = first_value.lerp(value, self.mix.sigmoid().to(value.dtype))

        # Heads to the front and back again.
        q, k, v = (t.permute(1, 2, 0, 3) for t in (query * self.scale, key, value))
        attended = mean_of_values(q, k, v, mask, kernel=self.kernel).permute(2, 0, 1, 3)
        return self.output(attended.flatten(start_dim=2)), value


class SwitchedLayer(nn.Module):
    r"""
    ## Layer
    """

    def __init__(
        self,
        switches: Switches,
        d_model: int,
        heads: int,
        d_ff: int,
        seq_len: int,
        dropout_prob: float,
        first: bool,
    ) -> None:
        r"""
        * `d_ff` is the number of features inside the feed-forward network
        * `dropout_prob` is the probability that a feature of a result is dropped

        The others are those of [attention](switches.py#SwitchedAttention).
        """
        super().__init__()
        self.attention = SwitchedAttention(switches, d_model, heads, seq_len, first)
        self.feed_forward = (
            SwiGLU(d_model, d_ff)
            if switches.gated
            else FeedForward(d_model, d_ff, 0.0, nn.GELU, bias=False)
        )
        self.norm_attention = make_norm(switches, d_model)
        self.norm_feed_forward = make_norm(switches, d_model)
        self.smear_attention = make_smear(switches.smear_parts, d_model)
        self.smear_feed_forward = make_smear(switches.smear_parts, d_model)
        self.dropout = nn.Dropout(dropout_prob)

    def forward(self, x: Tensor, mask: Tensor, first_value: Tensor | None) -> tuple[Tensor, Tensor]:
        r"""
        ### Pass on, with something added

        As [attention](switches.py#SwitchedAttention.forward).
        """
        normed = self.smear_attention(self.norm_attention(x))
        attended, value = self.attention(normed, mask, first_value)
        x = x + self.dropout(attended)
        normed = self.smear_feed_forward(self.norm_feed_forward(x))
        return x + self.dropout(self.feed_forward(normed)), value


class SwitchedTransformer(nn.Module):
    r"""
    ## The model
    """

    def __init__(
        self,
        switches: Switches,
        n_vocab: int,
        d_model: int,
        heads: int,
        n_layers: int,
        d_ff: int,
        seq_len: int,
        dropout_prob: float,
    ) -> None:
        r"""
        * `switches` say what is new
        * `n_vocab` is the number of different tokens
        * `d_model` is the number of features
        * `heads` is the number of heads of each attention
        * `n_layers` is the number of layers
        * `d_ff` is the number of features inside the feed-forward networks
        * `seq_len` is the greatest length of a sequence, the *context*
        * `dropout_prob` is the probability of dropping a feature
        """
        super().__init__()
        self.switches = switches
        self.embedding = nn.Embedding(n_vocab, d_model)
        self.smear = make_smear(switches.smear, d_model)
        self.dropout = nn.Dropout(dropout_prob)
        self.layers = nn.ModuleList(
            SwitchedLayer(switches, d_model, heads, d_ff, seq_len, dropout_prob, first=index == 0)
            for index in range(n_layers)
        )
        self.norm = make_norm(switches, d_model)
        self.head = nn.Linear(d_model, n_vocab, bias=False) if switches.untied else None
        self.positions = None if switches.rotary else nn.Embedding(seq_len, d_model)
        self.start()

        mask = causal_mask(seq_len).permute(2, 0, 1).unsqueeze(0)
        self.register_buffer("mask", mask, persistent=False)

    def start(self) -> None:
        r"""
        ### How weights start

        GPT-2's are all small, and those that add to what passes through the layers are the smaller
        the more of them there are.
        """
        switches, n_added = self.switches, 2 * len(self.layers)
        for name, weight in self.named_parameters():
            adds = name.endswith(("output.weight", "layer2.weight", "narrow.weight"))
            if weight.dim() < 2:
                continue
            if switches.zero_outputs and (adds or name == "head.weight"):
                nn.init.zeros_(weight)
                continue

            # PyTorch starts an embedding with variance 1.
            unit = switches.unit_embedding and name == "embedding.weight"
            wide = switches.wide_start and name.startswith("layers.")
            if not unit and not wide:
                nn.init.normal_(weight, std=0.02 / math.sqrt(n_added if adds else 1))

    def head_weight(self) -> Tensor:
        r"""
        ### The matrix that gives the logits
        """
        return self.embedding.weight if self.head is None else self.head.weight

    def forward(self, tokens: Tensor) -> Tensor:
        r"""
        ### Predict the next token at each position

        From tokens, `[seq_len, batch_size]`, to logits, `[seq_len, batch_size, n_vocab]`. Shorter
        sequences than the context may be given.
        """
        length = len(tokens)
        x = self.embedding(tokens)
        if self.positions is not None:
            x = x + self.positions.weight[:length].unsqueeze(1)
        if self.switches.unit_embedding:
            x = rms_norm(x)
        x = self.dropout(self.smear(x))

        mask, first_value = self.mask[:, :, :length, :length], None
        for layer in self.layers:
            x, value = layer(x, mask, first_value)
            first_value = value if first_value is None else first_value
        return F.linear(self.norm(x), self.head_weight())


def example(
    n_pairs: int = 2,
    batch_size: int = 3,
    heads: int = 5,
    seq_len: int = 7,
    d_ff: int = 11,
    n_vocab: int = 13,
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    All of them off, and all of them on.
    """
    d_model = heads * 2 * n_pairs
    d_k = 2 * n_pairs
    tokens = torch.randint(n_vocab, (seq_len, batch_size))
    off, on = Switches(), Switches(*[True] * len(fields(Switches)))
    old, new = (
        SwitchedTransformer(switches, n_vocab, d_model, heads, 2, d_ff, seq_len, 0.1)
        for switches in (off, on)
    )
    assert new.layers[0].attention.d_k == d_k
    return old(tokens), new(tokens)
