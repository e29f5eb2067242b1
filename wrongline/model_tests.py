r"""
---
title: Tests of a Whole Model
summary: What a language model can be asked without knowing its inside.
---

These tests know nothing about the inside of a model. They are handed a model and a batch as the
training gets it, and find what [tests of an attention](attention_tests.py) can't see, such as
positions on the wrong axis. [One call](language_model.py) runs them all. Whether the targets are
right and the training learns is the subject of [another page](training_tests.py).

**In:** a model, a batch, and how the two are used. **Out:** for each test a sentence that says what
is wrong, or nothing. The batch comes first.

Every row of the batch is looked at, since a mask can be applied to the first sequence alone. And
two findings are kept apart that look alike: logits that change with a *later token*, and logits
that change with the *length* of the text. The first model cheats. The second one may not.
"""

import math
import random
from dataclasses import replace

import torch
from torch import Tensor, nn

from wrongline.calling import OtherCallError, unseen_window
from wrongline.logits import sequence_first
from wrongline.places import place_of
from wrongline.single_tokens import ONE_TOKEN, reads_single_tokens
from wrongline.verdicts import NotTried, Unusual, told
from wrongline.whole import Whole, cross_entropy, has_numbers
from wrongline.words import attributes_of, unread_words

# How the worst of all findings is told.
SEES = "the model sees the future"

# What is told of a model that was called in this way.
TURNED = (
    "it wants the sequence first, and so it was called, with turned tokens: with the batch first, "
    "its sequences are mixed"
)

# Up to this length, each end of a text is tried. Of longer ones so many, for each sequence.
SHORT = 16
ROUNDS = 10


def runs(whole: Whole) -> str:
    r"""
    ## Can it be called?

    If not, the error is all that can be said. A model that is called for each token may run with
    whole texts, too, and reads something else then.
    """
    with whole.rough() as model:
        logits = whole.logits(model)
        if whole.is_called_as_usual and reads_single_tokens(model, whole.inputs, logits):
            raise OtherCallError(ONE_TOKEN)
    return ""


def other_tokens(tokens: Tensor, by: int = 1) -> Tensor:
    r"""
    ## Other tokens

    Each is replaced by another one that lies between the smallest and the largest.
    """
    # So many more, and after the largest the smallest.
    low = tokens.min()
    high = tokens.max()
    # Nothing would change, so nothing could be found.
    if low == high:
        raise ValueError("all tokens are the same: take a text in which they differ")
    size = int(high - low) + 1
    return (tokens - low + 1 + (by - 1) % (size - 1)) % size + low


def model_finite(whole: Whole) -> str:
    r"""
    ## Are there numbers at all?
    """
    # The other tests would take NaN for a difference.
    with whole.rough() as model:
        if has_numbers(whole.logits(model)):
            return ""
    return "the logits are NaN or infinite: an empty row of the mask, or a division by zero"


def ends_of(rows: int, length: int, rounds: int) -> list[Tensor]:
    r"""
    ## Where the end of each sequence begins

    For each of some calls a tensor of `rows` positions. In a short text each position is tried for
    all sequences. In a long one each sequence has ends of its own: those near both ends of the
    text, and others at random.
    """
    if length <= SHORT:
        return [torch.full((rows,), end) for end in range(1, length)]
    likely = [length - 1, 1, length // 2 + 1, 2, length - 2, length // 4 + 1, length // 2]
    others = [end for end in range(1, length) if end not in likely]
    # The same ends each time.
    random.Random(1).shuffle(others)
    every = (likely + others)[: rows * rounds]
    every += every[: -len(every) % rows]
    return list(torch.tensor(every).view(-1, rows))


def sees_future(whole: Whole, model: nn.Module, inputs: Tensor, rounds: int, mode: str = "") -> str:
    r"""
    ## Does another end change the beginning?

    The text keeps its length, and its end becomes another.
    """
    logits = whole.logits(model) if inputs is whole.inputs and not mode else None
    logits = whole.predict(model, inputs) if logits is None else logits
    positions = torch.arange(inputs.shape[1], device=inputs.device)
    for number, ends in enumerate(ends_of(len(inputs), inputs.shape[1], rounds), 1):
        later = positions >= ends.to(inputs.device).unsqueeze(1)
        # What is there instead is another text each time: a choice among all tokens may be the
        # same for one of them.
        other = other_tokens(inputs, number)
        found = whole.predict(model, torch.where(later, other, inputs))
        if not whole.place_of(model, torch.where(later.unsqueeze(-1), logits, found), logits):
            continue
        # One sequence alone: the others of the batch may have changed it.
        for row, end in enumerate(ends.tolist()):
            one = inputs.clone()
            one[row, end:] = other[row, end:]
            found = whole.predict(model, one)
            place = whole.place_of(model, found[row : row + 1, :end], logits[row : row + 1, :end])
            if place:
                return (
                    f"{mode}the logits of sequence {row} at position {place[1]} change when the "
                    f"tokens from position {end} on do: {SEES}"
                )
    return ""


def shorter_texts(whole: Whole, model: nn.Module) -> str:
    r"""
    ## Does the beginning need its end?

    The end is cut off.
    """
    inputs = whole.inputs
    length = inputs.shape[1]
    logits = whole.logits(model)
    some = {1, 2, 3, length // 4, length // 2, length - 1}
    refused: dict[int, str] = {}
    for n in range(1, length) if length <= SHORT else sorted(some):
        # Some models refuse a text of one token, or one that doesn't fill a chunk.
        try:
            shorter = whole.predict(model, inputs[:, :n])
        except Exception as error:
            refused[n] = told(error)
            continue
        place = whole.place_of(model, shorter, logits[:, :n])
        if place:
            # The mask may be missing in short texts only: then their last token shows it.
            changed = torch.cat([inputs[:, : n - 1], other_tokens(inputs)[:, n - 1 : n]], dim=1)
            if n > 1 and whole.place_of(
                model, whole.predict(model, changed)[:, :-1], shorter[:, :-1]
            ):
                return f"in a text of {n} tokens, the last one changes the logits before it: {SEES}"

            # No later token changes anything, so it is the length itself.
            return (
                f"the logits of sequence {place[0]} at position {place[1]} depend on the length "
                f"of the text ({n} tokens or {length}), though no later token changes "
                "them: are positions counted from the end, or is something divided by the length?"
            )
    if refused:
        lengths = ", ".join(map(str, refused))
        return NotTried(f"texts of {lengths} tokens: {next(iter(refused.values()))}")
    return ""


def model_prefix(whole: Whole) -> str:
    r"""
    ## Do the first tokens suffice?

    What the model says about a token may not depend on what comes after it: in evaluation, in a
    text as long as the model allows, and in training.
    """
    with whole.rough() as model:
        said = sees_future(whole, model, whole.inputs, ROUNDS)
        if said:
            return by_its_word(whole, model, said)
        # A leak within a chunk of 64 tokens doesn't show in a text of 12.
        longer = whole.longer(model)
        if longer is not None:
            said = sees_future(whole, model, longer, ROUNDS)
            if said:
                return f"in a text of {longer.shape[1]} tokens, {said}"
        short = shorter_texts(whole, model)
        if short and not isinstance(short, NotTried):
            return short
        window = unseen_window(model, whole.inputs.shape[1] if longer is None else longer.shape[1])
    # A mask may be missing in training alone, and a mean over the batch is computed there.
    said = in_training(whole)
    if window and not said:
        name, size = window
        return NotTried(
            f"`{name}` is {size}, longer than every text that was tried: what is beyond it wasn't "
            "seen, and all else of this test is right"
        )
    return said or short


def by_its_word(whole: Whole, model: nn.Module, said: str) -> str:
    r"""
    ## Is a word missing that makes it causal?

    An attribute may have another one, and an argument may be one that nobody can guess.
    """
    for part, name, word in attributes_of(model):
        before = getattr(part, name)
        try:
            setattr(part, name, word)
            if not sees_future(whole, model, whole.inputs, 2, " "):
                return f"{said}; its `{name}` is {before!r}, and with {word!r} it doesn't"
        # It may be read when it is made.
        except Exception:
            continue
        finally:
            setattr(part, name, before)
    unread = unread_words(type(model)) if whole.is_called_as_usual else []
    if not unread:
        return said
    given = f"{unread[0].partition('=')[0]}=..."
    return NotTried(
        f"with {unread[0]}, as it is by default, later tokens change the logits: if another word "
        f"makes it causal, say predict=lambda model, tokens: model(tokens, {given})"
    )


def in_training(whole: Whole) -> str:
    r"""
    ## And in training?

    Dropout is off. A kernel may be given another number, and noise may be added: so each call has
    the same random numbers. What is drawn must not depend on the tokens, or they are others.
    Gradients are computed, since some models have a faster way for when they aren't.
    """
    try:
        with torch.enable_grad():
            return leak_in_training(whole)
    # What is made for writing only may refuse gradients.
    except Exception:
        return leak_in_training(whole)


def leak_in_training(whole: Whole) -> str:
    r"""
    ### With gradients or without
    """
    drawn_next = set()

    def predict(model: nn.Module, tokens: Tensor) -> Tensor:
        torch.manual_seed(1)
        logits = whole.predict(model, tokens).detach()
        drawn_next.add(torch.rand(1, device=tokens.device).item())
        return logits

    with whole.rough(training=True) as model:
        first = predict(model, whole.inputs)
        if place_of(predict(model, whole.inputs), first):
            return NotTried("in training, two calls with the same random numbers differ")
        seeded = replace(whole, predict=predict)
        said = sees_future(seeded, model, whole.inputs, 4, "in training, ")
    if said and len(drawn_next) > 1:
        return NotTried("in training, how many random numbers are drawn depends on the tokens")
    return said


def pairs_apart(rows: int) -> list[Tensor]:
    r"""
    ## Which sequences stay

    For each call a row of true and false. For any two sequences there is one in which the first
    stays and the other changes: as many calls as two numbers of so many digits have.
    """
    number = torch.arange(rows)
    # With few sequences, each of them stays alone.
    if rows <= 4:
        return list(torch.eye(rows, dtype=torch.bool))
    digits = [number >> place & 1 == 1 for place in range(math.ceil(math.log2(rows)))]
    return [one for digit in digits for one in (digit, ~digit)]


def each_sequence_alone(whole: Whole) -> str:
    r"""
    ## Does the company matter?

    No sequence of the batch, not only the first, may get other logits because of others.
    """
    inputs = whole.inputs
    if len(inputs) < 2:
        return NotTried("a batch of one sequence")
    with whole.rough() as model:
        # What is said about each of them in this company.
        logits = whole.logits(model)

        # All sentences begin with the number of a row.
        name = f"of {len(inputs)} gets other logits when"

        # Some change, and the others stay.
        for stays in pairs_apart(len(inputs)):
            stays = stays.to(inputs.device)
            changed = torch.where(stays.unsqueeze(1), inputs, other_tokens(inputs))
            found = whole.predict(model, changed)
            place = whole.place_of(model, torch.where(stays.view(-1, 1, 1), found, logits), logits)
            if place:
                row = place[0]
                # It may be the layout. Then the first sequence is right, and no past is needed.
                past = torch.cat([other_tokens(inputs)[:, :-1], inputs[:, -1:]], dim=1)
                if row > 0 and not whole.place_of(
                    model, whole.predict(model, past)[:, -1:], logits[:, -1:]
                ):
                    # Code for the other layout runs, and reads the wrong way.
                    return (
                        "a sequence is read across the batch: the model wants the sequence first. "
                        "Say predict=lambda model, tokens: model(tokens.t()).transpose(0, 1)"
                    )
                # A mean over the batch, a hidden state that is shared, a wrong view.
                return (
                    f"sequence {row} {name} the others change: the sequences of a batch are mixed"
                )

        # The same sequences in another order.
        place = whole.place_of(model, whole.predict(model, inputs.roll(1, 0)).roll(-1, 0), logits)
        if place:
            return (
                f"sequence {place[0]} {name} it has another place in the batch: "
                "something belongs to the axis of the batch (positions added along it?)"
            )

        # Alone, in a batch of one: the first, the last, and those in the middle.
        rows = len(inputs)
        for row in sorted({0, rows // 3, 2 * rows // 3, rows - 1}):
            try:
                alone = whole.predict(model, inputs[row : row + 1])
            except Exception as error:
                return NotTried(f"a batch of one sequence: {told(error)}")
            if whole.place_of(model, alone, logits[row : row + 1]):
                return f"sequence {row} {name} it is alone: something depends on the batch's size"

    # In all company, and in none, the same is said.
    return Unusual(TURNED) if whole.predict is sequence_first else ""


def model_twice(whole: Whole) -> str:
    r"""
    ## Randomness in evaluation
    """
    # In evaluation, where nothing should be random, neither dropout nor a sampled mask.
    with whole.rough() as model:
        # The same program on the same numbers. (Some kernels of a GPU add up in a different order
        # each time, so the last digits may differ.)
        first = whole.logits(model)
        second = whole.predict(model, whole.inputs)
        if not place_of(second, first):
            return ""

    # A function doesn't know whether the model is in training.
    return "two calls in evaluation differ: dropout is on (a function needs to be told)"


# In the order of what can go wrong: numbers, randomness, time, company. A model in which any of
# them fails writes worse than its loss says.
MODEL_TESTS = (runs, model_finite, model_twice, model_prefix, each_sequence_alone)


def example(batch_size: int = 3, seq_len: int = 5, n_vocab: int = 11) -> dict[str, str]:
    r"""
    ## Example

    A table of what follows what sees one token only, so it passes.

    ### Exercises

    ??? question "A model adds the mean of the batch to each vector. Which test fails?"
        `each_sequence_alone`: with other company the mean is another.

    ??? question "A model divides its logits by the number of tokens. Which sentence is said?"
        `model_prefix` says that they depend on the length: no later token changes them.

    ??? question "A model counts its positions from the end of the text. Which test fails?"
        `model_prefix`. In a shorter text, each token has another position, and gets other logits.
    """
    # Random text; the targets are its next tokens.
    text = torch.randint(n_vocab, (batch_size, seq_len + 1))
    whole = Whole(nn.Embedding(n_vocab, n_vocab), text[:, :-1], text[:, 1:])

    # The loss that a training would compute of this batch.
    cross_entropy(whole.predict(whole.model, whole.inputs), whole.targets)

    # Five empty sentences.
    return {test.__name__: test(whole) for test in MODEL_TESTS}
