r"""
---
title: Is Every Weight Used?
summary: A gradient shows which weights a model's logits depend on, and which it never uses.
---

A layer that is made in the constructor and forgotten in `forward` does no harm that one sees: all
shapes are right, the loss falls, and the layer is stored, loaded and counted. A gradient tells. One
number is computed of all logits, and every weight that the number depends on gets a gradient.

A weight that is *frozen* is used as well, so each weight is asked for a gradient here. What gets
none is wrong only if no function of PyTorch was ever given it, in training neither. An expert's
bias may decide a choice, through which no gradient comes. An expert that nobody has chosen counts
as used, if another one is. Parts that wait for an image, for an encoder, or for targets, are
unusual; so are a layer that is left out while others of its list are called, and what is used and
then detached, for both can be meant.

**In:** [what is tested](whole.py#Whole). **Out:** a sentence with the names, or nothing.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from wrongline.batches import TARGETS
from wrongline.calling import arguments_of, beside, called_with, said_length
from wrongline.properties import never_used, one_number
from wrongline.verdicts import NotTried, SaidError, Unusual, told
from wrongline.whole import Whole

# What a model that reads more than text takes.
OTHER_INPUTS = (
    r"pixel|image|video|audio|speech|vision|input_features|input_values|encoder_|cross_attn|"
    r"token_type"
)


# What asks for a loss, beside its targets.
ASKS_FOR_LOSS = r"^(return|compute|with|calc)_?(aux_?)?loss(es)?$"

# So long a text is tried if something seems to be unused.
VERY_LONG = 2048


class NoGradientError(SaidError):
    r"""
    ## Nothing can be asked for a gradient
    """


# What is told of a model that hides its layers from `torch.autograd.grad`.
REENTRANT = (
    "`checkpoint` with `use_reentrant=True` allows no `torch.autograd.grad`, so `backward` was "
    "used: every weight gets a gradient"
)


class Touched(TorchFunctionMode):
    r"""
    ## Which tensors functions are given

    PyTorch hands every call of a function to this object first.
    """

    def __init__(self) -> None:
        r"""
        No tensor was seen yet.
        """
        super().__init__()
        self.seen: set[int] = set()

    def __torch_function__(
        self, function: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        named = kwargs or {}
        self.look([*args, *named.values()])
        return function(*args, **named)

    def look(self, values: Sequence[Any]) -> None:
        r"""
        ### Look through lists, too

        The weights of a recurrent layer come in one.
        """
        for one in values:
            if isinstance(one, list | tuple):
                self.look(one)
            else:
                self.seen.add(id(one))


def without_number(name: str) -> str:
    r"""
    ## A name without its numbers

    `experts.3.weight` and `experts.7.weight` have one.
    """
    return re.sub(r"\.\d+\b", "", name)


def gradients_of(
    weights: Sequence[Tensor], number: Tensor, again: Callable[[], Tensor]
) -> Sequence[Tensor | None]:
    r"""
    ## The gradients of a number

    A layer under `checkpoint` with `use_reentrant=True` runs again in the backward pass, and leaves
    its gradients at the weights only. Then the number is computed `again` for that.
    """
    try:
        return torch.autograd.grad(number, weights, allow_unused=True)
    except RuntimeError as error:
        if "reentrant" not in str(error):
            raise
    for one in weights:
        one.grad = None
    again().backward()
    return [one.grad for one in weights]


def unused_in(module: nn.Module, number: Tensor, again: Callable[[], Tensor]) -> dict[str, int]:
    r"""
    ## The weights that get no gradient

    With the number of their axes.
    """
    named = [(name, one) for name, one in module.named_parameters() if one.requires_grad]
    gradients = gradients_of([one for _, one in named], number, again)
    unused = {}
    used = set()
    for (name, one), gradient in zip(named, gradients, strict=True):
        # A vector may have a gradient of zero: the softmax takes out the bias of the keys again.
        if gradient is None or one.dim() > 1 and not gradient.any():
            unused[name] = one.dim()
        # An expert that nobody has chosen counts as used, if another one is.
        elif "expert" in name:
            used.add(without_number(name))
    return {name: axes for name, axes in unused.items() if without_number(name) not in used}


def asked(whole: Whole, model: nn.Module, text: Tensor) -> tuple[dict[str, int], dict[str, int]]:
    r"""
    ## What a text doesn't use

    The weights that get no gradient, and those of them that no function was given.
    """
    with Touched() as touched:
        logits = whole.predict(model, text)
    if not logits.requires_grad:
        raise NoGradientError("the logits have no gradient: are they made under `no_grad`?")

    def again() -> Tensor:
        whole.known["reentrant"] = True
        return one_number(whole.predict(model, text))

    unused = unused_in(model, one_number(logits), again)
    named = dict(model.named_parameters())
    # One of a list may be an expert by another name, so its neighbours speak for it.
    called = {without_number(name) for name, one in named.items() if id(one) in touched.seen}
    never = {name: axes for name, axes in unused.items() if without_number(name) not in called}
    return unused, never


def used_elsewhere(whole: Whole, model: nn.Module) -> set[int]:
    r"""
    ## What is used in training, or if there are targets

    A head for another loss isn't computed without them. The numbers are those of tensors.
    """
    text = whole.inputs
    model.train()
    with Touched() as touched:
        whole.predict(model, text)
    if not whole.is_called_as_usual:
        return touched.seen
    taken = arguments_of(model)
    targets = {name: text for name in taken if re.search(TARGETS, name)}
    asks = {name: True for name in taken if re.search(ASKS_FOR_LOSS, name)}
    with touched:
        for given in (targets, asks, targets | asks):
            # The targets may be wanted in another form.
            try:
                if given:
                    called_with(model, text, **(beside(model, text) | given))
            except Exception:
                continue
    return touched.seen


def every_weight_is_used(whole: Whole) -> str:
    r"""
    ## Is every weight used?
    """
    with whole.rough() as model, torch.enable_grad():
        for one in model.parameters():
            if one.is_floating_point() and one.is_leaf:
                one.requires_grad_(True)
        # A kernel of inference has no gradient at all.
        try:
            longer = whole.longer(model)
            text = whole.inputs if longer is None else longer
            unused, never = asked(whole, model, text)
            # In a long text more is used: a chunk must be complete before it is summarised.
            length = min(said_length(model) or 0, VERY_LONG)
            if never and whole.is_called_as_usual and length > text.shape[1]:
                text = text[:1].repeat(1, length // text.shape[1] + 1)[:, :length]
                unused, never = asked(whole, model, text)
        except NoGradientError as error:
            return NotTried(told(error))
        except Exception as error:
            return NotTried(f"no gradient can be computed: {told(error)}")
        # What it has for an image is not used by a text, and experts may not have been chosen.
        never = {name: n for name, n in never.items() if "expert" not in name}
        if any(re.search(OTHER_INPUTS, name) for name in arguments_of(model)):
            never = {}
        if never:
            seen = used_elsewhere(whole, model)
            named = dict(model.named_parameters())
            never = {name: n for name, n in never.items() if id(named[name]) not in seen}
        if never:
            return never_used(never)
        if not unused and whole.known.get("reentrant"):
            return Unusual(REENTRANT)
        why = "never used by a text, detached, or used for a choice or a loss only"
        return Unusual(never_used(unused, why)) if unused else ""


def example(batch_size: int = 3, seq_len: int = 5, n_vocab: int = 11) -> tuple[str, str]:
    r"""
    ## Example

    A table passes. With a layer beside it that nobody calls, it doesn't.

    ### Exercises

    ??? question "A matrix is multiplied by a gate that is zero at first. Is it told?"
        No. The test makes all weights random, the gate too.

    ??? question "Only an `argmax` of a layer's output is used. What is said?"
        The layer is named, as unusual: no gradient comes through a choice, so it can't learn.
    """
    tokens = torch.randint(n_vocab, (batch_size, seq_len))
    table = nn.Embedding(n_vocab, n_vocab)
    right = every_weight_is_used(Whole(table, tokens, tokens))

    # It belongs to the model, and has no part in its logits.
    table.forgotten = nn.Linear(n_vocab, n_vocab)
    return right, every_weight_is_used(Whole(table, tokens, tokens))
