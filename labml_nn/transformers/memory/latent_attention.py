r"""
---
title: Multi-Head Latent Attention
summary: All heads' keys and values are made from one short vector, and only that is remembered.
paper:
  title: "DeepSeek-V2: A Strong, Economical, and Efficient Mixture-of-Experts Language Model"
  authors: DeepSeek-AI
  year: 2024
  link: https://arxiv.org/abs/2405.04434
---

[Fewer heads of keys](grouped_query.py) make the memory of a model that writes smaller, and the
model worse. Here every head keeps a key and a value of its own. But they are made from a *latent*,
a vector $c_j$ of a few features which all heads share, and the latent is what is remembered:

$$
c_j = \operatorname{RMSNorm}(W^C x_j) \qquad K_{jh} = W^K_h c_j \qquad V_{jh} = W^V_h c_j
$$

To make the keys and values of the whole text anew for each token would be far too much work. It
isn't necessary. What is done to a key can be done to the query instead, once:

$$
Q_{ih} \cdot \left( W^K_h c_j \right) = \left( {W^K_h}^\top Q_{ih} \right) \cdot c_j
$$

In this *absorbed* form the latents themselves are keys, and values too: a mean of $W^V_h c_j$ is
$W^V_h$ times a mean of $c_j$. So a model that writes has multi-query attention over the latents.

[Rotary positions](../rotary.py) don't allow it. They would stand between $Q$ and $W^K$, and differ
for each pair of positions. So some features of the queries are turned, and meet one more key that
is the same for all heads. It is made from $x_j$ directly, turned and remembered (section 2.1.3).

The page leaves out that the paper's queries have a latent, too: that saves memory in training and
none in writing. Keys and values are equally wide here, but for the turned features.
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.kv_cache import last_rows_mask
from labml_nn.transformers.memory.grouped_query import cached_numbers
from labml_nn.transformers.mha import MultiHeadAttention, PrepareForMultiHeadAttention, causal_mask
from labml_nn.transformers.rms_norm import RMSNorm
from labml_nn.transformers.rotary import RotaryPositions


class LatentAttention(MultiHeadAttention):
    r"""
    ## Latent attention

    Called as [attention with many heads](../mha.py#MultiHeadAttention) is, for self-attention only:
    it counts positions from the first. Nothing has a bias.
    """

    def __init__(
        self,
        heads: int,
        d_model: int,
        dropout_prob: float = 0.1,
        *,
        d_latent: int,
        d_turned: int,
        max_len: int,
    ) -> None:
        r"""
        * `heads` is the number of heads, which must divide `d_model`
        * `d_model` is the number of features that come in and go out
        * `dropout_prob` is the probability that a weight is dropped
        * `d_latent` is the number of features of a latent
        * `d_turned` is the number of features that see positions, an even one
        * `max_len` is the number of positions
        """
        super().__init__(heads, d_model, dropout_prob, bias=False)
        if d_latent < 1 or d_turned < 2:
            raise ValueError(
                "d_latent must be at least 1 and d_turned at least 2, "
                f"got d_latent={d_latent} and d_turned={d_turned}"
            )
        self.d_latent, self.d_turned = d_latent, d_turned
        self.compress = nn.Linear(d_model, d_latent + d_turned, bias=False)
        self.norm = RMSNorm(d_latent)
        self.turn = RotaryPositions(d_turned, max_len)

        # Queries have the turned features besides; keys and values come from a latent now.
        self.query = PrepareForMultiHeadAttention(d_model, heads, self.d_k + d_turned, False)
        self.key = PrepareForMultiHeadAttention(d_latent, heads, self.d_k, False)
        self.value = PrepareForMultiHeadAttention(d_latent, heads, self.d_k, False)

    def ask(self, x: Tensor, offset: int = 0) -> tuple[Tensor, Tensor]:
        r"""
        ### Make queries

        Of the tokens from position `offset` on: the features that meet a head's own key,
        `[seq_len, batch_size, heads, d_k]`, and those that meet the shared one,
        `[seq_len, batch_size, heads, d_turned]`.
        """
        query = self.query(x) / math.sqrt(self.d_k + self.d_turned)
        own, turned = query.split([self.d_k, self.d_turned], dim=-1)
        return own, self.turn(turned, offset)

    def remember(self, x: Tensor, offset: int = 0) -> Tensor:
        r"""
        ### Make what is remembered

        The latent of each token and the key that all heads share, side by side:
        `[seq_len, batch_size, n_remembered]`.
        """
        latent, shared = self.compress(x).split([self.d_latent, self.d_turned], dim=-1)
        shared = self.turn(shared.unsqueeze(2), offset).squeeze(2)
        return torch.cat([self.norm(latent), shared], dim=-1)

    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        r"""
        ### Project to heads

        The way for learning, with all keys and values written out. A key and a value come from the
        same latent, so different tensors for them are a `ValueError`.
        """
        if key is not value:
            raise ValueError("keys and values have one latent: pass the same tensor for both")
        latent, shared = self.remember(key).split([self.d_latent, self.d_turned], dim=-1)
        shared = shared.unsqueeze(2).expand(-1, -1, self.key.heads, -1)
        key = torch.cat([self.key(latent), shared], dim=-1)
        return torch.cat(self.ask(query), dim=-1), key, self.value(latent)

    def weighted_mean(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
    ) -> Tensor:
        r"""
        ### Scores, softmax and mean

        Without features of zero, which make values as wide as keys, a CPU would have
        [no kernel](sdpa.py) for them.
        """
        value = F.pad(value, (0, self.d_turned))
        return super().weighted_mean(query, key, value, mask)[..., : self.d_k]

    @torch.no_grad()
    def decode(self, x: Tensor, room: tuple[Tensor, Tensor]) -> Tensor:
        r"""
        ### Attend with a cache, absorbed

        `x` are new positions, and so is the result: `[n_new, batch_size, d_model]`. The `room` is
        what [the cache](latent_attention.py#LatentCache.extend) has for this layer. In double
        precision the result is that of the whole text at once, but for rounding.
        """
        place, remembered = room
        n_new, n_keys = len(x), remembered.shape[1]
        place.copy_(self.remember(x, n_keys - n_new).transpose(0, 1))

        # The weights of the keys go to the query: `[n_new, batch_size, heads, d_latent]`.
        own, turned = self.ask(x, n_keys - n_new)
        of_keys = self.key.linear.weight.unflatten(0, (-1, self.d_k))
        absorbed = torch.einsum("ibhd,hdc->ibhc", own, of_keys)
        query = torch.cat([absorbed, turned], dim=-1)

        # One head of keys for all, which are the values as well. The shared key is no part of a
        # value: what becomes of it is cut off. `[n_keys, batch_size, 1, n_remembered]`
        key = remembered.transpose(0, 1).unsqueeze(2)
        mask = last_rows_mask(n_new, n_keys, x.device)[..., None, None] if n_new > 1 else None
        latent = super().weighted_mean(query, key, key, mask)[..., : self.d_latent]

        # The weights of the values come last: `[n_new, batch_size, heads, d_k]`.
        of_values = self.value.linear.weight.unflatten(0, (-1, self.d_k))
        mean = torch.einsum("ibhc,hdc->ibhd", latent, of_values)
        return self.output(mean.flatten(start_dim=2))


class LatentCache:
    r"""
    ## Memory for latents

    As [that for keys and values](../kv_cache.py#KeyValueCache), without heads, and one tensor
    instead of two.
    """

    def __init__(
        self,
        n_layers: int,
        batch_size: int,
        max_len: int,
        n_remembered: int,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        r"""
        * `n_layers`, `batch_size` and `max_len` are the numbers of layers, texts and positions
        * `n_remembered` is `d_latent` and `d_turned` together
        * `dtype` and `device` are those of the model
        """
        self.memory = torch.empty(
            n_layers, batch_size, max_len, n_remembered, dtype=dtype, device=device
        )
        self.filled = 0

    def extend(self, n_new: int) -> list[tuple[Tensor, Tensor]]:
        r"""
        ### Make room

        For each layer the place where the new positions go, `[batch_size, n_new, n_remembered]`,
        and all positions up to them, `[batch_size, n_keys, n_remembered]`.
        """
        n_keys, max_len = self.filled + n_new, self.memory.shape[2]
        if n_new < 1 or n_keys > max_len:
            raise ValueError(
                f"the cache has room for {max_len} positions, of which {self.filled} are "
                f"filled: {n_new} more can't be added"
            )
        room = [(layer[:, self.filled : n_keys], layer[:, :n_keys]) for layer in self.memory]
        self.filled = n_keys
        return room


def same_memory_in_groups(d_latent: int, d_turned: int, d_k: int) -> float:
    r"""
    ## What it saves

    How many heads of keys and values, $d_k$ wide, take as much memory for a token. The paper has
    128 heads of 128 features, a latent of 512 and 64 turned features: as much as 2.25 heads.
    """
    return (d_latent + d_turned) / cached_numbers(n_layers=1, key_heads=1, d_k=d_k)


def in_transformer(
    *, d_model: int, heads: int, seq_len: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    Latents have a quarter of the features of the model. Queries and keys see positions, so nothing
    is added to tokens.
    """
    sizes = {"d_latent": max(1, d_model // 4), "d_turned": 8, "max_len": seq_len}
    return {
        "self_attn": lambda: LatentAttention(heads, d_model, dropout_prob, **sizes),
        "positions": nn.Identity,
    }


def example(
    n_before: int = 7,
    n_new: int = 2,
    batch_size: int = 3,
    heads: int = 5,
    d_k: int = 11,
    d_latent: int = 13,
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    A text at once, and with a cache.
    """
    d_model, d_turned = heads * d_k, 4
    seq_len = n_keys = n_before + n_new
    n_remembered = d_latent + d_turned
    attention = LatentAttention(
        heads, d_model, 0.0, d_latent=d_latent, d_turned=d_turned, max_len=n_keys
    )
    x = torch.randn(seq_len, batch_size, d_model)
    whole = attention(query=x, key=x, value=x, mask=causal_mask(seq_len))

    cache = LatentCache(1, batch_size, n_keys, n_remembered)
    pieces = x.split([n_before, n_new])
    return whole, torch.cat(
        [attention.decode(piece, *cache.extend(len(piece))) for piece in pieces]
    )
