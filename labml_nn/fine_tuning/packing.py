r"""
---
title: Packing Dialogues
summary: Several dialogues in one window, each hidden from the others and with positions of its own.
know: dialogues.py
terms:
  packing: Puts several short texts into one window, each hidden from the others.
  cross-contamination: In a packed window, tokens of one text look at another text.
---

Dialogues of 3, 5 and 10 tokens [side by side](dialogues.py#side_by_side) make three columns of 10.
Only 18 of the 30 tokens belong to a dialogue; the model computes the other 12 all the same.

*Packing* puts several dialogues into one window, one after another: 3 and 5 share a window of 10,
and 18 of 20 tokens are used. Then two things go wrong in supervised fine-tuning (SFT), if nothing
is done about them. The second answer can look at the first question, which is called
*cross-contamination*. And the second dialogue begins in the middle of the window, where a dialogue
that is asked alone never begins. So each token gets the number of its dialogue, and a position
within it. B, U, A and E are the marks of [dialogues](dialogues.py): begin, user, assistant, end.

```text
token     B U h o t ? E A c o l  d  .  E  B U c o
dialogue  1 1 1 1 1 1 1 1 1 1 1  1  1  1  2 2 2 2
position  0 1 2 3 4 5 6 7 8 9 10 11 12 13 0 1 2 3
```

A token looks only at earlier tokens with the same number.

**In:** rendered dialogues. **Out:** windows, `[length, batch_size]`, and a model that computes for
each dialogue what it would compute if it were alone.
"""

from collections.abc import Iterable, Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from labml_nn.fine_tuning.dialogues import ChatTokenizer, inputs_and_targets, side_by_side
from labml_nn.training.sampling import Choose, generate, greedy
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from labml_nn.transformers.mha import causal_mask


def pack(
    rendered: Iterable[tuple[Tensor, Tensor]], length: int, begin: int
) -> tuple[Tensor, Tensor]:
    r"""
    ## Pack dialogues into windows

    Each dialogue comes as its tokens and which of them count. So do the windows,
    `[length, batch_size]`.
    """
    # A window is a list of dialogues; `room` is how many tokens the last one has left. At first
    # there is no window to put anything into.
    windows: list[list[tuple[Tensor, Tensor]]] = []
    room = 0
    for one in rendered:
        # A dialogue that no window can hold would have to be cut.
        size = len(one[0])
        if size > length:
            raise ValueError(f"a dialogue of {size} tokens doesn't fit into {length}")

        # One that doesn't fit into the rest of this window begins the next one. Cut in two, it
        # would leave a question without its answer, and then an answer to half a question.
        if size > room:
            windows.append([])
            room = length

        # In the order in which they come: no sorting, no search for one that fits better.
        windows[-1].append(one)
        room -= size

    # One long text for each window, and what counts in it.
    joined = []
    for window in windows:
        tokens, counted = zip(*window, strict=True)
        joined.append((torch.cat(tokens), torch.cat(counted)))

    # What is left is filled with `<begin>`. Each is a dialogue without a word: no other token looks
    # at it, and it doesn't count.
    return side_by_side(joined, begin, length)


def apart(tokens: Tensor, begin: int) -> tuple[Tensor, Tensor]:
    r"""
    ## Keep dialogues apart

    The mask, `[seq_len, seq_len, batch_size]`, and the position of each token in its dialogue,
    `[seq_len, batch_size]`.

    A token at place $i$ may look at one at place $j$ if both belong to the same dialogue, $n_i =
    n_j$, and if $j \le i$ as ever:

    $$
    M_{ij} = [\, j \le i \,] \, [\, n_i = n_j \,]
    $$

    Brackets are 1 where what they say is true, and 0 elsewhere. Nothing else in our model lets one
    token look at another, so with positions that start again this is all it takes.

    [Which token may look at which, in a window of two dialogues and a rest: B begins a dialogue, U
    and A begin messages, E ends one](../../results/dialogues.json#figures.window)
    """
    # Counting the beginnings up to each place numbers the dialogues, `[seq_len, batch_size]`.
    number = (tokens == begin).cumsum(dim=0)

    # A token may look at those before it that have its number, and at itself.
    mask = (number[:, None] == number[None]) & causal_mask(len(tokens)).to(tokens.device)

    # How many it may look at is its position in the dialogue, plus one.
    return mask, mask.sum(dim=1) - 1


class PackedTransformer(AutoregressiveTransformer):
    r"""
    ## The model

    The [autoregressive model](../transformers/basic/autoregressive_model.py) with the same weights.
    Of a text without beginnings it computes the same, because that is one dialogue.
    """

    def __init__(self, begin: int, **sizes: int) -> None:
        r"""
        * `begin` is the token that begins a dialogue

        The other arguments are those of the autoregressive model.
        """
        # The same parameters by the same names, so trained weights fit.
        super().__init__(**sizes)
        self.begin = begin

    def forward(self, tokens: Tensor) -> Tensor:
        r"""
        From tokens, `[seq_len, batch_size]`, to logits, `[seq_len, batch_size, ...]`.
        """
        # Which tokens each may look at, and its position in its dialogue. Both follow from the
        # marks of the beginnings, so nothing else has to be passed along.
        mask, positions = apart(tokens, self.begin)

        # The rows of these positions, `[seq_len, batch_size, d_model]`. With
        # [rotary positions](../transformers/rotary.py) there would be nothing to look up again:
        # they know distances only, and those inside of a dialogue stay as they are.
        encode = self.embed.positions
        x = self.embed.tokens(tokens) + encode.encodings[positions].squeeze(2)

        # Attention takes a mask for each sequence of the batch.
        return self.generator(self.encoder(encode.dropout(x), mask))


def answer(
    model: PackedTransformer,
    tokenizer: ChatTokenizer,
    dialogues: Sequence[Sequence[Mapping[str, str]]],
    n_tokens: int,
    seq_len: int,
    choose: Choose = greedy,
    generator: torch.Generator | None = None,
) -> list[str]:
    r"""
    ## Answer questions

    For each dialogue, whose last message is the user's, the model's answer of at most `n_tokens`
    tokens. `seq_len` is the model's context, and the last two arguments are those of
    [sampling](../training/sampling.py#generate).
    """
    # The mark of an answer is put at the end of each dialogue, or the model would have to guess
    # whose turn it is.
    prompts = [tokenizer.render(one, to_be_answered=True)[0] for one in dialogues]
    longest = max(map(len, prompts))

    # Filled in *front* with `<begin>`, so that all prompts end at the same place.
    columns = [F.pad(one, (longest - len(one), 0), value=model.begin) for one in prompts]
    tokens = torch.stack(columns, dim=1).to(next(model.parameters()).device)

    # Some answers end before others. What a model writes after its end is thrown away.
    written = generate(model, tokens, n_tokens, seq_len, choose, generator)[longest:]
    return [tokenizer.decode(one).partition("<end>")[0] for one in written.t()]


def example(
    seq_len: int = 37, batch_size: int = 3, heads: int = 2, n_pairs: int = 5, d_ff: int = 7
) -> Tensor:
    r"""
    ## Example

    Two dialogues in each window, and room for two tokens more.

    ### Measured here

    Of twelve dialogues of [our kind](facts.py) side by side,
    [0.74](../../results/dialogues.json#values.filled.side) of the tokens belong to a dialogue. In
    windows of 129 tokens (128 inputs and the last target), most of which hold two dialogues, it is
    [0.80](../../results/dialogues.json#values.filled.packed), and in windows of 513 it is
    [0.95](../../results/dialogues.json#values.filled.long).

    Do mask and positions make better answers? Not here. Without the mask, and with positions that
    run on through a window,
    [0.79](../../results/dialogues.json#tables.changes.neither%20mask%20nor%20restart.held_out) of
    the answers are right, and with both
    [0.79](../../results/dialogues.json#tables.changes.as%20on%20the%20page.held_out), a difference
    no larger than between three seeds. Perhaps that is because these dialogues say nothing about
    each other. What both do change is what is computed: only then does each dialogue get the
    numbers that it would get alone.

    ### Where the mask matters

    Take a task in which texts contradict each other. A text tells numbers of names, “b3”, and asks
    for them, “b?”; if it hasn't told a name, the right answer is “none”. Two such texts share a
    window, and the second one asks for a name that only the first has told. A model that was
    trained as on this page answers
    [1.00](../../results/packing.json#tables.ways.as%20on%20the%20page.beside) of these questions
    right. Give the same weights a plain causal mask, and positions that run on, and only
    [0.03](../../results/packing.json#tables.ways.as%20on%20the%20page.plain) are right. Our guess
    is that they take the number from the other text. A model that is trained without mask and
    restart mostly learns to tell the texts apart by itself: it gets
    [0.96](../../results/packing.json#tables.ways.neither%20mask%20nor%20restart.beside) of them.

    [Questions for a name that only the text beside it has told; means of three seeds, 400
    steps](../../results/packing.json#tables.ways)

    Left out: finding the dialogues that fill a window best, and kernels that skip what the mask
    hides instead of computing it ([FlexAttention](../transformers/memory/flex.py) can).

    ### Exercises

    ??? question "A window has dialogues of 3, 2 and 4 tokens. How many pairs may look?"
        6, 3 and 10, which is 19 of the 45 that the causal mask alone would show.

    ??? question "Why is it no mistake to fill a window with `<begin>`?"
        Each is a dialogue of its own, so no other token looks at it, and its targets are ignored.

    ??? question "Prompts of different lengths: at which end would you fill them, to write on?"
        In front, with `<begin>`. Then all of them end at the last place, where the model writes on,
        and what is in front belongs to other dialogues.

    ??? question "Leave only the causal half of the mask. How do you notice?"
        Shapes don't show it. Pack one dialogue twice into a window: both halves should give the
        same logits, and now the second half differs.
    """
    # The letters that there are, and a question as long as it takes to fill half a window with it
    # and its answer.
    tokenizer = ChatTokenizer("what is hot? cold.")
    begin = tokenizer.marks["<begin>"]
    question = "hot?".rjust((seq_len - 1) // 2 - 10)
    dialogue = [{"role": "user", "content": question}, {"role": "assistant", "content": "cold."}]

    # A window has one token more than the model sees, because the last is only a target.
    length = seq_len + 1
    rendered = [tokenizer.render(dialogue)] * (2 * batch_size)
    tokens, counted = pack(rendered, length, begin)
    inputs, _ = inputs_and_targets(tokens, counted)

    # One layer, and a context of one window. The weights are random: only the shapes are right.
    d_model = 2 * heads * n_pairs
    model = PackedTransformer(
        begin,
        n_vocab=len(tokenizer),
        d_model=d_model,
        heads=heads,
        n_layers=1,
        d_ff=d_ff,
        seq_len=seq_len,
    )

    # Without the message of the assistant, the same is a question, to be filled in front.
    answer(model, tokenizer, [dialogue[:1]] * batch_size, n_tokens=2, seq_len=seq_len)
    return model(inputs)
