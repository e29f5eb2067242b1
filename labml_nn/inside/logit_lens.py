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

PLACEHOLDER
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
    # The last normalisation learned to bring the stream of the last layer to the size that the
    # logits expect. Here it does that for every layer, though it was trained for one.
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
    """

    def __init__(self, n_layers: int, d_model: int) -> None:
        super().__init__()
        # Zeros, so that training begins with the logit lens. The stream after the last layer needs
        # no map, so there are as many maps as layers.
        self.weight = nn.Parameter(torch.zeros(n_layers, d_model, d_model))
        self.bias = nn.Parameter(torch.zeros(n_layers, 1, 1, d_model))

    def forward(self, streams: Tensor) -> Tensor:
        # Each of these streams has a matrix of its own.
        early, last = streams[:-1], streams[-1:]
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
    # The model itself is not trained.
    with torch.no_grad():
        streams = residual_streams(model, tokens)

    # Logarithms of probabilities. The last reading is the model's, and what the others aim at.
    readings = logit_lens(model, tuned(streams)).log_softmax(dim=-1)
    target = readings[-1:].detach()

    # A sum over letters, then over layers, and a mean over positions and texts.
    divergence = F.kl_div(readings, target, reduction="none", log_target=True)
    return divergence.sum(dim=-1).sum(dim=0).mean()


def example(
    seq_len: int = 7, batch_size: int = 3, heads: int = 5, n_pairs: int = 2, d_ff: int = 11,
    n_vocab: int = 13, n_layers: int = 2,
) -> tuple[Tensor, Tensor, Tensor]:
    r"""
    ## Example

    EXERCISES
    """
    # A model that has learned nothing yet: the shapes are those of a trained one.
    d_model = heads * 2 * n_pairs
    model = AutoregressiveTransformer(n_vocab, d_model, heads, n_layers, d_ff, seq_len)
    tokens = torch.randint(n_vocab, (seq_len, batch_size))

    # What is in the stream after each layer, read as logits.
    streams = residual_streams(model, tokens)
    logits = logit_lens(model, streams)

    # The loss of each reading, and where each guess settled.
    loss = losses(logits, torch.randint(n_vocab, (seq_len, batch_size)))

    # One step for a tuned lens would begin so.
    tuned = TunedLens(n_layers, d_model)
    tuned_loss(model, tuned, tokens).backward()
    return logits, loss, settled(logits)
