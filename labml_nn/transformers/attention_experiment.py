r"""
---
title: Attention by Eye
summary: Eight words go through attention one line at a time, and each step is a picture.
know: mha.py
---

In “to be or not to be that is”, the second “to” looks back. Which words does it see, and how much
of each? Here are the lines of [attention](mha.py#MultiHeadAttention) with real words, one after the
other. **In:** a sentence. **Out:** pictures of the scores, of what the mask leaves, and of the
weights.

Nothing is trained. So that there is something to see, equal words have equal vectors, and queries
are made as keys are: a word then looks for itself. The score of “to” with “to” is large and
positive, those of “to” with other words are smaller, above or below zero. A trained model asks for
more useful things, by the same lines.

What fails without the mask? The first “to” sees the second one, four words before it is written.
"""

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask


def as_vectors(words: Sequence[str], d_model: int) -> Tensor:
    r"""
    ## Words as vectors

    Random ones, and equal for equal words. The batch is one sentence.
    """
    # Each word has a number, in the order in which the words come up. A word that comes again
    # has the number that it had.
    numbers = {word: number for number, word in enumerate(dict.fromkeys(words))}
    table = nn.Embedding(len(numbers), d_model)

    # A row of the table for each word, one below the other: the sentence is one column.
    return table(torch.tensor([[numbers[word]] for word in words])).detach()


def that_asks_for_itself(heads: int, d_model: int) -> MultiHeadAttention:
    r"""
    ## An attention with something to see
    """
    # No dropout, as nothing is trained. (The pictures would be the same with it: they show the
    # weights as they are before any is dropped.)
    attention = MultiHeadAttention(heads, d_model, dropout_prob=0.0, bias=False)

    # Queries are made as keys are. The product of a vector with itself is its squared length, and
    # with another random one it is smaller, zero on average.
    attention.key.load_state_dict(attention.query.state_dict())
    return attention


def draw_squares(pictures: Mapping[str, Tensor], words: Sequence[str]) -> None:
    r"""
    ## Squares of numbers

    Each picture has a row for a query and a column for a key.
    """
    import matplotlib.pyplot as plt

    # Side by side, so that one can be compared with the next.
    size = (3.6 * len(pictures), 3.7)
    _, all_axes = plt.subplots(1, len(pictures), figsize=size, layout="constrained", squeeze=False)
    for axes, (title, numbers) in zip(all_axes[0], pictures.items(), strict=True):
        # Minus infinity has no colour. It is left white.
        seen = numbers.masked_fill(numbers.isinf(), math.nan)
        axes.imshow(seen.tolist(), cmap="Blues")
        axes.set_title(title, fontsize=10)

        # The words at both sides. The first query is at the top, as in a matrix.
        axes.set_xticks(range(len(words)), words, rotation=60)
        axes.set_yticks(range(len(words)), words)

        # Each number in its square, white where the square is dark.
        dark = 0.6 * seen.nan_to_num(-math.inf).max().item()
        for row, line in enumerate(numbers.tolist()):
            for column, value in enumerate(line):
                said = "−∞" if math.isinf(value) else f"{value:.1f}".replace("-", "−")
                color = "white" if value > dark else "black"
                axes.text(column, row, said, ha="center", va="center", fontsize=7, color=color)
    plt.show()


def notebook(
    sentence: str = "to be or not to be that is", heads: int = 1, masked: bool = True
) -> None:
    r"""
    ## Try it

    Change the settings and run the cells below again. What do four heads see, and what happens
    without the mask?
    """
    # ### Queries and keys
    # From words to queries and keys: a vector for each word and head. The batch is one sentence.
    words = sentence.split()
    torch.manual_seed(1)
    x = as_vectors(words, d_model=64)
    attention = that_asks_for_itself(heads, d_model=64)
    query = attention.query(x)
    key = attention.key(x)
    print("query", list(query.shape), "key", list(key.shape))

    # ### Scores, mask, weights
    # A score for each pair of words, then the mask, and a softmax along the keys. (The class hides
    # with the smallest finite number, which gives the same weights.)
    scores = attention.get_scores(query / math.sqrt(attention.d_k), key)
    visible = causal_mask(len(words)).unsqueeze(-1) if masked else torch.tensor(True)
    hidden = scores.masked_fill(~visible, -math.inf)
    weights = hidden.softmax(dim=1)
    first = {"scores": scores, "after the mask": hidden, "weights": weights}
    draw_squares({name: one[:, :, 0, 0].detach() for name, one in first.items()}, words)

    # ### All heads
    # Each head makes queries and keys of its own, of all 64 features of a word. With four heads
    # they have 16 features each.
    draw_squares({f"head {h + 1}": weights[:, :, 0, h].detach() for h in range(heads)}, words)

    # The class computes the same weights, and each row of them sums to one.
    attention(query=x, key=x, value=x, mask=causal_mask(len(words)) if masked else None)
    torch.testing.assert_close(weights, attention.attn)
    print(
        "each row sums to", sorted({round(one, 4) for one in weights.sum(dim=1).flatten().tolist()})
    )


def example(seq_len: int = 7, d_k: int = 5, heads: int = 3) -> Tensor:
    r"""
    ## Example

    Seven words, of which the last is the first one again.

    ### Exercises

    ??? question "Without the mask, “to” has the same weights in both places. Why not with it?"
        - [ ] The mask changes the scores of the words that are seen.
            - It hides some, and leaves the others as they are.
        - [x] The first “to” sees itself alone, and the second one sees five words.
            - Yes. The weights of a row sum to one, over what is visible.
        - [ ] The second “to” has another vector, because of its position.
            - Here nothing is added for the position.

    ??? question "With four heads the weights are flatter. Why?"
        - [x] A query has a quarter of the features, so a word's score with itself is about half.
            - Yes. The score is a sum over the features of query and key, divided by the root of
              their number. With a quarter of them, the sum is a quarter, the divisor a half.
        - [ ] Each head sees a quarter of the words.
            - It sees all words, and even all features of each, by shorter queries and keys.
        - [ ] Four heads share one softmax.
            - Each has its own.

    ??? question "Give queries and keys different weights again. What do the pictures show?"
        - [ ] The same: the words are the same.
            - A word's query would no longer look like its key.
        - [x] Weights that follow no pattern, but are equal in the rows of equal words.
            - Yes, without the mask. Untrained queries ask for nothing in particular, and equal
              words ask for the same.
        - [ ] Equal weights everywhere.
            - Random scores differ, and so do their weights.
    """
    # The letters stand for words. The first and the last one are equal.
    words = [chr(97 + at % (seq_len - 1)) for at in range(seq_len)]
    x = as_vectors(words, heads * d_k)

    # Everything is visible, so equal words have equal rows. Without a mask a word sees what comes
    # after it, too.
    attention = that_asks_for_itself(heads, heads * d_k)
    attention(query=x, key=x, value=x)
    assert attention.attn is not None
    return attention.attn
