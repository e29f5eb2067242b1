r"""
---
title: Attention Sinks
summary: A head that finds nothing puts its weight on the first token, so a window has to keep it.
paper:
  title: Efficient Streaming Language Models with Attention Sinks
  authors: Xiao et al.
  year: 2023
  link: https://arxiv.org/abs/2309.17453
terms:
  attention sink: A token, mostly the first, that heads give weight to when they have found nothing.
---

The weights of a softmax sum to one, so a head can't say “nothing here”. Take a model that looks up
names. A text tells that b is 3, d is 1 and a is 2, and asks in between:

```
position   0        1   2   3   4   5     6   7
token      <begin>  b3  d1  b?  a2  c?    a?  e?
answer                      3       none  2   none
```

At “b?” the head puts its weight on “b3”. At “e?” it finds no e, but the weight must go somewhere.
Our trained model gives nearly all of it to the first token. `<begin>` says nothing about any name,
and it is there in every text: the model has learned that weight on it means “none”. Such a token is
an *attention sink*.

Now put a [window](sliding_window.py) of 4 on the trained model. “e?” sees positions 4 to 7, and no
`<begin>`. Most of the weight falls on “a2”, and the model answers 2. It has *made something up*:

[Where each question looks, and what the model
answers](../../../results/sinks.json#figures.looks)

Over many texts, under a window of 8, the model finds
[0.68](../../../results/sinks.json#values.window_never) of the answers “none”. The remedy is one
line: let the window keep the first token. Then it finds
[1.00](../../../results/sinks.json#values.kept_never) of them, as it does without a window.

**In** and **out** are those of [multi-head attention](../mha.py): vectors of one text, `[seq_len,
batch_size, d_model]`, and one vector for each position.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.memory.sliding_window import (
    RollingProjection,
    SlidingWindowAttention,
    window_mask,
)
from labml_nn.transformers.mha import MultiHeadAttention, PrepareForMultiHeadAttention, causal_mask


def lookups(
    seq_len: int, batch_size: int, names: int = 16, numbers: int = 4
) -> tuple[Tensor, Tensor]:
    r"""
    ## A lookup task

    A head that learns this task has to look for something that often isn't there. The function
    draws random texts, and returns tokens and answers, `[seq_len, batch_size]` each.

    A token is a number: 0 is `<begin>`, then come the questions, one for each name, and then the
    pairs, such as “b3”. An answer is the number of the name, or `numbers`, which stands for “none”.
    """
    # In each text every name has one number, and keeps it if it is told again. Each token is about
    # some name.
    number_of = torch.randint(numbers, (names, batch_size))
    name = torch.randint(names, (seq_len, batch_size))
    number = number_of.gather(0, name)

    # Three tokens in ten ask. The first one neither asks nor tells: it becomes `<begin>` below.
    asks = torch.rand(seq_len, batch_size) < 0.3
    asks[0] = False

    # The numbers of the tokens, as above. The pairs of one name have neighbouring numbers: a0, a1,
    # a2, a3, b0, and so on.
    question = 1 + name
    pair = 1 + names + name * numbers + number
    tokens = torch.where(asks, question, pair)
    tokens[0] = 0

    # Was the name told before? Take a column for each name, with a 1 where the text tells it, and
    # sum along the text: how often was each name told up to here? Then each position looks up its
    # own name.
    told = F.one_hot(name, names) * ~asks.unsqueeze(-1)
    told[0] = 0
    times = told.cumsum(0).gather(-1, name.unsqueeze(-1)).squeeze(-1)

    # A question has the number as its answer, if it was told, and “none” if it wasn't. Other tokens
    # have no answer: -100 is the target that the loss leaves out.
    answers = torch.where(times > 0, number, numbers)
    return tokens, answers.masked_fill(~asks, -100)


def sink_mask(seq_len: int, window: int, n_sinks: int) -> Tensor:
    r"""
    ## Sink mask

    The [window mask](sliding_window.py#window_mask), and the first tokens besides. Six positions
    with a window of 2 and one sink:

    ```
    1 0 0 0 0 0
    1 1 0 0 0 0
    1 1 1 0 0 0
    1 0 1 1 0 0
    1 0 0 1 1 0
    1 0 0 0 1 1
    ```

    The model isn't trained again. [Xiao et al.](https://arxiv.org/abs/2309.17453) keep four tokens,
    and language models that broke down under a window then work on texts of 4 million tokens.
    """
    # The first keys, for all queries that come after them.
    first = causal_mask(seq_len) & (torch.arange(seq_len) < n_sinks).unsqueeze(-1)
    return window_mask(seq_len, window) | first


class SinkAttention(SlidingWindowAttention):
    r"""
    ## Attention with a window and sinks

    [Attention with a window](sliding_window.py#SlidingWindowAttention), under the other mask.
    """

    def __init__(
        self,
        heads: int,
        d_model: int,
        dropout_prob: float = 0.1,
        bias: bool = True,
        *,
        window: int,
        n_sinks: int,
    ) -> None:
        r"""
        * `n_sinks` is the number of first tokens that all later positions see

        The other arguments are those of attention with a window.
        """
        # The weights and the window are those of the other class; the sinks add no parameter.
        super().__init__(heads, d_model, dropout_prob, bias, window=window)
        self.n_sinks = n_sinks

    def visible(self, seq_len: int) -> Tensor:
        r"""
        ### Visible keys

        Everything else is inherited.
        """
        return sink_mask(seq_len, self.window, self.n_sinks)


class SinkProjection(RollingProjection):
    r"""
    ## Rolling cache with sinks

    When the model writes, the keys and values of the sinks stay in memory. Those of all later
    positions take turns in the [ring](sliding_window.py#RollingProjection).

    [Who sees whom with a window of 3 and one sink, and which positions the four slots of the cache
    then hold](../../../results/memory_drawings.json#figures.rolling)
    """

    def __init__(self, *shape: int, window: int, n_sinks: int) -> None:
        r"""
        * `shape` are the arguments of the projection
        * `window` and `n_sinks` are those of the attention
        """
        super().__init__(*shape, window=window)
        self.n_sinks = n_sinks

        # The keys of the first tokens. They are appended one by one, as the text begins, and then
        # stay for good.
        self.sinks: list[Tensor] = []

    @torch.no_grad()
    def forward(self, x: Tensor) -> Tensor:
        r"""
        From one new position, `[1, batch_size, d_model]`, to the keys of all slots.
        """
        # The first tokens never enter the ring. Their keys are made as in multi-head attention, and
        # appended to the list.
        if len(self.sinks) < self.n_sinks:
            self.sinks.append(PrepareForMultiHeadAttention.forward(self, x))
            return torch.cat(self.sinks)

        # All others enter the ring, which counts from the first of them. The query sees the sinks
        # and the ring: all keys that are kept, and never more, however long the text gets.
        return torch.cat([*self.sinks, super().forward(x)])


class RollingSinkAttention(MultiHeadAttention):
    r"""
    ## Attention with sinks and a rolling cache

    Call it with one position after the other, as [the one without
    sinks](sliding_window.py#RollingAttention).
    """

    def __init__(
        self, heads: int, d_model: int, dropout_prob: float = 0.0, bias: bool = True, **sizes: int
    ) -> None:
        r"""
        * `sizes` are `window` and `n_sinks`

        The other arguments are those of multi-head attention.
        """
        super().__init__(heads, d_model, dropout_prob, bias)

        # Keys and values are kept in the same way, so the key in a slot and the value in the same
        # slot belong to the same position.
        self.key = SinkProjection(d_model, heads, self.d_k, bias, **sizes)
        self.value = SinkProjection(d_model, heads, self.d_k, bias, **sizes)


def in_transformer(
    *, d_model: int, heads: int, seq_len: int, dropout_prob: float, **_: float
) -> dict[str, Callable[[], nn.Module]]:
    r"""
    ## In a transformer

    The [small transformer](../basic/autoregressive_experiment.py) gets a window of a quarter of its
    context, and keeps the first token.
    """
    # The same window as [without sinks](sliding_window.py#in_transformer), so that the two can be
    # compared.
    sizes = {"window": max(1, seq_len // 4), "n_sinks": 1}
    return {"self_attn": lambda: SinkAttention(heads, d_model, dropout_prob, **sizes)}


@torch.no_grad()
def example(
    seq_len: int = 13, batch_size: int = 3, heads: int = 5, d_k: int = 11, window: int = 2
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    ### Measured here

    One layer with one head learns the task in 1,000 steps, on texts of 32 tokens. We ask for names
    that were never told, and count how often the answer is “none”, without a window, with a window
    of 8, and with that window and the first token.

    [The share of right answers for names that were never told, by the way of training; means of
    three seeds](../../../results/sinks.json#tables.ways)

    [Where these questions put their weight, without a
    window](../../../results/sinks.json#tables.weights)

    *As usual.* The head has two sinks, the first token and the question itself. Which one it takes
    differs from name to name: in the picture “e?” gives
    [0.94](../../../results/sinks.json#values.begin) of its weight to the first token, and “c?”
    takes “c?”. So the window hurts “e?”, whose weight falls on “a2”
    ([0.54](../../../results/sinks.json#values.other)), and leaves “c?” alone. Questions for names
    that were told inside the window are answered as well as before,
    [0.97](../../../results/sinks.json#values.window_recent).

    *With a learned sink.* A [learned sink](learned_sink.py) is a place for weight that no window
    can take away. It doesn't help here, where it starts at 0: the head learns to use `<begin>` all
    the same, and hardly any weight
    ([0.01](../../../results/sinks.json#values.nowhere)) goes to the learned one. [Started
    higher](learned_sink.py#example), it does help.

    *With the window.* A model that is trained under the window never sees `<begin>` from afar, and
    doesn't come to rely on it. It puts most of the weight on the question itself.

    *Without a begin token.* Here a text begins with a pair or a question, like all others. Its
    position would still tell the first token from the rest, but the model doesn't make it a sink.
    The question itself becomes one again, and a window costs next to nothing.

    *Without “none”.* Why does a sink form at all? We trained three models on the same texts, but
    left the questions for untold names out of the loss. Two learned the task, and there these
    questions give the first token 0.15 and 0.19 of their weight, not 0.53. (The third hadn't
    learned it after 1,000 steps, and looked at the first token whatever was asked.)

    *Without its value.* Does the value of `<begin>` say “none”, or is the mere lack of a number
    enough? Both. Take the questions for untold names that give it more than 0.8 of their weight:
    all are answered right. With zeros in the place of its value, 0.94, 0.75 and 0.57 of them still
    are (three seeds), and 0.45, 0.32 and 0.58 if it is hidden, so that the other weights grow.

    So in this task, a trained head makes the first token its sink if three things come together: it
    often finds nothing, a token begins every text, and no window was there in training.

    ### In language models

    There the first token becomes the sink whatever it is, also without a token for the beginning
    (section 3 of the paper). [Guo et al.](https://arxiv.org/abs/2410.13835) provoke sinks with
    another small task, in which a head is needed after a few letters only.

    In our [small transformer](../basic/autoregressive_experiment.py) we found none. With two
    layers, trained for 500 steps on Shakespeare, later positions give the first character a weight
    of [0.010](../../../results/families.json#tables.losses.multi-head%20attention.first), less than
    an equal share. A window put on afterwards raises the loss from
    [2.213](../../../results/families.json#tables.losses.multi-head%20attention.loss) to
    [2.234](../../../results/families.json#values.windows.none), and keeping the first character
    makes it [2.233](../../../results/families.json#values.windows.one): no gain. A larger model,
    with four layers and 1,000 steps, does have [dark first columns](../mha.py#MultiHeadAttention).
    We haven't tested whether it needs them.

    We leave out that the paper counts positions inside the cache. The attention here knows no
    positions.

    ### Exercises

    ??? question "Train it yourself. Which names lose their answer under a window?"
        It takes a minute. Then ask for each name, with eight other tokens between it and `<begin>`.
        In our run eight of the 16 names lost some of their answers: those whose questions look at
        `<begin>`, and not at themselves.

            from labml_nn.training import loop
            from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer

            model = AutoregressiveTransformer(1 + 16 + 16 * 4, 64, 1, 1, 256, seq_len=32)
            loop.train(model, lambda step: lookups(32, 32), [loop.adamw(model)], 1000)
            model.mask = sink_mask(32, window=8, n_sinks=0)

    ??? question "A window of 3 and one sink: which positions are held after ten tokens?"
        Position 0, and the last three: 7, 8 and 9.

    ??? question "Why keep the first token, and not make its weight zero?"
        - [ ] It has seen the rest of the text.
            - It comes first and sees itself alone. Its value is the same in every text.
        - [x] Then the other weights would have to grow, and their values mean something.
            - Yes. The weights sum to one. What the sink doesn't get, other tokens get.
        - [ ] Because the positions of all other tokens would change.
            - Positions stay as they are. The window hides keys, it doesn't renumber them.

    ??? question "Would a head with a sigmoid for each score, in place of the softmax, need a sink?"
        No. Its weights don't have to sum to one, so it can give 0 to all tokens. That is the idea
        behind [gated attention](../variants/gated_attention.py), too: a gate can turn down what a
        head had to pick up.
    """
    # A text of the task, and a vector for each of its tokens. In a model, the position is added to
    # it.
    tokens, answers = lookups(seq_len, batch_size)
    d_model = heads * d_k
    x = nn.Embedding(1 + 16 + 16 * 4, d_model)(tokens)

    # The same parameters in both forms, for training and for writing. The cache has room for three
    # positions: one sink and a window of two.
    attention = SinkAttention(heads, d_model, 0.0, window=window, n_sinks=1)
    rolling = RollingSinkAttention(heads, d_model, window=window, n_sinks=1)
    rolling.load_state_dict(attention.state_dict())

    # The whole text at once, and one position at a time: the results are the same, up to rounding.
    # From position 3 on, the cache is full, and each new position overwrites another.
    whole = attention(query=x, key=x, value=x)
    pieces = [rolling(query=one, key=one, value=one) for one in x.split(1)]
    return whole, torch.cat(pieces)
