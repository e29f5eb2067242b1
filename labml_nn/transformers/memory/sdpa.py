r"""
---
title: What PyTorch's Kernel Computes
summary: F.scaled_dot_product_attention spelled out, the trap in it, and the backends behind it.
---

[Fused attention](../fused_attention.py) calls “F.scaled_dot_product_attention”. Two of the
function's arguments are easy to get wrong, and all shapes stay right. Take one new token and four
keys in a cache, all with the same score. The token should give each key a weight of 0.25. With
`is_causal=True` the weights are 1, 0, 0 and 0: the flag puts the first query at the first key. And
in its mask true means *may look*, while in that of “MultiheadAttention” true means *hidden*. So
here is what the function computes, spelled out.

**In:** query, key and value with the batch first, `[batch_size, heads, seq_len_q, d_k]`.
**Out:** the averages of the values, in the same shape.

The function has several *backends*. All compute the same, up to rounding. They differ in what they
hold in memory, and in what they accept:

* **Math** is the plain code below. It holds all scores, runs everywhere, and takes over most of
  what the others refuse.
* **Flash** works in [tiles](flash.py) and never holds all scores. It is for GPUs and, in a form of
  its own, for CPUs.
* **Memory-efficient** is another kernel in tiles for GPUs, which accepts more kinds of masks.
* **cuDNN** is the kernel of the library of this name, for newer GPUs.

PyTorch chooses one by device, types, shapes and mask, and doesn't say which. So a small change can
cost much memory: on a CPU, values that are not as wide as the keys are enough to get the math
backend. The page leaves out dropout.
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
    ## Scaled dot-product attention, spelled out

    The arguments have PyTorch's names and order:

    * `query` is `[batch_size, heads, seq_len_q, d_k]`
    * `key` and `value` are as long as each other. With `enable_gqa` they may have [fewer
      heads](grouped_query.py)
    * `attn_mask` is true where a query *may* look, if it is boolean. Numbers are added to the
      scores. In PyTorch's “MultiheadAttention” true means *hidden*
    * `is_causal` hides the future, with the first query at the first key. Give it or a mask: here
      it would replace the mask. On a CPU, PyTorch's math backend refuses both, and flash combines
      them
    * `scale` multiplies the scores; it is $1/\sqrt{d_k}$ unless you give one
    """
    # Each head of keys serves a group of neighbouring heads of queries.
    if enable_gqa:
        # How many heads of queries share one head of keys: neighbours, as in trained models.
        group = query.shape[1] // key.shape[1]
        key = key.repeat_interleave(group, dim=1)
        value = value.repeat_interleave(group, dim=1)

    # All scores at once: `[batch_size, heads, seq_len_q, seq_len_k]`. The scale is that of
    # [multi-head attention](../mha.py#MultiHeadAttention.forward).
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)

    # The diagonal begins at the top left, even if there are more keys than queries: query 0 sees
    # key 0. See the trap below.
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()

    # False hides: the score becomes minus infinity, and the weight zero. Numbers are added to the
    # scores. Of those, only minus infinity hides a key whatever the other scores are.
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(~attn_mask, -math.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask

    # A softmax over nothing but minus infinity would be 0/0. The smallest finite number gives equal
    # weights instead, which then become zero: a query that may look at nothing gets zero.
    hidden = scores == -math.inf
    weights = scores.masked_fill(hidden, torch.finfo(scores.dtype).min).softmax(dim=-1)
    return weights.masked_fill(hidden, 0) @ value


def weights_of_newest_query(n_keys: int) -> Tensor:
    r"""
    ## The trap in `is_causal`

    With a [cache](../kv_cache.py) there is one query, that of the newest token, and the keys of the
    whole text. It should see all of them. But the causal flag puts the first query at the first
    key, so it sees that one alone. Its weights are `[n_keys]`: for four keys, 1, 0, 0, 0.

    [What three new queries see of six keys, with the flag and with the right
    mask](../../../results/memory_drawings.json#figures.trap)

    The right mask for new tokens is the [last rows](../kv_cache.py#CachedAttention.prepare_mask) of
    the causal one. For a single token that is a row of true, so no mask is needed. [This
    trap](../mistakes/decoding.py#CausalFromTheTop) and [the mask the wrong way
    round](../mistakes/masks.py#MaskInverted) are both in the museum of mistakes. [One
    call](../../../wrongline/attention_tests.py) tests your own attention for them.
    """
    # One query with all its scores zero, so the weights are equal wherever it may look. What
    # differs is then what it may look at.
    query = torch.zeros(1, 1, 1, 1)
    key = torch.zeros(1, 1, n_keys, 1)

    # Values of zeros and a single one turn the average into the weights themselves.
    values = torch.eye(n_keys).expand(1, 1, -1, -1)
    return F.scaled_dot_product_attention(query, key, values, is_causal=True).flatten()


def each_backend(query: Tensor, key: Tensor, value: Tensor, is_causal: bool) -> dict[str, Tensor]:
    r"""
    ## Backends of this machine

    The results of all backends that accept this input here.
    """
    # Which of them accept the input is found out by trying.
    found = {}

    # Each is allowed alone, so that the result is surely its own. Those for GPUs are tried, too,
    # and refuse on a CPU.
    for backend in (
        SDPBackend.MATH,
        SDPBackend.FLASH_ATTENTION,
        SDPBackend.EFFICIENT_ATTENTION,
        SDPBackend.CUDNN_ATTENTION,
    ):
        # If only one is allowed and it can't, PyTorch raises an error. It may say why in warnings,
        # which we don't show.
        with sdpa_kernel(backend), warnings.catch_warnings(action="ignore"):
            try:
                result = F.scaled_dot_product_attention(query, key, value, is_causal=is_causal)

            # It has no kernel for this device, this type or this mask.
            except RuntimeError:
                continue

        # They differ by rounding alone: in the order in which they add, and in more. On a CPU, math
        # divides the weights by their sum, and flash multiplies the finished average by one over
        # the sum. So even with two keys, where no order matters, the last digit may differ.
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

    Spelled out, and what the backends of this machine make of the same.

    ### Exercises

    ??? question "Two queries, four keys, `is_causal`: write the mask."
        `1 0 0 0` and `1 1 0 0`. With a cache it should be `1 1 1 0` and `1 1 1 1`.

    ??? question "You pass the mask for “MultiheadAttention” instead. What does a causal model see?"
        Its attention sees the future and nothing else. The next token is the answer, so the loss
        looks wonderful, and when the model writes there is no next token.

    ??? question "A mask of the numbers 0 and 1 hides nothing. What does it do?"
        It is added to the scores. Beside a key where it is 0, one where it is 1 counts $e$ times as
        much as it would without the mask. (A mask of 1 everywhere does nothing.)
    """
    # More keys than queries, so that it matters where the diagonal of the causal mask begins.
    # Batch and heads come first: a kernel computes each head of each sequence on its own.
    query = torch.randn(batch_size, heads, seq_len_q, d_k)
    key, value = torch.randn(2, batch_size, heads, seq_len_k, d_k)

    # The same from each, up to rounding.
    mean = spelled_out(query, key, value, is_causal=True)
    return mean, each_backend(query, key, value, True), weights_of_newest_query(n_keys)
