r"""
---
title: Trained Short, Evaluated Long
summary: Seven kinds of positions, trained on short windows and measured on longer ones.
terms:
  extrapolation: Reading texts longer than those of training.
---

What happens to a model when a text is longer than any that it was trained on? Here the small
[autoregressive transformer](../basic/autoregressive_experiment.py) is trained with each kind of
positions, on windows of 64 characters, from the same three seeds, on the same text. Then its loss
is measured on windows of up to 512.

**In:** a trained model and a text. **Out:** its loss at each length, and at each position of a
window. In a longer window fewer characters stand at the beginning, with little to read, so the loss
could *fall*. It can rise, too: positions and distances come up that the model has never seen, and
more keys than it has ever had. Which of the two wins depends on the kind of positions.

[Loss in longer windows than those of training](../../../results/extrapolation.json#figures.lengths)

With windows of 512 characters, eight times as long as in training,
[Transformer-XL](transformer_xl.py) gets better, [ALiBi](alibi.py) and [Shaw's
vectors](shaw_relative.py) stay nearly level, and [rotary positions](rotary_attention.py), good at
the length of training, are the worst of the seven:
[2.927](../../../results/extrapolation.json#tables.losses.rotary.at512).
[Scaling](rotary_scaling.py) mends a part of that. ([All numbers](extrapolation.py#example))
"""

from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.training.data import RandomWindows, fixed_windows
from labml_nn.training.loop import adamw, evaluate, train
from labml_nn.transformers.basic.autoregressive_experiment import AutoregressiveTransformer
from labml_nn.transformers.mha import MultiHeadAttention
from labml_nn.transformers.positional_encoding import LearnedPositionalEncoding, PositionalEncoding
from labml_nn.transformers.positions.alibi import AlibiAttention
from labml_nn.transformers.positions.rotary_attention import RotaryAttention
from labml_nn.transformers.positions.shaw_relative import ShawAttention
from labml_nn.transformers.positions.transformer_xl import TransformerXLAttention
from labml_nn.transformers.rotary import RotaryPositions, inverse_frequencies

# In the order of the table.
KINDS = ("sines", "learned", "Shaw", "Transformer-XL", "ALiBi", "rotary", "none")


def make_model(
    kind: str, n_vocab: int, max_len: int, d_model: int = 64, heads: int = 4, n_layers: int = 3
) -> AutoregressiveTransformer:
    r"""
    ## A model for long texts

    `kind` is one of the seven. The model is made for `max_len` positions, however short the windows
    of training are.
    """
    # Four of them are attentions of their own. All layers share one table of rotations.
    rotary = RotaryPositions(inverse_frequencies(d_model // heads), max_len)
    attentions = {
        "Shaw": ShawAttention,
        "Transformer-XL": TransformerXLAttention,
        "ALiBi": AlibiAttention,
        "rotary": partial(RotaryAttention, rotary=rotary),
    }

    # Two are added to tokens, and then attention is the plain one. Everything else adds nothing.
    added = {
        "sines": PositionalEncoding(d_model, 0.0, max_len),
        "learned": LearnedPositionalEncoding(d_model, max_len),
    }

    # The same model otherwise, without dropout.
    attention = attentions.get(kind, MultiHeadAttention)
    # A feed-forward network of four times the width, as in the paper.
    sizes = (d_model, heads, n_layers, 4 * d_model, max_len)
    model = AutoregressiveTransformer(n_vocab, *sizes, attention=attention)

    # The place of the encodings, between the embedding and the first layer. An identity adds
    # nothing there.
    model.embed.positions = added.get(kind, nn.Identity())
    return model


def train_short(model: nn.Module, tokens: Tensor, seq_len: int, steps: int, seed: int) -> None:
    r"""
    ## Training on short windows

    [The loop](../../training/loop.py), with batches of twelve windows.
    """
    # The same seed gives the same batches to all seven, so none has luckier windows. (We [found
    # that to matter little](../basic/comparison_experiment.py#example).)
    windows = RandomWindows(tokens, seq_len, batch_size=12, seed=seed)
    # With the optimizer and the schedule of the recipe, and nothing chosen for one of the kinds.
    train(model, windows.at, [adamw(model)], steps)


def use_rotary(model: nn.Module, rotary: RotaryPositions) -> None:
    r"""
    ## Replace the rotary positions

    All layers get other rotary positions, such as [scaled ones](rotary_scaling.py).
    """
    # No weight changes, so a trained model can be used with them at once.
    for layer in model.modules():
        if isinstance(layer, RotaryAttention):
            layer.rotary = rotary


def losses_at(model: nn.Module, tokens: Tensor, lengths: list[int]) -> dict[int, float]:
    r"""
    ## The loss at each length

    All of `tokens`, cut into windows of each length: the mean cross entropy in nats.
    """
    # Attention to 512 positions takes 64 times the memory of 64, so long windows come in smaller
    # batches.
    return {n: evaluate(model, tokens, n, batch_size=max(1, 4096 // n)) for n in lengths}


@torch.no_grad()
def losses_by_position(model: nn.Module, tokens: Tensor, max_len: int) -> Tensor:
    r"""
    ## The loss at each position

    The mean over all whole windows, `[max_len]`. The first position predicts from a single
    character, the last one from the whole window.
    """
    # A mean over positions would hide where a model fails, so there is one for each position.
    # The rest that doesn't fill a window would have other positions.
    end = (len(tokens) - 1) // max_len * max_len
    [(inputs, targets)] = fixed_windows(tokens[: end + 1], max_len)

    # A few windows at a time, and one loss for each prediction instead of their mean.
    losses = []
    for x, y in zip(inputs.split(8, dim=1), targets.split(8, dim=1), strict=True):
        # Cross entropy wants one row for each prediction.
        logits = model(x).flatten(0, 1)
        losses.append(F.cross_entropy(logits, y.flatten(), reduction="none").view(y.shape))

    # The windows side by side again, and the mean over them.
    return torch.cat(losses, dim=1).mean(dim=1)


def example(
    seq_len: int = 7, max_len: int = 17, n_windows: int = 5, heads: int = 3, n_vocab: int = 13
) -> tuple[dict[int, float], Tensor]:
    r"""
    ## Example

    A small model, two steps of training, and its losses at two lengths.

    ### Each kind of positions

    With windows of 512 characters, eight times as long as in training:

    * [Transformer-XL](transformer_xl.py) gets better, from
      [1.938](../../../results/extrapolation.json#tables.losses.Transformer-XL.at64) to
      [1.915](../../../results/extrapolation.json#tables.losses.Transformer-XL.at512). [It gains
      nothing](transformer_xl.py#example) from what is far away, only from fewer beginnings.
    * [ALiBi](alibi.py) doesn't get worse, but is behind from the start, from
      [2.089](../../../results/extrapolation.json#tables.losses.ALiBi.at64) to
      [2.076](../../../results/extrapolation.json#tables.losses.ALiBi.at512). Its penalties are
      worth a quarter of a nat (see *none* below), less than the other positions in the scores.
    * [Shaw's](shaw_relative.py) vectors are all the same beyond a distance of 16, and the loss
      stays nearly level, at [1.975](../../../results/extrapolation.json#tables.losses.Shaw.at64)
      and [1.986](../../../results/extrapolation.json#tables.losses.Shaw.at512).
    * [Rotary](rotary_attention.py) positions are nearly as good as Shaw's at the length of
      training, [1.989](../../../results/extrapolation.json#tables.losses.rotary.at64), and the
      worst of the seven at 512,
      [2.927](../../../results/extrapolation.json#tables.losses.rotary.at512). They can be
      [scaled](rotary_scaling.py): up to four times the length NTK helps about as much as YaRN, at
      eight times YaRN helps most. Interpolation makes it worse, as long as the model isn't trained
      on with it.
    * **Sines** that are [added to tokens](../positional_encoding.py) go from
      [2.187](../../../results/extrapolation.json#tables.losses.sines.at64) to
      [2.785](../../../results/extrapolation.json#tables.losses.sines.at512). **Learned** vectors of
      late positions are as random as they were at the start.
    * **None** at all: the causal mask alone tells something of order, and the loss goes from
      [2.335](../../../results/extrapolation.json#tables.losses.none.at64) to
      [2.475](../../../results/extrapolation.json#tables.losses.none.at512).

    [Losses in all windows](../../../results/extrapolation.json#tables.losses)

    It is a small model and a short run. The numbers are means of three seeds, and the last column
    tells how far those are apart, at the length where they are farthest apart. After a longer
    training the order might differ. Our guess is that positions which are added to tokens learn
    more slowly, and that this is why their losses are higher at the length of training too.

    [Loss along a window of 512 characters](../../../results/extrapolation.json#figures.positions)

    ### Exercises

    ??? question "Which kinds have parameters for positions?"
        The learned ones, Shaw's (in each layer a vector for each of 33 distances, from −16 to 16)
        and Transformer-XL's (in each layer a projection and two biases). Sines, ALiBi and rotary
        positions have none.

    ??? question "Is the loss at 512 positions measured on other characters than at 64?"
        No: all of the text is cut into windows in both cases. But with 64, more of the characters
        stand near the beginning of a window, and have less before them.

    ??? question "Learned vectors: which of them are trained?"
        The first 64. No window of training has a position after those, so the others never get a
        gradient other than zero.

    ??? question "Why do rotary positions fail, though scores only depend on the distance?"
        Distances above 63 never came up in training, and their angles are new for the slow pairs.
        But one of the eight, pair 3 counted from 0, does nearly all of the harm. Rotate it alone at
        each longer distance as at 63, and the loss at 512 falls from 2.92 to 2.10 (three seeds, on
        a part of the text). It makes a third of a turn in training, and two and a half at 512. Pair
        4 goes from a tenth of a turn to 0.8, and does next to no harm; those after it make about a
        quarter at most. Do the same to the three fast pairs, and it gets worse.
    """
    # Four features for each head are two pairs.
    model = make_model("rotary", n_vocab, max_len, d_model=4 * heads, heads=heads, n_layers=2)

    # Random tokens: there is nothing to learn.
    tokens = torch.randint(n_vocab, (n_windows * max_len + 1,))
    train_short(model, tokens, seq_len, steps=2, seed=1)

    # The whole text, cut into windows of two lengths.
    plain = losses_at(model, tokens, [seq_len, max_len])

    # The same angles at twice the distance.
    use_rotary(model, RotaryPositions(inverse_frequencies(4) / 2, max_len))
    return plain, losses_by_position(model, tokens, max_len)
