r"""The exhibits of the museum, each in a small model with its training."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.wrong_cases.case import N_VOCAB, Case, Subject, Training, text
from labml_nn.transformers.mistakes.caches import CACHE_EXHIBITS, RightCache
from labml_nn.transformers.mistakes.decoding import RightDecoding
from labml_nn.transformers.mistakes.experiment import FAMILIES, Sizes, assemble
from labml_nn.transformers.mistakes.one_line import Mistake
from labml_nn.transformers.mistakes.position_mistakes import POSITION_EXHIBITS
from labml_nn.transformers.mistakes.right_attention import RightAttention
from labml_nn.transformers.mistakes.right_model import RightTraining
from labml_nn.transformers.mistakes.step_mistakes import STEP_EXHIBITS
from labml_nn.transformers.mistakes.train_here import in_its_place

# Six heads of width 4. Three of keys, where they are shared.
SIZES = Sizes(d_model=24, heads=6, n_layers=2, seq_len=24, batch_size=4, n_steps=400)


class Read:
    r"""How an attention with a cache of its own is given a text in parts."""

    @staticmethod
    def parts(attention: Any, parts: list[Tensor]) -> Tensor:
        found: Tensor = attention.read(parts)
        return found

    @staticmethod
    def equal_parts(attention: Any, parts: list[Tensor]) -> Tensor:
        # It splits the text itself, into parts of one length.
        longest = max(part.shape[1] for part in parts)
        found: Tensor = attention.decode(torch.cat(parts, dim=1), longest)
        return found


def training_of(kind: type[RightTraining], model: nn.Module) -> Training:
    r"""A training of a class, which may step in parts."""
    made = kind(model, SIZES.n_steps)
    if not hasattr(made, "clip"):
        return Training(made.optimizer, made.step)
    return Training(made.optimizer, made.step, made.step)  # type: ignore[arg-type]


def subject(mistake: type[Mistake]) -> Subject:
    r"""A model with an exhibit in its place."""
    torch.manual_seed(1)
    training = assemble(in_its_place(mistake), N_VOCAB, SIZES)
    # It's the exhibit that cuts a text into inputs and targets.
    inputs, targets = training.cut(text())
    made = Subject(
        training.model,
        inputs.clone(),
        targets.clone(),
        partial(training_of, type(training)),
        training.loss,
        longest=SIZES.seq_len,
    )
    if issubclass(mistake.of, RightAttention):
        kind = mistake.make()
        made.attention = lambda: kind(SIZES.heads, SIZES.d_model, mistake.dropout_prob)
        made.heads = SIZES.heads
        made.takes_mask = mistake.of is RightAttention
        made.read = {RightCache: Read.parts, RightDecoding: Read.equal_parts}.get(mistake.of)
    return made


def right_of(of: type, dropout_prob: float) -> type[Mistake]:
    r"""The class without a mistake, as an exhibit without a line."""
    return type(of.__name__, (Mistake,), {"of": of, "dropout_prob": dropout_prob})


def cases() -> list[Case]:
    r"""All exhibits but those about measuring, which are about no model."""
    families = [*FAMILIES.values(), POSITION_EXHIBITS, CACHE_EXHIBITS, STEP_EXHIBITS]
    found = []
    for exhibit in (one for family in families for one in family):
        module = exhibit.__module__.replace(".", "/")
        right: Callable[[], Subject] = partial(subject, right_of(exhibit.of, exhibit.dropout_prob))
        found.append(
            Case(
                exhibit.__name__,
                "exhibit",
                f"{module}.py#{exhibit.__name__}",
                right,
                partial(subject, exhibit),
                f"{exhibit.of.__name__} {exhibit.dropout_prob}",
            )
        )
    return found
