r"""
---
title: Drawn Digits
summary: Small images of digits that the page draws itself, and captions for one or two of them.
terms:
  caption: A text that says what an image shows.
  pixel: One number of an image, here how dark the image is at that place.
---

To learn about images we need thousands, small enough for a CPU. This page draws them: a digit is a
line through nine points, drawn with a thick pen on 8 × 8 *pixels*.

[Each digit without distortion, and below it three times with
it](../../results/images.json#figures.digits)

If all sevens were alike, there would be little to learn. The 64 weights of a linear layer for a
seven are a *template*. Take a row of pixels, 0 1 0 0, and the template −1 1 −1 −1: the score is 1.
Move the line one pixel to the right, 0 0 1 0, and it is −1. Without distortions, such a layer gets
[1.000](../../results/images.json#tables.digits.nothing.accuracy) of the digits right after 800
steps, and with all of them
[0.651](../../results/images.json#tables.digits.everything.accuracy).

**In:** digits from 0 to 9, `[batch_size]`, and a generator of random numbers. **Out:** images,
`[batch_size, 8, 8]`: about 0 where the paper is white, and 1 where there is a line.

"""

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor

from labml_nn.training.data import CharTokenizer

# Nine points for each digit, “xy” each, from 00 at the top left to 88 at the bottom right.
STROKES = """
    40 11 04 17 48 77 84 71 40
    12 40 41 42 43 44 45 46 48
    02 20 50 72 74 46 08 48 88
    01 40 72 53 34 64 86 58 07
    58 55 50 33 05 35 55 75 85
    80 40 10 13 43 74 77 48 07
    70 32 14 06 38 77 75 44 16
    00 40 80 72 63 54 45 37 38
    40 12 44 76 48 16 44 72 40
    73 44 13 11 40 71 74 66 58
"""
# How far each point wanders and the whole digit moves at most, in pixels along each axis; how much
# it leans, as a share of the height; how much larger or smaller it is, as a share; and the noise in
# each pixel.
DISTORTIONS = {"wobble": 0.35, "shift": 1.2, "slant": 0.35, "size": 0.2, "noise": 0.15}

# The eleventh digit is an empty place.
EMPTY = 10
# The names of one digit, and of two equal ones. “An eight” and “sixes” are irregular, so both lists
# are written out.
ONE = "a zero, a one, a two, a three, a four, a five, a six, a seven, an eight, a nine".split(", ")
TWO = "zeros ones twos threes fours fives sixes sevens eights nines".split()


def draw(
    digits: Tensor, generator: torch.Generator, by: Mapping[str, float] = DISTORTIONS
) -> Tensor:
    r"""
    ## Drawing

    * `digits` are the numbers to draw, `[batch_size]`
    * `by` has the strength of each distortion; one that isn't in there is left out (the thickness
      of the pen always varies)

    A generator with the same seed draws the same images again.
    """

    # Between -1 and 1 times the distortion, other numbers for each image.
    def some(name: str, *shape: int) -> Tensor:
        drawn = 2 * torch.rand(len(digits), *shape, generator=generator) - 1
        return by.get(name, 0.0) * drawn

    # The points, `[batch_size, 9, 2]`, up to four pixels wide and nearly six high, around zero.
    # Each point wanders by itself, so no two sevens look the same.
    points = torch.tensor([[int(x), int(y)] for x, y in STROKES.split()]).view(10, 9, 2)
    points = (points[digits.clamp(max=9)] - 4) * torch.tensor([0.5, 0.7])
    points = points + some("wobble", 9, 2)

    # Then the whole digit: larger or smaller, slanted (x changes with y), and moved from the middle
    # of the square.
    x, y = (points * (1 + some("size", 1, 1))).unbind(dim=-1)
    points = torch.stack([x + some("slant", 1) * y, y], dim=-1) + 3.5 + some("shift", 1, 2)

    # The pen makes 33 dots along the line, four from each point to the next: `[batch_size, 2, 33]`.
    dots = F.interpolate(points.transpose(1, 2), size=33, mode="linear", align_corners=True)

    # The squared distance of each pixel from each dot, `[batch_size, 33, 8, 8]`.
    to_x, to_y = (torch.arange(8) - dots.unsqueeze(-1)).square().unbind(dim=1)
    distances = to_y.unsqueeze(-1) + to_x.unsqueeze(-2)

    # Dark near the nearest dot. The pen is one to two pixels thick, and an empty place has no ink.
    pen = 0.65 + 0.2 * (2 * torch.rand(len(digits), 1, 1, generator=generator) - 1)
    ink = (-distances.amin(dim=1) / (2 * pen**2)).exp() * (digits < EMPTY)[:, None, None]
    return ink + by.get("noise", 0.0) * torch.randn(ink.shape, generator=generator)


def digits_at(
    step: int, seed: int, batch_size: int = 64, by: Mapping[str, float] = DISTORTIONS
) -> tuple[Tensor, Tensor]:
    r"""
    ## A batch of digits

    New images and their digits for each step.
    """
    # They depend on the seed and the step alone, so two models can be trained on the same ones. Two
    # seeds are a million apart: trainings of fewer steps have no batch in common.
    generator = torch.Generator().manual_seed(1_000_000 * seed + step)
    digits = torch.randint(10, (batch_size,), generator=generator)
    return draw(digits, generator, by), digits


def all_scenes() -> Tensor:
    r"""
    ## Scenes

    What can stand on a wide image: a left and a right digit, `[110, 2]`.
    """
    # A hundred pairs, ten of which are two equal digits. Then ten digits by themselves.
    pairs = torch.cartesian_prod(torch.arange(10), torch.arange(10))
    alone = torch.stack([torch.arange(10), torch.full((10,), EMPTY)], dim=1)
    return torch.cat([pairs, alone])


def draw_scenes(scenes: Tensor, generator: torch.Generator) -> Tensor:
    r"""
    ## Wide images

    One for each scene, `[batch_size, 8, 16]`.
    """
    # A digit by itself can stand on either side: its caption doesn't say on which.
    flip = (scenes[:, 1] == EMPTY) & (torch.rand(len(scenes), generator=generator) < 0.5)
    left, right = scenes.where(~flip[:, None], scenes.flip(1)).unbind(dim=1)

    # Each digit is drawn by itself, with distortions of its own, and put beside the other one.
    return torch.cat([draw(left, generator), draw(right, generator)], dim=2)


def caption(left: int, right: int) -> str:
    r"""
    ## Captions

    What a scene is called; `right` is 10 if there is only one digit.
    """
    # Three forms. Only the last one tells left from right.
    if right == EMPTY:
        return ONE[left]
    return f"two {TWO[left]}" if left == right else f"{ONE[left]} and {ONE[right]}"


class Pairs:
    r"""
    ## Images with captions
    """

    def __init__(self, seed: int, batch_size: int = 64) -> None:
        r"""
        * `seed` decides which images are drawn
        * `batch_size` is the number of pairs in a batch
        """
        self.seed = seed
        self.batch_size = batch_size
        self.scenes = all_scenes()
        captions = [caption(*scene) for scene in self.scenes.tolist()]

        # A [token](../training/data.py#CharTokenizer) for each character. Each caption has the end
        # of a line at its end, and more of them if it is short: `[21, 110]`. The tokenizer sorts
        # characters, and this one comes before all letters, so its token is 0.
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

        # No caption twice: if “a four” came twice, both images would fit both captions, but the
        # [loss](clip.py#contrastive_loss) counts one caption of a batch as right for an image, and
        # all others as wrong.
        seen = (~self.unseen).nonzero().flatten()
        chosen = seen[torch.randperm(len(seen), generator=generator)[: self.batch_size]]
        return draw_scenes(self.scenes[chosen], generator), self.texts[:, chosen]

    def held_out(self, n_images: int = 20) -> tuple[Tensor, Tensor]:
        r"""
        ### Images to measure with

        `n_images` for each caption, and the number of the caption for each image.
        """
        # A seed of its own. Those of trainings begin with 1.
        numbers = torch.arange(len(self.scenes)).repeat_interleave(n_images)
        return draw_scenes(self.scenes[numbers], torch.Generator().manual_seed(0)), numbers


def example(batch_size: int = 3) -> tuple[Tensor, ...]:
    r"""
    ## Example

    A few digits, and as many wide images with their captions.

    ### What doesn't make it harder

    Noise. It looks bad, but alone it leaves the linear layer at
    [1.000](../../results/images.json#tables.digits.noise.accuracy). Of the other distortions, only
    shifts alone cost something within 800 steps: they bring it to
    [0.870](../../results/images.json#tables.digits.shift.accuracy). A shift alone costs time: in a
    try, 4,000 steps gave 0.98, and 8,000 steps with a rate of 0.01 gave more than 0.99. Left out
    are colours: an image would have three numbers for each pixel.

    ### Two digits

    Two digits can stand side by side, on eight rows of 16 pixels, or one of the two places is
    empty. The words for such an image are its *caption*: “a seven”, “two threes”, “a three and an
    eight”. The lesson on [images and words](clip.py) needs them.

    ### Each distortion

    [The share of digits that a linear layer gets right after 800 steps, by what distorts
    them: means of three seeds](../../results/images.json#tables.digits)

    ### Exercises

    ??? question "Which caption has the scene `[3, 10]`, and what can its image look like?"
        “a three”. The three is on the left or on the right, and the other place is empty.

    ??? question "How many captions are there?"
        110: ten for one digit, ten for two equal ones, and 90 for two different ones, since “a
        three and a four” isn't “a four and a three”.

    ??? question "How far can a digit be shifted without losing a dot? It is about six pixels high."
        By 1.2 pixels up or down. Rows 0 to 7 are the centres of pixels, so the square reaches from
        −0.5 to 7.5, and the dots of a digit that isn't shifted from 0.7 to 6.3. Our shifts go just
        that far. With the other distortions, some digits still lose an edge.

    ??? question "Draw a dash: which nine points would you write in `STROKES`?"
        For example “04 14 24 34 44 54 64 74 84”.
    """
    # The same seed gives the same digits each time.
    images, digits = digits_at(step=0, seed=1, batch_size=batch_size)

    # The same number of wide images, and their captions as tokens.
    wide, tokens = Pairs(seed=1, batch_size=batch_size).at(0)
    return images, digits, wide, tokens
