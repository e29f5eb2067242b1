r"""
---
title: Modern Encoder
summary: BERT with the parts of later decoders, and a window in two layers of three (ModernBERT).
know: ../transformers/rotary.py, ../transformers/swiglu.py
paper:
  title: "Smarter, Better, Faster, Longer: A Modern Bidirectional Encoder for Fast, Memory
    Efficient, and Long Context Finetuning and Inference"
  authors: Warner et al.
  year: 2024
  link: https://arxiv.org/abs/2412.13663
terms:
  GeGLU: A feed-forward network whose hidden features are multiplied by a gate with GELU.
  local attention: Attention to the positions within a fixed distance only.
---

[BERT's encoder](masked_model.py) of 2018 adds a learned vector for each position. The vectors of 17
and 18 are other numbers than those of 43 and 44, though both are neighbours. Rotate queries and
keys by an angle for their position instead, and what counts is the difference of the angles, 1 step
both times. In our size, that alone takes the loss in gaps after 600 steps from
[3.309](../../results/encoders.json#tables.encoders.BERT.loss) to
[1.990](../../results/encoders.json#tables.encoders.BERT%2C%20rotary%20positions.loss).

ModernBERT is an encoder with rotary positions and other parts that have become usual since then,
most of all in decoders:

* *Pre-norm*: the input of a sublayer is normalised, and not the sum after it.
* *Rotary positions*: queries and keys are [rotated](../transformers/rotary.py) by an angle for
  their position, and no vector is added for it.
* *GeGLU*: the hidden features of the network are multiplied by [a gate](../transformers/swiglu.py).
* *Local attention*: two of three layers see only what is near. With a distance of 8, a position
  sees 8 + 1 + 8 = 17 positions at most, itself included, however long the text is.
* There are no biases, but for one number for each token in the logits.

**In:** tokens, `[seq_len, batch_size]`, and a mask of what is visible. **Out:** features of each
position, `[seq_len, batch_size, d_model]`.
"""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.encoders.masked_model import MaskedModel
from labml_nn.transformers.mha import MultiHeadAttention
from labml_nn.transformers.models import TransformerLayer
from labml_nn.transformers.rotary import RotaryPositions, inverse_frequencies
from labml_nn.transformers.swiglu import SwiGLU


class GeGLU(SwiGLU):
    r"""
    ## Gated network with GELU

    The network of [SwiGLU](../transformers/swiglu.py), with another activation in its gate.

    $$
    \operatorname{GeGLU}(x) = (\operatorname{GELU}(x W_g) \odot x W_v)\, W_o
    $$

    $W_g$, $W_v$ and $W_o$ are matrices, and $\odot$ multiplies feature by feature.
    """

    def forward(self, x: Tensor) -> Tensor:
        r"""
        `x` and the result are `[seq_len, batch_size, d_model]`.
        """
        # Swish and GELU are never more than 0.2 apart: both go to zero far below zero, and to the
        # input itself far above. BERT's network has GELU, too, but no gate.
        hidden = F.gelu(self.gate(x)) * self.value(x)
        return self.output(self.dropout(hidden))


def local_mask(seq_len: int, distance: int) -> Tensor:
    r"""
    ## Local attention

    True where two positions are at most `distance` apart, `[seq_len, seq_len, 1]`.

    In a layer with local attention, position $i$ sees position $j$ if

    $$
    |i - j| \le w
    $$

    where $w$ is the `distance`: 8 letters here, 64 tokens in ModernBERT. Two such layers in a row
    see $2 w$ positions to each side, and then comes a layer that sees the whole text. For long
    texts this saves most of the scores: with 8,192 tokens, a local layer of ModernBERT needs 129
    scores for a token, and not 8,192.
    """
    # Both sides, since nothing has to be hidden from an encoder. (The [window of a
    # decoder](../transformers/memory/sliding_window.py) goes to the left.)
    position = torch.arange(seq_len)
    return ((position[:, None] - position).abs() <= distance).unsqueeze(-1)


def with_rotary(attention: nn.Module, rotate: nn.Module) -> nn.Module:
    r"""
    ## Rotary positions in any attention

    Think of directions in a town. “Two doors to the left” works from any house. BERT's positions
    are house numbers. That this is why BERT's encoder learns so slowly here is our interpretation;
    measured is that the rotation alone makes the difference. It isn't only that BERT's table has to
    be learned: with fixed [sinusoids](../transformers/positional_encoding.py) in its place, the
    loss was as high in a try with one seed, be they as small as the vectors of tokens or not. It
    was as high without any positions, too: in 600 steps BERT's encoder doesn't learn to use them at
    all. In a try of 2,000 steps it began to after about 1,000.
    """
    # What makes queries and keys is followed by the rotation, which needs no weights. Nothing else
    # of the attention is touched, so this works for most that have these two parts. (Not for one
    # with a cache: each new query would be rotated as position 0.)
    attention.query = nn.Sequential(attention.query, rotate)
    attention.key = nn.Sequential(attention.key, rotate)
    return attention


class ModernEncoder(nn.Module):
    r"""
    ## Encoder

    In place of [BERT's](masked_model.py#BertEncoder).
    """

    def __init__(
        self,
        n_vocab: int,
        d_model: int,
        heads: int,
        n_layers: int,
        d_ff: int,
        seq_len: int,
        distance: int,
        dropout_prob: float = 0.0,
        every: int = 3,
        attention: Callable[..., nn.Module] = MultiHeadAttention,
        bases: Sequence[float] = (10_000.0, 160_000.0),
    ) -> None:
        r"""
        * `distance` is how far a layer with local attention sees to each side
        * `every` is 3 if every third layer, from the first on, sees the whole text
        * `bases` are those of the [rotary positions](../transformers/rotary.py#inverse_frequencies)
          of layers with local attention, and of the others

        The other arguments are those of BERT's encoder.
        """
        super().__init__()
        # Tokens alone: there is no table of positions. Small numbers, for the same reason as in
        # BERT, and then the size that layers expect: a feature of 0.02 would drown in what layers
        # add.
        self.tokens = nn.Embedding(n_vocab, d_model)
        nn.init.normal_(self.tokens.weight, std=0.02)
        self.norm = nn.LayerNorm(d_model, bias=False)
        self.dropout = nn.Dropout(dropout_prob)

        # The larger the base, the slower all pairs of features but the first turn, and the more
        # positions the slowest needs to go round once. 160,000 is for texts of 8,192 tokens; ours
        # have 64.
        # All layers of a kind share one table, because nothing in it is learned.
        rotate = [RotaryPositions(inverse_frequencies(d_model // heads, b), seq_len) for b in bases]

        # The first layer, and every third one after it. In between, what is near has to do.
        self.sees_all = [index % every == 0 for index in range(n_layers)]

        # No biases anywhere: the paper spends their parameters on matrices.
        self.layers = nn.ModuleList()
        for sees_all in self.sees_all:
            attn = attention(heads, d_model, dropout_prob, bias=False)
            layer = TransformerLayer(
                d_model=d_model,
                # Positions come in here. Everything else of the layer is as in any transformer.
                self_attn=with_rotary(attn, rotate[sees_all]),
                feed_forward=GeGLU(d_model, d_ff, dropout_prob),
                dropout_prob=dropout_prob,
            )

            # Pre-norm, as our layers have it, but without biases, which our layers have.
            layer.norm_self_attn = nn.LayerNorm(d_model, bias=False)
            layer.norm_ff = nn.LayerNorm(d_model, bias=False)
            self.layers.append(layer)

        # What the first layer gets is normalised already, right after the embedding.
        self.layers[0].norm_self_attn = nn.Identity()

        # With pre-norm nothing has normalised the last sum, and it has grown with each layer.
        self.last_norm = nn.LayerNorm(d_model, bias=False)

        # A buffer moves with the model. It isn't saved, because it can be made again.
        self.register_buffer("near", local_mask(seq_len, distance), persistent=False)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        r"""
        From `[seq_len, batch_size]` to the features of each position, `[seq_len, batch_size,
        d_model]`.
        """
        # No positions are added: the layers rotate queries and keys.
        x = self.dropout(self.norm(self.tokens(tokens)))

        # The mask for local layers, of its own for each text if there is padding: what is near
        # *and* visible. A padded position can be near.
        near = self.near[: len(tokens), : len(tokens)]
        local = near if mask is None else near & mask

        # One layer collects from the whole text, two look at the neighbourhood, and so on.
        for sees_all, layer in zip(self.sees_all, self.layers, strict=True):
            x = layer(x=x, mask=mask if sees_all else local)
        return self.last_norm(x)


def example(
    seq_len: int = 7,
    batch_size: int = 3,
    heads: int = 5,
    n_pairs: int = 2,
    d_ff: int = 11,
    n_vocab: int = 13,
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    Features of texts with padding, and logits.

    ### Measured here

    BERT's loss of 3.309 is about that of [counting single letters](../training/counting.py),
    [3.347](../../results/counting.json#values.letters). With all of its parts, the modern encoder
    gets [1.886](../../results/encoders.json#tables.encoders.modern.loss), with slightly fewer
    weights. Local attention adds something: without it, the modern encoder has
    [1.968](../../results/encoders.json#tables.encoders.all%20global.loss).

    In the figure, BERT gets pre-norm or rotary positions, with all else as it was. “All global” is
    the modern encoder without local attention:

    [The loss in gaps with each encoder, mean and range of three
    seeds](../../results/encoders.json#figures.parts)

    ### In the course of the training

    [The training loss of three encoders, from one
    seed](../../results/encoders.json#figures.curves)

    BERT's curve falls a little, too, to about 3.08. In training a tenth of the chosen letters are
    kept, and a tenth are replaced. If you only know how frequent letters are, and that a frequent
    letter which you see has probably been kept, your loss is 3.07, by the counts of the training
    text. So BERT has learned hardly more than to copy what it sees.

    What did not help here: pre-norm alone,
    [3.303](../../results/encoders.json#tables.encoders.BERT%2C%20pre-norm.loss); and pre-norm,
    GeGLU and no biases together make no difference beyond that of seeds, compared with rotary
    positions alone. Our model has three layers; we have measured no deeper one.

    [All encoders](../../results/encoders.json#tables.encoders)

    Left out are the removal of padding before the model runs, the kernels and the long training of
    ModernBERT. The paper also chooses 30 % of the tokens, not 15 %.

    ### Exercises

    ??? question "Three layers, a `distance` of 8. How far does a position see if all are local?"
        24 positions to each side: what is 8 away has seen what is 16 away, and so on. With the
        first layer global, it sees everything, but far positions only through that layer.

    ??? question "How many scores has a local layer for 64 positions and a `distance` of 8?"
        Up to 17 for each position, the position itself included: 1,016 of 4,096, since those near
        the ends have fewer. This page computes all scores and hides the others. A kernel that
        skips them saves time.

    ??? question "Put three hidden positions before a text. Which features of the text change?"
        None: scores depend on distances alone, and hidden positions aren't looked at. With BERT's
        table of positions all of them would change.

    ??? question "Put `near` in the place of `near & mask`. What happens?"
        In local layers the last letters of a text look at the padding beside them. So what the
        model says about a short text depends on how long the others in its batch are.
    """
    # Two positions to each side in the second and the third layer. The first and the fourth see
    # all.
    d_model = heads * 2 * n_pairs
    encoder = ModernEncoder(n_vocab, d_model, heads, 4, d_ff, seq_len, distance=2)
    tokens = torch.randint(n_vocab, (seq_len, batch_size))

    # The last position of each text is padding here, so no layer may look at it, whether it is near
    # or not.
    visible = (torch.arange(seq_len) < seq_len - 1)[None, :, None]
    return encoder(tokens, visible), MaskedModel(encoder, bias=False)(tokens)
