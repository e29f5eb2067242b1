r"""
---
title: Absorbed Latent Attention
summary: A model that writes attends to the latents themselves, and makes no key or value of them.
paper:
  title: "DeepSeek-V2: A Strong, Economical, and Efficient Mixture-of-Experts Language Model"
  authors: DeepSeek-AI
  year: 2024
  link: https://arxiv.org/abs/2405.04434
---

[Latent attention](latent_attention.py) caches a short latent $c_j$ for each token. To attend, it
makes keys and values of the latents, for every head. A model that writes would have to do that
again for its whole text with each new token. In each layer of the paper's model, keys and values of
128 heads of 128 features from a latent of 512 are $2 \cdot 128 \cdot 128 \cdot 512$, or 16.8
million, multiplications for each token of the text.

None of them is needed. What the key matrix does to each latent can be done to the query instead,
once, because a product of three matrices doesn't depend on the brackets:

$$
Q_{ih} \cdot \left( W^K_h c_j \right) = \left( {W^K_h}^\top Q_{ih} \right) \cdot c_j
$$

For example, the latent is $(1, 2)$, the matrix has the rows $(1, 0)$, $(1, 1)$ and $(0, 1)$, and
the query is $(1, 1, 1)$. The key is $(1, 3, 2)$, and the score $1 + 3 + 2 = 6$. Or: the query times
the matrix is $(2, 2)$, and the score $2 \cdot 1 + 2 \cdot 2 = 6$. The next latent is multiplied by
the same $(2, 2)$, and no key is made.

The query has *absorbed* the key matrix, and the latents themselves are the keys. They are the
values, too: the average of $W^V_h c_j$ is $W^V_h$ times the average of $c_j$.

$$
\sum_j A_{ijh} \left( W^V_h c_j \right) = W^V_h \sum_j A_{ijh} \, c_j
$$

[What one layer reads of the past for a new token, in millions of numbers: 128 heads of 128
features, or latents](../../../results/memory_drawings.json#figures.reading)

**In:** the new positions of a text, `[n_new, batch_size, d_model]`. **Out:** what latent attention
to the whole text returns for these positions.
"""

import torch
from torch import Tensor

from labml_nn.transformers.memory.latent_attention import LatentAttention
from labml_nn.transformers.mha import causal_mask


class AbsorbedLatentAttention(LatentAttention):
    r"""
    ## Absorbed latent attention

    It remembers what it has read, as [attention with a cache](../kv_cache.py#CachedAttention) does.
    """

    # Latents and shared keys of all positions so far; nothing has been read yet.
    cache: tuple[Tensor, Tensor] | None = None

    def forward(
        self, *, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        r"""
        `query` and the result are `[n_new, batch_size, d_model]`: the new positions only.
        """
        # The new positions come after those in the cache, and are rotated by larger angles.
        n_cached = 0 if self.cache is None else len(self.cache[0])
        query, rotated = self.get_queries(query, n_cached)
        latent, shared = self.get_latents(key, n_cached)

        # For the whole text: `[n_keys, batch_size, d_latent]` and `[n_keys, batch_size, d_rotary]`.
        if self.cache is not None:
            latent = torch.cat([self.cache[0], latent])
            shared = torch.cat([self.cache[1], shared])
        self.cache = latent, shared

        # Here a key would be made for each latent and each head. Instead the query is changed.
        # The rows of the key matrix belong to the heads, one head after the other: `[heads, d_k,
        # d_latent]`. A query is multiplied by the matrix of its head: `[n_new, batch_size, heads,
        # d_latent]`.
        key_matrix = self.key.linear.weight.unflatten(0, (self.heads, self.d_k))
        absorbed = torch.einsum("ibhd,hdc->ibhc", query, key_matrix)

        # The latents have no letter for the head: all heads look at the same ones. The positions
        # add their part as before. `[n_new, n_keys, batch_size, heads]`
        scores = torch.einsum("ibhc,jbc->ijbh", absorbed, latent)
        scores = scores + torch.einsum("ibhd,jbd->ijbh", rotated, shared)

        # The mask of new positions is the last rows of the causal one, with a column for each
        # position so far. A single new position sees all of them and needs no mask.
        if mask is not None:
            mask = self.prepare_mask(mask, query.shape, latent.shape)
        attn = self.get_weights(scores, mask)

        # First the average of the latents. Each head has its own, because its weights are its own:
        # `[n_new, batch_size, heads, d_latent]`.
        x = torch.einsum("ijbh,jbc->ibhc", attn, latent)

        # Then the value matrix, once for each new position and not for each key.
        value_matrix = self.value.linear.weight.unflatten(0, (self.heads, self.d_k))
        x = torch.einsum("ibhc,hdc->ibhd", x, value_matrix)

        # Heads side by side, and mixed, as in any attention: `[n_new, batch_size, d_model]`.
        return self.output(x.flatten(start_dim=2))


@torch.no_grad()
def example(
    n_read: int = 7,
    n_new: int = 3,
    batch_size: int = 11,
    heads: int = 5,
    d_latent: int = 13,
    n_pairs: int = 2,
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    The first positions of a text, and the others after them. The last rows of both results are
    equal.

    ### Positions, and the price

    Positions have a rotated key of their own because of this step. If the key itself were rotated,
    the rotation $R_{j-i}$ would stand between $Q$ and $W^K$. It differs for each distance, so every
    query would have to be absorbed once for each key.

    Compared with a cache of keys and values, absorbing costs multiplications. In the paper's model
    a score is a product of 512 + 64 = 576 features in place of 128 + 64 = 192. But each number that
    is read from the cache now serves 128 heads. It pays on our CPU, too: with 16 heads of 32
    features and latents of 64, a token after 1,024 others takes a layer about 0.6 milliseconds. It
    takes 2.5 with a [cache of keys and values](../kv_cache.py), and 3 if keys and values are made
    of the latents anew.

    ### Exercises

    ??? question "How wide are the absorbed query and the average of the latents?"
        Both have `d_latent` features, for each head. So both are wider than an ordinary head if the
        latent is wider than `d_k`.

    ??? question "What if keys had a bias?"
        It would add $Q \cdot b$ to every score of a query. The softmax doesn't see a number that is
        added to all scores, so it could be left out.

    ??? question "The shared key is made of $x_j$. Could it be made of the latent?"
        Yes. It is cached after the rotation, and where it came from doesn't matter.
    """
    # Pairs of features are rotated, so their number is even.
    d_k = 3 * n_pairs
    d_rotary = 2 * n_pairs
    d_model = heads * d_k
    n_keys = n_read + n_new
    sizes = {"d_latent": d_latent, "d_rotary": d_rotary, "max_len": n_keys}

    # The same parameters in both forms. Nothing has to be converted: to absorb is to compute in
    # another order.
    written_out = LatentAttention(heads, d_model, 0.0, **sizes)
    absorbed = AbsorbedLatentAttention(heads, d_model, 0.0, **sizes)
    absorbed.load_state_dict(written_out.state_dict())

    # The second call sees seven positions of the cache, and three new ones.
    x = torch.randn(n_keys, batch_size, d_model)
    mask = causal_mask(n_keys)
    old, new = x.split([n_read, n_new])
    absorbed(query=old, key=old, value=old, mask=mask[:n_read, :n_read])
    new = absorbed(query=new, key=new, value=new, mask=mask[n_read:])
    return written_out(query=x, key=x, value=x, mask=mask), new
