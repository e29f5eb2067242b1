r"""
---
title: Read Digits, Name Images
summary: Train a vision transformer on drawn digits, then an image and a text encoder together.
---

Train a [vision transformer](vit.py) that reads digits, and look at where it looks. Then train two
encoders that put [images and words](clip.py) side by side, and ask for a caption that was in no
training.

**In:** digits that are [drawn](digits.py) while it trains. **Out:** the share of digits that the
first model reads, and the images that the second one finds for new words.

Both models have a width of 48, four heads and two layers. Digits of 8 × 8 pixels are cut into 16
patches of 2 × 2. The wide images of 8 × 16 would be 32 such patches, so theirs are of 4 × 4, and
there are 8.

[Models that name images; twelve captions are new to
them](../../results/images.json#tables.ways)
"""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.images.clip import CLIP, TextEncoder, contrastive_loss
from labml_nn.images.digits import Pairs, caption, digits_at
from labml_nn.images.vit import ViT
from labml_nn.training.loop import adamw, train
from labml_nn.training.run import Run
from labml_nn.transformers.fused_attention import FusedAttention
from labml_nn.transformers.mha import MultiHeadAttention

# Small enough for two cores: a width of 48, four heads, two layers.
SIZES = (48, 4, 2, 192)


def classifier(
    size: int = 2,
    n_registers: int = 0,
    attention: Callable[[int, int, float], nn.Module] = FusedAttention,
) -> nn.Sequential:
    r"""
    ## The model for digits

    With patches of `size` × `size` pixels.
    """
    # Rows times columns of patches: 16 of them if they are two pixels wide. Then a linear layer
    # turns the vector of an image into a score for each digit.
    vit = ViT((8 // size) ** 2, size, *SIZES, n_registers, attention)
    return nn.Sequential(vit, nn.Linear(SIZES[0], 10))


def digit_gradients(model: nn.Module, images: Tensor, digits: Tensor) -> Tensor:
    r"""
    ## Gradients of a batch of digits
    """
    # The [loop](../training/loop.py) leaves it to us how a batch becomes gradients. Its own way is
    # for sequences: a target for each position. An image has one target.
    loss = F.cross_entropy(model(images), digits)
    loss.backward()

    # For recording. Detached, so that the whole computation needn't be kept.
    return loss.detach()


def pair_gradients(model: nn.Module, images: Tensor, tokens: Tensor) -> Tensor:
    r"""
    ## Gradients of a batch of pairs
    """
    # Image $i$ belongs to text $i$, and no other text of the batch may be right for it.
    loss = contrastive_loss(model(images, tokens))
    loss.backward()

    # One number for both encoders: each of them gets its gradients from it.
    return loss.detach()


def image_and_text_model(pairs: Pairs) -> CLIP:
    r"""
    ## The model for images and words
    """
    # Two encoders of the same size. Patches are four pixels wide here: two rows of four. Texts are
    # cut into letters, of which the longest caption has twenty, and one end.
    images = ViT(8, 4, *SIZES, attention=FusedAttention)
    texts = TextEncoder(len(pairs.tokenizer), *SIZES, len(pairs.texts), FusedAttention)

    # Both end in a space of 32 features, the first number that we tried.
    return CLIP(images, texts, SIZES[0], SIZES[0], d=32)


@torch.no_grad()
def judge(logits: Tensor, targets: Tensor) -> tuple[float, float]:
    r"""
    ## Loss and accuracy

    The cross entropy, and the share of images for which the highest logit is the right one.
    """
    # A model that guesses has a loss of 2.303 for 10 digits, and 4.700 for 110 captions.
    right = logits.argmax(dim=1) == targets

    # The loss tells more than the share: how sure the model is, and how wrong.
    return F.cross_entropy(logits, targets).item(), right.float().mean().item()


@torch.no_grad()
def looks(model: nn.Sequential, images: Tensor, size: int = 2) -> Tensor:
    r"""
    ## What the class token looks at

    In the last layer, mean of all heads: a square of weights for each image.
    """
    # Fused attention keeps no weights. So the parameters move into a model whose attention does.
    readable = classifier(size, attention=MultiHeadAttention)
    readable.load_state_dict(model.state_dict())
    readable(images)

    # The first query is the class token. Its weight for itself is left out, the others are those of
    # the patches, row after row.
    weights = readable[0].encoder.layers[-1].self_attn.attn[0, 1:].mean(dim=-1)
    return weights.T.unflatten(1, (8 // size, -1))


def notebook(steps: int = 800, seed: int = 1, keep_in: str = "") -> None:
    r"""
    ## Try it

    Two models, one after the other, with as many steps as for the tables on this page. To keep
    them, name a folder as `keep_in` before you run the cells below. It lies on your Drive if that
    is mounted, else on the machine, which Colab takes back.
    """
    # ### Digits
    # New digits in each step. The model's [run](../training/run.py) keeps the optimizer, the step
    # and the losses. To start from scratch, run this cell again. If you named a folder in
    # `keep_in`, remove the run's file there first.
    torch.manual_seed(seed)
    reader = classifier()
    how = {"gradients": digit_gradients, "name": "digits", "keep_in": keep_in}
    reading = Run(reader, partial(digits_at, seed=seed), [adamw(reader)], **how)

    # Stop it when you like; run this cell again, and it goes on. There are 2,000 other digits to
    # measure with: no training has the seed 0.
    reading.train(steps)
    reader.eval()
    images, digits = digits_at(0, seed=0, batch_size=2000)
    with torch.no_grad():
        loss, right = judge(reader(images), digits)
    print(f"digits: validation loss {loss:.3f}, right {right:.3f}")

    # ### Where it looks
    # The digits, and below them the weights of their patches: the darker, the larger.
    import matplotlib.pyplot as plt

    no_ticks = {"xticks": [], "yticks": []}
    _, axes = plt.subplots(2, 8, figsize=(10, 2.6), subplot_kw=no_ticks)
    for column, weights in enumerate(looks(reader, images[:8]).tolist()):
        axes[0, column].imshow(images[column].tolist(), cmap="gray_r")
        axes[1, column].imshow(weights, cmap="gray_r")
    plt.show()

    # ### Images and words
    # Each step shows 64 images and their captions.
    pairs = Pairs(seed)
    torch.manual_seed(seed)
    namer = image_and_text_model(pairs)
    how = {"gradients": pair_gradients, "name": "pairs", "keep_in": keep_in}
    naming = Run(namer, pairs.at, [adamw(namer)], **how)

    # After its training, which of all 110 captions is nearest to each image? We count the right
    # answers for the captions of the training, and for the twelve that were kept from it.
    naming.train(steps)
    namer.eval()
    scenes, numbers = pairs.held_out()
    with torch.no_grad():
        logits = namer(scenes, pairs.texts)
    for name, part in (("seen", ~pairs.unseen), ("new", pairs.unseen)):
        # `part` has a number for each caption, `numbers` a caption for each image.
        loss, right = judge(logits[part[numbers]], numbers[part[numbers]])
        print(f"{name} captions: validation loss {loss:.3f}, right {right:.3f}")

    # ### Images and captions
    # The logits of one image of each new caption: there are twenty of each, so it is the first of
    # them. A row is an image, a column a caption in the same order. The diagonal should be dark.
    new = pairs.unseen.nonzero().flatten()
    plt.matshow(logits[20 * new][:, new].tolist(), cmap="gray_r")
    plt.yticks(range(len(new)), [caption(*scene) for scene in pairs.scenes[new].tolist()])
    plt.show()

    # ### Images for words
    # One of the twelve captions stands above the five of 2,200 images that are nearest to it.
    _, axes = plt.subplots(1, 5, figsize=(10, 1.6), subplot_kw=no_ticks)
    for column, place in enumerate(logits[:, 77].topk(5).indices.tolist()):
        axes[column].imshow(scenes[place].tolist(), cmap="gray_r")
    plt.suptitle(caption(*pairs.scenes[77].tolist()))
    plt.show()


def example(batch_size: int = 3) -> tuple[Tensor, ...]:
    r"""
    ## Example

    A few steps of each.

    ### Measured here

    [Models that read digits](../../results/images.json#tables.models)

    A training of 800 steps of both models takes
    [27](../../results/images.json#values.seconds) seconds of one core.

    Does the second one know left from right? The captions “a three and a seven” and “a seven and a
    three” have the same letters. It gives [0.001](../../results/images.json#values.swapped) of the
    images with two different digits the caption with the digits swapped.

    ### Exercises

    ??? question "Which loss do you expect at the first step, for digits and for pairs?"
        A little more than $\ln 10 = 2.30$ and $\ln 64 = 4.16$, those of equal logits. Random logits
        differ. With eight seeds the means are 2.48 and 4.27.

    ??? question "Take patches of 8 × 8 pixels for the digits. What is left of the transformer?"
        One patch and the class token, so there are no places to compare. It is a linear layer and
        feed-forward networks: a classifier that has to learn each shift by itself.

    ??? question "Keep all captions with a nine from training. Can the model name a nine?"
        Seldom. With three seeds, 0.12 to 0.25 of the images with a nine get the right one of 110
        captions, and 0.69 to 0.80 of the others. It is zero-shot in the combination of words, not
        in the words: “nine” is a word that no image has explained. But the rest of a caption, such
        as “and a three”, still fits.
    """
    # Three steps on digits, and the weights of three others. So few steps teach nothing: the shapes
    # are what matters here.
    model = classifier()
    train(
        model,
        lambda step: digits_at(step, 1, batch_size),
        [adamw(model)],
        3,
        gradients=digit_gradients,
    )
    weights = looks(model, digits_at(0, 0, batch_size)[0])

    # As many on images and words. Then one image of each caption is compared with all of them.
    pairs = Pairs(seed=1, batch_size=batch_size)
    model = image_and_text_model(pairs)
    train(model, pairs.at, [adamw(model)], 3, gradients=pair_gradients)
    images, _ = pairs.held_out(n_images=1)
    return weights, model(images, pairs.texts)
