r"""
---
title: Vision Transformer
summary: An image is cut into patches, which a transformer reads as it reads tokens.
know: ../transformers/models.py
paper:
  title: "An Image is Worth 16x16 Words: Transformers for Image Recognition at Scale"
  authors: Dosovitskiy et al.
  year: 2020
  link: https://arxiv.org/abs/2010.11929
terms:
  class token: A learned vector that stands before the patches and collects what an image shows.
  patch: A small square of an image, whose pixels become one token.
  register: A learned token without content or position that a transformer can use for itself.
---
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from labml_nn.transformers.feed_forward import FeedForward
from labml_nn.transformers.mha import MultiHeadAttention
from labml_nn.transformers.models import Encoder, TransformerLayer


def patches(images: Tensor, size: int) -> Tensor:
    r"""
    ## Patches

    Images, `[batch_size, n_rows * size, n_columns * size]`, become a sequence of squares,
    `[n_rows * n_columns, batch_size, size * size]`.
    """
    # Height and width are cut into pieces: `[batch_size, n_rows, size, n_columns, size]`.
    squares = images.unflatten(2, (-1, size)).unflatten(1, (-1, size))

    # Row after row of squares, as one reads. The two axes of `size` must not be swapped with those
    # of the grid: a plain `reshape` would make patches of pixels that are far apart.
    return squares.permute(1, 3, 0, 2, 4).flatten(3).flatten(0, 1)


class ViT(nn.Module):
    r"""
    ## Vision transformer
    """

    def __init__(
        self, n_patches: int, size: int, d_model: int, heads: int, n_layers: int, d_ff: int,
        n_registers: int = 0,
        attention: Callable[[int, int, float], nn.Module] = MultiHeadAttention,
    ) -> None:
        r"""
        * `n_patches` is the number of patches of an image, and `size` the width of a patch
        * `d_model`, `heads`, `n_layers` and `d_ff` are those of [any
          transformer](../transformers/models.py)
        * `n_registers` is the number of registers
        * `attention` makes the attention of a layer: the readable one, or [the
          fused](../transformers/fused_attention.py)
        """
        super().__init__()
        self.size = size

        # What a table of embeddings is for words: one matrix that turns the pixels of a patch into
        # `d_model` features.
        self.project = nn.Linear(size * size, d_model)

        # Learned vectors, the same for all images: the class token, and registers if you want them.
        self.class_token = nn.Parameter(0.3 * torch.randn(1, 1, d_model))
        self.registers = nn.Parameter(0.3 * torch.randn(n_registers, 1, d_model))

        # A learned vector for each position, the first one for the class token. They say nothing of
        # rows and columns: which patches are neighbours, the model has to find out.
        self.positions = nn.Parameter(0.3 * torch.randn(1 + n_patches, 1, d_model))

        # The layers of a language model, without dropout. Only the mask will be missing.
        self.encoder = Encoder(
            (
                TransformerLayer(
                    d_model=d_model,
                    self_attn=attention(heads, d_model, 0.0),
                    feed_forward=FeedForward(d_model, d_ff, 0.0, nn.GELU),
                    dropout_prob=0.0,
                )
                for _ in range(n_layers)
            ),
            d_model,
        )

    def forward(self, images: Tensor) -> Tensor:
        # A token for each patch, `[n_rows * n_columns, batch_size, d_model]`.
        x = self.project(patches(images, self.size))
        batch_size = x.shape[1]

        # The class token comes first, in each image of the batch, and every token gets its place.
        x = torch.cat([self.class_token.expand(-1, batch_size, -1), x]) + self.positions

        # Registers come next. They have no place in the image, so they get no position.
        x = torch.cat([x[:1], self.registers.expand(-1, batch_size, -1), x[1:]])

        # No mask: an image has no future, and every patch may look at every other one.
        x = self.encoder(x)

        # What the class token has collected is the image's vector, `[batch_size, d_model]`. What
        # became of the patches and registers is dropped.
        return x[0]


def example(
    batch_size: int = 3, n_rows: int = 5, n_columns: int = 7, size: int = 2, d_model: int = 11,
    d_ff: int = 13,
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    Images of five rows of patches, and a model with two registers and one head.

    ### Exercises

    """
    # Height and width can differ, as long as patches fill them.
    images = torch.randn(batch_size, n_rows * size, n_columns * size)

    # The vector of each image, and a score for each of ten classes. So a classifier is this model
    # with a linear layer behind it.
    vit = ViT(n_rows * n_columns, size, d_model, 1, 2, d_ff, n_registers=2)
    scores = nn.Linear(d_model, 10)(vit(images))

    # What the class token looks at in the first layer: itself, two registers and all patches.
    return scores, vit.encoder.layers[0].self_attn.attn[0]
