r"""
---
title: Encoder and Decoder
summary: One stack of layers reads a text, and another writes its translation.
know: dates.py
paper:
  title: Attention Is All You Need
  authors: Vaswani et al.
  year: 2017
  link: https://arxiv.org/abs/1706.03762
terms:
  decoder: The part that writes, token by token, and looks at what the encoder has made.
---

The transformer was made to translate: it reads one text, the *source*, and writes another, the
*target*. On this site it reads [dates](dates.py), such as “Thursday, 5 March 1987”, and writes
1987-03-05. How does the writer get to know what was read?

Early neural translators passed on [one vector](https://arxiv.org/abs/1409.3215) for the whole
source (Sutskever, Vinyals and Le 2014). With one vector, the mean over the characters, our model
translates [25.4 %](../../results/translation.json#tables.models.One%20vector.right) of new dates
without a mistake. With a vector for *each character* and
[attention](../transformers/variants/cross_attention.py) to them, as [Bahdanau, Cho and
Bengio](https://arxiv.org/abs/1409.0473) proposed in 2014, it translates [99.7
%](../../results/translation.json#tables.models.Encoder%20and%20decoder.right).

**In:** a source, `[source_len, batch_size]`, and the target as far as it is written,
`[target_len, batch_size]`. **Out:** logits for the token after each of the target,
`[target_len, batch_size, n_vocab]`.

```text
source ── embedding ── encoder layers ── norm ── memory
                                                   │
                                                   ▼ keys and values
target ── embedding ─────────────────────── decoder layers ── norm ── logits
```

The *memory* has a vector for each character of the source: 24 for “Thursday, 5 March 1987” with its
start and end. To write the 3 of “03”, the decoder can look at “March” alone.

With a source $s$, a target of the tokens $t_1, \dots, t_n$ and the memory $m$:

$$
m = \operatorname{Encoder}(s) \qquad
p(t_1, \dots, t_n \mid s) = \prod_i p(t_i \mid t_1, \dots, t_{i-1}, m)
$$
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.feed_forward import FeedForward
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.models import Embeddings, Encoder, Generator, TransformerLayer
from labml_nn.transformers.positional_encoding import PositionalEncoding
from labml_nn.transformers.variants.cross_attention import LayerWithMemory


class EncoderDecoder(nn.Module):
    r"""
    ## Encoder and decoder
    """

    def __init__(
        self,
        n_vocab: int,
        d_model: int = 64,
        heads: int = 4,
        n_layers: int = 2,
        d_ff: int = 256,
        seq_len: int = 64,
        dropout_prob: float = 0.0,
        pad: int = 0,
    ) -> None:
        r"""
        * `n_vocab` is the number of different tokens, the same for source and target
        * `d_model` is the number of features of a position
        * `heads` is the number of heads of each attention
        * `n_layers` is the number of layers on *each* side
        * `d_ff` is the number of features inside a feed-forward network
        * `seq_len` is the greatest length of a source or a target
        * `dropout_prob` is the probability that a weight or a feature is dropped
        * `pad` is the token that fills up what is too short
        """
        # What fills up shorter texts has no meaning, and must be hidden wherever something looks at
        # the source.
        super().__init__()
        self.pad = pad

        # One table for both sides, as in the paper: a 7 is a 7, whether it is read or written.
        positions = PositionalEncoding(d_model, dropout_prob, seq_len)
        self.embed = Embeddings(n_vocab, d_model, positions)

        # The encoder is the [stack](../transformers/models.py#Encoder) of a language model. What
        # makes it an encoder is the mask that it gets: all of the source is visible.
        layers = (
            TransformerLayer(
                d_model=d_model,
                # Self-attention of the source: “5” can look at its neighbours, to tell whether it
                # is a day or a month. (That is an interpretation.)
                self_attn=MultiHeadAttention(heads, d_model, dropout_prob),
                feed_forward=FeedForward(d_model, d_ff, dropout_prob),
                dropout_prob=dropout_prob,
            )
            for _ in range(n_layers)
        )
        self.encoder = Encoder(layers, d_model)

        # As many layers that have a second attention, to [the
        # memory](../transformers/variants/cross_attention.py#LayerWithMemory).
        self.decoder = nn.ModuleList(
            LayerWithMemory(d_model=d_model, heads=heads, d_ff=d_ff, dropout_prob=dropout_prob)
            for _ in self.encoder.layers
        )

        # This normalises what the layers have added up, so that the logits don't depend on how much
        # that was. Then come the logits.
        self.norm = nn.LayerNorm(d_model)
        self.generator = Generator(n_vocab, d_model)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        r"""
        ### Encode

        The memory of a source, `[source_len, batch_size, d_model]`, and what is visible of it.
        """
        # Everything but padding, for all queries alike: `[1, source_len, batch_size]`. The source is
        # there as a whole, so no causal mask is needed: “5” can look at the “/” that follows. (These
        # dates can do without that: [a causal mask](encoder_decoder.py#example) does no harm.)
        visible = (source != self.pad).unsqueeze(0)

        # The vectors at padding are computed, too, but nobody looks at them.
        return self.encoder(self.embed(source), visible), visible

    def decode(self, target: Tensor, memory: Tensor, visible: Tensor) -> Tensor:
        r"""
        ### Decode

        Logits for the token after each of the target.
        """
        # A token sees itself and those before it. That hides the padding as well, which stands at
        # the end.
        mask = causal_mask(len(target)).to(target.device)

        # Tokens and positions, as in the encoder, from the same table.
        x = self.embed(target)

        # Each layer looks at the target so far, then at the memory, the same for all layers.
        for layer in self.decoder:
            x = layer(x=x, memory=memory, mask=mask, visible=visible)
        return self.generator(self.norm(x))

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        r"""
        From `[source_len, batch_size]` and `[target_len, batch_size]` to logits,
        `[target_len, batch_size, n_vocab]`.
        """
        # Once through each. In writing, the encoder runs once and the decoder for every token.
        return self.decode(target, *self.encode(source))


def translation_loss(model: EncoderDecoder, source: Tensor, target: Tensor) -> Tensor:
    r"""
    ## Loss

    The mean cross entropy of the target's tokens. The decoder gets the target *shifted right* by
    one token:

    ```
    decoder gets   < 1 9 8 7 - 0 3 - 0 5
    it predicts    1 9 8 7 - 0 3 - 0 5 >
    ```

    Each token is predicted from the right ones before it, whatever the model would have written
    there. That is [teacher forcing](../training/leaks.py): all positions are trained at once.
    Without the shift, each token is predicted from itself. Then the loss of the training goes to
    [0.001](../../results/translation.json#tables.models.Target%20not%20shifted.printed), and
    [0.0 %](../../results/translation.json#tables.models.Target%20not%20shifted.right) of the
    translations are right.
    """
    # All but the last token go in, and all but the first are predicted.
    logits = model(source, target[:-1])

    # Padding is no text. If it counted, a batch with one long target would mostly train on padding.
    return F.cross_entropy(logits.flatten(0, 1), target[1:].flatten(), ignore_index=model.pad)


@torch.no_grad()
def translate(model: EncoderDecoder, source: Tensor, start: int, end: int, n_tokens: int) -> Tensor:
    r"""
    ## Greedy decoding

    Always the likeliest token, up to `n_tokens` of them. `start` and `end` are the tokens between
    which a target stands. After the end, the result is filled up.
    """
    # Dropout is for training. A translation would differ from one call to the next.
    was_training = model.training
    model.eval()

    # Read once: the source doesn't change while we write. Only the decoder runs for each new token.
    memory, visible = model.encode(source)

    # Each translation begins with the start token, `[1, batch_size]`, and none has ended. Both
    # tensors take the batch size and the device from the source.
    target = torch.full_like(source[:1], start)
    done = torch.zeros_like(source[0], dtype=torch.bool)
    for _ in range(n_tokens):
        # Nothing is drawn at random, because a date has one right translation.
        token = model.decode(target, memory, visible)[-1].argmax(dim=-1)

        # What has ended gets padding, until the last one of the batch has ended.
        token = token.masked_fill(done, model.pad)
        target = torch.cat([target, token.unsqueeze(0)])

        # Once a text has ended, nothing that follows can be a part of it.
        done |= token == end
        if done.all():
            break

    # As it was before.
    model.train(was_training)
    return target


def example(
    source_len: int = 11,
    target_len: int = 7,
    batch_size: int = 3,
    heads: int = 5,
    d_ff: int = 17,
    n_vocab: int = 13,
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    ### Measured here

    [Held-out dates that are translated exactly: mean and range of three
    seeds](../../results/translation.json#figures.shares)

    Each model was trained for 500 steps. Without the source,
    [0.0 %](../../results/translation.json#tables.models.No%20source.right) are right.

    ### Where it departs from the paper, and what did not help

    Each sublayer [normalises its input](../transformers/models.py#TransformerLayer), not its sum,
    and each stack normalises its result. The logits have a matrix of their own; the embeddings of
    source and target are shared, as in the paper. Dropout is off. Left out are label smoothing, a
    tokenizer for parts of words, and a
    [cache](../transformers/variants/cross_attention.py#CrossAttention.remember).

    [What each change does: means of three seeds](../../results/translation.json#tables.models)

    These did not help:

    * *Beam search*, which keeps several beginnings and goes on with the likeliest ones. Four, as in
      the paper, give [99.7 %](../../results/translation.json#values.beam.end.4), and one gives
      [99.7 %](../../results/translation.json#values.beam.end.1). Halfway it is
      [82.2 %](../../results/translation.json#values.beam.half.4) and
      [81.5 %](../../results/translation.json#values.beam.half.1).
    * Letting each character of the source see those after it. With a causal mask in the encoder,
      [99.97 %](../../results/translation.json#tables.models.Causal%20encoder.right) are exact, and
      halfway through the training
      [92.9 %](../../results/translation.json#tables.models.Causal%20encoder.half) beside
      [81.5 %](../../results/translation.json#tables.models.Encoder%20and%20decoder.half). The
      decoder sees the whole source in any case.
    * An embedding for each side,
      [99.4 %](../../results/translation.json#tables.models.Two%20embeddings.right), and post-norm,
      as in the paper, [99.5 %](../../results/translation.json#tables.models.Post-norm.right).

    ### Exercises

    ??? question "24 tokens of source, 12 of target: how many scores has a head of each attention?"
        24 · 24 = 576 in the encoder, 12 · 12 = 144 in the decoder, of which the causal mask leaves
        78, and 12 · 24 = 288 in the cross-attention.

    ??? question "How many parameters has a layer of each kind, if `d_model` is 64 and `d_ff` 256?"
        An attention has $4 (64 \cdot 64 + 64) = 16{,}640$, the network $2 \cdot 64 \cdot 256 + 256
        + 64 = 33{,}088$, a normalisation 128. So the encoder's layer has 49,984 and the decoder's
        66,752.

    ??? question "Leave out `visible` in the decoder. What changes for a batch's longest source?"
        Nothing: it has no padding. The translation of a shorter one then depends on how long the
        longest source of its batch is. Translate one alone and with others, and compare.
    """
    # Five heads of two features each, two layers in each stack.
    d_model = 2 * heads
    model = EncoderDecoder(n_vocab, d_model, heads, 2, d_ff)

    # Random tokens, 0 being the padding. The first source is shorter than the others.
    source = torch.randint(1, n_vocab, (source_len, batch_size))
    source[-4:, 0] = model.pad
    target = torch.randint(1, n_vocab, (target_len, batch_size))

    # All positions at once, then token by token, without a token that means the end.
    logits = model(source, target)
    translation_loss(model, source, target)
    return logits, translate(model, source, 1, n_vocab, target_len)
