r"""
---
title: The Fast Way Through Attention
summary: One kernel for long sequences and for cards, three plain products for short ones on a CPU.
paper:
  title: "FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness"
  authors: Dao et al.
  year: 2022
  link: https://arxiv.org/abs/2205.14135
---

There are two ways to compute the mean that [attention](mha.py) takes, and they come to the same:

* **The kernel.** PyTorch has one that works through the scores in blocks and holds none of them for
  longer than a block takes. Memory grows with the length, not with its square.
* **Plain.** A product, a softmax and another product. The scores are all there at once.

On a graphics card the kernel always wins. On a CPU it depends: in `float32` it wins too, but in
`bfloat16` plain products are faster until sequences are some hundred long. The page leaves the
choice open; who trains can [measure it](../training/speed.py).

The layout is the one that the kernel wants, with the batch and the heads first. From the site's,
with the sequence first, it is a permutation of axes, and no number moves.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

# PyTorch's kernel knows of groups of heads since its version 2.5.
KERNEL_HAS_GROUPS = torch.__version__ >= (2, 5)


def mean_of_values(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    allowed: Tensor | None,
    dropout_prob: float = 0.0,
    kernel: bool = True,
) -> Tensor:
    r"""
    ## The weighted mean of the values

    The query is `[batch_size, heads, seq_len_q, d_k]`, and its scale is its own business: nothing
    is divided by $\sqrt{d_k}$ here. Key and value are `[batch_size, heads, seq_len_k, d_k]`; with
    fewer heads, each serves a [group](memory/grouped_query.py) of neighbouring ones of the query.
    `allowed` is true where a query may attend to a key, or it is numbers that are added to the
    scores; it has four axes, of which those of the batch and the heads may have length one. The
    result has the shape of the query.
    """
    if query.shape[1] != key.shape[1] and not (kernel and KERNEL_HAS_GROUPS):
        # Written out for each head of queries.
        n_queries = query.shape[1] // key.shape[1]
        key, value = (t.repeat_interleave(n_queries, dim=1) for t in (key, value))

    # The causal mask is better named than given: then what it hides is never computed.
    if kernel:
        causal = allowed is not None and is_causal(allowed)
        given = None if causal else allowed
        return from_kernel(query, key, value, given, dropout_prob, causal)

    # Minus infinity, added, makes a weight of zero. `[batch_size, heads, seq_len_q, seq_len_k]`
    scores = query @ key.mT
    if allowed is not None:
        scores = scores + bias_of(allowed, scores.dtype)
    weights = scores.softmax(dim=-1)
    if dropout_prob:
        weights = F.dropout(weights, dropout_prob)

    # Under autocast the softmax may have come out in 32 bits.
    return weights.to(value.dtype) @ value


def causal_mean(
    query: Tensor, key: Tensor, value: Tensor, allowed: Tensor, kernel: bool = True
) -> Tensor:
    r"""
    ## When each position sees what came before

    The same, where `allowed` is the causal mask and nothing else. The kernel needs no mask then,
    and leaves out the blocks of the future. On a card PyTorch takes FlashAttention only so,
    because that knows of no other mask.
    """
    if not kernel:
        return mean_of_values(query, key, value, allowed, kernel=False)
    return from_kernel(query, key, value, None, 0.0, causal=True)


def from_kernel(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    given: Tensor | None,
    dropout_prob: float,
    causal: bool,
) -> Tensor:
    r"""
    ## Ask the kernel

    With a mask that is `given`, or with the causal one, or with none.
    """
    # On a CPU, 32 bits are faster than 16, and autocast would make 16 of them again. What is
    # normalised has 32 already, and the kernel wants one type.
    narrow = 2 in (query.element_size(), key.element_size(), value.element_size())
    wide = query.device.type == "cpu" and narrow
    q, k, v = (t.float() if wide else t for t in (query, key, value))
    if given is not None and given.is_floating_point():
        given = given.to(q.dtype)
    groups = {"enable_gqa": True} if q.shape[1] != k.shape[1] else {}
    with torch.autocast("cpu", enabled=False):
        mean = F.scaled_dot_product_attention(
            q, k, v, given, dropout_prob, is_causal=causal, scale=1.0, **groups
        )
    return mean.to(value.dtype)


def bias_of(allowed: Tensor, dtype: torch.dtype) -> Tensor:
    r"""
    ## From a mask to something that can be added

    Zero where `allowed`, minus infinity elsewhere. A mask is small beside the scores of all heads,
    and adding is the quickest that can be done to those. Numbers can be added as they are.
    """
    if allowed.is_floating_point():
        return allowed.to(dtype)
    return torch.zeros(allowed.shape, dtype=dtype, device=allowed.device).masked_fill(
        ~allowed, -math.inf
    )


def can_look(mask: Tensor) -> bool:
    r"""
    ## May its numbers decide what is done?

    On a CPU, yes. A card would have to be waited for, and who compiles or traces a function wants
    one that is right for any mask.
    """
    followed = torch.compiler.is_compiling() or torch.jit.is_tracing()
    return type(mask) is Tensor and mask.device.type == "cpu" and not followed


def is_causal(allowed: Tensor) -> bool:
    r"""
    ## Recognise the causal mask

    A mask has as many numbers as one head has scores, so to look at it is cheap beside computing
    these. `allowed` is as above. The answer is no, too, where
    [one can't look](fast_attention.py#can_look); then the result is the same, and takes longer.
    """
    n_queries, n_keys = allowed.shape[-2:]
    for_all = allowed.numel() == n_queries * n_keys and allowed.dtype == torch.bool
    if not for_all or n_queries != n_keys or not can_look(allowed):
        return False
    causal = torch.ones(n_queries, n_keys, dtype=torch.bool).tril_()
    return torch.equal(allowed[0, 0], causal)


def example(
    d_k: int = 2, batch_size: int = 3, heads: int = 5, seq_len_q: int = 7, seq_len_k: int = 11
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    Both ways, and the one without a mask.
    """
    query = torch.randn(batch_size, heads, seq_len_q, d_k)
    key, value = torch.randn(2, batch_size, heads, seq_len_k, d_k)
    allowed = torch.ones(1, 1, seq_len_q, seq_len_k, dtype=torch.bool).tril(seq_len_k - seq_len_q)
    return (
        mean_of_values(query, key, value, allowed),
        mean_of_values(query, key, value, allowed, kernel=False),
        causal_mean(query, key[:, :, :seq_len_q], value[:, :, :seq_len_q], allowed),
    )
