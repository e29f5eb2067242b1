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

A head has four projections, for queries, keys, values and the output. Their features mean nothing
each on its own. Take a query 2 and a key 3, with the score 6. Double all queries and halve all
keys: 4 · 1.5 is 6, too. What counts are two products:

* **QK** gives the score of any pair of vectors: where the head looks.
* **OV** gives what looking at a vector adds to the residual stream: what the head moves.

Give each letter a vector with a single one, a = (1, 0), b = (0, 1), and both are tables that you
can read. With

$$
QK = \begin{pmatrix} 0 & 5 \\ 5 & 0 \end{pmatrix}
$$

an “a” looks for a “b”, with the score 5, and a “b” for an “a”.

In a trained model the tables have a row for each letter. In the first layer of our classic model,
when the second head looks at “i”, the logit of “g” goes up by
[6.69](../../results/inside.json#values.added.ig), and when it looks at “a”, that of “d” by
[5.99](../../results/inside.json#values.added.ad) (before the last normalisation divides them). An
interpretation: at the “n” of “ing” and “and”, it looks at the letter before.

**In:** an attention. **Out:** two matrices for each of its heads, `[heads, d_model, d_model]`.
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

    for each head, `[heads, d_model, d_model]`, without biases. $z_i$ is what the layer reads at
    position $i$, $s_{ij}$ the score of query $i$ and key $j$, and $W_Q$ and $W_K$ are this head's
    rows of the projections.
    """
    # The rows of a projection are cut into heads, just as its results are in a call.
    shape = (attention.heads, attention.d_k)
    query = attention.query.linear.weight.unflatten(0, shape)
    key = attention.key.linear.weight.unflatten(0, shape)

    # The features of a head are summed over, and are no axis of the result. Its rank is at most
    # `d_k`, their number.
    return torch.einsum("hdq,hdk->hqk", query, key) / math.sqrt(attention.d_k)


def ov_matrices(attention: MultiHeadAttention) -> Tensor:
    r"""
    ## OV matrices

    $$
    \sum_j A_{ij}\, W_O W_V\, z_j = \sum_j A_{ij}\, OV z_j
    $$

    is what a head adds to the stream at position $i$, without biases. $W_V$ are this head's rows of
    the projection of values, $W_O$ its columns of the output projection. But for the biases, the
    weights $A_{ij}$, a softmax of the scores, come from QK, and what is moved comes from OV.
    """
    # Rows of the value projection, but columns of the output projection: the heads stand side by
    # side in what it gets. The product leads from the features of a position to those it adds.
    value = attention.value.linear.weight.unflatten(0, (attention.heads, attention.d_k))
    output = attention.output.weight.unflatten(1, (attention.heads, attention.d_k))
    return torch.einsum("ohd,hdi->hoi", output, value)


def normalised_part(norm: nn.LayerNorm, part: Tensor, x: Tensor) -> Tensor:
    r"""
    ## A part of what a layer reads

    If the stream $x$ is a sum of parts $p$, then so is what a layer reads, because the standard
    deviation $\sigma(x)$ is one number for a position:

    $$
    z = \operatorname{LayerNorm}(x) = \sum_{p} g \odot \frac{p - \bar p}{\sigma(x)} + b
    $$

    $\bar p$ is the mean of the features of a part, $g$ are the gains, $b$ the biases, and $\odot$
    multiplies feature by feature.
    """
    # The deviation is that of the whole stream, not that of the part.
    deviation = (x.var(dim=-1, unbiased=False, keepdim=True) + norm.eps).sqrt()
    return norm.weight * (part - part.mean(dim=-1, keepdim=True)) / deviation


def letter_tables(model: AutoregressiveTransformer, layer: int) -> tuple[Tensor, Tensor]:
    r"""
    ## Tables of letters

    For each head of a layer, counted from 0: which letter looks for which, and what looking at a
    letter adds to the logit of each. Both are `[heads, n_vocab, n_vocab]`, with a row for the
    letter that looks, or that is looked at.

    [What the second head of the first layer adds to the logits of 22 letters, by the letter that it
    looks at: blue is up, red is down](../../results/inside.json#figures.added)
    """
    # What the layer would read if the stream had nothing but the letter in it (and no bias).
    letters = model.embed.tokens.embedding.weight * model.embed.tokens.scale
    block = model.encoder.layers[layer]
    z = normalised_part(block.norm_self_attn, letters, letters)

    # Scores for all pairs of letters: row $a$, column $b$ is how strongly $a$ looks for $b$.
    looks = torch.einsum("ai,hij,bj->hab", z, qk_matrices(block.self_attn), z)

    # What the head adds goes past all later layers to the logits. The last normalisation divides it
    # by the deviation of a stream that we don't know here, so only its gains are used. (It also
    # subtracts a mean, which would hardly change the tables.)
    logits = model.generator.projection.weight * model.encoder.norm.weight
    added = torch.einsum("vo,hoi,bi->hbv", logits, ov_matrices(block.self_attn), z)

    # The softmax ignores what is added to all logits alike, so their mean says nothing.
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
    much its *keys* depend on what the first head wrote (K-composition), the transposed QK for its
    queries, and OV for its values. Multiply $R$ by the gains of its layer's normalisation first.
    """
    # All pairs of heads, the reading ones first.
    norm = torch.linalg.matrix_norm
    joined = norm(reads[:, None] @ writes)

    # Large weights give large products. Divided by both norms, the score is between 0 and 1.
    return joined / (norm(reads)[:, None] * norm(writes))


def copying_head(n_vocab: int, strength: float = 8.0) -> MultiHeadAttention:
    r"""
    ## A head made by hand

    If each letter is a vector with a single one in its own place, QK and OV *are* the tables. This
    head looks for the letter before its own in the alphabet, and adds it to the stream. (“a” looks
    for the last letter.)
    """
    head = MultiHeadAttention(1, n_vocab, dropout_prob=0.0, bias=False)

    # Keys and values are the letters, and what was gathered is added as it is.
    nn.init.eye_(head.key.linear.weight)
    nn.init.eye_(head.value.linear.weight)
    nn.init.eye_(head.output.weight)

    # A query is the letter to look for: column 2, for “c”, has its one in row 1, that of “b”. The
    # root cancels that of the scores, so a match has the score `strength`.
    looks_for = torch.eye(n_vocab).roll(-1, dims=0)
    head.query.linear.weight.data = strength * math.sqrt(n_vocab) * looks_for
    return head


def example(
    seq_len: int = 7, heads: int = 5, n_pairs: int = 2, d_ff: int = 11, n_vocab: int = 13
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    r"""
    ## Example

    The head made by hand, and the tables of a model with random weights.

    ### Measured here

    Attention weights alone don't tell heads apart. In the first layer of our classic model, all
    four heads give most weight to the letter before, from
    [0.30](../../results/inside.json#values.heads.classic.offsets.1.3) to
    [0.49](../../results/inside.json#values.heads.classic.offsets.1.2), and most of the rest to its
    two neighbours. What they *add* differs.

    ### What the matrices leave out

    Scores also have the biases of queries and keys in them. Which share of the variance of the
    scores does QK explain without them? (Scores less their mean over the keys that a query sees:
    the softmax ignores the mean.) And which share do *letters* alone explain, if we leave out
    positions and what earlier layers added?

    [Shares of the variance that are explained, by layer: means of heads and three
    seeds](../../results/inside.json#tables.layers)

    Biases hardly matter. Letters explain very little of where heads look, nearly all of what the
    heads of the first layer add, and about a third of what later heads add. So the OV tables of the
    first layer describe this model, and its QK tables of letters don't.

    The stream of the first layer is the sum of a letter and a position, so a score has four terms.
    (The shares needn't sum to one: the terms are correlated, and the biases are left out.)

    [Shares of the variance of the first layer's scores, by term: means of heads and three
    seeds](../../results/inside.json#tables.parts)

    [Scores of positions for positions in the first layer: a row for each of 16 positions, a column
    for each that it sees; blue is high, red is low](../../results/inside.json#figures.places)

    By positions alone, each position looks most at itself, and then at the one before. That the
    letter before gets the most weight is due to letters: they lower the score of a letter for
    itself.

    ### What did not help here

    There is [a list](../../docs/what_did_not_help.md) of more such things.

    *The direct path.* The embedding of a letter also reaches the logits past all layers. A model
    without layers has only this path, and can only learn the table of [letter
    pairs](../training/counting.py#count_pairs) (Elhage et al.). In ours, the [logit
    lens](logit_lens.py#logit_lens) of the bare embeddings has a correlation with the logarithms of
    the counted pairs of [0.68](../../results/inside.json#values.mean.direct), over the 48 most
    frequent letters, and the likeliest next letter is the same for
    [0.36](../../results/inside.json#values.mean.same_guess) of them.

    [Which letter follows which, in a row for each letter: counted, and on the direct
    path](../../results/inside.json#figures.bigrams)

    *Composition scores.* Their mean is [0.115](../../results/inside.json#values.mean.composition),
    random matrices of the same rank have [0.089](../../results/inside.json#values.mean.random), and
    the highest of 96 pairs of heads has [0.160](../../results/inside.json#values.mean.highest). We
    also measured which share of the variance of a head's scores comes through its keys from each
    earlier head. Over all pairs, its rank correlation with the score is
    [0.57](../../results/inside.json#values.mean.rank_correlation).

    Left out: tables for feed-forward networks, which are not linear; paths through more than one
    head; and rotary positions, with which QK is another matrix for each distance.

    ### Exercises

    ??? question "How many numbers has QK for 128 features and 4 heads? How many are free?"
        $128^2$ = 16,384 in each head. Its rank is at most 32, so 32 · (256 − 32) = 7,168 are free.

    ??? question "The head made by hand reads “bac”. Where does the “c” look, and what is added?"
        At the “b”. It adds the vector of “b”, so row 2 of the result has nearly 1 in column 1.

    ??? question "Cut the *rows* of the output projection into heads. How do you notice?"
        With the same `einsum` you get an error, for the axes don't fit. With `hdo,hdi->hoi` the
        shape of OV stays. Then the sum of $OV z_j$ over the heads, each with all of its weight on
        $j$, is no longer what the attention gives.
    """
    # Letters as vectors with a single one, and the head that is made by hand.
    letters = torch.eye(n_vocab)[torch.arange(seq_len), None]
    moved = copying_head(n_vocab)(query=letters, key=letters, value=letters)

    # The tables of a model with random weights.
    d_model = heads * 2 * n_pairs
    model = AutoregressiveTransformer(n_vocab, d_model, heads, 2, d_ff, seq_len)
    looks, added = letter_tables(model, layer=0)

    # How much the keys of each head of the second layer depend on each head of the first.
    first = model.encoder.layers[0].self_attn
    second = model.encoder.layers[1].self_attn
    scores = composition(qk_matrices(second), ov_matrices(first))
    return moved, looks, added, scores
