r"""
---
title: A Model Under Test
summary: What the tests of a whole model have to be told, and what they find out themselves.
---

**In:** a model as it is made, and a small batch. **Out:** the same two, with the ways to call the
model and to train it. Most models need nothing more: [their logits are found](logits.py). Whatever
else a model wants can be said.

The [tests of a model](model_tests.py), of its [cache](cache_tests.py), of a
[training](training_tests.py) and of its [step](step_tests.py) all take this one object.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from wrongline.calling import own_lengths, switches
from wrongline.comparison import roughen
from wrongline.in_place import borrowed
from wrongline.logits import logits_of, sequence_first
from wrongline.places import far_apart, place_of
from wrongline.single_tokens import refuses_texts
from wrongline.sizes import SIZES
from wrongline.verdicts import Findings, NotTried, Unusual, run_all

# What fails here is told alone: without it, no other test makes sense.
GATES = ("runs", "model_finite", "model_twice")

# A difference counts if it is so many times what rounding does, or larger than this.
TIMES_NOISE = 32
LARGEST_NOISE = 1e-2


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    r"""
    ## The usual loss

    Of logits `[batch_size, seq_len, n_vocab]` and targets `[batch_size, seq_len]`.
    """
    # All positions of all sequences in one list, since the function wants the classes on axis 1.
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def quiet(model: nn.Module) -> nn.Module:
    r"""
    ## In training, without dropout

    With dropout, two results of the same batch would differ without a mistake.
    """
    for module in model.modules():
        for name, value in vars(module).items():
            # A layer has it as `p`, an attention as a number with “drop” in its name.
            # Other numbers stay as they are.
            layer = name == "p" and "Drop" in type(module).__name__
            if isinstance(value, float) and (layer or "drop" in name):
                setattr(module, name, 0.0)
    # Some layers compute something else in evaluation.
    return model.train()


def adam_step(model: nn.Module) -> Callable[[Tensor, Tensor], Any]:
    r"""
    ## A usual training

    A function that makes one step on inputs and targets.
    """
    # Made once, because Adam remembers the gradients of earlier steps.
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.Adam(weights, 3e-3)

    # Gradients are cleared first; `backward` would add to them.
    def step(inputs: Tensor, targets: Tensor) -> None:
        optimizer.zero_grad()
        cross_entropy(logits_of(model, inputs), targets).backward()
        optimizer.step()

    # The function knows its model and its optimizer, and is told the batch.
    return step


@dataclass(frozen=True)
class Whole:
    r"""
    ## What is tested

    * `model` is a model as it is made, untrained
    * `inputs` and `targets` are a small batch as the training gets it, the batch first
    * `predict` calls the model: from tokens to logits, the batch first
    * `read` is told the text in parts, and reads them one after the other with a cache
    * `shifted` calls the model with all positions larger by a number
    * `loss` is that of your training, of logits and targets
    * `make_step` is called with a model, and gives a function that makes one step of your training
      on inputs and targets
    * `n_steps` of them should be enough to learn the batch by heart
    * `exact` computes with 64 bits
    """

    # What you have to say: the model, and a batch of a few short sequences.
    model: nn.Module

    # Sequences that differ, with no padding in them.
    inputs: Tensor
    targets: Tensor
    # How it is called and trained, if not in the usual way.
    predict: Callable[[nn.Module, Tensor], Tensor] = logits_of
    read: Callable[[nn.Module, list[Tensor]], Tensor] | None = None
    shifted: Callable[[nn.Module, Tensor, int], Tensor] | None = None
    loss: Callable[[Tensor, Tensor], Tensor] = cross_entropy
    make_step: Callable[[nn.Module], Callable[[Tensor, Tensor], Any]] = adam_step

    # More than enough for sequences that differ from the first token on.
    n_steps: int = 120
    exact: bool = False

    # What was found out already: the logits of the batch, and the texts that were tried.
    known: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def is_called_as_usual(self) -> bool:
        r"""
        ### Has nobody said how to call it?
        """
        return self.predict is logits_of

    @contextmanager
    def rough(self, training: bool = False) -> Iterator[nn.Module]:
        r"""
        ### The model with weights of some size

        Fresh biases may be zero, and a mistake in one would not show. It is the model itself, [in
        place](in_place.py), in evaluation or in `training` without dropout.
        """
        # Of a compiled module, the one that it was made from.
        model = getattr(self.model, "_orig_mod", self.model)
        with borrowed(model):
            # Some weights are logarithms or rates, and random ones give no numbers. Then yours must
            # do.
            if "rough" not in self.known:
                with borrowed(model):
                    # (Whether there are numbers with yours is the question of a test.)
                    roughen(model).eval()
                    if self.exact:
                        model.double()
                    logits = self.predict(model, self.inputs)
                    self.known["rough"] = bool(has_numbers(logits))
                    if self.known["rough"]:
                        self.known["logits"] = logits.detach()
            if self.known["rough"]:
                roughen(model)
            if self.exact:
                model.double()
            yield quiet(model) if training else model.eval()

    def logits(self, model: nn.Module) -> Tensor:
        r"""
        ### Those of the batch, in evaluation

        They are computed once.
        """
        if "logits" not in self.known:
            self.known["logits"] = self.predict(model, self.inputs).detach()
        return self.known["logits"]

    def noise(self, model: nn.Module) -> float:
        r"""
        ### What rounding does to the logits

        Relative to their scale. The last digit of each weight is changed, and the logits are
        computed again. In a few models rounding grows from layer to layer, and what two ways to
        the same logits differ by is then no mistake.
        """
        name = f"noise {model.training}"
        if name not in self.known:
            before = self.predict(model, self.inputs)
            with borrowed(model):
                generator = torch.Generator().manual_seed(1)
                for weight in filter(Tensor.is_floating_point, model.parameters()):
                    sign = torch.randn(weight.shape, generator=generator, device="cpu").sign()
                    weight.data *= 1 + torch.finfo(weight.dtype).eps * sign.to(weight)
                after = self.predict(model, self.inputs)
            self.known[name] = min(LARGEST_NOISE, TIMES_NOISE * far_apart(after, before))
        return self.known[name]

    def place_of(self, model: nn.Module, found: Tensor, expected: Tensor) -> tuple[int, int] | None:
        r"""
        ### The first place that differs by more than rounding

        The rounding of this model is measured only where something differs.
        """
        if place_of(found, expected) is None:
            return None
        return place_of(found, expected, self.noise(model))

    def longer(self, model: nn.Module) -> Tensor | None:
        r"""
        ### Two texts as long as the model allows

        With tokens of the batch; or None, if the batch is as long already.
        """
        is_ours = self.is_called_as_usual or self.predict is sequence_first
        if not is_ours or self.inputs.dtype.is_floating_point:
            return None
        if refuses_texts(model, self.inputs):
            self.known["call's way"] = "a token at a time"
            return None
        tokens = self.inputs.flatten()
        for length in own_lengths(model):
            if length <= self.inputs.shape[1]:
                return None
            text = tokens[torch.randint(len(tokens), (2, length), device=tokens.device)]
            # A model that takes no such text is asked for a shorter one.
            try:
                self.predict(model, text)
            except Exception:
                continue
            self.known["long"] = length
            return text
        return None

    @property
    def given(self) -> str:
        r"""
        ### The switches that it is called with
        """
        on = switches(self.model) if self.is_called_as_usual else {}
        return ", ".join(f"{name}={value!r}" for name, value in on.items())

    def tried_on(self) -> str:
        r"""
        ### On what texts it was tried, and how
        """
        count = f"{len(self.inputs)} texts of {self.inputs.shape[1]} tokens"
        longer = f" and on 2 of {self.known['long']}" if "long" in self.known else ""
        # The ways to call it that were found.
        ways = [f"called with {self.given}"] if self.given else []
        ways += [
            self.known[name]
            for name in ("call's way", "padding's way", "cache's way")
            if name in self.known
        ]
        return "; ".join([f"tried on {count}{longer}", *ways])


def has_numbers(logits: Tensor) -> Tensor:
    r"""
    ## Are there logits that are numbers?

    A token that may never be said can have minus infinity, if others have not.
    """
    finite = logits.isfinite()
    return finite.any(-1).all() & (finite | (logits == -torch.inf)).all()


def unless_it_rounds(test: Callable[[Whole], str]) -> Callable[[Whole], str]:
    r"""
    ## A finding must hold with 64 bits, too

    In a few models rounding grows from layer to layer: a vector of nearly no length is divided by
    its length. What differs with 32 bits only is told as unusual.
    """

    @wraps(test)
    def run(whole: Whole) -> str:
        said = test(whole)
        if not said or isinstance(said, NotTried | Unusual):
            return said
        usual = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        # Some models compute with 32 bits only, and say so.
        try:
            again = test(replace(whole, exact=True))
        except Exception:
            return said
        finally:
            torch.set_default_dtype(usual)
        return (
            said if again else Unusual(f"with 64 bits it doesn't show, so it is rounding: {said}")
        )

    return run


def run_tests(tests: Sequence[Callable[[Whole], str]], whole: Whole, **options: Any) -> Findings:
    r"""
    ## Run some tests

    With [their verdicts](verdicts.py). Options are `skip` and `only`, names of tests.
    """
    asked = [(test.__name__, partial(test, whole)) for test in tests]
    return run_all(asked, GATES, tried_on=whole.tried_on, **options)


def texts_for(model: nn.Module) -> Tensor:
    r"""
    ## Texts for a model

    Three texts as long as the model allows, but not longer than 256 tokens.
    """
    # Without the first three, which may be special.
    short = torch.randint(3, SIZES["n_vocab"], (3, 2))
    for length in [12] if refuses_texts(model, short) else own_lengths(model):
        tokens = torch.randint(3, SIZES["n_vocab"], (3, length))
        # One that takes no such text is given a shorter one.
        try:
            with torch.no_grad(), borrowed(model):
                logits_of(model.eval(), tokens)
        except Exception:
            continue
        return tokens
    # Its error is told by the tests.
    return torch.randint(3, SIZES["n_vocab"], (3, 12))


def reads_tokens(model: nn.Module) -> bool:
    r"""
    ## Does it run on tokens?

    What has a table does so, and a table may be a bare parameter.
    """
    tokens = torch.randint(3, SIZES["n_vocab"], (3, 4))
    try:
        with torch.no_grad(), borrowed(model):
            logits_of(model.eval(), tokens)
    except Exception:
        return False
    return True


def example(batch_size: int = 3, seq_len: int = 5, n_vocab: int = 11) -> Tensor:
    r"""
    ## Example

    A table of what follows what.

    ### Exercises

    ??? question "Why do tests work in a block?"
        They change weights, and a training step changes them too. At the end of the block, yours
        are what they were.

    ??? question "Why are weights made larger before a test?"
        With small weights a mistake changes little, and could hide in the rounding.
    """
    # Random text; the targets are its next tokens.
    text = torch.randint(n_vocab, (batch_size, seq_len + 1))
    whole = Whole(nn.Embedding(n_vocab, n_vocab), text[:, :-1], text[:, 1:])

    # One step changes the weights, and after the block they are as before.
    with whole.rough() as model:
        logits = whole.predict(model, whole.inputs)
        whole.make_step(model)(whole.inputs, whole.targets)
    return cross_entropy(logits, whole.targets)
