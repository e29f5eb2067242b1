r"""
---
title: Images and Words
summary: Two encoders learn to give an image and its caption the same direction.
know: vit.py
paper:
  title: Learning Transferable Visual Models From Natural Language Supervision
  authors: Radford et al.
  year: 2021
  link: https://arxiv.org/abs/2103.00020
terms:
  contrastive loss: A loss that is low if things that belong together are more alike than others.
  zero-shot: Doing a task, or telling a class, without any example of it in training.
---

A classifier knows a fixed list of classes. Show it images of digits with 98 different
[captions](digits.py#caption), and let it score 110: of images with one of the other twelve, such as
“two sevens”, it gets [0.000](../../results/images.json#tables.ways.classifier%20of%20110.unseen)
right. It has a row of weights for “two sevens”, but every image in training has only pushed that
row's score down.

But a caption consists of words, and these are in other captions, too. (“sevens” is new, but
“seven” and “fours” aren't.) CLIP has an encoder that reads the captions. After as many steps it
finds the right one of 110 captions for
[0.656](../../results/images.json#tables.ways.two%20encoders.unseen) of the images with those twelve
captions. This is called *zero-shot* (no image of the class was in training). Guessing finds 0.009.

**In:** images, and the tokens of texts, `[seq_len, n_texts]`. **Out:** a logit for each image and
each text, `[n_images, n_texts]`.

Think of a globe. One encoder puts a pin on it for each image, another one a pin for each text.
Training moves the pin of an image to that of its caption, and away from all other captions. A new
caption gets a pin, too, and an image belongs to the nearest one.

$$
s_{ij} = \frac{u_i \cdot v_j}{\tau}
$$

$u_i$ is the vector of image $i$ and $v_j$ that of text $j$, both of length 1, so that their product
is the cosine of the angle between them. $\tau$ is the [*temperature*](clip.py#CLIP).
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.images.digits import Pairs
from labml_nn.images.vit import ViT, layers_of
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask


class TextEncoder(nn.Module):
    r"""
    ## Text encoder

    A small transformer, like that of a [language
    model](../transformers/basic/autoregressive_model.py), without the logits.
    """

    def __init__(
        self,
        n_vocab: int,
        d_model: int,
        heads: int,
        n_layers: int,
        d_ff: int,
        seq_len: int,
        attention: Callable[[int, int, float], nn.Module] = MultiHeadAttention,
    ) -> None:
        r"""
        * `n_vocab` is the number of tokens, of which 0 is the end of a text
        * `seq_len` is the greatest length of a text
        * `d_model` is the number of features, which [CLIP](clip.py#CLIP) calls `d_text`

        The other arguments are those of [the image encoder](vit.py#ViT).
        """
        super().__init__()
        # A learned vector for each token and for each position, added up as in the image encoder.
        self.tokens = nn.Embedding(n_vocab, d_model)
        self.positions = nn.Parameter(0.3 * torch.randn(seq_len, 1, d_model))

        # The layers are those of the image encoder.
        self.encoder = layers_of(d_model, heads, n_layers, d_ff, attention)

    def forward(self, tokens: Tensor) -> Tensor:
        r"""
        From `[seq_len, n_texts]` to a vector for each text, `[n_texts, d_text]`.
        """
        # Each position sees those before it, so that what fills up a short text behind its end
        # can't change anything.
        x = self.tokens(tokens) + self.positions[: len(tokens)]
        x = self.encoder(x, causal_mask(len(tokens)).to(x.device))

        # The first end is the only position that has seen the whole text and nothing else. (Every
        # text must have an end: without one, this would be position 0.) It does for a text what the
        # class token does for an image.
        end = (tokens == 0).int().argmax(dim=0)
        return x[end, torch.arange(len(end), device=x.device)]


class CLIP(nn.Module):
    r"""
    ## Image and text in one space

    ### Why the temperature?

    Suppose an image has these cosines with three texts, the first of which is its
    own:

    | cosine | 0.8 | 0.5 | 0.1 |
    | --- | ---: | ---: | ---: |
    | probability with $\tau = 1$ | 0.45 | 0.33 | 0.22 |
    | probability with $\tau = 0.07$ | 0.99 | 0.01 | 0.00 |

    Cosines end at 1 and −1. As logits of 64 pairs, they would have a loss of 2.254 even if each
    image had 1 with its own caption and −1 with all others, and no 64 directions are all opposite
    to each other. (In our 32 features, the best that we found is 3.176.) Trained like this, the
    model gets [0.094](../../results/images.json#tables.ways.no%20temperature.unseen) of the images
    with new captions right. The temperature is learned. It starts at 0.07, and $1 / \tau$ grows
    from 14.3 to [21.7](../../results/images.json#values.scale).
    """

    def __init__(self, images: ViT, texts: TextEncoder, d_image: int, d_text: int, d: int) -> None:
        r"""
        * `images` and `texts` are the encoders, which give `d_image` and `d_text` features
        * `d` is the number of features that images and texts have in common
        """
        super().__init__()
        self.images = images
        self.texts = texts

        # Each encoder has features of its own. These matrices bring both into one space, where
        # they can be compared.
        self.project_image = nn.Linear(d_image, d, bias=False)
        self.project_text = nn.Linear(d_text, d, bias=False)

        # The logarithm of $1 / \tau$, so that no step can make it negative. It starts at the
        # paper's 0.07.
        self.log_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def encode_images(self, images: Tensor) -> Tensor:
        # Only the direction counts: every vector has length 1, `[n_images, d]`.
        return F.normalize(self.project_image(self.images(images)), dim=-1)

    def encode_texts(self, tokens: Tensor) -> Tensor:
        # The same for texts, `[n_texts, d]`. To compare many images with the same texts, call
        # this once and keep the result.
        return F.normalize(self.project_text(self.texts(tokens)), dim=-1)

    def forward(self, images: Tensor, tokens: Tensor) -> Tensor:
        r"""
        A logit for each image and each text, `[n_images, n_texts]`. The tokens are `[seq_len,
        n_texts]`.
        """
        # A row for each image, a column for each text. The dot product of two vectors of length 1
        # is the cosine of the angle between them, from -1 to 1.
        cosines = self.encode_images(images) @ self.encode_texts(tokens).T

        # Divided by the temperature $\tau$: cosines alone are too close together for a softmax.
        return cosines * self.log_scale.exp()


def contrastive_loss(logits: Tensor) -> Tensor:
    r"""
    ## Contrastive loss

    Of a square of logits, in which image $i$ belongs to text $i$.

    $$
    L = -\frac{1}{2N} \sum_{i=1}^{N} \left( \ln \frac{e^{s_{ii}}}{\sum_j e^{s_{ij}}} +
    \ln \frac{e^{s_{ii}}}{\sum_j e^{s_{ji}}} \right)
    $$

    $N$ is the number of pairs in a batch. The loss $L$ is a cross entropy along rows and one along
    columns.
    """
    # The right text for each image, and the right image for each text: the diagonal.
    right = torch.arange(len(logits), device=logits.device)

    # A softmax along row $i$ finds the text of image $i$, and one along column $i$ the image of
    # text $i$. The loss is the mean of both.
    return (F.cross_entropy(logits, right) + F.cross_entropy(logits.T, right)) / 2


def example(
    n_images: int = 3,
    n_texts: int = 5,
    seq_len: int = 7,
    d_image: int = 11,
    d_text: int = 13,
    d: int = 17,
    n_vocab: int = 19,
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    Three images, compared with five texts. For the loss there is a text for each image.

    [The four of 2,200 images that are nearest to each of three new
    captions](../../results/images.json#figures.nearest)

    [Mean cosines of twenty images of each new caption with all of these captions, blue is positive,
    red negative](../../results/images.json#figures.similarities)

    ### What it learned

    The words make the difference. If each caption is a row of random letters, always the same one,
    a model finds the new ones no better than by guessing. It also learns those of training less
    well: in a try with two seeds it got 0.63 and 0.71 of their images right, and with words 0.71
    and 0.85.

    [Trained for 800 steps of 64 pairs: the share of images for which the right one of 110 captions
    has the highest logit, with the lowest and the highest of three seeds for the new
    ones](../../results/images.json#tables.ways)

    ### What did not help here

    There is [a list](../../docs/what_did_not_help.md) of more such things.

    For captions that were in training, no text encoder is needed. The classifier gets
    [0.818](../../results/images.json#tables.ways.classifier%20of%20110.seen) of their images right,
    the two encoders [0.762](../../results/images.json#tables.ways.two%20encoders.seen). And the
    second half of the loss changes little. With the texts for each image only, and not the images
    for each text, the model gets
    [0.669](../../results/images.json#tables.ways.texts%20for%20images%20only.unseen) of the images
    with new captions right.

    ### The original

    CLIP learned from 400 million images with their texts, in batches of 32,768. Its text encoder
    has the [mask](../transformers/mha.py#causal_mask) of a language model, as here. Left out are a
    normalisation before the first layer of its image encoder, tokens of several letters, and a
    limit of 100 for $1 / \tau$, which is never reached here.

    ### Exercises

    ??? question "What is the loss of 64 pairs if all vectors are the same?"
        $\ln 64 = 4.16$: each image fits each text equally well.

    ??? question "“a seven” is twice in a batch. What is the best loss of these two rows?"
        $\ln 2 = 0.69$. Both texts fit both images, so the right one gets a probability of one half.
        That is why no caption comes twice in our batches.

    ??? question "Which digit is it, if there is only one? Which texts do you compare?"
        Ten: “a zero”, “a one” and so on. The temperature doesn't matter, since it doesn't change
        which logit is the highest.

    ??? question "Leave out both calls of `F.normalize`. What can a text do now?"
        Have a long vector. Then its logit is very high for every image at less than a right angle,
        however much better another text fits.

    ??? question "Take the last position in place of `end`. How do you notice?"
        Fill up the same text with other tokens behind its end. Its vector should stay the same, and
        now it changes.
    """
    # Real images, of eight patches each.
    images, _ = Pairs(seed=1, batch_size=n_images).at(0)

    # Random letters, and an end of each text. Without an end, no position would stand for the text.
    tokens = torch.randint(1, n_vocab, (seq_len, n_texts))
    tokens[-1] = 0

    # The encoders can have different widths, since each has a projection of its own into the common
    # space.
    vit = ViT(8, 4, d_image, 1, 2, 4 * d_image)
    texts = TextEncoder(n_vocab, d_text, 1, 2, 4 * d_text, seq_len)
    model = CLIP(vit, texts, d_image, d_text, d)

    # A logit for each image and each text. The first three belong together, say.
    logits = model(images, tokens)
    return logits, contrastive_loss(logits[:, :n_images])
