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

import torch
from torch import Tensor, nn

from labml_nn.transformers.mistakes.comparison import NEAR
from labml_nn.transformers.mistakes.whole import Whole, cross_entropy

# How the worst of all findings is told.
SEES = "the model sees the future"


def other_tokens(tokens: Tensor) -> Tensor:
    r"""
    ## Other tokens

    Each is replaced by another one that lies between the smallest and the largest.
    """
    # One more, and after the largest the smallest.
    low = tokens.min()
    high = tokens.max()
    # Nothing would change, so nothing could be found.
    if low == high:
        raise ValueError("all tokens are the same: take a text in which they differ")
    return (tokens - low + 1) % (high - low + 1) + low


def place_of(found: Tensor, expected: Tensor) -> tuple[int, int] | None:
    r"""
    ## Where logits differ

    The first sequence that differs, and its first position; or None.
    """
    # Of all classes the largest difference counts, in proportion to the largest logit.
    difference = (found - expected).abs().amax(dim=-1)

    # Written so that NaN is a difference.
    differs = ~(difference < NEAR * expected.abs().max() + 1e-12)

    # A row of `nonzero` for each difference, in the order of a reader.
    for row, position in differs.nonzero().tolist():
        return row, position
    return None


def model_finite(whole: Whole) -> str:
    r"""
    ## Are there numbers at all?
    """
    # The other tests would take NaN for a difference.
    if whole.predict(whole.rough(), whole.inputs).isfinite().all():
        return ""
    return "the logits are NaN or infinite: an empty row of the mask, or a division by zero"


def model_prefix(whole: Whole) -> str:
    r"""
    ## Do the first tokens suffice?

    What the model says about a token may not depend on what comes after it.
    """
    # What is said about the whole text.
    model = whole.rough()
    inputs = whole.inputs
    logits = whole.predict(model, inputs)

    # First the text keeps its length, and its end becomes another: after one token, after two ...
    for n in range(1, inputs.shape[1]):
        changed = torch.cat([inputs[:, :n], other_tokens(inputs)[:, n:]], dim=1)
        place = place_of(whole.predict(model, changed)[:, :n], logits[:, :n])
        if place:
            return (
                f"the logits of sequence {place[0]} at position {place[1]} change when the tokens "
                f"from position {n} on do: {SEES}"
            )

    # Then the end is cut off.
    for n in range(1, inputs.shape[1]):
        shorter = whole.predict(model, inputs[:, :n])
        place = place_of(shorter, logits[:, :n])
        if place:
            # The mask may be missing in short texts only: then their last token shows it.
            changed = torch.cat([inputs[:, : n - 1], other_tokens(inputs)[:, n - 1 : n]], dim=1)
            if n > 1 and place_of(whole.predict(model, changed)[:, :-1], shorter[:, :-1]):
                return f"in a text of {n} tokens, the last one changes the logits before it: {SEES}"

            # No later token changes anything, so it is the length itself.
            return (
                f"the logits of sequence {place[0]} at position {place[1]} depend on the length "
                f"of the text ({n} tokens or {inputs.shape[1]}), though no later token changes "
                "them: are positions counted from the end, or is something divided by the length?"
            )
    # Changed or cut off anywhere, the beginning is predicted alike.
    return ""


def each_sequence_alone(whole: Whole) -> str:
    r"""
    ## Does the company matter?

    No sequence of the batch, not only the first, may get other logits because of others.
    """
    # What is said about each of them in this company.
    model = whole.rough()
    inputs = whole.inputs
    logits = whole.predict(model, inputs)

    # All sentences begin with the number of a row.
    name = f"of {len(inputs)} gets other logits when"

    # All others change, and this one stays.
    for row in range(len(inputs)):
        changed = other_tokens(inputs)
        changed[row] = inputs[row]

        # A row keeps its axis: `row : row + 1`.
        if place_of(whole.predict(model, changed)[row : row + 1], logits[row : row + 1]):
            # It may be the layout. Then the first sequence is right, and no past is needed.
            past = torch.cat([other_tokens(inputs)[:, :-1], inputs[:, -1:]], dim=1)
            if row > 0 and not place_of(whole.predict(model, past)[:, -1:], logits[:, -1:]):
                # Code for the other layout runs, and reads the wrong way.
                return (
                    "a sequence is read across the batch: the model wants the sequence first. Say "
                    "predict=lambda model, tokens: model(tokens.t()).transpose(0, 1)"
                )
            # A mean over the batch, a hidden state that is shared, a wrong view.
            return f"sequence {row} {name} the others change: the sequences of a batch are mixed"

    # The same sequences in another order.
    place = place_of(whole.predict(model, inputs.roll(1, 0)).roll(-1, 0), logits)
    if place:
        return (
            f"sequence {place[0]} {name} it has another place in the batch: "
            "something belongs to the axis of the batch (positions added along it?)"
        )

    # Alone, in a batch of one.
    for row in range(len(inputs)):
        if place_of(whole.predict(model, inputs[row : row + 1]), logits[row : row + 1]):
            return f"sequence {row} {name} it is alone: something depends on the batch's size"

    # In all company, and in none, the same is said.
    return ""


def model_twice(whole: Whole) -> str:
    r"""
    ## Randomness in evaluation
    """
    # A copy in evaluation, where nothing should be random, neither dropout nor a sampled mask.
    model = whole.rough()
    inputs = whole.inputs

    # The same program on the same numbers. (Some kernels of a GPU add up in a different order each
    # time, so the last digits may differ.)
    first = whole.predict(model, inputs)
    second = whole.predict(model, inputs)
    if not place_of(second, first) or not first.isfinite().all():
        return ""

    # A function doesn't know whether the model is in training.
    return "two calls in evaluation differ: dropout is on (a function needs to be told)"


# In the order of what can go wrong: numbers, randomness, time, company. A model in which any of
# them fails writes worse than its loss says.
MODEL_TESTS = (model_finite, model_twice, model_prefix, each_sequence_alone)


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

    # Four empty sentences.
    return {test.__name__: test(whole) for test in MODEL_TESTS}
