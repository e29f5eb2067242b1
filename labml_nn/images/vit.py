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

A transformer reads tokens, and an image has none: it has pixels. The vision transformer (ViT) cuts
the image into squares, *patches*, and makes a token of each. Here is an image of 4 × 4 pixels, cut
into patches of 2 × 2:

```text
 0  1 |  2  3
 4  5 |  6  7         0  1  4  5
------+-------        2  3  6  7
 8  9 | 10 11         8  9 12 13
12 13 | 14 15        10 11 14 15
```

Each row on the right is one patch of four numbers, and a matrix makes `d_model` features of them.
From there on, all is as in a language model without a mask.

Attention doesn't know the order of its tokens. Without *position embeddings* the four rows could
come in any order, as the pieces of a jigsaw puzzle in a bag: you see what is on each piece and not
what the picture shows. On our [drawn digits](digits.py), such a model gets
[0.467](../../results/images.json#tables.models.no%20positions.accuracy) right, and with positions
[0.957](../../results/images.json#tables.models.vision%20transformer.accuracy).

**In:** images, one number for each pixel. **Out:** a vector for each image,
`[batch_size, d_model]`, from which a linear layer makes a score for each class.

[A seven of 8 × 8 pixels, cut into patches of 2 × 2, and the sequence of its
patches](../../results/images.json#figures.patches)
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
    # of the grid: a plain `reshape` would make patches of pixels that follow one another in a row.
    return squares.permute(1, 3, 0, 2, 4).flatten(3).flatten(0, 1)


def layers_of(
    d_model: int,
    heads: int,
    n_layers: int,
    d_ff: int,
    attention: Callable[[int, int, float], nn.Module],
) -> Encoder:
    r"""
    ## The layers

    Those of a language model, without dropout. [Texts](clip.py#TextEncoder) get the same ones.
    """
    return Encoder(
        (
            # Each layer is made by a call of its own, so it has weights of its own.
            TransformerLayer(
                d_model=d_model,
                # The mask comes with the call: none for an image, in which every patch may look at
                # every other one, and a causal one for a text.
                self_attn=attention(heads, d_model, 0.0),
                feed_forward=FeedForward(d_model, d_ff, 0.0, nn.GELU),
                dropout_prob=0.0,
            )
            for _ in range(n_layers)
        ),
        d_model,
    )


class ViT(nn.Module):
    r"""
    ## Vision transformer

    $$
    x = \begin{bmatrix} c & E\, p_1 & E\, p_2 & \dots & E\, p_N \end{bmatrix} +
    \begin{bmatrix} q_0 & q_1 & q_2 & \dots & q_N \end{bmatrix}
    $$

    $p_n$ are the pixels of patch $n$ of $N$ as a column, and $E$ is a matrix that turns them into
    $d_{model}$ features. (A bias, which is also added, isn't shown.) $c$ is the *class token*, also
    called CLS or class embedding, a vector that stands before the first patch and is the same for
    all images, and $q_n$ is the position embedding of place $n$. All of
    them are learned. What the layers make of $c$ is the vector of the image: the class token has no
    content of its own, and collects what its attention gathers from the patches.

    ### Registers

    In large vision transformers a few patches of plain background end up with vectors many times as
    long as the others. These vectors say little about their own patch and more about the whole
    image ([Darcet et al. 2023](https://arxiv.org/abs/2309.16588)). *Registers* are tokens of their
    own for that: no pixels go into them, and what becomes of them is dropped.

    Here they change nothing. With four registers the model gets
    [0.955](../../results/images.json#tables.models.four%20registers.accuracy) of the digits right.
    And there are no such patches: the longest vector is
    [1.39](../../results/images.json#values.outliers.without) times as long as the median one
    without registers, and [1.38](../../results/images.json#values.outliers.with) times with them.
    """

    def __init__(
        self,
        n_patches: int,
        size: int,
        d_model: int,
        heads: int,
        n_layers: int,
        d_ff: int,
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
        # rows and columns: the model has to find out which patches are neighbours. If they and the
        # class token start at the usual 0.02 in place of 0.3, its share of right answers is
        # [0.914](../../results/images.json#tables.models.positions%20start%20at%200.02.accuracy).
        self.positions = nn.Parameter(0.3 * torch.randn(1 + n_patches, 1, d_model))

        # The class token and the registers go through the same layers as the patches.
        self.encoder = layers_of(d_model, heads, n_layers, d_ff, attention)

    def forward(self, images: Tensor) -> Tensor:
        r"""
        From images, `[batch_size, n_rows * size, n_columns * size]`, to a vector for each,
        `[batch_size, d_model]`.
        """
        # A token for each patch, `[n_rows * n_columns, batch_size, d_model]`.
        x = self.project(patches(images, self.size))
        batch_size = x.shape[1]

        # The class token comes first, in each image of the batch, and every token gets its place.
        x = torch.cat([self.class_token.expand(-1, batch_size, -1), x]) + self.positions

        # Registers come next. They have no place in the image, so they get no position.
        x = torch.cat([x[:1], self.registers.expand(-1, batch_size, -1), x[1:]])

        # No mask: an image has no future, and every patch may look at every other one.
        x = self.encoder(x)

        # What the class token has collected is the image's vector. What became of the patches and
        # registers is dropped.
        return x[0]


def example(
    batch_size: int = 3,
    n_rows: int = 5,
    n_columns: int = 7,
    size: int = 2,
    d_model: int = 11,
    d_ff: int = 13,
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    Images of five rows of patches, and a model with two registers and one head.

    ### What the class token looks at

    The weights don't simply follow the ink. In the last layer the vector of a patch isn't only
    about its own pixels any more: in the layers before, it has gathered from other patches, too.

    [The class token's weights for the patches in the last layer of one model, mean of four heads:
    the darker, the larger. The weight of the class token itself is left
    out](../../results/images.json#figures.looks)

    ### What did not help here

    There is [a list](../../docs/what_did_not_help.md) of more such things.

    * *Small patches.* With patches of 4 × 4 pixels, four in an image, it gets
      [0.969](../../results/images.json#tables.models.patches%20of%204%20%C3%97%204.accuracy) right,
      after half the time.
    * *The class token.* The mean of what became of the patches does as well:
      [0.960](../../results/images.json#tables.models.mean%20of%20patches.accuracy).
    * *A transformer at all.* A linear layer on the pixels gets
      [0.651](../../results/images.json#tables.models.linear%20layer.accuracy) right: more than the
      transformer without positions. A convolutional network with fewer than half of the parameters
      gets
      [0.990](../../results/images.json#tables.models.convolutions.accuracy) right. The usual
      explanation is that its layers compare neighbours from the start, while a vision transformer
      has to learn which patches are neighbours. In the paper the transformers get ahead if they are
      first trained on 14 million images or more.

    As in the paper, the encoder is in [pre-norm](../transformers/models.py). Left out are colours,
    dropout, the hidden layer that the paper has before the scores in its first training, and larger
    images after training, for which positions have to be stretched.

    [Models that read digits, after 800 steps of 64 new digits each: means of three seeds, and the
    seconds of one core](../../results/images.json#tables.models)

    ### Exercises

    ??? question "The paper's images have 224 × 224 pixels, its patches 16 × 16. How many tokens?"
        14 · 14 = 196 patches and the class token: 197. With three colours a patch has 768 numbers.

    ??? question "Shuffle the patches, in the same way in each image. What changes?"
        Nothing that matters: the positions are learned, so any order is as good as any other. A
        convolutional network would lose its neighbours.

    ??? question "Let the registers come after the patches. What changes?"
        Nothing but rounding. They have no position and there is no mask, so attention can't tell
        where they stand.

    ??? question "Write `images.reshape(len(images), -1, size * size)` for the squares. The fault?"
        All shapes are right once the first two axes are swapped, but each “patch” is a piece of a
        single row: 0 1 2 3 and not 0 1 4 5.
    """
    # Height and width can differ, as long as patches fill them.
    images = torch.randn(batch_size, n_rows * size, n_columns * size)

    # The vector of each image, and a score for each of ten classes. So a classifier is this model
    # with a linear layer behind it.
    vit = ViT(n_rows * n_columns, size, d_model, 1, 2, d_ff, n_registers=2)
    scores = nn.Linear(d_model, 10)(vit(images))

    # What the class token looks at in the first layer: itself, two registers and all patches.
    return scores, vit.encoder.layers[0].self_attn.attn[0]
