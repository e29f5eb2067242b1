r"""
---
title: Attention as Two Matrices
summary: What a head looks for and what it moves, as two matrices that can be read as tables.
know: ../transformers/mha.py, logit_lens.py
paper:
  title: A Mathematical Framework for Transformer Circuits
  authors: Elhage et al.
  year: 2021
  link: https://transformer-circuits.pub/2021/framework/index.html
terms:
  composition score: How much of what one head writes another one reads, from their matrices alone.
  OV matrix: Maps the vector a head looks at to what it adds to the residual stream.
  QK matrix: Gives the score of a pair of vectors, one that looks and one that is looked at.
---

PLACEHOLDER
"""

import math

import torch
from torch import Tensor, nn

from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from labml_nn.transformers.mha import MultiHeadAttention


def qk_matrices(attention: MultiHeadAttention) -> Tensor:
    r"""
    ## QK matrices

    $$
    s_{ij} = \frac{(W_Q\, z_i)^\top (W_K\, z_j)}{\sqrt{d_k}} =
    z_i^\top \underbrace{\frac{W_Q^\top W_K}{\sqrt{d_k}}}_{QK}\, z_j
    $$

    for each head, `[heads, d_model, d_model]`, without biases.
    """
    # The rows of a projection are cut into heads, just as its results are in a call.
    query, key = (
        part.linear.weight.unflatten(0, (attention.heads, attention.d_k))
        for part in (attention.query, attention.key)
    )

    # The sum over the features of a head disappears into the matrix. It has as many rows and
    # columns as the stream has features, but its rank is at most `d_k`.
    return torch.einsum("hdq,hdk->hqk", query, key) / math.sqrt(attention.d_k)


def ov_matrices(attention: MultiHeadAttention) -> Tensor:
    r"""
    ## OV matrices

    $$
    \sum_j A_{ij}\, W_O W_V\, z_j = \sum_j A_{ij}\, OV z_j
    $$

    is what a head adds to the stream at position $i$. $W_O$ are the columns of the output
    projection that belong to this head. The weights $A_{ij}$ come from QK alone, and what is moved
    comes from OV alone.
    """
    # Rows of the value projection, columns of the output projection: the heads stand side by side
    # in what the output projection gets.
    value = attention.value.linear.weight.unflatten(0, (attention.heads, attention.d_k))
    output = attention.output.weight.unflatten(1, (attention.heads, attention.d_k))

    # From the features of a position to those that it adds elsewhere.
    return torch.einsum("ohd,hdi->hoi", output, value)


def normalised_part(norm: nn.LayerNorm, part: Tensor, x: Tensor) -> Tensor:
    r"""
    ## A part of what a layer reads

    A layer reads the normalised stream. If the stream $x$ is a sum of parts, then so is the
    normalised stream, because the standard deviation $\sigma(x)$ is one number for a position:

    $$
    z = \operatorname{LayerNorm}(x) =
    \sum_{\text{parts } p} g \odot \frac{p - \bar p}{\sigma(x)} + b
    $$

    $\bar p$ is the mean over the features of the part, $g$ are the gains, $b$ the biases, and
    $\odot$ multiplies feature by feature.
    """
    # The deviation is that of the whole stream, not that of the part.
    deviation = (x.var(dim=-1, unbiased=False, keepdim=True) + norm.eps).sqrt()
    return norm.weight * (part - part.mean(dim=-1, keepdim=True)) / deviation


def direct_path(model: AutoregressiveTransformer) -> Tensor:
    r"""
    ## The direct path

    Logits from the embedding of each letter, past all layers, `[n_vocab, n_vocab]`: one row for
    each letter that the text has, one column for each that may follow.
    """
    # All letters, without positions. This is the [logit lens](logit_lens.py) before the first
    # layer.
    letters = model.embed.tokens.embedding.weight * model.embed.tokens.scale
    return model.generator(model.encoder.norm(letters))


def letter_tables(model: AutoregressiveTransformer, layer: int) -> tuple[Tensor, Tensor]:
    r"""
    ## Tables of letters

    For each head of a layer, counted from 0: which letter looks for which, and what looking at a
    letter adds to the logit of each. Both are `[heads, n_vocab, n_vocab]`, with a row for the
    letter that looks, or that is looked at.
    """
    # What the layer would read if the stream had nothing but the letter in it.
    letters = model.embed.tokens.embedding.weight * model.embed.tokens.scale
    block = model.encoder.layers[layer]
    z = normalised_part(block.norm_self_attn, letters, letters)

    # Scores for all pairs of letters: row $a$, column $b$ is how strongly $a$ looks for $b$.
    looks = torch.einsum("ai,hij,bj->hab", z, qk_matrices(block.self_attn), z)

    # What the head adds goes past all later layers to the logits. The last normalisation divides
    # it by the deviation of a stream that we don't know here, so only its gains are used.
    logits = model.generator.projection.weight * model.encoder.norm.weight
    added = torch.einsum("vo,hoi,bi->hbv", logits, ov_matrices(block.self_attn), z)

    # A softmax doesn't change if all logits change by the same number, so their mean says nothing.
    return looks, added - added.mean(dim=-1, keepdim=True)


def composition(reads: Tensor, writes: Tensor) -> Tensor:
    r"""
    ## Composition scores

    $$
    \frac{\lVert R\, W \rVert_F}{\lVert R \rVert_F \lVert W \rVert_F}
    \qquad
    \lVert M \rVert_F = \sqrt{\textstyle\sum_{ij} M_{ij}^2}
    $$

    $W$ is the OV matrix of a head, and $R$ a matrix of a head of a later layer: QK, if we ask how
    much its *keys* depend on what the first head wrote (K-composition), the transposed QK for
    its queries (Q-composition), and OV for its values (V-composition). One number for each pair
    of heads.
    """
    # All pairs of heads, the reading ones first.
    norm = torch.linalg.matrix_norm
    joined = norm(reads[:, None] @ writes)

    # Large weights give large products. Divided by both norms, the score is between 0 and 1.
    return joined / (norm(reads)[:, None] * norm(writes))


def copying_head(n_vocab: int, strength: float = 8.0) -> MultiHeadAttention:
    r"""
    ## A head made by hand

    Let each letter be a vector with a single one in its own place. Then QK and OV *are* the tables
    of letters. This head looks for the letter that comes before its own in the alphabet, and adds
    that letter to the stream.
    """
    head = MultiHeadAttention(1, n_vocab, dropout_prob=0.0, bias=False)

    # Keys and values are the letters themselves, and what was gathered is added as it is.
    nn.init.eye_(head.key.linear.weight)
    nn.init.eye_(head.value.linear.weight)
    nn.init.eye_(head.output.weight)

    # A query is the letter to look for: column 2 of the matrix, for “c”, has its one in row 1, that
    # of “b”. The root cancels that of the scores, so a match has the score `strength`.
    looks_for = torch.eye(n_vocab).roll(-1, dims=0)
    head.query.linear.weight.data = strength * math.sqrt(n_vocab) * looks_for
    return head


def example(
    seq_len: int = 7, heads: int = 5, n_pairs: int = 2, d_ff: int = 11, n_vocab: int = 13
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    r"""
    ## Example

    EXERCISES
    """
    # Letters as vectors with a single one, and the head that is made by hand.
    letters = torch.eye(n_vocab)[torch.arange(seq_len), None]
    moved = copying_head(n_vocab)(query=letters, key=letters, value=letters)

    # The tables of a model with random weights.
    model = AutoregressiveTransformer(n_vocab, heads * 2 * n_pairs, heads, 2, d_ff, seq_len)
    looks, added = letter_tables(model, layer=0)

    # How much the keys of each head of the second layer depend on each head of the first.
    first, second = (layer.self_attn for layer in model.encoder.layers)
    scores = composition(qk_matrices(second), ov_matrices(first))
    return moved, looks, added, scores
