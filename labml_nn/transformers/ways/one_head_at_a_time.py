r"""
---
title: Attention, One Head at a Time
summary: One query by hand, then all queries at once, then a head, then a list of heads.
paper:
  title: Attention Is All You Need
  authors: Vaswani et al.
  year: 2017
  link: https://arxiv.org/abs/1706.03762
terms:
  attention: A weighted mean of values, whose weights come from comparing queries with keys.
  "query, key, value": What a position looks for, what it is found by, and what it gives.
  causal mask: Lets a position look at itself and at earlier positions only.
  head: One of several attentions that work side by side, each on its own features.
  self-attention: Attention whose queries, keys and values come from the same sequence.
  softmax: Turns scores into weights that are positive and sum to one.
---

A model that looks at one word at a time can't know who sat in *the cat sat*: the answer is in
another word. With attention, each word collects what it needs from the others.

The word *sat* looks for a noun. Its **query** is 0 2 0 0: four features for article, noun, verb and
adjective. Each word can be found by its **key**, and gives its **value**, here two features for
animals and actions. The *score* of a word is the dot product of query and key, divided by
$\sqrt{4}$. The softmax makes weights of the scores:

| Word | Key | Score | Weight | Value |
| --- | --- | --- | --- | --- |
| the | 2 0 0 0 | 0 | 0.11 | 0 0 |
| cat | 0 2 0 0 | 2 | 0.79 | 1 0 |
| sat | 0 0 2 0 | 0 | 0.11 | 0 1 |

The answer is the weighted sum of the values, 0.79 0.11: *sat* now knows that an animal did it.

$$
\text{answer} = \sum_j w_j \, v_j \qquad w = \operatorname{softmax}\!\left(\frac{q \cdot
k_1}{\sqrt{d_k}}, \frac{q \cdot k_2}{\sqrt{d_k}}, \dots\right)
$$

Here $q$ is a query, $k_j$ and $v_j$ are the key and the value of position $j$, $w_j$ is its weight,
and $d_k$ is the number of features of a query and of a key.

**In:** a vector for each position, `[batch_size, seq_len, d_model]`. **Out:** one of the same shape
for each, with something of the positions before it mixed in.

Four steps: one query in plain Python, all queries in one product, a *head* that learns, and several
heads. [Multi-head attention](../mha.py) has the sequence first, and computes all heads at once.
"""

import math

import torch
from torch import Tensor, nn


def answer(
    query: list[float], keys: list[list[float]], values: list[list[float]]
) -> tuple[list[float], list[float]]:
    r"""
    ## One query by hand

    The table above in plain Python: the weights of all words, and the answer. In a model nobody
    writes the features down. They are learned, and needn't be so easy to read.
    """
    # The score of *cat* is $2 \cdot 2 / \sqrt 4 = 2$: large if query and key are large in the same
    # features. With more features the sum has more terms and varies more; the root corrects that.
    root = math.sqrt(len(query))
    scores = [sum(q * k for q, k in zip(query, key, strict=True)) / root for key in keys]

    # The softmax turns scores into weights: all positive, with a sum of one. The score of *cat* is
    # higher by 2, and its weight $e^2 = 7.4$ times as large.
    exponentials = [math.exp(score) for score in scores]
    weights = [one / sum(exponentials) for one in exponentials]

    # The answer is the weighted average of the values, feature by feature.
    features = zip(*values, strict=True)
    mean = [sum(w * v for w, v in zip(weights, one, strict=True)) for one in features]
    return weights, mean


def causal_attention(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    r"""
    ## All queries at once

    Every position has a query. Their scores are the entries of one matrix product: row $i$ belongs
    to query $i$, and column $j$ to key $j$. `query` and `key` are `[batch_size, seq_len, d_k]`, and
    so are the values and the answers. Each sequence of the batch attends to itself only.

    A model that writes learns to predict the next word at *every* position of a text: *cat* after
    *the*, and *sat* after *the cat*. If *cat* saw *sat*, it could simply copy it. A *causal mask*
    hides all later positions.

    [The weights of six random queries](../../../results/memory_drawings.json#figures.weights)
    """
    # `@` multiplies the matrices in the last two axes, and repeats that for the batch. Keys have to
    # be columns for that. The scores are `[batch_size, seq_len, seq_len]`.
    d_k = query.shape[-1]
    scores = query @ key.transpose(1, 2) / math.sqrt(d_k)

    # The lower triangle has the pairs with $j \le i$: keys that are not later than the query.
    seq_len = scores.shape[-1]
    visible = torch.ones(seq_len, seq_len, dtype=torch.bool, device=scores.device).tril()

    # $e^{-\infty} = 0$: a hidden key gets no weight. The mask comes before the softmax. After it,
    # the weights that are left would no longer have a sum of one.
    scores = scores.masked_fill(~visible, -math.inf)

    # Each row has the weights of one query, and the keys are along the last axis.
    weights = scores.softmax(dim=-1)

    # Row $i$ of this product is the weighted average of the values for query $i$.
    return weights @ value


class Head(nn.Module):
    r"""
    ## One head

    Where do queries, keys and values come from? Each is made from the word's vector by a linear
    layer of its own, with weights that are learned. Think of people in a room, each with a
    question, a name tag and something to say. You hold your question against every name tag, and
    the better a tag fits, the more closely you listen. Question, tag and what is said are three
    different things.
    """

    def __init__(self, d_model: int, d_k: int) -> None:
        r"""
        * `d_model` is the number of features of a position
        * `d_k` is the number of features of a query, a key and a value
        """
        super().__init__()
        self.query = nn.Linear(d_model, d_k)
        self.key = nn.Linear(d_model, d_k)
        self.value = nn.Linear(d_model, d_k)

    def forward(self, x: Tensor) -> Tensor:
        r"""
        ### Attend

        From `[batch_size, seq_len, d_model]` to `[batch_size, seq_len, d_k]`.
        """
        # The same vectors three times: what changes is what each layer reads from them.
        return causal_attention(self.query(x), self.key(x), self.value(x))


class OneHeadAtATime(nn.Module):
    r"""
    ## Many heads

    A head takes *one* average for each position. If a verb needs both its subject and its object,
    it gets a blend of the two. With several heads it gets several averages, each with queries and
    keys of its own.

    Each head has only a part of the width, $d_k = d_{model} / h$ for $h$ heads. Together, the
    narrow heads have as many weights and multiplications as one wide head. What grows is the number
    of scores: each head has its own.

    Does it help? In the paper's translation (table 3), one head reaches a BLEU score of 24.9, eight
    reach 25.8, and 32 fall back to 25.4. In our small transformer of four layers we found [no
    gain](../mha.py).
    """

    def __init__(self, heads: int, d_model: int) -> None:
        r"""
        * `heads` is the number of heads; it must divide `d_model`
        * `d_model` is the number of features of a position
        """
        super().__init__()
        if d_model % heads:
            raise ValueError(f"heads must divide d_model, got heads={heads}, d_model={d_model}")

        # PyTorch finds the weights of modules in a `ModuleList`. In a plain list it doesn't, and
        # the heads would never be trained.
        self.heads = nn.ModuleList(Head(d_model, d_model // heads) for _ in range(heads))
        self.projection = nn.Linear(d_model, d_model)

    def forward(self, x: Tensor) -> Tensor:
        r"""
        `x` and the result are `[batch_size, seq_len, d_model]`.
        """
        # Side by side, the answers of all heads are as wide as the input again.
        answers = torch.cat([head(x) for head in self.heads], dim=-1)

        # Until here no head knows of another. The last layer mixes their answers.
        return self.projection(answers)


def example(batch_size: int = 3, seq_len: int = 7, heads: int = 5, d_k: int = 2) -> Tensor:
    r"""
    ## Example

    *The cat sat* by hand, then random sequences through all heads.

    ### What goes where

    From the query on the left to the answer on the right. The query is compared with each key, the
    scores become weights, and the weights mix the values:

    [*Sat* looks for a noun: the numbers of the example by
    hand](../../../results/hand_drawings.json#figures.flow)

    ### Exercises

    ??? question "Queries and keys come from the same vector. Why by different weights?"
        - [ ] One matrix can't make both.
            - It can: queries and keys are then equal, and the scores have the right shape.
        - [x] What a word looks for isn't what it is found by.
            - Yes. *sat* looks for a noun and is found as a verb. With one matrix for both, the
              score of *sat* for *cat* would always be that of *cat* for *sat*.
        - [ ] The scores could never be negative.
            - They could: two vectors that point in opposite directions have a negative product.
        - [ ] More weights always learn more.
            - More weights can help wherever they are. This is about what these two are for.

    ??? question "The query of *sat* is 0 0 0 0. What are the weights and the answer?"
        All scores are 0, so each weight is 1/3, and the answer is the plain average of the values:
        0.33 0.33.

    ??? question "Can a feature of an answer be larger than in every value?"
        No. The weights are positive and have a sum of one, so each feature lies between the
        smallest and the largest of the values that the query can see.

    ??? question "What is the answer at the first position, whatever its query is?"
        Its own value. It sees no other key, so the softmax of its one score is 1.

    ??? question "Hide later keys *after* the softmax instead, with weights of zero. What fails?"
        The shapes are right, but the sum of a row is below one, and how far below depends on the
        later keys. Change the last token: earlier outputs move, and none may.

    ??? question "Make `heads` a plain list. What breaks, and when do you notice?"
        The optimizer never gets the weights of the heads, because `parameters()` doesn't find them.
        Training doesn't fail: the heads just stay random. You notice when you count the parameters,
        or move the model to a GPU: the heads stay on the CPU.
    """
    # The table above: *sat* looks for a noun, and 0.79 of its answer comes from *cat*.
    keys = [[2.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0]]
    answer([0.0, 2.0, 0.0, 0.0], keys, values=[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])

    # The same with numbers that are learned; here they are still random.
    d_model = heads * d_k
    attention = OneHeadAtATime(heads, d_model)
    return attention(torch.randn(batch_size, seq_len, d_model))
