r"""
---
title: Test Your Language Model
summary: One call for a whole model, and one for a training step; mistakes are named.
---

```python
check_language_model(model, tokens)
```

**In:** a model that gives logits, and a few sequences of tokens, `[batch_size, seq_len]`. **Out:**
nothing, if all is right; else an `AssertionError` that says what is wrong. A model of the
transformers library goes in as it is, so does nanoGPT with its pair of logits and loss, and so
does a plain module. Leave yours on its device and in its precision: it is tested [in
place](in_place.py), [with 32 bits](undisturbed.py), and everything of it is put back.

Texts of 12 tokens don't show a leak within a chunk of 64. So two more are made, as long as the
model allows, up to 256 tokens, and the length is told. It takes 60 calls at most.

From a terminal, [a command](command.py) does the same:

```sh
wrongline transformers:RoFormerForCausalLM
wrongline my_file.py:MyModel
```
"""

from collections.abc import Collection
from typing import Any

import torch
from torch import Tensor, nn

from wrongline.cache_tests import CACHE_TESTS
from wrongline.hidden_tokens import HIDDEN_TESTS
from wrongline.layouts import with_layout
from wrongline.model_tests import MODEL_TESTS
from wrongline.training_tests import TRAINING_TESTS
from wrongline.undisturbed import undisturbed
from wrongline.verdicts import Findings, complain
from wrongline.weights_used import every_weight_is_used
from wrongline.whole import GATES, Whole, run_tests, unless_it_rounds

# All that a model can be asked without knowing its inside.
COMPARING = (*MODEL_TESTS, *HIDDEN_TESTS, *CACHE_TESTS)
ALL_TESTS = (
    *(one if one.__name__ in GATES else unless_it_rounds(one) for one in COMPARING),
    every_weight_is_used,
)


def find_in_language_model(
    model: nn.Module,
    tokens: Tensor,
    skip: Collection[str] = (),
    only: Collection[str] = (),
    **options: Any,
) -> Findings:
    r"""
    ## Find what is wrong

    From the names of the tests that fail to sentences; its `table` has [all
    verdicts](verdicts.py), also those on what is unusual, and what wasn't tried. `skip` and `only`
    are names of tests. Say what is unusual about your model:

    * “predict” calls it, if its logits can't be found: from the model and tokens to logits
    * “read” gives the logits of a text that is read with a cache, in a list of parts
    * “shifted” gives the logits if all positions are larger by a number; it is for models that
      should know distances only
    """
    if not options.get("predict"):
        refuse_other_tokens(tokens)

    # Wherever the model is, and whatever is set. No gradient is needed, so nothing is kept for one.
    with torch.no_grad(), undisturbed(model) as device, device:
        tokens = tokens.to(device)

        # The tests ask nothing of targets.
        whole = Whole(model, tokens, tokens, **options)
        if whole.is_called_as_usual:
            whole = with_layout(whole)
        return run_tests(ALL_TESTS, whole, skip=skip, only=only)


def refuse_other_tokens(tokens: Any) -> None:
    r"""
    ## Are the tokens a batch of texts?

    If not, the error would come from within the tests, and say nothing of the argument.
    """
    if isinstance(tokens, Tensor) and tokens.dim() == 2 and not tokens.is_floating_point():
        return
    what = f"of shape {list(tokens.shape)}" if isinstance(tokens, Tensor) else type(tokens).__name__
    kind = f" and {tokens.dtype}" if isinstance(tokens, Tensor) else ""
    raise ValueError(
        "`tokens` must be whole numbers, a text in each row, such as "
        f"torch.randint(n_vocab, (3, 16)); here they are {what}{kind}"
    )


def check_language_model(model: nn.Module, tokens: Tensor, **options: Any) -> None:
    r"""
    ## Check your language model

    If something is wrong, an `AssertionError` has [all verdicts](verdicts.py); if nothing is,
    nothing is returned or printed. The options are those of
    [find_in_language_model](language_model.py#find_in_language_model).
    """
    # An empty dictionary is no complaint.
    complain(find_in_language_model(model, tokens, **options))


def find_in_training_step(
    model: nn.Module,
    inputs: Tensor,
    targets: Tensor,
    skip: Collection[str] = (),
    only: Collection[str] = (),
    **options: Any,
) -> Findings:
    r"""
    ## Find what is wrong with a training step

    The options are those of [Whole](whole.py#Whole): `make_step` gets a model, and gives a function
    that makes one step on inputs and targets, and `loss` is your loss of logits and targets.
    Padding is below zero in `targets`, such as -100, or a token that stands at an end of the rows
    only and that the loss leaves out. Any other token that the loss leaves out is told as
    forgotten.
    """
    # Here gradients are needed: it is about them.
    with undisturbed(model) as device:
        # A batch may still be on the CPU, as the data gives it. Models and losses give it a view,
        # which a part of a longer text doesn't allow.
        batch = (inputs.to(device).contiguous(), targets.to(device).contiguous())
        whole = Whole(model, *batch, **options)

        # The batch is looked at first, then the loss, then steps.
        return run_tests(TRAINING_TESTS, whole, skip=skip, only=only)


def check_training_step(model: nn.Module, inputs: Tensor, targets: Tensor, **options: Any) -> None:
    r"""
    ## Check your training step

    The options are those of
    [find_in_training_step](language_model.py#find_in_training_step).
    """
    complain(find_in_training_step(model, inputs, targets, **options))


def example(batch_size: int = 3, seq_len: int = 5, n_vocab: int = 11) -> dict[str, str]:
    r"""
    ## Example

    A table of what follows what passes. With the next token's row added, it doesn't.

    ### Exercises

    ??? question "Your model passes, and its loss is still too good. What is left?"
        The data and the loss: `check_training_step` looks at both. Or a leak that
        begins later than the texts end.

    ??? question "Why at least two sequences, and why different ones?"
        A model that mixes up the sequences of a batch shows it with two, and a copy of a sequence
        would hide it.

    ??? question "Which mistake can `check_language_model` not find?"
        A wrong scale, for instance: such a model is another good model. [Check its
        attention](attention_tests.py), which is compared with the formula. And a loss that
        `forward` makes of targets isn't looked at here: `check_training_step` does that. Nor are
        layers in a plain list of Python's, which no optimizer knows of: it finds those, too.
    """
    # Different sequences, of random tokens.
    tokens = torch.randint(n_vocab, (batch_size, seq_len))
    table = nn.Embedding(n_vocab, n_vocab)

    # No error: it looks at one token at a time.
    check_language_model(table, tokens)

    # What stands at the next position is added: the mistake is in how it is called.
    return find_in_language_model(
        table, tokens, predict=lambda model, x: model(x) + model(x).roll(-1, dims=1)
    )
