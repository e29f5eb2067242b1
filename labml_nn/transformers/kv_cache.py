r"""
---
title: Key and Value Cache
summary: A model that writes keeps the keys and values of its text, and computes only what is new.
paper:
  title: "Fast Transformer Decoding: One Write-Head is All You Need"
  authors: Noam Shazeer
  year: 2019
  link: https://arxiv.org/abs/1911.02150
terms:
  key and value cache (KV cache): Keys and values of the text so far, kept for the next tokens.
---

[A model that writes](../training/sampling.py) gets its own text back, one token longer each time,
and computes all of it again. After “t” it computes one position, after “th” two, after “the” three:
six in all, though the text has three. For 1,024 tokens it computes 524,800 positions instead of
1,024.

All but the last position of each call have been computed before, with the same result. Under a
[causal mask](mha.py#causal_mask) no position sees a later one, and “e” changes nothing that the
layers have computed for “t” and “h”. What “e” needs of them is a key and a value in each layer. If
the model keeps these two, it computes one position for each token (section 2.4 of the paper,
“incremental” attention).

**In:** the text so far, `[n_keys, batch_size]`. **Out:** the logits of its new positions,
`[n_new, batch_size, n_vocab]`, the same as without a cache.

[What one more token costs, in the small transformer with a context of
1,024](../../results/kv_cache.json#tables.tokens)

With a cache a token still costs more in a longer text: attention reads every key and every value,
and this program also copies them. And the cache takes memory: a key and a value for each token in
each layer. For the [small transformer](basic/autoregressive_experiment.py), with 4 layers of 128
features in 32 bits, that is 2 · 4 · 128 · 4 = 4,096 bytes a token.
"""

import torch
from torch import Tensor

from labml_nn.transformers.basic.autoregressive_experiment import AutoregressiveTransformer
from labml_nn.transformers.mha import MultiHeadAttention, PrepareForMultiHeadAttention


class CachedProjection(PrepareForMultiHeadAttention):
    r"""
    ## The cache

    A [projection to heads](mha.py#PrepareForMultiHeadAttention) that remembers. It gets the new
    positions only, and returns the keys (or values) of all positions so far.
    """

    def __init__(self, d_model: int, heads: int, d_k: int, bias: bool) -> None:
        r"""
        The arguments are those of the projection.
        """
        super().__init__(d_model, heads, d_k, bias)

        # No parameter and no buffer: a cache belongs to a text, and isn't saved with the weights.
        self.cache: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        r"""
        From the new positions, `[n_new, batch_size, d_model]`, to all keys so far,
        `[n_keys, batch_size, heads, d_k]`.
        """
        # The keys of the new positions: after “th”, that of “e”.
        x = super().forward(x)

        # The keys of earlier positions, “t” and “h”, go before them. Each `cat` copies them; a
        # program for long texts makes the memory for all positions at once.
        if self.cache is not None:
            x = torch.cat([self.cache, x])
        self.cache = x
        return x


class CachedAttention(MultiHeadAttention):
    r"""
    ## Attention with a cache

    [Multi-head attention](mha.py#MultiHeadAttention) with two projections that remember. Queries
    need no cache: the query of a position is used once, by that position.
    """

    def __init__(
        self, heads: int, d_model: int, dropout_prob: float = 0.1, bias: bool = True
    ) -> None:
        r"""
        The arguments are those of multi-head attention.
        """
        super().__init__(heads, d_model, dropout_prob, bias)

        # The parameters have the same names and shapes as before, so trained weights fit.
        self.key = CachedProjection(d_model, heads, self.d_k, bias)
        self.value = CachedProjection(d_model, heads, self.d_k, bias)

    def prepare_mask(self, mask: Tensor, query_shape: torch.Size, key_shape: torch.Size) -> Tensor:
        r"""
        ### Mask

        There are fewer queries than keys, and the queries are the *last* positions of the text. So
        their mask is the last rows of the causal one. Two new positions after three old ones:

        ```
        1 1 1 1 0
        1 1 1 1 1
        ```

        [Attention weights: the first call computed three rows, the second the last
        two](../../results/drawings.json#figures.pieces)

        A single new position sees everything. If its row were taken from the top left instead, it
        would see the first key and nothing else. That raises no error; the text just gets worse.
        """
        # The attention is called with the new positions only. The other keys are in its cache, and
        # the mask has columns for them, too. In the first call the cache is empty.
        n_cached = 0 if self.key.cache is None else len(self.key.cache)
        key_shape = torch.Size([n_cached + key_shape[0], *key_shape[1:]])
        return super().prepare_mask(mask, query_shape, key_shape)


class CachedTransformer(AutoregressiveTransformer):
    r"""
    ## The model with a cache

    Load the weights of a trained [model](basic/autoregressive_experiment.py), and
    [generate](../training/sampling.py#generate) with this one in its place. The call is the same:
    it takes the whole text, and finds out which of it is new.

    ### When the window is full

    A model has `seq_len` positions. When the text gets longer, the window moves on by one token at
    each step. Every token in it then has another position than before, and another key in the first
    layer and in all layers above. The cache is of no use any more, and this model reads the whole
    window for each token, as without a cache. To do better, a model needs positions that only count
    [distances](rotary.py), and a [window in each layer](memory/sliding_window.py).
    """

    def __init__(self, *sizes: int) -> None:
        r"""
        * `sizes` are the arguments of the model, from `n_vocab` to `seq_len`. Leave out its dropout,
          which is 0 then: this model is for writing
        """
        super().__init__(*sizes, attention=CachedAttention)

        # Nothing is read yet.
        self.clear()

    def clear(self) -> None:
        r"""
        ### Forget the text

        Do this after loading other weights: the caches still hold the keys of the old ones.
        """
        # The tokens whose keys and values are in the caches.
        self.read = torch.empty(0)

        # One cache of keys and one of values in each layer.
        for module in self.modules():
            if isinstance(module, CachedProjection):
                module.cache = None

    @torch.no_grad()
    def forward(self, tokens: Tensor) -> Tensor:
        r"""
        From the whole text, `[n_keys, batch_size]`, to the logits of the positions that are new,
        `[n_new, batch_size, n_vocab]`.
        """
        # The caches help only if this text continues the one that was read. If nothing was read, or
        # if the text begins otherwise or isn't longer, all of its keys are new.
        n_read = len(self.read)
        if not 0 < n_read < len(tokens) or not torch.equal(tokens[:n_read], self.read):
            self.clear()

            # The whole text is new.
            n_read = 0

        # Embedding a token is looking it up in a table. That is cheap, so all tokens are embedded,
        # and each gets its right position. Only the new ones go on: `[n_new, batch_size, d_model]`.
        x = self.embed(tokens)[n_read:]

        # Of the causal mask, the rows of the new queries and the columns of all keys.
        mask = self.mask[n_read : len(tokens), : len(tokens)]

        # In each layer the attention adds the new keys and values to its cache. The feed-forward
        # network needs none: it looks at one position at a time.
        x = self.encoder(x, mask)

        # Every layer has their keys and values now. A copy, because the caller may change its own
        # tensor later.
        self.read = tokens.clone()
        return self.generator(x)


def example(
    n_read: int = 7,
    n_new: int = 3,
    batch_size: int = 5,
    heads: int = 2,
    n_pairs: int = 11,
    n_vocab: int = 13,
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    A text at once, and in two pieces with a cache. The logits of the last positions are equal.

    ### In a browser

    On the site a model writes here twice with the same random numbers, with a cache and without,
    and says how fast. When its 64 positions are full, it keeps the last 16 tokens and reads them
    anew, both times.

    [What it wrote in a browser, and how fast](../../results/writing.json#tables.written)

    ### What goes wrong

    Training has no cache, and shows no mistake in one. [Three mistakes](mistakes/caches.py) are in
    published code: a prompt that is read without a mask, an offset that jumps, and a single token
    that gets no position. To test yours, [read a text in three
    ways](../../wrongline/cache_tests.py).

    ### Exercises

    ??? question "Why are keys and values kept, and queries not?"
        - [ ] A new token changes the queries of the earlier ones, but not their keys.
            - Under a causal mask it changes none of the three.
        - [x] A query is used once, for its own position; a key and a value by all later positions.
            - Yes. An earlier position is finished, and nobody asks for its query again.
        - [ ] A query can be computed from the key.
            - It can't: it comes from another matrix. It just isn't needed.

    ??? question "Two new tokens, four keys: write the mask."
        `1 1 1 0` and `1 1 1 1`: the third position sees three keys, the fourth sees all.

    ??? question "Why would a cache be wrong if the mask weren't causal?"
        Each new token would be seen by all earlier positions. Their vectors would change in the
        first layer, and with them their keys and values in all layers after it.

    ??? question "32 layers of 4,096 features in 16 bits: how large is the cache of 8,192 tokens?"
        2 · 32 · 4,096 · 2 bytes are half a megabyte for each token, and 4 GiB for all of them. That
        is why heads [share their keys](memory/grouped_query.py).

    ??? question "Take the first rows of the mask instead of the last. How do you notice?"
        Not by a shape. A single new position sees the first key and nothing else. Compare the
        logits with those of the model without a cache: they differ.
    """
    # An even number of features for the sines and cosines, and two layers.
    d_k = 2 * n_pairs
    n_keys = n_read + n_new
    d_model = heads * d_k
    sizes = (n_vocab, d_model, heads, 2, 4 * d_model, n_keys)
    model = AutoregressiveTransformer(*sizes)
    cached = CachedTransformer(*sizes)

    # The same parameters under the same names.
    cached.load_state_dict(model.state_dict())
    tokens = torch.randint(n_vocab, (n_keys, batch_size))

    # The second call gets the whole text, and computes the last three positions of it.
    cached(tokens[:n_read])
    return model(tokens), cached(tokens)
