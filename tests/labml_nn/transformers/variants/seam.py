r"""What every variant of attention must do at the common seam, and what comparing it needs."""

import io
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from unittest import mock

import torch
from torch import Tensor, nn

from labml_nn.transformers.mha import causal_mask
from tests.oracles.compare import largest, weighted_sum

SEQ_LEN_Q, SEQ_LEN_K, BATCH_SIZE, HEADS, D_K = 5, 7, 3, 2, 22
D_MODEL = HEADS * D_K

# Makes an attention; the checks put it in evaluation and in double precision.
Make = Callable[[], nn.Module]


def inputs(seq_len_q: int = SEQ_LEN_Q, seq_len_k: int = SEQ_LEN_K) -> dict[str, Tensor]:
    r"""A query, a key and a value, all different, with gradients."""
    generator = torch.Generator().manual_seed(2)
    lengths = {"query": seq_len_q, "key": seq_len_k, "value": seq_len_k}
    return {
        name: torch.randn(n, BATCH_SIZE, D_MODEL, generator=generator).double().requires_grad_()
        for name, n in lengths.items()
    }


def sequence() -> dict[str, Tensor]:
    r"""One sequence that attends to itself."""
    x = inputs()["key"]
    return {"query": x, "key": x, "value": x}


def per_batch() -> Tensor:
    r"""A mask in which every query sees a key."""
    generator = torch.Generator().manual_seed(3)
    mask = torch.rand(SEQ_LEN_Q, SEQ_LEN_K, BATCH_SIZE, generator=generator) < 0.4
    mask[:, 1] = True
    return mask


def with_idle() -> Tensor:
    r"""Two queries see nothing, in different sequences."""
    mask = per_batch()
    mask[2, :, 1] = False
    mask[0, :, 2] = False
    return mask


def randomised(module: nn.Module) -> nn.Module:
    r"""All parameters random, so that no one or zero of the beginning hides anything."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in module.double().eval().parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.copy_(noise * 2 / math.sqrt(parameter.shape[-1]))
    return module


def copied(ours: nn.Module, theirs: nn.Module, names: Mapping[str, str]) -> None:
    r"""Our parameters into theirs, from our name of a part to theirs."""
    for mine, other in names.items():
        theirs.get_submodule(other).load_state_dict(ours.get_submodule(mine).state_dict())


def found_and_gradients(output: Tensor, module: nn.Module, *inputs: Tensor) -> list[Tensor]:
    r"""The output, and the gradients of its inputs and of the module's parameters."""
    variables = [*inputs, *module.parameters()]
    return [output, *torch.autograd.grad(weighted_sum(output), variables, allow_unused=True)]


@contextmanager
def all_in_double() -> Iterator[None]:
    r"""Hugging Face's modules compute a softmax in 32 bits, whatever the model; not in here."""
    with mock.patch.object(torch, "float32", torch.float64):
        yield


def not_turned(seq_len: int, d_k: int) -> tuple[Tensor, Tensor]:
    r"""The cosines and sines of Hugging Face's rotary positions, for angles of zero."""
    zeros = torch.zeros(BATCH_SIZE, seq_len, d_k, dtype=torch.float64)
    return zeros + 1, zeros


def check_no_future(make: Make) -> None:
    r"""Change the last tokens: no earlier output may move, and the last ones do."""
    module, x = randomised(make()), sequence()["query"].detach()
    other = x.clone()
    other[4:] += 10.0
    mask = causal_mask(SEQ_LEN_K)
    before = module(query=x, key=x, value=x, mask=mask)
    after = module(query=other, key=other, value=other, mask=mask)
    assert largest([after[:4]], [before[:4]]) < 1e-12
    assert ((after[4:] - before[4:]).abs().amax(dim=(1, 2)) > 1e-3).all()


def check_hidden_keys_do_not_matter(make: Make) -> None:
    r"""Neither their contents nor how many there are, nor other sequences of the batch."""
    module, given, mask = randomised(make()), inputs(), per_batch()
    mask[:, 3:] = False
    changed = {n: x if n == "query" else torch.cat([x[:3], x[3:] - 9]) for n, x in given.items()}
    expected = module(**given, mask=mask)
    assert largest([module(**changed, mask=mask)], [expected]) < 1e-12
    shorter = {n: x[:, 1:2] if n == "query" else x[:3, 1:2] for n, x in given.items()}
    assert largest([module(**shorter, mask=mask[:, :3, 1:2])], [expected[:, 1:2]]) < 1e-12


def check_idle_queries(make: Make) -> None:
    r"""Those that see nothing get what the last layer makes of zeros; all gradients are finite."""
    module, given = randomised(make()), inputs()
    output = module(**given, mask=with_idle())
    last = getattr(module, "gated_output", module.output)
    assert torch.equal(output[2, 1], last.bias)
    assert torch.equal(output[0, 2], last.bias)
    found = torch.autograd.grad(weighted_sum(output), [*given.values(), *module.parameters()])
    assert all(one.isfinite().all() for one in found)
    assert found[0][2, 0].any()
    assert not module.attn[2, :, 1].any()


def check_parameters(make: Make, more: Mapping[str, tuple[int, ...]]) -> None:
    r"""Those of plain attention and these; another one that loads them gives the same numbers."""
    square, row = (D_MODEL, D_MODEL), (D_MODEL,)
    expected = {"output.weight": square, "output.bias": row}
    for part in ("query", "key", "value"):
        expected |= {f"{part}.linear.weight": square, f"{part}.linear.bias": row}
    module, other = randomised(make()), make().double().eval()
    state = {name: tuple(p.shape) for name, p in module.state_dict().items()}
    state = {name.replace("gated_output", "output"): shape for name, shape in state.items()}
    assert state == expected | more

    saved = io.BytesIO()
    torch.save(module.state_dict(), saved)
    saved.seek(0)
    other.load_state_dict(torch.load(saved, weights_only=True))
    given, mask = sequence(), causal_mask(SEQ_LEN_K)
    assert torch.equal(other(**given, mask=mask), module(**given, mask=mask))


def check_part_for_the_transformer(parts: Mapping[str, Make], kind: type) -> nn.Module:
    r"""A new one each time, with the dropout that was asked for, and only in training."""
    assert list(parts) == ["self_attn"]
    made = parts["self_attn"]()
    assert type(made) is kind
    assert made is not parts["self_attn"]()
    assert made.dropout.p == 0.5
    given, mask = {n: x.float() for n, x in sequence().items()}, causal_mask(SEQ_LEN_K)
    assert not torch.equal(made(**given, mask=mask), made(**given, mask=mask))
    made.eval()
    assert torch.equal(made(**given, mask=mask), made(**given, mask=mask))
    return made


SEAM = [check_no_future, check_hidden_keys_do_not_matter, check_idle_queries]
