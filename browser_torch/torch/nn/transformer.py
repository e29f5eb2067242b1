r"""The transformer of the paper, as PyTorch has it."""

import copy
import math
from collections.abc import Callable
from typing import Any

from torch._making import full
from torch._tensor import Tensor
from torch.nn import functional, init
from torch.nn._of_functions import Dropout
from torch.nn.containers import ModuleList
from torch.nn.layers import LayerNorm, Linear, MultiheadAttention
from torch.nn.module import Module


def _activation(given: Any) -> Callable[[Tensor], Tensor]:
    if not isinstance(given, str):
        return given
    if given not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {given}")
    return getattr(functional, given)


def _as_numbers(mask: Tensor | None, like: Tensor) -> Tensor | None:
    r"""A mask to add: minus infinity where True hides."""
    if mask is None or mask.dtype.name != "bool":
        return mask
    return full(mask.shape, 0.0, dtype=like.dtype).masked_fill(mask, -math.inf)


def _is_causal(mask: Tensor | None, given: bool | None, size: int) -> bool:
    r"""Whether a mask hides what is to come, unless it is said."""
    if given is not None or mask is None:
        return bool(given)
    if tuple(mask.shape) != (size, size):
        return False
    return bool((mask == _causal(size, mask.dtype)).all())


def _causal(size: int, d: Any = None) -> Tensor:
    return full((size, size), -math.inf, dtype=d).triu(1)


class _Layer(Module):
    r"""What the layers of encoder and decoder have in common."""

    n_norms = 2

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = functional.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options: dict[str, Any] = {"device": device, "dtype": dtype}

        def attention() -> MultiheadAttention:
            return MultiheadAttention(
                d_model, nhead, dropout, bias, batch_first=batch_first, **options
            )

        self.self_attn = attention()
        if self.n_norms == 3:
            self.multihead_attn = attention()
        self.linear1 = Linear(d_model, dim_feedforward, bias, **options)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **options)
        self.norm_first = norm_first
        for number in range(1, self.n_norms + 1):
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, **options)
            setattr(self, f"norm{number}", norm)
        for number in range(1, self.n_norms + 1):
            setattr(self, f"dropout{number}", Dropout(dropout))
        self.activation = _activation(activation)

    def feed_forward(self, x: Tensor) -> Tensor:
        r"""From each place by itself."""
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def attend(
        self,
        attention: MultiheadAttention,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None,
        padding: Tensor | None,
        causal: bool,
    ) -> Tensor:
        r"""From other places."""
        out, _ = attention(
            x,
            memory,
            memory,
            attn_mask=_as_numbers(mask, x),
            key_padding_mask=_as_numbers(padding, x),
            is_causal=causal,
            need_weights=False,
        )
        return out

    def sublayers(self, x: Tensor, steps: list[Callable[[Tensor], Tensor]]) -> Tensor:
        r"""Each step, dropout, the sum with what came in, and its norm: before or after."""
        for number, step in enumerate(steps, 1):
            norm = getattr(self, f"norm{number}")
            dropout = getattr(self, f"dropout{number}")
            if self.norm_first:
                x = x + dropout(step(norm(x)))
            else:
                x = norm(x + dropout(step(x)))
        return x


class TransformerEncoderLayer(_Layer):
    r"""Attention to its own sequence, and a network for each place."""

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        r"""In the same shape."""

        def attend(x: Tensor) -> Tensor:
            return self.attend(self.self_attn, x, x, src_mask, src_key_padding_mask, is_causal)

        return self.sublayers(src, [attend, self.feed_forward])


class TransformerDecoderLayer(_Layer):
    r"""Attention to its own sequence, attention to another one, and a network for each place."""

    n_norms = 3

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        r"""In the shape of `tgt`."""

        def attend(x: Tensor) -> Tensor:
            return self.attend(self.self_attn, x, x, tgt_mask, tgt_key_padding_mask, tgt_is_causal)

        def look(x: Tensor) -> Tensor:
            padding = memory_key_padding_mask
            return self.attend(
                self.multihead_attn, x, memory, memory_mask, padding, memory_is_causal
            )

        return self.sublayers(tgt, [attend, look, self.feed_forward])


def _copies(layer: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(layer) for _ in range(count)])


class TransformerEncoder(Module):
    r"""Copies of a layer, one after another."""

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        r"""In the same shape."""
        first = self.layers[0].self_attn.batch_first
        causal = _is_causal(mask, is_causal, src.shape[1 if first and len(src.shape) == 3 else 0])
        out = src
        for layer in self.layers:
            out = layer(
                out,
                src_mask=mask,
                is_causal=causal,
                src_key_padding_mask=src_key_padding_mask,
            )
        return out if self.norm is None else self.norm(out)


class TransformerDecoder(Module):
    r"""Copies of a layer, one after another."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        r"""In the shape of `tgt`."""
        first = self.layers[0].self_attn.batch_first
        size = tgt.shape[1 if first and len(tgt.shape) == 3 else 0]
        causal = _is_causal(tgt_mask, tgt_is_causal, size)
        out = tgt
        for layer in self.layers:
            out = layer(
                out,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return out if self.norm is None else self.norm(out)


class Transformer(Module):
    r"""An encoder, and a decoder that looks at what it gives."""

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = functional.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        layer = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps)
        options: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        sides = {"batch_first": batch_first, "norm_first": norm_first} | options
        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            made = TransformerEncoderLayer(*layer, **sides)
            norm = LayerNorm(d_model, layer_norm_eps, **options)
            self.encoder = TransformerEncoder(made, num_encoder_layers, norm)
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            other = TransformerDecoderLayer(*layer, **sides)
            norm = LayerNorm(d_model, layer_norm_eps, **options)
            self.decoder = TransformerDecoder(other, num_decoder_layers, norm)
        for weight in self.parameters():
            if len(weight.shape) > 1:
                init.xavier_uniform_(weight)
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        r"""In the shape of `tgt`."""
        batch = 0 if self.batch_first else 1
        if len(src.shape) == 3 and src.shape[batch] != tgt.shape[batch]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask,
            memory_mask,
            tgt_key_padding_mask,
            memory_key_padding_mask,
            tgt_is_causal,
            memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        r"""Minus infinity for what is to come."""
        return _causal(sz, dtype)
