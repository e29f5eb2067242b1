r"""Mistakes for models of the transformers library, planted from outside."""

import inspect
import sys
from collections.abc import Callable
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import DynamicCache

SIZES = {"vocab_size": 64, "max_position_embeddings": 64}
WIDE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
MORE = {"intermediate_size": 48, "num_key_value_heads": 2}


def gpt2() -> nn.Module:
    sizes = {"vocab_size": 64, "n_positions": 64, "n_embd": 32, "n_layer": 2, "n_head": 4}
    return make(transformers.GPT2LMHeadModel, transformers.GPT2Config(**sizes))


def llama() -> nn.Module:
    return make(transformers.LlamaForCausalLM, transformers.LlamaConfig(**SIZES, **WIDE, **MORE))


def mixtral() -> nn.Module:
    sizes = {**SIZES, **WIDE, **MORE, "num_local_experts": 4}
    return make(transformers.MixtralForCausalLM, transformers.MixtralConfig(**sizes))


def make(kind: Callable, config: Any) -> nn.Module:
    torch.manual_seed(0)
    config._attn_implementation = "eager"
    return kind(config).eval()


MODELS = {"gpt2": gpt2, "llama": llama, "mixtral": mixtral}


def first_layer(model: nn.Module) -> nn.Module:
    return next(one for one in model.modules() if isinstance(one, nn.ModuleList))[0]


# Whoever plants one is given the model and a function that puts something in the place of another.
Put = Callable[[Any, str, Any], None]
Plant = Callable[[nn.Module, Put], None]


def after(change: Callable[[Tensor, bool], Tensor]) -> Plant:
    r"""What the first layer gives is changed; the function is told whether it is training."""

    def hook(layer: nn.Module, given: Any, result: Any) -> Any:
        if isinstance(result, tuple):
            return change(result[0], layer.training), *result[1:]
        return change(result, layer.training)

    return lambda model, put: first_layer(model).register_forward_hook(hook) and None


def masked(change: Callable[[Tensor, dict[str, Any]], Tensor]) -> Plant:
    r"""The mask that is added to the scores is changed: `[batch_size or 1, 1, queries, keys]`."""

    def plant(model: nn.Module, put: Put) -> None:
        place = sys.modules[type(model).__module__]
        names = [one for one in vars(place) if one.startswith("create_") and "causal_mask" in one]
        for name in names:
            make_mask = getattr(place, name)

            def made(*given: Any, make_mask: Callable = make_mask, **named: Any) -> Tensor:
                bound = inspect.signature(make_mask).bind(*given, **named).arguments
                return change(make_mask(*given, **named), bound | {"training": model.training})

            put(place, name, made)

    return plant


def cached(change: Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]]) -> Plant:
    r"""What the cache gives back is changed; the function is told how many tokens are new."""

    def plant(model: nn.Module, put: Put) -> None:
        update = DynamicCache.update

        def updated(self: Any, keys: Tensor, *given: Any, **named: Any) -> tuple[Tensor, Tensor]:
            return change(*update(self, keys, *given, **named), keys.shape[-2])

        put(DynamicCache, "update", updated)

    return plant


def positions(change: Callable[[int, int], int]) -> Plant:
    r"""With a cache, the first of the new tokens has another position."""

    def plant(model: nn.Module, put: Put) -> None:
        inner = next(model.children())
        forward = inner.forward

        def moved(*given: Any, **named: Any) -> Any:
            cache = named.get("past_key_values", named.get("cache"))
            tokens = named.get("input_ids", given[0] if given else None)
            read = 0 if cache is None else cache.get_seq_length()
            if read and named.get("position_ids") is None:
                new = tokens.shape[1]
                first = change(read, new)
                named["position_ids"] = torch.arange(first, first + new)[None]
            return forward(*given, **named)

        put(inner, "forward", moved)

    return plant


def ignores_padding(model: nn.Module, put: Put) -> None:
    forward = model.forward

    def unmasked(input_ids: Tensor, attention_mask: Any = None, **named: Any) -> Any:
        return forward(input_ids, **named)

    put(model, "forward", unmasked)


def pads_the_first(model: nn.Module, put: Put) -> None:
    forward = model.forward

    def first_only(input_ids: Tensor, attention_mask: Any = None, **named: Any) -> Any:
        if attention_mask is not None:
            attention_mask = attention_mask.clone()
            attention_mask[1:] = attention_mask.amax()
        return forward(input_ids, attention_mask=attention_mask, **named)

    put(model, "forward", first_only)


def remembers(model: nn.Module, put: Put) -> None:
    r"""The hidden state of the call before is added."""
    known: list[Tensor] = []

    def hook(layer: nn.Module, given: Any, result: Any) -> Any:
        x = result[0] if isinstance(result, tuple) else result
        last = known[-1] if known else x.new_zeros(x.shape[-1])
        known.append(x.detach().mean((0, 1)))
        return (x + last, *result[1:]) if isinstance(result, tuple) else x + last

    first_layer(model).register_forward_hook(hook)


def features(x: Tensor) -> Tensor:
    r"""A number for each feature. (The same one for all is taken out by a LayerNorm.)"""
    return torch.arange(x.shape[-1]).float().sin()


def places(n: int, x: Tensor) -> Tensor:
    r"""A table of positions: `[n, width]`."""
    return torch.outer(torch.arange(n).float() + 1, features(x)).sin()


def without_the_first(values: Tensor) -> Tensor:
    return torch.cat([0 * values[..., :1, :], values[..., 1:, :]], dim=-2)


def in_chunks(x: Tensor, size: int) -> Tensor:
    r"""The mean of each complete chunk is added to all of its tokens."""
    whole = x.shape[1] // size * size
    means = x[:, :whole].unflatten(1, (-1, size)).mean(2).repeat_interleave(size, dim=1)
    return torch.cat([x[:, :whole] + means, x[:, whole:]], dim=1)


def chosen(x: Tensor) -> Tensor:
    r"""As an expert that chooses its tokens: half of them, those with the largest scores."""
    best = x[..., 0].topk((x.shape[1] + 1) // 2, dim=1).indices
    takes = torch.zeros(x.shape[:2]).scatter(1, best, 1.0)
    return x + takes.unsqueeze(-1) * x.roll(1, -1)


def filtered(x: Tensor) -> Tensor:
    r"""A filter of frequencies, without padding: the end of the text is before its beginning."""
    waves = torch.fft.rfft(x, dim=1)
    low = torch.arange(waves.shape[1]) < 2
    return x + torch.fft.irfft(waves * low[:, None], n=x.shape[1], dim=1)


def one_wider(mask: Tensor, given: Any) -> Tensor:
    t, n = mask.shape[-2:]
    return mask.masked_fill(torch.ones(t, n).tril(n - t + 1).bool(), 0.0)


def chunks_seen(mask: Tensor, given: Any) -> Tensor:
    t, n = mask.shape[-2:]
    queries = torch.arange(n - t, n) // 4
    return mask.masked_fill(queries[:, None] == (torch.arange(n) // 4), 0.0)


def first_row_only(mask: Tensor, given: Any) -> Tensor:
    mask = mask.expand(len(given["inputs_embeds"]), -1, -1, -1).clone()
    mask[1:] = 0.0
    return mask


def as_if_first(mask: Tensor, given: Any) -> Tensor:
    r"""The mask of several new tokens begins at the upper left corner."""
    t, n = mask.shape[-2:]
    if 1 < t < n:
        return torch.zeros_like(mask).masked_fill(torch.ones(t, n).triu(1).bool(), -1e9)
    return mask


def without_in(part: Callable[[int, int], bool]) -> Plant:
    r"""No mask, if the numbers of queries and keys are such."""
    return masked(lambda mask, given: mask * 0 if part(*mask.shape[-2:]) else mask)


FUTURE = "sees the future"
MIXED = "sequences of a batch are mixed"
CACHE = "cache"

# The test that must find it, words of its sentence, and what is planted.
PLANTED: dict[str, tuple[str, str, Plant]] = {
    # The future.
    "no mask": ("model_prefix", FUTURE, masked(lambda mask, given: mask * 0)),
    "one token ahead": ("model_prefix", FUTURE, masked(one_wider)),
    "blocks of four": ("model_prefix", FUTURE, masked(chunks_seen)),
    "the first sequence alone has a mask": ("model_prefix", FUTURE, masked(first_row_only)),
    "no mask for short texts": ("model_prefix", FUTURE, without_in(lambda t, n: t == n < 6)),
    "no mask for long texts": ("model_prefix", FUTURE, without_in(lambda t, n: t == n > 32)),
    "the next token is added": ("model_prefix", FUTURE, after(lambda x, _: x + x.roll(-1, 1))),
    "a mean over time": ("model_prefix", FUTURE, after(lambda x, _: x + x.mean(1, keepdim=True))),
    "a norm over time": ("model_prefix", FUTURE, after(lambda x, _: x / x.norm(dim=1)[:, None])),
    "chunks of 16": ("model_prefix", FUTURE, after(lambda x, _: in_chunks(x, 16))),
    "tokens are chosen": ("model_prefix", FUTURE, after(lambda x, _: chosen(x))),
    "frequencies": ("model_prefix", FUTURE, after(lambda x, _: filtered(x))),
    # The length.
    "divided by the length": (
        "model_prefix",
        "depend on the length",
        after(lambda x, _: x + 5 * features(x) / x.shape[1]),
    ),
    "positions from the end": (
        "model_prefix",
        "depend on the length",
        after(lambda x, _: x + places(x.shape[1], x).flip(0)),
    ),
    # The batch.
    "a mean over the batch": (
        "each_sequence_alone",
        MIXED,
        after(lambda x, _: x + x.mean(0, keepdim=True)),
    ),
    "the sequence before": ("each_sequence_alone", MIXED, after(lambda x, _: x + x.roll(1, 0))),
    "positions along the batch": (
        "each_sequence_alone",
        "axis of the batch",
        after(lambda x, _: x + places(len(x), x)[:, None]),
    ),
    "divided by the batch": (
        "each_sequence_alone",
        "batch's size",
        after(lambda x, _: x + 5 * features(x) / len(x)),
    ),
    # The mode.
    "no mask in training": (
        "model_prefix",
        "in training, ",
        masked(lambda mask, given: mask * 0 if given["training"] else mask),
    ),
    "a mean over time in training": (
        "model_prefix",
        "in training, ",
        after(lambda x, training: x + x.mean((0, 1)) if training else x),
    ),
    "dropout in evaluation": (
        "model_twice",
        "dropout is on",
        after(lambda x, _: F.dropout(x, 0.1)),
    ),
    "the call before": ("model_twice", "two calls", remembers),
    # The cache.
    "positions begin at 0": ("cache_agrees", CACHE, positions(lambda read, new: 0)),
    "positions are one too far": ("cache_agrees", CACHE, positions(lambda read, new: read + 1)),
    "a prompt counts twice": (
        "cache_agrees",
        CACHE,
        positions(lambda read, new: read + read // 2),
    ),
    "the first token is forgotten": (
        "cache_agrees",
        CACHE,
        cached(lambda k, v, new: (k, v if v.shape[-2] == new else without_the_first(v))),
    ),
    "values are in another order": (
        "cache_agrees",
        CACHE,
        cached(lambda k, v, new: (k, v.flip(-2) if new == 1 else v)),
    ),
    "several new tokens without a mask": (
        "cache_agrees",
        CACHE,
        without_in(lambda t, n: 1 < t < n),
    ),
    "several new tokens at the upper left": ("cache_agrees", CACHE, masked(as_if_first)),
    # Padding.
    "padding is ignored": ("padding_is_hidden", "tokens that it hides", ignores_padding),
    "padding of the first alone": ("padding_is_hidden", "tokens that it hides", pads_the_first),
}
