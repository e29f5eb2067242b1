r"""
---
title: One Wrong Line
summary: How an exhibit of the museum is made from a lesson's own source, with one line replaced.
---

The [right attention](right_attention.py) has the words `softmax(dim=-1)`. Somebody wrote
`softmax(dim=-2)`. An exhibit is these two strings. Python reads the source of the right attention,
replaces the first string by the second, and runs the result as a new class, as a reader with an
editor would.

**In:** the right module, one of its lines, and the line that somebody wrote instead. **Out:** the
same module with that mistake and no other. If its loss is another one, this line is the reason.

An exhibit could also be a copy of the attention with a changed line. Then nobody would know whether
the copy has other differences, and 19 copies would have to be kept the same. If the right line is
no longer there, or is there twice, making the exhibit fails.

[What the exhibits that were trained do to the loss, beside the right
model](../../../results/mistakes.json#figures.losses)
"""

import inspect

import torch
from torch import Tensor

from labml_nn.transformers.mistakes.right_attention import RightAttention


class Mistake:
    r"""
    ## A mistake

    An exhibit is a subclass with two lines, `right` and `wrong`. It says *of* which module they
    are: the attention, unless it says otherwise. This class itself has nothing wrong.
    """

    # The module with the right line.
    of: type = RightAttention

    # One line, as it stands there and as somebody got it wrong.
    right = ""
    wrong = ""

    # The dropout of its training. An exhibit about dropout needs some.
    dropout_prob = 0.0

    @classmethod
    def make(cls) -> type:
        r"""
        ### Make the wrong module
        """
        # Nothing to replace: the right module itself.
        if not cls.right:
            return cls.of

        # The source of all methods, one after the other. (That of a class can't be found in a
        # notebook, that of a function can.)
        methods = [one for one in vars(cls.of).values() if inspect.isfunction(one)]
        source = "".join(map(inspect.getsource, methods))

        # Twice would be two mistakes, and never would be none.
        if source.count(cls.right) != 1:
            found = source.count(cls.right)
            raise ValueError(
                f"{cls.of.__name__} must have this line once, not {found}: {cls.right}"
            )

        # A new class of the same base, with the names that the right module's file knows.
        names = dict(methods[0].__globals__, Base=cls.of.__base__)

        # `exec` reads the changed source as Python would read it from a file.
        exec(f"class {cls.__name__}(Base):\n" + source.replace(cls.right, cls.wrong), names)

        # The class that was just defined there.
        return names[cls.__name__]


class Doubled(Mistake):
    r"""
    An exhibit for the example: each output is twice what it should be.
    """

    # The last line of the attention, and twice its result.
    right = "return self.output(x)"
    wrong = "return self.output(2 * x)"


def example(
    batch_size: int = 3, heads: int = 5, d_k: int = 2, seq_len: int = 7
) -> tuple[Tensor, Tensor]:
    r"""
    ## Example

    Both attentions have the same weights, so only the line makes a difference.

    ### Exercises

    ??? question "Why does `make` count the line and not just replace it?"
        `replace` does nothing if the line isn't there. The exhibit would be the right module, and
        the museum would show its loss as that of a mistake.

    ??? question "What would `right = 'dim=-1'` do?"
        `dim=-1` stands in the attention twice: where a query without any key is found, and in the
        softmax. Making the exhibit fails, and the sentence says that it found two.

    ??? question "The right line is in a base class of the right module. What happens?"
        Making the exhibit fails, because the line is found 0 times: `vars` has only the methods
        that the class itself defines.
    """
    # The state of the right one fits: the wrong one has the same parameters.
    right = RightAttention(heads, heads * d_k)
    wrong = Doubled.make()(heads, heads * d_k)
    wrong.load_state_dict(right.state_dict())

    # The bias of the output layer isn't doubled, so both leave it out. What is left of the second
    # is twice the first, up to rounding.
    x = torch.randn(batch_size, seq_len, heads * d_k)
    return right(x) - right.output.bias, wrong(x) - wrong.output.bias
