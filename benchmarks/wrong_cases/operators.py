r"""
The operators of defaultplusplus that change a decoder, each planted in a small GPT-Neo.

That is a family which its README names, and one with a projection each for queries, keys and
values, as most of its operators look for.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.wrong_cases.case import N_VOCAB, Case, Subject, text

LONGEST = 64


def gpt_neo() -> nn.Module:
    r"""Two layers of its usual kinds, with random weights of some size."""
    from transformers import GPTNeoConfig, GPTNeoForCausalLM

    torch.manual_seed(1)
    config = GPTNeoConfig(
        vocab_size=N_VOCAB,
        max_position_embeddings=LONGEST,
        hidden_size=24,
        num_layers=2,
        num_heads=3,
        attention_types=[[["global", "local"], 1]],
        window_size=16,
        intermediate_size=48,
        resid_dropout=0.0,
        embed_dropout=0.0,
        attention_dropout=0.0,
        bos_token_id=1,
        eos_token_id=2,
        attn_implementation="eager",
    )
    return GPTNeoForCausalLM(config).eval()


def passed_on(model: nn.Module) -> None:
    r"""
    What is right beside an operator that puts a function in the place of a `forward`.

    The function here does nothing but call the original. In a copy of a model such a function still
    runs the first one, so a tool that trains a copy finds no gradient, with any such operator.
    """
    forward = model.forward
    model.forward = lambda *args, **options: forward(*args, **options)  # type: ignore[method-assign]


def replaced(model: nn.Module) -> bool:
    r"""Whether a module of the model has a `forward` of its own, beside that of its class."""
    return any("forward" in vars(module) for module in model.modules())


def subject(plant: Callable[[nn.Module], Any] = lambda model: None) -> Subject:
    r"""The model with something planted."""
    model = gpt_neo()
    # It is never taken out: a child process has the model for itself.
    plant(model)
    tokens = text()
    return Subject(
        model,
        tokens[:, :-1].clone(),
        tokens[:, 1:].clone(),
        cached=True,
        masked=True,
        longest=LONGEST,
    )


def enter(operator: str, value: Any, model: nn.Module) -> Any:
    r"""Plant one."""
    from defaultplusplus.deform.operator_impls.registry import get_injector

    return get_injector(operator, param_value=value)(model).__enter__()


@torch.no_grad()
def behaviour(model: nn.Module) -> dict[str, Any]:
    r"""What a model does: plainly, with padding, with a cache, in training; and what it learns."""
    tokens = text()
    mask = torch.ones_like(tokens)
    mask[::2, :3] = 0
    found: dict[str, Any] = {}

    def run(name: str, call: Callable[[], Tensor]) -> None:
        try:
            found[name] = call()
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"

    def cached() -> Tensor:
        first = model(input_ids=tokens[:, :-1], use_cache=True)
        return model(
            input_ids=tokens[:, -1:], past_key_values=first.past_key_values, use_cache=True
        ).logits

    def plainly(**more: Any) -> Tensor:
        return model(input_ids=tokens, use_cache=False, **more).logits

    run("plain", plainly)
    run("padding", lambda: plainly(attention_mask=mask))
    run("cached", cached)
    # After a call with a cache: it may leak into this one.
    run("again", lambda: model(input_ids=tokens).logits)
    model.train()
    run("training", plainly)
    model.eval()
    found["learns"] = [one.requires_grad for one in model.parameters()]
    return found


def differs(one: dict[str, Any], other: dict[str, Any]) -> bool:
    r"""Whether anything that they do is different."""
    for name, value in one.items():
        if not isinstance(value, Tensor) or not isinstance(other[name], Tensor):
            if type(value) is not type(other[name]) or value != other[name]:
                return True
        elif value.shape != other[name].shape or (value - other[name]).abs().max() > 1e-6:
            return True
    return False


def effective() -> Iterator[tuple[Any, Any, bool | None, bool]]:
    r"""
    Each operator, with a value that changes something; None if it finds nothing to change. The last
    says whether it replaces a `forward`.
    """
    from defaultplusplus.deform.operators import list_operators

    as_it_is = behaviour(gpt_neo())
    for operator in list_operators("decoder"):
        changes: bool | None = None
        # The strongest comes last.
        values = [*operator.param_grid][::-1] or [None]
        for value in values:
            model = gpt_neo()
            try:
                enter(operator.op_id, value, model)
                changes = differs(as_it_is, behaviour(model))
            except (ValueError, RuntimeError):
                continue
            if changes:
                break
        yield operator, value, changes, replaced(model)


def cases() -> tuple[list[Case], dict[str, int]]:
    r"""A case for each operator that changes something, and how many do what."""
    found = []
    counts = {"operators": 0, "nothing": 0, "no_target": 0}
    for operator, value, changes, replaces in effective():
        counts["operators"] += 1
        counts["nothing"] += changes is False
        counts["no_target"] += changes is None
        if not changes:
            continue
        with_value = "" if value is None else f" ({operator.param_name} {value})"
        found.append(
            Case(
                f"{operator.op_id}: {operator.root_cause.replace('_', ' ')}{with_value}",
                "operator",
                operator.component.value,
                partial(subject, passed_on) if replaces else subject,
                partial(subject, partial(enter, operator.op_id, value)),
                "GPT-Neo, its forward replaced" if replaces else "GPT-Neo",
            )
        )
    return found, counts
