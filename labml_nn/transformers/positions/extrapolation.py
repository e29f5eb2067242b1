r"""
---
title: Trained Short, Evaluated Long
summary: Seven ways to know positions, trained on short windows and measured on longer ones.
---

What happens to a model in a text that is longer than any it was trained on? Here the small
[autoregressive transformer](../basic/autoregressive_experiment.py) is trained with each way of
knowing positions, with windows of one length, from the same seed, on the same text. Then its
loss is measured in windows up to eight times as long.

A longer window has more to look at, so the loss could go *down*. It goes up where positions or
distances come that the model has never seen.

[Loss in longer windows than those of training](../../../results/extrapolation.json#figures.lengths)

With windows of 512 characters, eight times as long as in training:

* **Transformer-XL** does what one would wish, and goes down from
  [1.928](../../../results/extrapolation.json#tables.losses.Transformer-XL.at64) to
  [1.902](../../../results/extrapolation.json#tables.losses.Transformer-XL.at512).
* **ALiBi** never goes up, but is behind from the start, from
  [2.083](../../../results/extrapolation.json#tables.losses.ALiBi.at64) to
  [2.072](../../../results/extrapolation.json#tables.losses.ALiBi.at512).
  In this short run the penalties cost more than they are worth.
* **Shaw's** vectors, which are all one beyond a distance of 16, stay nearly level, at
  [1.960](../../../results/extrapolation.json#tables.losses.Shaw.at64) and
  [1.971](../../../results/extrapolation.json#tables.losses.Shaw.at512).
* **Rotary** positions are as good as Shaw's at the length of training,
  [1.964](../../../results/extrapolation.json#tables.losses.rotary.at64), and the worst
  of the seven at 512,
  [2.971](../../../results/extrapolation.json#tables.losses.rotary.at512). So they are
  [scaled](rotary_scaling.py): YaRN holds out longest, NTK is as good up to four times the length,
  and interpolation makes it worse as long as nothing is trained on.
* **Added to tokens**, sines go up from
  [2.183](../../../results/extrapolation.json#tables.losses.sines.at64) to
  [2.801](../../../results/extrapolation.json#tables.losses.sines.at512). Learned vectors
  of late positions are as they began.

[Losses in all windows](../../../results/extrapolation.json#tables.losses)

It is a small model, a short run and one seed: differences of a hundredth mean nothing, and a model
that is trained for longer might end up in another order. What is added to tokens learns more
slowly here, so its losses are higher at the length of training, too.

[Loss along a window of 512 characters](../../../results/extrapolation.json#figures.positions)
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.training.data import fixed_windows
from labml_nn.training.loop import evaluate
from labml_nn.training.sampling import evaluating
from labml_nn.transformers.basic.autoregressive_experiment import (
    AutoregressiveTransformer,
    Config,
)
from labml_nn.transformers.basic.comparison_experiment import put_in_place
from labml_nn.transformers.positional_encoding import LearnedPositionalEncoding
from labml_nn.transformers.positions.alibi import AlibiAttention
from labml_nn.transformers.positions.rotary_attention import RotaryAttention
from labml_nn.transformers.positions.rotary_scaling import scaled
from labml_nn.transformers.positions.shaw_relative import ShawAttention
from labml_nn.transformers.positions.transformer_xl import TransformerXLAttention
from labml_nn.transformers.rotary import RotaryPositions


def ways(
    d_model: int, heads: int, dropout_prob: float, max_len: int
) -> dict[str, dict[str, Callable[[], nn.Module]]]:
    r"""
    ## The ways

    The name of each, and what it puts into the places of the transformer, as `in_transformer` on
    its page does. With sines all is as it was. Where scores know distances, nothing is added to
    tokens; and in the last one nothing tells positions at all, but for the causal mask.
    """
    turn = RotaryPositions(d_model // heads, max_len)
    scores = {
        "Shaw": lambda: ShawAttention(heads, d_model, dropout_prob),
        "Transformer-XL": lambda: TransformerXLAttention(heads, d_model, dropout_prob),
        "ALiBi": lambda: AlibiAttention(heads, d_model, dropout_prob),
        "rotary": lambda: RotaryAttention(heads, d_model, dropout_prob, turn=turn),
    }
    relative = {
        name: {"self_attn": make, "positions": nn.Identity} for name, make in scores.items()
    }

    # Vectors of late positions are there too. They will stay as they began.
    learned = {"positions": lambda: LearnedPositionalEncoding(d_model, max_len)}
    return {"sines": {}, "learned": learned, **relative, "none": {"positions": nn.Identity}}


def make_model(way: str, n_vocab: int, config: Config, max_len: int) -> AutoregressiveTransformer:
    r"""
    ## A model for long texts

    `config` says how long the windows of training are. The model itself, its mask and its tables,
    is made for `max_len` positions.
    """
    torch.manual_seed(config.seed)
    model = AutoregressiveTransformer(
        n_vocab,
        config.d_model,
        config.heads,
        config.n_layers,
        config.d_ff,
        max_len,
        config.dropout_prob,
    )
    put_in_place(model, ways(config.d_model, config.heads, config.dropout_prob, max_len)[way])
    return model


def use_table(model: nn.Module, turn: RotaryPositions) -> None:
    r"""
    ## Exchange the table

    All layers with rotary positions get another one. Nothing is trained on.
    """
    for layer in model.modules():
        if isinstance(layer, RotaryAttention):
            layer.turn = turn


def losses_at(
    model: AutoregressiveTransformer,
    tokens: Tensor,
    seq_lens: list[int],
    kind: str | None = None,
    trained_len: int = 64,
) -> dict[int, float]:
    r"""
    ## The loss at each length

    All of `tokens`, cut into windows of each length: the mean cross entropy in nats. If there is a
    `kind` of [scaling](rotary_scaling.py#scaled), the table suits each length, and the model gets
    back what it had at the end.
    """
    losses, turn = {}, getattr(model.encoder.layers[0].self_attn, "turn", None)
    for seq_len in seq_lens:
        if kind is not None:
            use_table(model, scaled(turn, kind, seq_len, trained_len))

        # Attention to a few thousand tokens at once doesn't take much memory.
        losses[seq_len] = evaluate(model, tokens, seq_len, batch_size=max(1, 4096 // seq_len))
    if kind is not None:
        use_table(model, turn)
    return losses


def losses_by_position(model: nn.Module, tokens: Tensor, max_len: int) -> Tensor:
    r"""
    ## The loss at each position

    The mean over all whole windows of `tokens`, `[max_len]`. The first position has nothing to go
    by, and the last one all of the window.
    """
    end = (len(tokens) - 1) // max_len * max_len
    [(inputs, targets)] = fixed_windows(tokens[: end + 1], max_len)
    losses = []
    with evaluating(model):
        for x, y in zip(inputs.split(8, dim=1), targets.split(8, dim=1), strict=True):
            logits = model(x).flatten(0, 1)
            losses.append(F.cross_entropy(logits, y.flatten(), reduction="none").view(y.shape))
    return torch.cat(losses, dim=1).mean(dim=1)


def example(
    seq_len: int = 7,
    max_len: int = 17,
    batch_size: int = 5,
    heads: int = 3,
    n_pairs: int = 2,
    d_ff: int = 11,
    n_vocab: int = 13,
) -> tuple[dict[int, float] | Tensor, ...]:
    r"""
    ## Example

    A model that is not trained at all, at two lengths.
    """
    d_model = heads * 2 * n_pairs
    config = Config(seq_len=seq_len, d_model=d_model, heads=heads, n_layers=2, d_ff=d_ff)
    model = make_model("rotary", n_vocab, config, max_len)
    tokens = torch.randint(n_vocab, (batch_size * max_len + 1,))
    plain = losses_at(model, tokens, [seq_len, max_len])
    longer = losses_at(model, tokens, [seq_len, max_len], "yarn", seq_len)
    return plain, longer, losses_by_position(model, tokens, max_len)
