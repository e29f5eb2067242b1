r"""
---
title: Hidden Tokens of a Model
summary: A token that a mask hides, or that belongs to another document, must not matter.
---

Texts of different lengths share a batch, and padding fills the short ones. Short documents share a
text. Both times a model is told what it may not look at, and nothing crashes if it looks: it gives
other logits, and that is all. So the hidden tokens are replaced by other ones. No logit of another
token may change.

That holds for any kind of positions, so nothing is compared with a text that has no padding. A mask
can mean two things: one shows, or one hides. It is wrong only if it hides in neither of them. In
the meaning in which it hides, later tokens must stay hidden, too: some code builds one mask without
padding, and another one with it.

**In:** [what is tested](whole.py#Whole). **Out:** a sentence that says what is wrong, or nothing.
"""

import re
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor, nn

from wrongline.calling import arguments_of, beside, called_with, find_logits, is_needed
from wrongline.model_tests import other_tokens, sees_future
from wrongline.places import place_of
from wrongline.verdicts import NotTried, Unusual, told
from wrongline.whole import Whole

PADDING = r"^(attention|padding|pad|key_padding|src_key_padding)_?mask$|^mask$"
# What is told of such a mask, which a tokenizer doesn't give.
HIDES = (
    "`attention_mask` hides a token where it is 1 or true: with the mask of a tokenizer, which has "
    "1 for each token of the text, the model sees the padding alone"
)

# Under a mask, a long text has so many ends tried for each sequence.
MASKED_ROUNDS = 3
DOCUMENTS = r"^(doc|docs|documents?|segments?|seq|sequence|packed|sample)(_?ids?)?$"


def argument_like(model: nn.Module, pattern: str) -> str:
    r"""
    ## The first argument with such a name
    """
    names = [*arguments_of(model)][1:]
    return next((name for name in names if re.search(pattern, name)), "")


def changes(
    whole: Whole, call: Callable[[Tensor], Tensor], hidden: Tensor
) -> tuple[int, int] | None:
    r"""
    ## The first place that depends on hidden tokens

    `hidden` is true where a token is, `[batch_size, seq_len]`.
    """
    inputs = whole.inputs
    logits = call(inputs)
    other = call(torch.where(hidden, other_tokens(inputs), inputs))
    # What a hidden token says itself doesn't matter.
    return place_of(
        other.masked_fill(hidden.unsqueeze(-1), 0.0), logits.masked_fill(hidden.unsqueeze(-1), 0.0)
    )


def future_under(
    whole: Whole, model: nn.Module, name: str, mask: Tensor, hidden: Tensor, told: str
) -> str:
    r"""
    ## Is it still causal under a mask?

    What a hidden token says itself doesn't matter.
    """

    def call(model: nn.Module, tokens: Tensor) -> Tensor:
        logits = find_logits(called_with(model, tokens, **(beside(model, tokens) | {name: mask})))
        return logits.masked_fill(hidden.unsqueeze(-1), 0.0)

    return sees_future(replace(whole, predict=call), model, whole.inputs, MASKED_ROUNDS, told)


def padding_is_hidden(whole: Whole) -> str:
    r"""
    ## Does padding matter?

    On the left of half of the sequences, where it comes before the text. And is the future hidden
    as it is without padding, also by a mask that hides nothing?
    """
    name = argument_like(whole.model, PADDING)
    if not whole.is_called_as_usual:
        return NotTried("it isn't called as usual, and nobody has said how padding is hidden")
    if not name:
        return NotTried("no argument of `forward` looks like a mask for padding")
    inputs = whole.inputs
    if inputs.shape[1] < 4:
        return NotTried("the texts are too short for padding")
    hidden = torch.zeros_like(inputs, dtype=torch.bool)
    hidden[::2, :2] = True
    failed = ""
    wrong = ""
    is_used = False
    # As whole numbers, and as true and false: one that shows, and one that hides.
    for mask in ((~hidden).long(), ~hidden, hidden, hidden.long()):

        def call(tokens: Tensor, mask: Tensor = mask) -> Tensor:
            return find_logits(called_with(model, tokens, **(beside(model, tokens) | {name: mask})))

        # That of the first sequence is 0 or false for padding, or is 1 or true.
        hides = bool(mask[0, 0])

        with whole.rough() as model:
            try:
                place = changes(whole, call, hidden)
            except Exception as error:
                failed = failed or told(error)
                continue
            if place is None:
                # And a mask that hides nothing, in the same meaning.
                nothing = mask[:1, -1:].expand_as(mask).contiguous()
                said = f"with padding hidden by `{name}`, "
                seen = future_under(whole, model, name, mask, hidden, said)
                said = f"with a `{name}` that hides nothing, "
                seen = seen or future_under(whole, model, name, nothing, hidden & False, said)
                shows = "0 or false" if hides else "1 or true"
                whole.known["padding's way"] = f"padding by `{name}`, where {shows} shows"
                if seen or not (hides and name == "attention_mask"):
                    return seen
                return Unusual(HIDES)
            is_used = is_used or place_of(call(inputs), whole.logits(model)) is not None
        wrong = wrong or (
            f"with `{name}`, tokens that it hides change the logits of sequence {place[0]} at "
            f"position {place[1]}: the mask is not used, or gives no numbers"
        )
    # A mask of another shape, for queries and keys, is a matter of its author.
    if not wrong or failed and not re.search("padding|attention", name):
        return NotTried(f"padding by `{name}`: {failed}")
    # It may be a mask for something else.
    if name == "mask" and not is_used:
        return Unusual("`mask` changes nothing: if it should hide padding, it doesn't")
    return wrong


def documents_are_apart(whole: Whole) -> str:
    r"""
    ## Do documents matter to each other?

    Two of them share each text. The first becomes another.
    """
    name = argument_like(whole.model, DOCUMENTS)
    if not whole.is_called_as_usual:
        return NotTried("it isn't called as usual, and nobody has said where documents end")
    if not name or is_needed(arguments_of(whole.model)[name]):
        return NotTried("no argument of `forward` looks like numbers of documents")
    inputs = whole.inputs
    middle = inputs.shape[1] // 2
    if not middle:
        return NotTried("the texts are too short for two documents")
    numbers = (torch.arange(inputs.shape[1], device=inputs.device) >= middle).long()
    numbers = numbers.expand(inputs.shape)

    def call(tokens: Tensor) -> Tensor:
        return find_logits(called_with(model, tokens, **(beside(model, tokens) | {name: numbers})))

    with whole.rough() as model:
        try:
            place = changes(whole, call, numbers == 0)
        except Exception as error:
            return NotTried(f"documents by `{name}`: {told(error)}")
    if place is None:
        return ""
    return (
        f"with `{name}`, tokens of the first document change the logits of the second in sequence "
        f"{place[0]} at position {place[1]}: documents are mixed"
    )


HIDDEN_TESTS = (padding_is_hidden, documents_are_apart)


def example(batch_size: int = 3, seq_len: int = 5, n_vocab: int = 11) -> tuple[str, str]:
    r"""
    ## Example

    A running sum that obeys its mask, and one that doesn't.

    ### Exercises

    ??? question "Why is the text with padding not compared with the text alone?"
        With padding on the left, each token has another position, unless somebody counts anew. That
        is no mistake of the mask.

    ??? question "Why are a mask that shows and one that hides both tried?"
        Nothing in a signature says which is meant. A mask that hides in one of them is right.
    """

    class Sums(nn.Embedding):
        def forward(self, tokens: Tensor, attention_mask: Tensor | None = None) -> Tensor:
            r"""
            From tokens, `[batch_size, seq_len]`, to sums of rows.
            """
            x = super().forward(tokens)
            if attention_mask is not None:
                x = x * attention_mask.unsqueeze(-1)
            return x.cumsum(1)

    class Ignores(Sums):
        def forward(self, tokens: Tensor, attention_mask: Tensor | None = None) -> Tensor:
            r"""
            The shapes are those of the right one.
            """
            return super().forward(tokens)

    tokens = torch.randint(n_vocab, (batch_size, seq_len))
    right = Whole(Sums(n_vocab, n_vocab), tokens, tokens)
    wrong = Whole(Ignores(n_vocab, n_vocab), tokens, tokens)
    return padding_is_hidden(right), padding_is_hidden(wrong)
