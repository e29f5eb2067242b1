r"""
---
title: A Cache That Goes Back
summary: Keys and values of tokens that are taken back are cut off; those before them stay in use.
know: speculative.py
terms:
  rewinding a cache: Cutting off the keys and values of tokens that were taken back.
---

A [cache](../transformers/kv_cache.py) grows with the text. What if the end of the text changes? In
[speculative decoding](speculative.py) a model reads “the ” and the four guessed letters “king” at
once. Then “king” turns out to be wrong, and the text becomes “the cat”:

```
read     t h e _ k i n g        rewound to      t h e _
next     t h e _ c a t          new positions           c a t
```

The keys and values of “king” are in every layer by now. If they stay, the model goes on from a text
that was never written. Reading all seven letters again is correct, and expensive. Cut the last four
keys and values off instead, and only three positions are new. For texts of 16 letters that get 40
more, with four guesses a pass, the model computes
[8.4](../../results/speculative.json#values.positions.begins_anew) positions for each written letter
if it begins anew, and
[1.9](../../results/speculative.json#values.positions.goes_back) if it goes back.

Why is cutting enough? Under a [causal mask](../transformers/mha.py#causal_mask) no position sees a
later one. So the keys of “the ” are the same whether “king” or “cat” comes after them.

**In:** the whole text so far, with one column for each text. **Out:** logits for its new positions,
`[n_new, batch_size, n_vocab]`. *New* is what comes after the part that the model has read before.
"""

import torch
from torch import Tensor

from labml_nn.transformers.kv_cache import CachedProjection, CachedTransformer


class RewindingTransformer(CachedTransformer):
    r"""
    ## The model

    The [model with a cache](../transformers/kv_cache.py#CachedTransformer), and the same weights.
    The call is the same, too: it takes the whole text, and finds out how much of it was read.
    """

    def rewind(self, n_kept: int) -> None:
        r"""
        ### Rewind

        Keep the first `n_kept` positions.
        """
        # The text that was read ends here now.
        self.read = self.read[:n_kept]

        # Keys and values have the positions as their first axis, so the end is cut off. In every
        # layer, or one would still have keys of tokens that were taken back.
        for module in self.modules():
            if isinstance(module, CachedProjection) and module.cache is not None:
                module.cache = module.cache[:n_kept]

    @torch.no_grad()
    def forward(self, tokens: Tensor) -> Tensor:
        r"""
        From the whole text, with a column for each sequence, to logits of the positions that are
        new, `[n_new, batch_size, n_vocab]`.
        """
        # The last token is always new, even if it was read before: its logits are what the caller
        # asks for, and only keys and values were kept.
        n_shared = min(len(self.read), len(tokens) - 1)

        # The first time nothing was read, and another number of texts has nothing in common with
        # these. `CachedTransformer` then begins anew.
        if self.read.shape[1:] == tokens.shape[1:]:
            # Position by position: do all texts of the batch have the token that was read?
            same = (self.read[:n_shared] == tokens[:n_shared]).all(dim=1)

            # The running product is one up to the first difference, and zero from there on. So its
            # sum is the length of the beginning that both have in common.
            self.rewind(int(same.cumprod(dim=0).sum()))

        # Now the text continues what was read, and only the rest is computed.
        return super().forward(tokens)


def example(
    n_read: int = 7, n_kept: int = 5, n_new: int = 3, batch_size: int = 2, n_vocab: int = 11
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    A text is read, its end is replaced, and only the new end is computed.

    ### What can't go back

    A model that keeps one state of fixed size for the whole text can't, such as [linear
    attention](../transformers/variants/linear_attention.py). From a sum of 7 nobody can tell that
    its last part was 2. Such a model has to keep copies of earlier states, or what each token has
    added, so that it can be subtracted. Nor can a [sliding
    window](../transformers/memory/sliding_window.py) give back what it has overwritten.

    Left out: several texts that go back by different lengths. The texts of a batch go back together
    here, to where the first of them differs.

    ### Exercises

    ??? question "The model has read “the king”. Now it gets “the kind man”. How many positions?"
        Five: “d man”. “the kin” are seven letters in common, and the new text has twelve.

    ??? question "It gets exactly the text that it has read. Why does it compute one position?"
        The caller wants logits, and they aren't in the cache. Without `- 1` the text would be no
        longer than what was read, and `CachedTransformer` would begin anew: all positions.

    ??? question "Forget one layer in `rewind`. What happens?"
        Its keys are more than the mask has columns for, so the next call fails. Leave out all of
        `rewind`, and the results are right: the text isn't the one that was read, so
        `CachedTransformer` begins anew. That is only slower.

    ??? question "Replace the running product by a plain sum. When does it do harm?"
        When a letter after the first difference happens to be the same. Then too many positions are
        kept, the text no longer begins with what was read, and `CachedTransformer` begins anew. The
        logits are right, but there are more of them: those of all positions.
    """
    # Two layers of two heads.
    sizes = (n_vocab, 4, 2, 2, 8, n_read + n_new)
    model = RewindingTransformer(*sizes)
    text = torch.randint(n_vocab, (n_read, batch_size))
    model(text)

    # The text with another end: the token after the kept ones is another one.
    other = (text[n_kept : n_kept + 1] + 1) % n_vocab
    end = torch.cat([other, torch.randint(n_vocab, (n_new - 1, batch_size))])
    changed = torch.cat([text[:n_kept], end])

    # Logits of the new end alone, and the cache of the first layer, which has all positions.
    logits = model(changed)
    return logits, model.encoder.layers[0].self_attn.key.cache
