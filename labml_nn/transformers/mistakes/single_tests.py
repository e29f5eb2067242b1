r"""
---
title: Tests of an Attention, One by One
summary: Ten questions that any causal attention can be asked, each with what it means to fail.
---

Each test asks one thing of an attention, from outside. It gives back a sentence that says what is
wrong and what usually causes it, or nothing. [All of them together](attention_tests.py) are what
one would run.

A property that has to hold is a better test than an example of a result: nobody needs to know the
right numbers. But a property can't know the scale, so there is [a comparison](comparison.py) too.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from labml_nn.transformers.mistakes.comparison import (
    NEAR,
    Find,
    find_weights,
    off,
    roughen,
    same_as_torch,
)
from labml_nn.transformers.mistakes.right_attention import RightAttention

Call = Callable[[nn.Module, Tensor], Tensor]


@dataclass(frozen=True)
class Subject:
    r"""
    ## What is tested

    * `attention` is in evaluation, with weights of some size
    * `x` is an input, `[batch_size, seq_len, d_model]`
    * `heads` is the number of heads
    * `call` gets the output of a causal self-attention from it, `[batch_size, seq_len, d_model]`
    * `masked` and `decode` do so with a mask, and with a cache; they may be missing
    * `weights` finds the four matrices; without it nothing is compared
    """

    attention: nn.Module
    x: Tensor
    heads: int
    call: Call
    masked: Callable[[nn.Module, Tensor, Tensor], Tensor] | None = None
    decode: Call | None = None
    weights: Find | None = find_weights

    def __call__(self, x: Tensor) -> Tensor:
        return self.call(self.attention, x)


def evaluation(subject: Subject) -> str:
    r"""
    ## Randomness in evaluation
    """
    first, second = subject(subject.x), subject(subject.x)
    if first.equal(second) or not first.isfinite().all():
        return ""
    return "two calls in evaluation differ: dropout is on. `dropout(x, p)` needs `self.training`"


def comparison(subject: Subject) -> str:
    r"""
    ## Is it what others compute?

    The [one test](comparison.py) that sees a wrong scale.
    """
    if subject.weights is None:
        return ""
    matrices = subject.weights(subject.attention, subject.x.shape[-1])
    return same_as_torch(subject(subject.x), subject.x, matrices, subject.heads)


def future(subject: Subject) -> str:
    r"""
    ## Does anything come from the future?

    The gradient of an output with respect to later inputs is zero, in evaluation and in training.
    """
    for training in (True, False):
        subject.attention.train(training)
        for position in range(subject.x.shape[1] - 1):
            x = subject.x.clone().requires_grad_()
            subject(x)[:, position].pow(2).sum().backward()
            later = x.grad[:, position + 1 :].abs().max().item()
            if not later <= NEAR * x.grad.abs().max().item():
                mode = "training" if training else "evaluation"
                return (
                    f"in {mode}, the output at position {position} depends on later inputs: the "
                    "mask is missing, off by one, inverted, after the softmax or not minus "
                    "infinity, the softmax is along another axis, or a view mixes positions"
                )
    return ""


def prefix(subject: Subject) -> str:
    r"""
    ## Does a prefix suffice?

    The outputs of the first positions are the same when the others are not there.
    """
    whole = subject(subject.x)
    for n in range(1, subject.x.shape[1]):
        if off(subject(subject.x[:, :n].contiguous()), whole[:, :n]) >= NEAR:
            return (
                f"the first {n} outputs change when the inputs after them are cut off: the future "
                "leaks, or the length of the sequence is used"
            )
    return ""


def alone(subject: Subject) -> str:
    r"""
    ## Does the company matter?

    Each sequence gets the same outputs alone as in the batch.
    """
    whole = subject(subject.x)
    for row in range(len(subject.x)):
        if off(subject(subject.x[row : row + 1])[0], whole[row]) >= NEAR:
            return f"sequence {row} gets other outputs when it is alone: the batch is mixed up"
    return ""


def gradients(subject: Subject) -> str:
    r"""
    ## Is every matrix used?

    The bias of the keys never gets a gradient, in any attention: the softmax takes it out again.
    """
    subject(subject.x).pow(2).sum().backward()
    named = subject.attention.named_parameters()
    unused = [n for n, w in named if w.dim() > 1 and (w.grad is None or not w.grad.any())]
    return f"no gradient comes to {', '.join(unused)}: it is never used" if unused else ""


def equal_tokens(subject: Subject) -> str:
    r"""
    ## Do the weights sum to one?

    Where all positions are the same, so are all values, and their weighted mean is the same
    everywhere, whatever the weights, if they sum to one.
    """
    same = subject.x[:, :1].expand_as(subject.x).contiguous()
    output = subject(same)
    if off(output, output[:, :1].expand_as(output)) < NEAR:
        return ""
    return (
        "equal inputs give unequal outputs: the weights of a query don't sum to one (a mask after "
        "the softmax, or a softmax along another axis)"
    )


def numbers(subject: Subject) -> str:
    r"""
    ## Does everything stay a number?

    Outputs and gradients, also with large scores and with one position only.
    """
    for x in (subject.x, 100 * subject.x, subject.x[:, :1]):
        x = x.clone().requires_grad_()
        output = subject(x)
        output.sum().backward()
        if not (output.isfinite().all() and x.grad.isfinite().all()):
            return (
                f"with inputs up to {x.abs().max():.0f} and {x.shape[1]} positions there are NaN "
                "or infinite numbers: a row of the mask with nothing in it, or a softmax by hand"
            )
    return ""


def padding(subject: Subject) -> str:
    r"""
    ## Does a mask hide?

    In one sequence the first two keys are hidden, in another all of them. Nothing may become NaN,
    and what is hidden may not matter to others.
    """
    if subject.masked is None:
        return ""
    batch_size, seq_len, _ = subject.x.shape
    mask = torch.ones(batch_size, seq_len, seq_len, dtype=torch.bool).tril()
    mask[0, :, :2] = False
    mask[1] = False
    x = subject.x.clone().requires_grad_()
    output = subject.masked(subject.attention, x, mask)
    output.sum().backward()
    if not (output.isfinite().all() and x.grad.isfinite().all()):
        return "a sequence of nothing but padding gives NaN: its softmax is 0/0"
    other = subject.x.clone()
    other[0, :2] += 1.0
    changed = subject.masked(subject.attention, other, mask)[0, 2:]
    if off(changed, output[0, 2:]) < NEAR:
        return ""
    return "hidden inputs change the outputs of others: the mask is not used, or is upside down"


def decoding(subject: Subject) -> str:
    r"""
    ## Is decoding the same?
    """
    if subject.decode is None:
        return ""
    found, whole = subject.decode(subject.attention, subject.x), subject(subject.x)
    wrong = [n for n in range(whole.shape[1]) if off(found[:, n], whole[:, n]) >= NEAR]
    if not wrong:
        return ""
    return (
        f"decoded with a cache, position {wrong[0]} comes out otherwise than in the whole: a mask "
        "of the upper left corner (is_causal), a cache that is one short, positions from zero again"
    )


# The first one comes first: what gives something else each time can't be compared.
ATTENTION_TESTS = (
    evaluation,
    comparison,
    future,
    prefix,
    alone,
    gradients,
    equal_tokens,
    numbers,
    padding,
    decoding,
)


def example(batch_size: int = 3, seq_len: int = 7, heads: int = 2, d_k: int = 5) -> dict[str, str]:
    r"""
    ## Example

    The right attention passes.
    """
    d_model = heads * d_k
    attention = roughen(RightAttention(d_model, heads)).eval()
    x = torch.randn(batch_size, seq_len, d_model)
    subject = Subject(attention, x, heads, RightAttention.forward, RightAttention.forward)
    return {test.__name__: test(subject) for test in ATTENTION_TESTS}
