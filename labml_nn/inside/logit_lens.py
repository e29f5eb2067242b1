r"""
---
title: The Logit Lens
summary: What a model would predict if it stopped after each of its layers.
know: ../transformers/basic/autoregressive_model.py
paper:
  title: "interpreting GPT: the logit lens"
  authors: nostalgebraist
  year: 2020
  link: https://www.lesswrong.com/posts/AcKRB8wDpdaN6v6ru/interpreting-gpt-the-logit-lens
terms:
  logit lens: Reads the residual stream after each layer with the model's own last parts.
  tuned lens: A logit lens with a learned affine map for each layer.
---

The small transformer has four layers, and its loss tells what all four do together. What would the
model predict if it stopped after two? The *logit lens* reads the residual stream after each layer
as if that layer were the last.

**In:** a model and tokens, `[seq_len, batch_size]`. **Out:** logits for the next token before the
first layer and after each one.

The obvious way fails: apply the [logits](../transformers/models.py#Generator) to the stream. After
the last layer, this gives a loss of
[2.904](../../results/inside.json#tables.readings.layer%204.raw), where the model's is
[1.843](../../results/inside.json#tables.readings.layer%204.lens) (means of three models, each
trained for 1,000 steps). And the third and fourth layer seem to make the predictions worse. The
stream grows with each layer, the logits grow with it, and the predictions get too sure. Between the
last layer and the logits, the model has a normalisation, and the lens needs it too:

[The loss after each layer](../../results/inside.json#figures.losses)

Think of an exam with partial marks. The logit lens marks the unfinished answers with the marking
scheme for finished ones. It can miss what a student has worked out but not yet written down in the
expected form.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer


def residual_streams(model: AutoregressiveTransformer, tokens: Tensor) -> Tensor:
    r"""
    ## The residual stream after each layer

    For the tokens of texts, `[seq_len, batch_size]`. The first axis of the result counts the layers
    that have run, from none to all.
    """
    # The vectors of letters and positions, before any layer.
    x = model.embed(tokens)
    streams = [x]

    # The same calls as in the model. Each layer adds to the stream, and we keep every state of it.
    mask = model.mask[: len(tokens), : len(tokens)]
    for layer in model.encoder.layers:
        x = layer(x=x, mask=mask)
        streams.append(x)

    # One state more than there are layers.
    return torch.stack(streams)


def logit_lens(model: AutoregressiveTransformer, streams: Tensor) -> Tensor:
    r"""
    ## Logit lens

    $$
    \operatorname{lens}(x_\ell) = W_U \operatorname{LayerNorm}(x_\ell) + b_U
    $$

    $x_\ell$ is the stream at one position after $\ell$ layers, and $\operatorname{LayerNorm}$ the
    model's last normalisation. $W_U$ and $b_U$ are the weights and the bias of its
    [logits](../transformers/models.py#Generator). After the last layer, these *are* the logits of
    the model.
    """
    # The stream grows with each layer, and the normalisation divides by its size, whatever that is.
    # Its learned gains were trained for the last layer alone.
    x = model.encoder.norm(streams)

    # A score for each letter, after each layer and at each position.
    return model.generator(x)


def losses(logits: Tensor, targets: Tensor) -> Tensor:
    r"""
    ## The loss after each layer

    One [cross entropy](../training/data.py) for each reading.
    """
    # The same letters are the right ones for every reading.
    return torch.stack([F.cross_entropy(x.flatten(0, 1), targets.flatten()) for x in logits])


def settled(logits: Tensor) -> Tensor:
    r"""
    ## Where the guess settles

    The number of layers after which the likeliest letter no longer changes. In “my lor” the
    guesses were e, e, d, d, d, so the guess settled after 2 layers.
    """
    # Is the likeliest letter of a reading that of the last one?
    guesses = logits.argmax(dim=-1)
    right = guesses == guesses[-1]

    # It must stay so to the end. From the last reading backwards, a product of ones and zeros stays
    # one until the first guess that differs.
    stays = right.flip(0).cumprod(dim=0)

    # Of all readings, the ones that stay come last.
    return len(logits) - stays.sum(dim=0)


class TunedLens(nn.Module):
    r"""
    ## Tuned lens

    $$
    \operatorname{tuned}_\ell(x_\ell) = \operatorname{lens}(x_\ell + A_\ell\, x_\ell + a_\ell)
    $$

    A stream can hold information in features that the *last* layer's logits don't read: the layers
    in between read and move it. So each layer gets a learned matrix $A_\ell$ and a vector
    $a_\ell$, which turn its stream into one that looks as if all layers had run. (Belrose et al.
    2023, [Eliciting Latent Predictions from Transformers with the Tuned
    Lens](https://arxiv.org/abs/2303.08112).)

    A marking scheme for each stage of the exam, so to speak.
    """

    def __init__(self, n_layers: int, d_model: int) -> None:
        r"""
        * `n_layers` is the number of layers of the model
        * `d_model` is the number of features of its stream
        """
        super().__init__()
        # Zeros, so that training begins with the logit lens. The stream after the last layer needs
        # no map, so there are as many maps as layers.
        self.weight = nn.Parameter(torch.zeros(n_layers, d_model, d_model))
        self.bias = nn.Parameter(torch.zeros(n_layers, 1, 1, d_model))

    def forward(self, streams: Tensor) -> Tensor:
        r"""
        The streams after no layer, one, two and so on, of which each keeps its shape. The last one
        stays as it is.
        """
        # Each of these streams has a matrix of its own.
        early = streams[:-1]
        last = streams[-1:]
        change = torch.einsum("loi,lsbi->lsbo", self.weight, early) + self.bias
        return torch.cat([early + change, last])


def tuned_loss(model: AutoregressiveTransformer, tuned: TunedLens, tokens: Tensor) -> Tensor:
    r"""
    ## Training a tuned lens

    $$
    L = \sum_{\ell} \sum_v p(v) \left( \ln p(v) - \ln p_\ell(v) \right)
    $$

    averaged over positions, where $p(v)$ is the model's own probability of the letter $v$, and
    $p_\ell(v)$ that of the tuned reading after $\ell$ layers. The sum over $v$ is the
    Kullback-Leibler divergence, which is 0 if both are equal. So the maps learn what the *model*
    will say. If they learned from the text instead, they might find what the model never uses.
    """
    # The layers get no gradients. The last parts do: give the optimizer the lens alone.
    with torch.no_grad():
        streams = residual_streams(model, tokens)

    # Logarithms of probabilities. The last reading is the model's, and what the others aim at.
    readings = logit_lens(model, tuned(streams)).log_softmax(dim=-1)
    target = readings[-1:].detach()

    # A sum over letters, then over layers, and a mean over positions and texts.
    divergence = F.kl_div(readings, target, reduction="none", log_target=True)
    return divergence.sum(dim=-1).sum(dim=0).mean()


def example(
    seq_len: int = 7,
    batch_size: int = 3,
    heads: int = 5,
    n_pairs: int = 2,
    d_ff: int = 11,
    n_vocab: int = 13,
) -> tuple[Tensor, Tensor, Tensor]:
    r"""
    ## Example

    ### The readings in numbers

    [After each layer: the loss on the validation text of three kinds of reading, and guesses of the
    logit lens that are right, or that no later layer changes: means of three
    seeds](../../results/inside.json#tables.readings)

    ### A line, letter by letter

    The classic model of this site, trained for 2,000 steps, has read “my lor”. What comes next?

    [Read after each layer: the likeliest letter after “my
    lor”](../../results/inside.json#tables.example)

    Before the first layer, the stream has only the last letter and its position. The “d” is the
    likeliest after two layers, and sure after four.

    [The likeliest letter after each layer, for each position of a line; darker is more
    probable](../../results/inside.json#figures.line)

    The letters above the columns are those of the text. Each reading predicts the letter of the
    *next* column. The last row is what the model predicts.

    ### What it tells, and what it doesn't

    The loss falls with each layer, for all three seeds, and most with the first. After two of four
    layers, [0.65](../../results/inside.json#tables.readings.layer%202.settled) of the guesses have
    settled: they are those of all later layers, too.

    Where it misleads: before the first layer the lens has a loss of
    [3.060](../../results/inside.json#tables.readings.embedding.lens), as if the stream knew less
    than [counted letter pairs](../training/counting.py#count_pairs), which have
    [2.482](../../results/counting.json#values.pairs). But the stream holds the last letter, and a
    [tuned lens](#TunedLens) with one learned matrix for each layer reads
    [2.501](../../results/inside.json#tables.readings.embedding.tuned) from it. So the lens shows
    what the last logits can *read*, which is less than what the stream holds. After the third layer
    the difference is small, [1.916](../../results/inside.json#tables.readings.layer%203.lens) and
    [1.871](../../results/inside.json#tables.readings.layer%203.tuned).

    ### What did not help here

    There is [a list](../../docs/what_did_not_help.md) of more such things.

    Before the first layer, the normalisation hardly improves the reading, from
    [3.159](../../results/inside.json#tables.readings.embedding.raw) to
    [3.060](../../results/inside.json#tables.readings.embedding.lens). It matters more with each
    layer, since the stream grows: after the last layer of the classic model its features are
    several times as large as before the first. The learned gains matter little. Without them the
    loss after the last layer is hardly higher.

    Left out: readings of a single head or network. The original post read GPT-2, whose tokens are
    pieces of words.

    ### Exercises

    ??? question "A model has 12 layers. How many readings has the logit lens?"
        13: one before the first layer, and one after each. The last one is the model's own.

    ??? question "The guesses at a position are a, b, a, b, b. Where did the guess settle?"
        After 3 layers. Readings are counted from 0, and from number 3 on the guess is b.

    ??? question "Read `model.generator(streams)` instead. How do you notice?"
        All shapes stay. But after the last layer the reading is no longer the model's own logits,
        because the normalisation is missing.

    ??? question "Train the tuned lens on the next letters of the text. What would it tell?"
        What a linear map can find out about the next letter from the stream. That may be more than
        what the model makes of it, so it would say less about the model.
    """
    # A model of two layers that has learned nothing yet: the shapes are those of a trained one.
    d_model = heads * 2 * n_pairs
    model = AutoregressiveTransformer(n_vocab, d_model, heads, 2, d_ff, seq_len)
    tokens = torch.randint(n_vocab, (seq_len, batch_size))

    # What is in the stream after each layer, read as logits.
    streams = residual_streams(model, tokens)
    logits = logit_lens(model, streams)

    # The loss of each reading, and where each guess settled.
    loss = losses(logits, torch.randint(n_vocab, (seq_len, batch_size)))

    # One step for a tuned lens would begin so.
    tuned = TunedLens(2, d_model)
    tuned_loss(model, tuned, tokens).backward()
    return logits, loss, settled(logits)
