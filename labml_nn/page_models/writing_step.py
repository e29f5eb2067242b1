r"""
---
title: One Step of Writing
summary: The classic model with its cache, as a function from caches to longer caches.
---

In the browser the [live model](models.py) writes one character at a time. With its
[cache](../transformers/kv_cache.py) it computes one position for each. What runs there is a
graph, and a graph has no attributes to keep a cache in. So here the caches are arguments and
results.

**In:** the text so far, an axis of tokens and one of sequences, and the keys and values of all its
tokens but the last, two tensors for each layer. **Out:** the logits of the last token, and the
caches with that token in them.
"""

import torch
from torch import Tensor

from labml_nn.page_models.models import LARGE
from labml_nn.transformers.kv_cache import CachedProjection, CachedTransformer


class WritingStep(CachedTransformer):
    r"""
    ## The step

    The parameters are those of the classic model, under the same names.
    """

    def forward(self, tokens: Tensor, *caches: Tensor) -> tuple[Tensor, ...]:
        # The key and the value of each layer, in the order of the layers.
        projections = [one for one in self.modules() if isinstance(one, CachedProjection)]
        for projection, cache in zip(projections, caches, strict=True):
            projection.cache = cache

        # As if the model had just read all tokens but the last.
        self.read = tokens[:-1]

        # The page's own step. It computes one position, and extends the caches by it.
        logits = super().forward(tokens)

        # What the next step needs goes out with the logits.
        return logits, *(projection.cache for projection in projections)

    def inputs(self, n_keys: int, batch_size: int) -> tuple[Tensor, ...]:
        r"""
        ### Arguments

        For a text of which `n_keys` tokens have been read.
        """
        # Zeros in place of real tokens and caches. `n_keys` may be 0, too: the step works with
        # empty caches.
        shape = (n_keys, batch_size, LARGE["heads"], LARGE["d_model"] // LARGE["heads"])
        tokens = torch.zeros(n_keys + 1, batch_size, dtype=torch.long)
        return tokens, *(torch.zeros(shape) for _ in range(2 * LARGE["n_layers"]))


def make(name: str, n_vocab: int) -> WritingStep:
    r"""
    ## Make the step

    There is one, that of the classic model.
    """
    # `name` is that of the model whose weights it has; makers are called with one. The sizes are
    # those that the weights were trained with.
    return WritingStep(n_vocab, *LARGE.values())
