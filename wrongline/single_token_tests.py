r"""
---
title: Tests of a Model That Reads Single Tokens
summary: A new text must see nothing of an older one, and its own past, and have positions.
know: single_tokens.py
---

If a model [reads single tokens only](single_tokens.py), there is no whole text to compare its cache
with. Three things must hold all the same:

* A text that begins anew sees nothing of the text before, though that one's keys are still in the
  cache. A mask that shows the whole cache is found by this.
* Tokens that were read earlier in a text change the logits of later ones.
* If the model has a table with a row for each position, it doesn't read the same row for all
  tokens.

**In:** [what is tested](whole.py#Whole). **Out:** a sentence that says what is wrong, or why the
rest wasn't tried.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from wrongline.calling import set_up
from wrongline.in_place import borrowed
from wrongline.kept_caches import empty
from wrongline.model_tests import other_tokens
from wrongline.single_tokens import one_by_one, read_on
from wrongline.verdicts import NotTried
from wrongline.whole import Whole

# What a table of positions is called.
TABLE = r"(?i)freq|cos|sin|rope|rotary|pos|wpe"

# What is left.
UNSEEN = (
    "it reads single tokens only, so there is no whole text to compare with: that a text begins "
    "anew, and that its past matters, was seen; a position that is off by some wasn't"
)


class Rows(TorchFunctionMode):
    r"""
    ## Which rows of tables are read

    PyTorch hands every call of a function to this object first.
    """

    def __init__(self, tables: dict[str, Tensor]) -> None:
        r"""
        * `tables` are those that are watched, by their names
        """
        super().__init__()
        self.names = {id(one): name for name, one in tables.items()}
        self.read: dict[str, list[Any]] = {}

    def __torch_function__(
        self, function: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        result = function(*args, **(kwargs or {}))
        # The arguments beside a table are the place that is read: a slice, or numbers of rows.
        for number, one in enumerate(args):
            name = self.names.get(id(one))
            if name and isinstance(result, Tensor):
                others = [*args[:number], *args[number + 1 :]]
                self.read.setdefault(name, []).append([str(function), str(others), result.shape])
        return result


def tables_of(model: nn.Module, length: int) -> Iterator[tuple[str, Tensor]]:
    r"""
    ## Tables with a row for each position

    Its sines may be a buffer, a parameter or a plain attribute.
    """
    for path, part in model.named_modules():
        for name, one in [*vars(part).items(), *part._buffers.items(), *part._parameters.items()]:
            called = f"{path}.{name}".lstrip(".")
            is_one = isinstance(one, Tensor) and one.dim() > 1 and len(one) >= length
            if is_one and re.search(TABLE, called):
                yield called, one


def one_row_for_all(model: nn.Module, tokens: Tensor) -> str:
    r"""
    ## Is the same row of a table read for each token?

    The name of that table. A table that is read as a whole, or at several places, isn't named.
    """
    with borrowed(model):
        tables = dict(tables_of(model, tokens.shape[1]))
        with Rows(tables) as rows:
            read_on(model, tokens)
    for name, read in rows.read.items():
        is_row = all(shape[0] == 1 for _, _, shape in read)
        # A single read has nothing to be compared with.
        if is_row and len(read) > 1 and all(one[:2] == read[0][:2] for one in read):
            return name
    return ""


def after_another_text(model: nn.Module, tokens: Tensor) -> Tensor:
    r"""
    ## The logits of a text that begins after another one
    """
    with borrowed(model):
        read_on(model, other_tokens(tokens))
        # Methods for a new text are called between two texts, if the model has any.
        set_up(model, *tokens.shape)
        empty(model)
        return read_on(model, tokens)


def reads_single_tokens_well(whole: Whole) -> str:
    r"""
    ## What must hold without a whole text
    """
    tokens = whole.inputs
    with whole.rough() as model, torch.no_grad():
        logits = whole.logits(model)
        place = whole.place_of(model, after_another_text(model, tokens), logits)
        if place:
            return (
                f"after another text, the logits at position {place[1]} of a text that begins anew "
                "are others: it sees what the other one has left in the cache"
            )
        changed = torch.cat([other_tokens(tokens)[:, :1], tokens[:, 1:]], dim=1)
        found = one_by_one(model, changed)
        if not whole.place_of(model, found[:, 1:], logits[:, 1:]):
            return (
                "token by token, what was read before changes nothing: it isn't kept, or not read"
            )
        table = one_row_for_all(model, tokens)
        if table:
            return (
                f"the same row of `{table}` is read for each token, wherever it stands: all tokens "
                "have the same position"
            )
    return NotTried(UNSEEN)


def example(batch_size: int = 3, seq_len: int = 5, n_vocab: int = 11) -> tuple[str, str]:
    r"""
    ## Example

    A model that adds up what it has read, and one whose sum isn't cleared at position 0.

    ### Exercises

    ??? question "A cache has 32 places, and a text of 5 tokens sees them all. What is said?"
        That the logits at position 0 differ after another text. The first token sees the keys that
        the older text has left in places 1 to 4, and zeros in a fresh cache.
    """

    class Sums(nn.Embedding):
        clears = True
        kept: Any = 0

        def forward(self, token: Tensor, start_pos: int) -> Tensor:  # type: ignore[override]
            r"""
            From one token of each text, `[batch_size, 1]`, to a sum of rows.
            """
            assert token.shape[1] == 1, "one token at a time"
            before = 0 if self.clears and start_pos == 0 else self.kept
            self.kept = before + super().forward(token)
            return self.kept

    tokens = torch.randint(n_vocab, (batch_size, seq_len))
    right, wrong = Sums(n_vocab, n_vocab), Sums(n_vocab, n_vocab)
    wrong.clears = False
    said = [reads_single_tokens_well(Whole(one, tokens, tokens)) for one in (right, wrong)]
    return said[0], said[1]
