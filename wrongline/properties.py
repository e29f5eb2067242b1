r"""
---
title: Tests of an Attention, One by One
summary: Six questions that any causal attention can be asked, each with what it means to fail.
---

You needn't know the right numbers to test an attention. A causal one must not change an output when
a later token changes, whatever its weights are: that is a property, and one gradient shows it. It
finds at once an attention that reads the answer. That one prints a loss of
[0.044](../results/mistakes.json#tables.mistakes.MaskUnused.printed), and the right one
[2.117](../results/mistakes.json#tables.mistakes.RightAttention.printed).

**In:** an attention in evaluation, a function `run` that calls it, and an input, with axes for the
batch, positions and features. **Out:** a sentence that says what is wrong and what usually causes
it, or nothing.

A property can't know the scale, so there is a [comparison](comparison.py) too. [One
call](attention_tests.py) runs all of these; for padding, it has to be told how a mask is given.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from wrongline.comparison import NEAR, off, roughen
from wrongline.verdicts import NotTried

Run = Callable[[Tensor], Tensor]

# So many names are said in a sentence.
MOST_NAMES = 6

# NaN depends on everything, so it is told alone.
NO_NUMBERS = "the output has NaN or infinite numbers"

# Fewer rows of a matrix than these may be without a gradient.
FEW_ROWS = 4


def same_twice(attention: nn.Module, run: Run, x: Tensor) -> str:
    r"""
    ## Randomness in evaluation
    """
    # NaN differs from itself without any randomness, so [another test](properties.py#stays_finite)
    # is about that.
    # Where nothing is random, the second call differs by rounding at most.
    first = run(x)
    second = run(x)
    if off(second, first) < NEAR or not first.isfinite().all():
        return ""
    return "two calls in evaluation differ: dropout is on. `dropout(x, p)` needs `self.training`"


def one_number(outputs: Tensor) -> Tensor:
    r"""
    ## One number of all outputs

    Not the sum of their squares: after a normalisation that is always the same.
    """
    # Cosines of 0, 1, 2 and so on: factors without a pattern, the same each time.
    weights = torch.arange(outputs.numel()).cos().to(outputs)
    return (weights * outputs.flatten()).sum()


def gradient(run: Run, x: Tensor, place: int | tuple[int | slice, int]) -> Tensor:
    r"""
    ## What the outputs at a place depend on

    The place is a sequence, or a position of one or of all sequences. Inputs that matter have a
    gradient, whatever the weights are, unless they go through a step, such as a comparison.
    """
    # A tensor of its own, so that the gradient is of these outputs alone.
    x = x.detach().requires_grad_()
    number = one_number(run(x)[place])
    if number.requires_grad:
        number.backward()

    # An output that depends on nothing at all has no gradient.
    return torch.zeros_like(x) if x.grad is None else x.grad


def is_zero(part: Tensor, whole: Tensor) -> bool:
    r"""
    ## Is a part of a gradient zero?

    Rounding leaves tiny gradients where a block is computed at once. A leak is larger.
    """
    # Written so that NaN is not zero.
    return bool((part.abs() <= NEAR * whole.abs().max()).all())


def nothing_from_the_future(attention: nn.Module, run: Run, x: Tensor) -> str:
    r"""
    ## Does anything come from the future?

    All sequences are looked at: a mask can be there for the first one alone.
    """
    if not run(x).isfinite().all():
        return NotTried(NO_NUMBERS)
    # In both modes, because some masks are there in one of them only.
    for training in (False, True):
        attention.train(training)
        mode = "in training, " if training else ""

        # One position at a time: what is too late for this one is allowed for the next.
        for position in range(x.shape[1]):
            found = gradient(run, x, (slice(None), position))

            # All inputs after it, of all sequences.
            if not is_zero(found[:, position + 1 :], found):
                return (
                    f"{mode}the output at position {position} depends on later inputs: the "
                    "mask leaks, the softmax is along another axis, or a view mixes positions"
                )
    return ""


def sequences_apart(attention: nn.Module, run: Run, x: Tensor) -> str:
    r"""
    ## Does a sequence depend on others?
    """
    if not run(x).isfinite().all():
        return NotTried(NO_NUMBERS)
    for row in range(len(x)):
        # All of its outputs, and all inputs of others.
        found = gradient(run, x, row)
        others = torch.cat([found[:row], found[row + 1 :]])

        # They must not matter.
        if is_zero(others, found):
            continue

        # If the last position needs nothing of its own past, the axes have changed places.
        # In a causal attention with the batch first, it needs them all.
        last = gradient(run, x, (row, -1))
        if is_zero(last[:, :-1], last):
            # It reads along the batch, as if that were the text.
            return (
                "an output depends on the same position of other sequences, and on no other "
                "position: the attention wants the sequence first. Say "
                "call=lambda attention, x: attention(x.transpose(0, 1)).transpose(0, 1)"
            )
        # A mean over the batch, or a view that cuts elsewhere.
        return f"sequence {row} depends on others: the batch is mixed up"

    # Nothing comes from another sequence.
    # Something can still depend on the place in the batch, or on how many there are.
    together = run(x)
    for row in range(len(x)):
        # A row keeps its axis.
        if off(run(x[row : row + 1]), together[row : row + 1]) >= NEAR:
            return f"sequence {row} of {len(x)} gets another output when it is alone"
    return ""


def every_matrix_is_used(attention: nn.Module, run: Run, x: Tensor) -> str:
    r"""
    ## Is every matrix used?
    """
    # Gradients that are left from other tests would make every matrix look used.
    attention.zero_grad()

    # A frozen matrix is used as well.
    for weight in filter(torch.is_floating_point, attention.parameters()):
        weight.requires_grad_(True)

    # Any number will do that depends on all outputs. (Without any weight, it depends on the input.)
    one_number(run(x.detach().requires_grad_())).backward()

    # Of vectors only those without any: the bias of the keys gets a gradient of zero (but for
    # rounding), since the softmax takes it out again.
    # A mask or a table of whole numbers that is kept as a parameter has no gradient.
    named = [(n, w) for n, w in attention.named_parameters() if w.requires_grad]
    unused = {n: w.dim() for n, w in named if w.grad is None or w.dim() > 1 and not w.grad.any()}
    why = "never used, or what it makes is detached"
    return never_used(unused, why) or rows_without_gradient(attention)


def rows_without_gradient(attention: nn.Module) -> str:
    r"""
    ## A part of a joint matrix

    One layer may make queries, keys and values. If the keys are detached, a third of its rows gets
    no gradient.
    """
    for name, layer in attention.named_modules():
        # Rows of a table are tokens or positions, and may well not be asked for.
        if not isinstance(layer, nn.Linear) or layer.weight.grad is None:
            continue
        # The first and the last row of each block that gets none.
        begin = None
        for row, has_some in enumerate([*layer.weight.grad.any(dim=1).tolist(), True]):
            if not has_some and begin is None:
                begin = row
            if has_some and begin is not None:
                # A few may be zero by themselves.
                if row - begin >= max(FEW_ROWS, layer.out_features // 8):
                    return (
                        f"no gradient comes to rows {begin} to {row - 1} of {name}.weight: what "
                        "they make is detached, or never used"
                    )
                begin = None
    return ""


def never_used(unused: Mapping[str, int], why: str = "never used") -> str:
    r"""
    ## Say which weights are never used

    `unused` has the number of axes of each. A bias goes without saying where its matrix is named.
    The sentence ends with `why` that may be.
    """
    matrices = {name.rpartition(".")[0] for name, axes in unused.items() if axes > 1}
    named = [n for n, axes in unused.items() if axes > 1 or n.rpartition(".")[0] not in matrices]
    if not named:
        return ""
    # A model may have hundreds of them.
    more = f" and {len(named) - MOST_NAMES} others" if len(named) > MOST_NAMES else ""
    return f"no gradient comes to {', '.join(named[:MOST_NAMES])}{more}: {why}"


def stays_finite(attention: nn.Module, run: Run, x: Tensor) -> str:
    r"""
    ## Does everything stay a number?
    """
    # As it is, with large scores, and with one position only.
    for one in (x, 100 * x, x[:, :1]):
        # A tensor without a history: its gradient is of this call alone.
        one = one.detach().requires_grad_()
        output = run(one)
        if output.requires_grad:
            output.sum().backward()
        # What it says doesn't depend on what it is told, as far as training knows.
        if one.grad is None:
            return "no gradient comes to the input: is it detached on its way to the output?"

        # An output can be finite while its gradient is not, so both are looked at.
        if not (output.isfinite().all() and one.grad.isfinite().all()):
            return (
                f"with inputs up to {one.abs().max():.0f} and {one.shape[1]} positions there are "
                "NaN or infinite numbers: an empty row of the mask, or a softmax by hand"
            )
    return ""


def padding_hides(masked: Callable[[Tensor, Tensor], Tensor], x: Tensor) -> str:
    r"""
    ## Does a mask hide?
    """
    # In one sequence the first two keys are hidden, in another all of them.
    mask = torch.ones(len(x), x.shape[1], x.shape[1], dtype=torch.bool).tril()
    mask[0, :, :2] = False
    mask[1] = False
    x = x.detach().requires_grad_()
    output = masked(x, mask)
    if output.requires_grad:
        output.sum().backward()
    gradient = torch.zeros_like(x) if x.grad is None else x.grad

    # One NaN in a hidden sequence gets into the gradients of the shared weights.
    if not (output.isfinite().all() and gradient.isfinite().all()):
        return "a sequence of nothing but padding gives NaN: its softmax is 0/0"

    # What is hidden may not matter to others.
    other = x.clone()

    # The first two inputs change, and with them their keys and values.
    other[0, :2] += 1.0

    # Their own outputs may change, because they are queries too. The others may not, so the
    # comparison begins with the third.
    if off(masked(other, mask)[0, 2:], output[0, 2:]) < NEAR:
        return ""
    return "hidden inputs change the outputs of others: the mask is not used, or is upside down"


# Randomness first: what differs each time can't be tested further.
PROPERTIES = (
    same_twice,
    nothing_from_the_future,
    sequences_apart,
    every_matrix_is_used,
    stays_finite,
)


def example(
    batch_size: int = 3, seq_len: int = 7, heads: int = 2, d_k: int = 5
) -> tuple[Tensor, dict[str, str]]:
    r"""
    ## Example

    PyTorch's own attention has all six properties.

    ### What a loss can't tell

    Each mistake of the museum was trained. A bar is the loss that training prints, and the line is
    that of the right attention. A dot is an honest loss: there the text ends before the letter that
    is to be predicted. Many bars end near the line.

    [The printed loss of each mistake, beside the right
    one](../results/mistakes.json#figures.losses)

    ### Exercises

    ??? question "The gradient of the right attention is exactly zero there. Why `NEAR`?"
        An attention may hide by a large number instead of minus infinity, and compute a block at a
        time: then rounding is left.

    ??? question "Which of the six does an attention without any mask fail?"
        Two: it sees the future, and it can't hide padding. It is an encoder's attention, for texts
        of one length.

    ??? question "The mask is applied to `x[0]`. Why did a test of the first sequence pass it?"
        Nothing is wrong there. A test that looks at one sequence speaks for one sequence.

    ??? question "Leave out `attention.train(training)`. Which mistake is no longer found?"
        A mask that is there in evaluation only, or a leak through dropout.
    """
    # Fresh biases are small. A mistake in a bias would show only later.
    attention = roughen(nn.MultiheadAttention(heads * d_k, heads, batch_first=True)).eval()
    x = torch.randn(batch_size, seq_len, heads * d_k)

    def masked(x: Tensor, mask: Tensor) -> Tensor:
        # Here true hides, and each head has a mask of its own.
        hidden = ~mask.repeat_interleave(heads, dim=0)
        return attention(x, x, x, attn_mask=hidden, need_weights=False)[0]

    def run(x: Tensor) -> Tensor:
        causal = torch.ones(len(x), x.shape[1], x.shape[1], dtype=torch.bool).tril()
        return masked(x, causal)

    # An empty sentence for each property, because nothing is wrong.
    said = {test.__name__: test(attention, run, x) for test in PROPERTIES}

    # The last one is about a mask that somebody else gives.
    said["padding_hides"] = padding_hides(masked, x)
    return run(x), said
