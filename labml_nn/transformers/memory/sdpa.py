r"""
---
title: What PyTorch's Kernel Computes
summary: The function behind fast attention, spelled out, and the backends that may compute it.
---

PyTorch's “scaled_dot_product_attention” is one function with several *backends*. All of them
compute the mean of the values that [attention](../mha.py) takes; what differs is what they hold
in memory, and what they can be given.

* **Math** makes plain products, a softmax between them, and holds all scores. It takes everything.
* **Flash** works in [tiles](flash.py) and never holds the scores. It is for graphics cards and, in
  a form of its own, for CPUs.
* **Memory-efficient** is another kernel in tiles for cards, and takes more kinds of masks.
* **cuDNN** is that of the library of this name, for newer cards.

It chooses by itself, from the device, the shapes and the type of the numbers, and doesn't say. So a
small change can cost a lot of memory: on a CPU, values that are not as wide as the keys are
enough to leave the tiles.

Keys and queries have the batch first here, `[batch_size, heads, seq_len_q, d_k]`. The page leaves
out dropout. The way from the site's layout into the function is on
[another page](../fast_attention.py).
"""

import math
import warnings

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel


def spelled_out(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    r"""
    ## The function, spelled out

    The arguments have PyTorch's names and order, and its meaning:

    * `query` is `[batch_size, heads, seq_len_q, d_k]`
    * `key` is `[batch_size, heads, seq_len_k, d_k]`, or has fewer heads if `enable_gqa` is set
    * `value` may have another width than the key
    * `attn_mask` is true where a query *may* look, if it is boolean. Numbers are added to the
      scores. PyTorch's “MultiheadAttention” takes the opposite: there true means hidden.
    * `is_causal` hides the future. The first query stands at the first key, whatever the lengths
    * `scale` is what scores are multiplied with, $1/\sqrt{d_k}$ unless it is given

    The result is as long as the query and as wide as the value.
    """
    if is_causal and attn_mask is not None:
        raise ValueError(
            f"is_causal makes a mask of its own, got one of shape {list(attn_mask.shape)}"
        )
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], dim=-3)
        value = value.repeat_interleave(query.shape[-3] // value.shape[-3], dim=-3)

    # All scores at once: `[batch_size, heads, seq_len_q, seq_len_k]`.
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(~attn_mask, -math.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask

    # Where nothing is visible the softmax is 0/0. The PyTorch of today gives zero there, and so
    # does this, with gradients of zero: only finite numbers take part.
    idle = (scores == -math.inf).all(dim=-1, keepdim=True)
    weights = scores.masked_fill(idle, 0.0).softmax(dim=-1)
    return weights.masked_fill(idle, 0.0) @ value


def what_a_new_token_sees(n_keys: int) -> Tensor:
    r"""
    ## The trap of the corner

    With a [cache](../kv_cache.py) there is one query, that of the newest token, and all keys. It
    should see everything. But the causal mask begins in the corner at the *top left*, so the
    newest token stands at the first key and sees that one alone. Nothing fails; what the model
    writes gets worse. The result are its weights, `[n_keys]`: no mask is right for a single query,
    and [the last rows](../kv_cache.py#last_rows_mask) for several.
    """
    query, key = torch.zeros(1, 1, 1, 1), torch.zeros(1, 1, n_keys, 1)
    values = torch.eye(n_keys).expand(1, 1, -1, -1)
    return F.scaled_dot_product_attention(query, key, values, is_causal=True).flatten()


def each_backend(
    query: Tensor, key: Tensor, value: Tensor, is_causal: bool = False
) -> dict[str, Tensor]:
    r"""
    ## Which backends run here?

    The results of those that take this input on this machine. When only one is allowed and it
    can't, PyTorch warns why, and raises an error.
    """
    found = {}
    for backend in (
        SDPBackend.MATH,
        SDPBackend.FLASH_ATTENTION,
        SDPBackend.EFFICIENT_ATTENTION,
        SDPBackend.CUDNN_ATTENTION,
    ):
        with sdpa_kernel(backend), warnings.catch_warnings(action="ignore"):
            try:
                result = F.scaled_dot_product_attention(query, key, value, is_causal=is_causal)
            except RuntimeError:
                continue
        found[backend.name] = result
    return found


def example(
    seq_len_q: int = 7,
    seq_len_k: int = 11,
    batch_size: int = 3,
    heads: int = 5,
    d_k: int = 2,
    n_keys: int = 13,
) -> tuple[Tensor | dict[str, Tensor], ...]:
    r"""
    ## Example

    Spelled out, and what this machine's backends make of the same.
    """
    query = torch.randn(batch_size, heads, seq_len_q, d_k)
    key, value = torch.randn(2, batch_size, heads, seq_len_k, d_k)
    mean = spelled_out(query, key, value, is_causal=True)
    return mean, each_backend(query, key, value, is_causal=True), what_a_new_token_sees(n_keys)
