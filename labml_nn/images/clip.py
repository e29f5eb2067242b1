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
"""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.images.digits import all_scenes, caption, draw_scenes
from labml_nn.images.vit import ViT
from labml_nn.training.data import CharTokenizer
from labml_nn.transformers.feed_forward import FeedForward
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.models import Encoder, TransformerLayer


class TextEncoder(nn.Module):
    r"""
    ## Text encoder

    A small transformer, like that of a [language
    model](../transformers/basic/autoregressive_model.py), without the logits.
    """

    def __init__(
        self, n_vocab: int, seq_len: int, d_model: int, heads: int, n_layers: int, d_ff: int,
        attention: Callable[[int, int, float], nn.Module] = MultiHeadAttention,
    ) -> None:
        r"""
        * `n_vocab` is the number of tokens, of which 0 is the end of a text
        * `seq_len` is the greatest length of a text

        The other arguments are those of [the image encoder](vit.py#ViT).
        """
        super().__init__()
        # A learned vector for each token and for each position, of the same size.
        self.tokens = nn.Embedding(n_vocab, d_model)
        self.positions = nn.Parameter(0.3 * torch.randn(seq_len, 1, d_model))

        # The layers are those of the image encoder.
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

    def forward(self, tokens: Tensor) -> Tensor:
        # Each position sees those before it, so that what fills up a short text behind its end
        # can't change anything: `[seq_len, n_texts, d_text]`.
        x = self.tokens(tokens) + self.positions[: len(tokens)]
        x = self.encoder(x, causal_mask(len(tokens)).to(x.device))

        # The first end is the only position that has seen the whole text and nothing else. It does
        # for a text what the class token does for an image: `[n_texts, d_text]`.
        end = (tokens == 0).int().argmax(dim=0)
        return x[end, torch.arange(len(end), device=x.device)]


class CLIP(nn.Module):
    r"""
    ## Image and text in one space
    """

    def __init__(self, images: ViT, texts: TextEncoder, d_image: int, d_text: int, d: int) -> None:
        r"""
        * `images` and `texts` are the encoders, which give `d_image` and `d_text` features
        * `d` is the number of features that images and texts have in common
        """
        super().__init__()
        self.images, self.texts = images, texts

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
        # The same for texts, `[n_texts, d]`.
        return F.normalize(self.project_text(self.texts(tokens)), dim=-1)

    def forward(self, images: Tensor, tokens: Tensor) -> Tensor:
        # A row for each image, a column for each text. The dot product of two vectors of length 1
        # is the cosine of the angle between them, from -1 to 1.
        cosines = self.encode_images(images) @ self.encode_texts(tokens).T

        # Divided by the temperature: `[n_images, n_texts]`.
        return cosines * self.log_scale.exp()


def contrastive_loss(logits: Tensor) -> Tensor:
    r"""
    ## Contrastive loss

    Of a square of logits, in which image $i$ belongs to text $i$.
    """
    # The right text for each image, and the right image for each text: the diagonal.
    right = torch.arange(len(logits), device=logits.device)

    # A softmax along row $i$ finds the text of image $i$, and one along column $i$ the image of
    # text $i$. The loss is the mean of both.
    return (F.cross_entropy(logits, right) + F.cross_entropy(logits.T, right)) / 2


class Pairs:
    r"""
    ## Images with captions
    """

    def __init__(self, seed: int, batch_size: int = 64) -> None:
        self.seed, self.batch_size = seed, batch_size
        self.scenes = all_scenes()
        captions = [caption(*scene) for scene in self.scenes.tolist()]

        # A [token](../training/data.py#CharTokenizer) for each character. Each caption ends with
        # the end of a line, which comes before all letters in the alphabet and gets the token 0.
        # More of them fill up the shorter captions: `[21, 110]`.
        self.tokenizer = CharTokenizer("\n".join(captions))
        width = max(map(len, captions)) + 1
        self.texts = torch.stack(
            [self.tokenizer.encode(one.ljust(width, "\n")) for one in captions], dim=1
        )

        # Twelve captions are kept from training: “two threes”, “two sevens”, and ten pairs in which
        # each digit is once on the left and once on the right. Each digit is in other captions.
        left, right = self.scenes.unbind(dim=1)
        doubles = (left == right) & ((left == 3) | (left == 7))
        self.unseen = doubles | (right == (3 * left + 1) % 10)

    def at(self, step: int) -> tuple[Tensor, Tensor]:
        r"""
        ### A batch

        New images and their captions for each step.
        """
        generator = torch.Generator().manual_seed(1_000_000 * self.seed + step)

        # No caption twice: two images of a four would both belong to both captions, and the loss
        # would call one of them wrong.
        seen = (~self.unseen).nonzero().flatten()
        chosen = seen[torch.randperm(len(seen), generator=generator)[: self.batch_size]]
        return draw_scenes(self.scenes[chosen], generator), self.texts[:, chosen]

    def held_out(self, n_images: int = 20) -> tuple[Tensor, Tensor]:
        r"""
        ### Images to measure with

        `n_images` for each caption, and the number of the caption for each image.
        """
        # The seed is none of those for training.
        numbers = torch.arange(len(self.scenes)).repeat_interleave(n_images)
        return draw_scenes(self.scenes[numbers], torch.Generator().manual_seed(0)), numbers


def example(
    n_images: int = 3, n_texts: int = 5, seq_len: int = 7, d_image: int = 11, d_text: int = 13,
    d: int = 17, n_vocab: int = 19,
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    Three images, compared with five texts. For the loss there is a text for each image.

    ### Exercises

    """
    # Real images, of eight patches each.
    images, _ = Pairs(seed=1, batch_size=n_images).at(0)

    # Random letters, and an end of each text.
    tokens = torch.randint(1, n_vocab, (seq_len, n_texts))
    tokens[-1] = 0

    # The encoders can have different widths.
    vit = ViT(8, 4, d_image, 1, 2, 4 * d_image)
    texts = TextEncoder(n_vocab, seq_len, d_text, 1, 2, 4 * d_text)
    model = CLIP(vit, texts, d_image, d_text, d)

    # A logit for each image and each text. The first three belong together, say.
    logits = model(images, tokens)
    return logits, contrastive_loss(logits[:, :n_images])
