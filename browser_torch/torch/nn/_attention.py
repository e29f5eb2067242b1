r"""Attention."""

import math

from torch._autocast import Precision
from torch._dtypes import bool_, c_name, float32
from torch._joining import cat
from torch._memory import Operation, bits, run
from torch._products import linear
from torch._raw import filled
from torch._raw import matmul as raw_matmul
from torch._tape import Mode, record
from torch._tensor import Tensor, alias_of, view_of
from torch.nn._activations import dropout


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    r"""Attention, with zeros where a query sees nothing."""
    for name, one in (("query", query), ("key", key), ("value", value)):
        if not isinstance(one, Tensor):
            raise TypeError(
                f"scaled_dot_product_attention(): argument '{name}' must be Tensor, not "
                f"{type(one).__name__}"
            )
        if len(one.shape) < 2:
            raise RuntimeError("Expected query, key, and value to all be at least 2 dimensional")
    if not query.dtype is key.dtype is value.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{c_name(query.dtype)} key.dtype: {c_name(key.dtype)} and value.dtype: "
            f"{c_name(value.dtype)} instead."
        )
    if attn_mask is not None and is_causal:
        raise RuntimeError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
            "is_causal=True"
        )
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    if attn_mask is None and dropout_p == 0 and _is_plain(query, key, value):
        return _by_kernels(query, key, value, scale, is_causal)
    if enable_gqa:
        heads = query.shape[-3]
        key = key.repeat_interleave(heads // key.shape[-3], -3)
        value = value.repeat_interleave(heads // value.shape[-3], -3)
    scores = query @ key.transpose(-2, -1) * scale
    if is_causal:
        attn_mask = filled(scores.shape[-2:], True, bool_).tril()
    if attn_mask is None:
        return dropout(scores.softmax(-1), dropout_p) @ value
    if attn_mask.dtype is bool_:
        hidden = ~attn_mask
        scores = scores.masked_fill(hidden, -math.inf)
        blind = hidden.all(-1, keepdim=True)
    else:
        if attn_mask.dtype is not query.dtype and attn_mask.dtype is not float32:
            raise RuntimeError(
                "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
                f"attn_mask.dtype: {c_name(attn_mask.dtype)} and  query.dtype: "
                f"{c_name(query.dtype)} instead."
            )
        scores = scores + attn_mask
        blind = (scores.detach() == -math.inf).all(-1, keepdim=True)
    weights = scores.softmax(-1).masked_fill(blind, 0)
    return dropout(weights, dropout_p) @ value


def _is_plain(query: Tensor, key: Tensor, value: Tensor) -> bool:
    r"""Whether one operation can do it: in single precision, of shapes that fit."""
    if query.dtype is not float32 or Precision.dtype is not None:
        return False
    q, k, v = tuple(query.shape), tuple(key.shape), tuple(value.shape)
    fits = q[:-2] == k[:-2] == v[:-2] and q[-1] == k[-1] and k[-2] == v[-2]
    return fits and 0 not in q and 0 not in k and 0 not in v


def _by_kernels(query: Tensor, key: Tensor, value: Tensor, scale: float, is_causal: bool) -> Tensor:
    r"""Attention as one operation of the graph."""
    q, k, v = alias_of(query), alias_of(key), alias_of(value)
    weights = raw_matmul(q, _turned(k))
    axis = len(weights.shape) - 1
    factor = bits(float(scale))
    numbers = (0, axis, factor, weights.shape[-2]) if is_causal else (0, axis, factor)
    run(Operation.SOFTMAX, numbers, weights, weights)

    def backward(gradient: Tensor) -> list[Tensor | None]:
        if Mode.grad:
            return _again(query, key, value, gradient, scale, is_causal)
        of_value = raw_matmul(_turned(weights), gradient) if need[2] else None
        of_query = of_key = None
        if need[0] or need[1]:
            of_scores = raw_matmul(gradient, _turned(v))
            run(Operation.SOFTMAX_BACKWARD, (0, axis, factor), of_scores, weights, of_scores)
            of_query = raw_matmul(of_scores, k) if need[0] else None
            of_key = raw_matmul(_turned(of_scores), q) if need[1] else None
        return [of_query, of_key, of_value]

    inputs = (query, key, value)
    need = [one.requires_grad for one in inputs]
    out = raw_matmul(weights, v)
    return record(out, inputs, backward, "ScaledDotProductFlashAttentionForCpu", inputs)


def _turned(matrices: Tensor) -> Tensor:
    r"""The transposes, in the same memory."""
    *shape, rows, columns = matrices.shape
    *strides, down, right = matrices._strides
    return view_of(matrices, (*shape, columns, rows), (*strides, right, down), matrices._offset)


def _again(
    query: Tensor, key: Tensor, value: Tensor, gradient: Tensor, scale: float, is_causal: bool
) -> list[Tensor | None]:
    r"""The gradients by operations that have derivatives themselves."""
    weights_of = query @ key.transpose(-2, -1) * scale
    if is_causal:
        seen = filled(weights_of.shape[-2:], True, bool_).tril()
        weights_of = weights_of.masked_fill(~seen, -math.inf)
    weights = weights_of.softmax(-1)
    of_weights = gradient @ value.transpose(-2, -1)
    mean = (of_weights * weights).sum(-1, keepdim=True)
    of_scores = weights * (of_weights - mean) * scale
    turned = of_scores.transpose(-2, -1)
    return [of_scores @ key, turned @ query, weights.transpose(-2, -1) @ gradient]


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    r"""What `nn.MultiheadAttention` computes, the sequence first; and its weights if wanted."""
    batched = _check_inputs(query, key, value, key_padding_mask, attn_mask, num_heads)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer "
            "module method `generate_square_subsequent_mask` to create this mask."
        )
    if not batched:
        query, key, value = (one.unsqueeze(1) for one in (query, key, value))
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    seq_len, batch_size, width = query.shape
    if width != embed_dim_to_check:
        raise AssertionError(
            f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}"
        )
    head_dim = width // num_heads
    if head_dim * num_heads != width:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        if tuple(key.shape[:2]) != tuple(value.shape[:2]):
            raise AssertionError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's "
                f"{value.shape[:2]}"
            )
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
    else:
        if key.shape != value.shape:
            raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
        weights = in_proj_weight.chunk(3)
    biases = (None,) * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
    q, k, v = (
        linear(one, weight, bias)
        for one, weight, bias in zip((query, key, value), weights, biases, strict=True)
    )
    if bias_k is not None and bias_v is not None:
        k = cat([k, bias_k.expand(1, batch_size, width)])
        v = cat([v, bias_v.expand(1, batch_size, width)])

    def heads(one: Tensor) -> Tensor:
        return one.reshape(one.shape[0], batch_size, num_heads, head_dim).permute(1, 2, 0, 3)

    q = heads(q)
    k = heads(k)
    v = heads(v)
    if static_k is not None:
        k = static_k.view(batch_size, num_heads, *static_k.shape[1:])
    if static_v is not None:
        v = static_v.view(batch_size, num_heads, *static_v.shape[1:])
    if add_zero_attn:
        zeros = filled((batch_size, num_heads, 1, head_dim), 0, q.dtype)
        k = cat([k, zeros], 2)
        v = cat([v, zeros], 2)
    scores = q @ k.transpose(-2, -1) / math.sqrt(head_dim)
    # Keys that were added at the end are seen by all.
    for mask in (attn_mask, key_padding_mask):
        if mask is None:
            continue
        if mask is key_padding_mask:
            wide = mask[:, None, None]
        else:
            wide = mask if len(mask.shape) == 2 else mask.unflatten(0, (batch_size, num_heads))
        known = wide.shape[-1]
        parts = scores.split([known, scores.shape[-1] - known], -1)
        scores = cat([_masked(parts[0], wide), parts[1]], -1)
    attention = scores.softmax(-1)
    if not need_weights:
        blind = (scores.detach() == -math.inf).all(-1, keepdim=True)
        attention = attention.masked_fill(blind, 0)
    attention = dropout(attention, dropout_p, training)
    joined = (attention @ v).permute(2, 0, 1, 3).reshape(seq_len * batch_size, width)
    out = linear(joined, out_proj_weight, out_proj_bias).view(seq_len, batch_size, -1)
    out = out if batched else out.squeeze(1)
    if not need_weights:
        return out, None
    shown = attention.mean(1) if average_attn_weights else attention
    return out, shown if batched else shown.squeeze(0)


def _masked(scores: Tensor, mask: Tensor) -> Tensor:
    r"""True hides, for a mask of bools; numbers are added."""
    if mask.dtype is bool_:
        return scores.masked_fill(mask, -math.inf)
    return scores + mask


def _check_inputs(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None,
    attn_mask: Tensor | None,
    heads: int,
) -> bool:
    r"""Whether there is a batch; AssertionError if the axes of the arguments don't fit."""
    axes = len(query.shape)
    if axes not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {axes}-D query tensor"
        )
    kind = "batched (3-D)" if axes == 3 else "unbatched (2-D)"
    if len(key.shape) != axes or len(value.shape) != axes:
        raise AssertionError(
            f"For {kind} `query`, expected `key` and `value` to be {axes}-D but found "
            f"{len(key.shape)}-D and {len(value.shape)}-D tensors respectively"
        )
    if key_padding_mask is not None and len(key_padding_mask.shape) != axes - 1:
        raise AssertionError(
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {axes - 1}-D but "
            f"found {len(key_padding_mask.shape)}-D tensor instead"
        )
    if attn_mask is None:
        return axes == 3
    if len(attn_mask.shape) not in (2, 3):
        raise AssertionError(
            f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found "
            f"{len(attn_mask.shape)}-D tensor instead"
        )
    wanted = (query.shape[0], key.shape[0])
    if len(attn_mask.shape) == 3:
        wanted = (heads * (query.shape[1] if axes == 3 else 1), *wanted)
    if tuple(attn_mask.shape) != wanted:
        raise RuntimeError(
            f"The shape of the {len(attn_mask.shape)}D attn_mask is {attn_mask.shape}, but should "
            f"be {wanted}."
        )
    return axes == 3
