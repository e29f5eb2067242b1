r"""
---
title: Induction Heads
summary: Two attention layers find where a token stood before, and copy what followed it.
paper:
  title: In-context Learning and Induction Heads
  authors: Olsson et al.
  year: 2022
  link: https://arxiv.org/abs/2209.11895
terms:
  induction head: An attention head that looks at what followed the same token before.
  previous-token head: An attention head that looks at the position before its own.
---

Which letter comes next?

```text
F B H C F B ?
```

You find the earlier B, look at what followed it, and answer H. The letters are random, so nothing
that you know about letters helps: the answer is in the text itself.

A model with *one* layer of attention doesn't learn this. After 600 steps on sequences that repeat,
its loss where they repeat is [2.967](../../results/induction.json#tables.models.One%20layer.loss)
nats; guessing among 32 tokens gives $\ln 32 = 3.466$. With *two* layers it is
[0.027](../../results/induction.json#tables.models.Two%20layers.loss). Think of a book in which each
word has a note beside it, the word before:

```text
word   F B H C F B
note   - F B H C F
```

To know what followed B, find the note “B”, and read the word beside it: H. Two layers do this:

1. A *previous-token head* in the first layer looks at the position before its own, and adds to its
   own vector which token stands there. That is the note.
2. An *induction head* in the second layer compares its own token with these notes. The note of H is
   B, so the last B looks at H, and copies it.

In one layer, a key is made from a token and its position alone: the key of H has nothing of the B
before it.

**In:** tokens, `[seq_len, batch_size]`, and the attention weights of a layer, `[seq_len, seq_len,
batch_size, heads]`. **Out:** two scores for each head, which find the two kinds of heads that solve
this together.
"""

import torch
from torch import Tensor, nn

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.models import Embeddings, Generator
from labml_nn.transformers.positional_encoding import PositionalEncoding


class RepeatedParts:
    r"""
    ## Sequences that repeat

    A random part, over and over: F B H C F B H C F …

    The length is drawn for each sequence, because with parts of 16 a model can copy what stands 15
    places before, whatever the token is. Such a model doesn't find a token at [another
    distance](induction_experiment.py).
    """

    def __init__(
        self,
        n_vocab: int = 32,
        seq_len: int = 32,
        batch_size: int = 32,
        shortest: int = 10,
        longest: int = 23,
        seed: int = 1,
    ) -> None:
        r"""
        * `n_vocab` is the number of different tokens
        * `seq_len` is the length of a sequence, and `batch_size` how many a batch has
        * `shortest` and `longest` are the limits of the length of a part
        * `seed` decides on the sequences
        """
        # The tokens of a part differ, so that only one token follows each.
        if longest > n_vocab:
            raise ValueError(f"longest is {longest}, but there are {n_vocab} different tokens")

        # What `at` draws depends on these numbers and on the step, and on nothing else.
        self.n_vocab = n_vocab
        self.seq_len = seq_len
        self.batch_size = batch_size
        self.shortest = shortest
        self.longest = longest
        self.seed = seed

    def at(self, step: int) -> tuple[Tensor, Tensor]:
        r"""
        ### The batch of a step

        Inputs and targets, `[seq_len, batch_size]` each.
        """
        # As in [other trainings](../training/data.py#RandomWindows.at), a batch depends on seed and
        # step alone. Two seeds are a million steps apart, so that none gets a batch of the other.
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + step)

        # Sorting random numbers gives a random order of all tokens, `[n_vocab, batch_size]`. A part
        # is the beginning of such a column.
        order = torch.rand(self.n_vocab, self.batch_size, generator=generator).argsort(dim=0)
        length = torch.randint(
            self.shortest, self.longest + 1, (self.batch_size,), generator=generator
        )

        # The remainder starts again at 0 after each part. One token more, for the last target.
        places = torch.arange(self.seq_len + 1)[:, None] % length
        tokens = order.gather(0, places)

        # The targets are the same tokens, one position later.
        return tokens[:-1], tokens[1:]


class AttentionOnly(nn.Module):
    r"""
    ## Attention alone

    The [usual model](../transformers/models.py) without feed-forward networks, normalisations and
    biases of the projections. Each position has a vector, and each layer adds the outputs of its
    heads to it. These vectors are the *residual stream*.

    [Elhage et al. 2021](https://transformer-circuits.pub/2021/framework/index.html) first described
    such pairs of heads, in models like this one.
    """

    def __init__(
        self,
        n_vocab: int = 32,
        d_model: int = 64,
        heads: int = 4,
        n_layers: int = 2,
        seq_len: int = 32,
    ) -> None:
        r"""
        * `n_vocab` is the number of different tokens
        * `d_model` is the number of features of the stream
        * `heads` is the number of heads of a layer
        * `n_layers` is the number of layers
        * `seq_len` is the greatest length of a sequence
        """
        super().__init__()
        # Tokens and positions. A head of the first layer needs positions to find the one before its
        # own.
        self.embed = Embeddings(n_vocab, d_model, PositionalEncoding(d_model, 0.0, seq_len))

        # No dropout: a dropped weight would hide the answer now and then. The [readable
        # attention](../transformers/mha.py) keeps the weights of its last call in `attn`, and we
        # need them.
        self.layers = nn.ModuleList(
            MultiHeadAttention(heads, d_model, 0.0, bias=False) for _ in range(n_layers)
        )

        # Logits, straight from the sum of embeddings and heads.
        self.generator = Generator(n_vocab, d_model)

    def forward(self, tokens: Tensor) -> Tensor:
        r"""
        From `[seq_len, batch_size]` to logits, `[seq_len, batch_size, n_vocab]`.
        """
        # The stream as it begins, and the mask that hides later positions.
        x = self.embed(tokens)
        mask = causal_mask(len(tokens))

        # The keys of the second layer are made from what the first one has added. That is the way
        # from one head to the other.
        for layer in self.layers:
            x = x + layer(query=x, key=x, value=x, mask=mask)
        return self.generator(x)


def following(tokens: Tensor) -> Tensor:
    r"""
    ## What followed

    For each query $i$, key $j$ and sequence $b$: is $x_{j-1} = x_i$, and $j \le i$? $x_i$ is the
    token at position $i$. If the token *before* $j$ is the same as that at $i$, then the token at
    $j$ is what followed it.

    | token | F | B | H | C | F | B |
    | --- | --- | --- | --- | --- | --- | --- |
    | position $j$ | 0 | 1 | 2 | 3 | 4 | 5 |
    | followed the F at $i = 4$ | | yes | | | | |
    | followed the B at $i = 5$ | | | yes | | | |
    """
    # Nothing stands before position 0, so it followed nothing.
    seq_len, batch_size = tokens.shape
    follows = torch.zeros(seq_len, seq_len, batch_size, dtype=torch.bool)

    # Each token as a query, beside each token as the one before a key.
    follows[:, 1:] = tokens[:, None] == tokens[:-1]

    # A token can't look at what comes later.
    return follows & causal_mask(seq_len)


def induction_score(attn: Tensor, tokens: Tensor) -> Tensor:
    r"""
    ## Induction score

    $$\frac{1}{|R|} \sum_{(i, b) \in R}\, \sum_{j :\, x_{j-1} = x_i} A_{ijbh}$$

    $A_{ijbh}$ is the weight that position $i$ of sequence $b$ gives to position $j$ in head $h$.
    $R$ are the positions whose token came up before, and $|R|$ is how many they are. So the score
    is the share of its attention that a head gives to what followed: between 0 and 1, one number
    for each head. (The paper calls it *prefix matching score*.)

    [What a previous-token head and an induction head look at, in a sequence of twelve tokens that
    repeats](../../results/induction.json#figures.attention)
    """
    # All that followed, if the token came up more than once. The weight is summed over the keys.
    follows = following(tokens)
    weight = (attn * follows[..., None]).sum(dim=1)

    # A token that comes up for the first time has nothing to look at.
    return weight[follows.any(dim=1)].mean(dim=0)


def previous_token_score(attn: Tensor) -> Tensor:
    r"""
    ## Previous-token score

    The weight $A_{i,\, i-1,\, b,\, h}$ of the position before, as a mean over sequences and all
    positions but the first. Also between 0 and 1.
    """
    # The diagonal below the main one. It becomes the last axis, after those of the batch and the
    # heads.
    return attn.diagonal(offset=-1).mean(dim=(0, 2))


def example(
    seq_len: int = 7, batch_size: int = 3, heads: int = 5, n_pairs: int = 2, n_vocab: int = 13
) -> tuple[Tensor, ...]:
    r"""
    ## Example

    ### Measured here

    With two layers,
    [99.96 %](../../results/induction.json#tables.models.Two%20layers.right) of the predictions are
    right where a sequence repeats. All losses are means of three seeds, and guessing gives
    [3.466](../../results/induction.json#values.guessing).

    ### The bump in the loss

    The loss falls slowly for 150 steps, and then drops: a *bump* in its curve. The heads appear at
    the same time:

    [The best induction score and the best previous-token score of any head, in the course of the
    training](../../results/induction.json#figures.score)

    With seeds 1, 2 and 3, the loss falls below half of guessing at step
    [220](../../results/induction.json#values.half.loss.1),
    [200](../../results/induction.json#values.half.loss.2) and
    [220](../../results/induction.json#values.half.loss.3), and an induction score passes 0.5 at
    step [220](../../results/induction.json#values.half.score.1),
    [200](../../results/induction.json#values.half.score.2) and
    [230](../../results/induction.json#values.half.score.3), in this order. The previous-token score
    ends at only [0.49](../../results/induction.json#tables.models.Two%20layers.previous): the head
    gives its largest weight to the position before, and some to those around it (see [the
    picture](induction_experiment.py)). The loss shows that this is enough. Our guess is that the
    note needn't be exact: it only has to be nearer to the right token than to the others.

    The paper finds such a bump in language models, too. To see whether the heads cause it, [remove
    them](patching.py).

    [The loss where sequences repeat, in the course of the
    training](../../results/induction.json#figures.loss)

    ### What did not help here

    There is [a list](../../docs/what_did_not_help.md) of more such things.

    More steps with one layer. After 1,800, it predicts [36.8
    %](../../results/induction.json#tables.models.One%20layer%2C%201%2C800%20steps.right), but [1.4
    %](../../results/induction.json#tables.models.One%20layer%2C%201%2C800%20steps.pieces) in
    *pieces*: a part of 16 tokens in which no token comes twice, followed by nine tokens of that
    part, from somewhere in the middle. There two layers predict [99.8
    %](../../results/induction.json#tables.models.Two%20layers.pieces). The one layer has found
    another rule: in a sequence that repeats, the next token is the one that was last seen longest
    ago. In pieces it isn't, and still the model guesses that one far more often than the right one.

    This page leaves out real text.

    ### Exercises

    ??? question "In F B H C F B, which weights of the last B count in the two scores?"
        That at position 2, H, in the induction score; that at 4, in the previous-token score.

    ??? question "A head looks evenly at all positions up to its own. Its induction score?"
        1/16 at the 16th position, if the token came up once before. Over our sequences it is
        [0.052](../../results/induction.json#values.even).

    ??? question "Write `follows = tokens[:, None] == tokens`. Which heads have high scores now?"
        Heads that look at the same token, for example at their own position. In F B H C F B, a head
        whose last B looks at H, as it should, would get nothing for it.
    """
    # Parts of three or four tokens, so that each sequence of seven begins again at least once.
    inputs, _ = RepeatedParts(n_vocab, seq_len, batch_size, 3, 4).at(0)

    # An untrained model. Its heads look everywhere, and its scores are near those of equal weights.
    model = AttentionOnly(n_vocab, heads * 2 * n_pairs, heads, 2, seq_len)
    logits = model(inputs)

    # The weights of both layers, after a call, and the scores of their heads.
    first = model.layers[0].attn
    second = model.layers[1].attn
    return logits, previous_token_score(first), induction_score(second, inputs)
