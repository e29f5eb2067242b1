r"""What every variant of attention must do at the common seam, and what comparing it needs."""

import importlib
import io
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any
from unittest import mock

import torch
from torch import Tensor, nn

from labml_nn.transformers.mha import causal_mask

SEQ_LEN_Q, SEQ_LEN_K, BATCH_SIZE, HEADS, D_K = 5, 7, 3, 2, 22
D_MODEL = HEADS * D_K

# Makes the attention, in evaluation unless it is told otherwise.
Make = Callable[[], nn.Module]


def inputs(
    seq_len_q: int = SEQ_LEN_Q, seq_len_k: int = SEQ_LEN_K, dtype: torch.dtype = torch.float64
) -> dict[str, Tensor]:
    r"""A query, a key and a value, all different, with gradients."""
    torch.manual_seed(2)
    lengths = {"query": seq_len_q, "key": seq_len_k, "value": seq_len_k}
    return {
        name: torch.randn(length, BATCH_SIZE, D_MODEL).to(dtype).requires_grad_()
        for name, length in lengths.items()
    }


def sequence(seq_len: int = SEQ_LEN_K, dtype: torch.dtype = torch.float64) -> dict[str, Tensor]:
    r"""One sequence that attends to itself."""
    torch.manual_seed(3)
    x = torch.randn(seq_len, BATCH_SIZE, D_MODEL).to(dtype).requires_grad_()
    return {"query": x, "key": x, "value": x}


def per_batch() -> Tensor:
    r"""Any mask in which every query sees a key."""
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


def padding() -> Tensor:
    r"""Each sequence of keys ends at a length of its own."""
    return (torch.arange(SEQ_LEN_K)[:, None] < torch.tensor([SEQ_LEN_K, 2, 3]))[None]


MASKS = {
    "no mask": None,
    "padding": padding(),
    "one for all": per_batch()[..., 2:],
    "one for each": per_batch(),
    "idle queries": with_idle(),
}


def gradients(output: Tensor, variables: Iterable[Tensor]) -> list[Tensor]:
    r"""The gradients of a sum in which every number of the output counts differently."""
    generator = torch.Generator().manual_seed(4)
    weights = torch.randn(output.shape, generator=generator, dtype=torch.float64)
    found = torch.autograd.grad(
        (output.double() * weights).sum(), list(variables), retain_graph=True, allow_unused=True
    )
    return [torch.zeros(()) if one is None else one for one in found]


def largest_difference(found: Iterable[Tensor], expected: Iterable[Tensor]) -> float:
    r"""Over all numbers of pairs of tensors, whose shapes must be the same."""
    pairs = list(zip(found, expected, strict=True))
    assert all(one.shape == other.shape for one, other in pairs)
    return max((one.double() - other.double()).abs().max().item() for one, other in pairs)


def assert_near(found: Tensor, expected: Tensor, tolerance: float = 1e-10) -> None:
    r"""No two numbers are further apart than the tolerance."""
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


def randomised(module: nn.Module, seed: int = 5) -> nn.Module:
    r"""All parameters random, so that no one or zero of the beginning hides anything."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.copy_(noise * 2 / math.sqrt(parameter.shape[-1]))
    return module


def copied(pairs: Iterable[tuple[nn.Module | nn.Parameter, nn.Module | nn.Parameter]]) -> None:
    r"""Weights from the first of each pair to the second."""
    with torch.no_grad():
        for ours, theirs in pairs:
            for one, other in zip(parameters(ours), parameters(theirs), strict=True):
                other.copy_(one)


def parameters(thing: nn.Module | nn.Parameter) -> list[nn.Parameter]:
    r"""Those of a module, or the one that it is."""
    return list(thing.parameters()) if hasattr(thing, "parameters") else [thing]


@contextmanager
def all_in_double() -> Iterator[None]:
    r"""Hugging Face's modules compute a softmax in 32 bits, whatever the model; not in here."""
    with mock.patch.object(torch, "float32", torch.float64):
        yield


@cache
def onnx_cases(operator: str, module: str) -> dict[str, Any]:
    r"""The test cases of an operator, by name, those of its expansion left out.

    What `collect_testcases` does, for one module: that one collects at the first import only, for
    one operator in a process, and imports the modules of all operators.
    """
    cases = importlib.import_module("onnx.backend.test.case.node")
    name = f"{cases.__name__}.{module}"
    before = sys.modules.pop(name, None)
    with (
        mock.patch.object(cases, "_TargetOpType", operator),
        mock.patch.object(cases, "_existing_names", {}),
        mock.patch.object(cases, "_NodeTestCases", []) as found,
    ):
        importlib.import_module(name)
    # Who collects after this finds things as they were.
    del sys.modules[name]
    if before is not None:
        sys.modules[name] = before
    return {case.name: case for case in found if not case.name.endswith("_expanded")}


def not_turned(seq_len: int, d_k: int) -> tuple[Tensor, Tensor]:
    r"""The cosines and sines of Hugging Face's rotary positions, for angles of zero."""
    zeros = torch.zeros(BATCH_SIZE, seq_len, d_k, dtype=torch.float64)
    return zeros + 1, zeros


def added_mask(mask: Tensor | None) -> Tensor | None:
    r"""For Hugging Face: `[batch_size, 1, seq_len_q, seq_len_k]`, minus infinity where hidden."""
    if mask is None:
        return None
    full = mask.permute(2, 0, 1).unsqueeze(1)
    return torch.zeros(full.shape, dtype=torch.float64).masked_fill(~full, -math.inf)


def check_no_output_depends_on_a_later_position(make: Make) -> None:
    r"""By gradient, and by changing what comes later."""
    module, given = make().double(), sequence()
    output = module(**given, mask=causal_mask(SEQ_LEN_K))
    for position in range(SEQ_LEN_K):
        (gradient,) = torch.autograd.grad(output[position].sum(), given["query"], retain_graph=True)
        depends = gradient.abs().sum(dim=(1, 2)) > 0
        assert depends.tolist() == [other <= position for other in range(SEQ_LEN_K)]

    other = given["query"].detach().clone()
    other[4:] = 100.0
    changed = module(query=other, key=other, value=other, mask=causal_mask(SEQ_LEN_K))
    assert_near(changed[:4], output[:4])


def check_what_is_hidden_does_not_matter(make: Make) -> None:
    r"""Padding of other contents and of another length gives the same numbers."""
    module, given = make().double(), inputs()
    mask = padding()
    expected = module(**given, mask=mask)
    changed = dict(given)
    for name in ("key", "value"):
        hidden = ~mask[0].unsqueeze(-1)
        changed[name] = torch.where(hidden, 100.0, given[name])
        changed[name] = torch.cat([changed[name], changed[name] - 50])
    longer = torch.cat([mask, torch.zeros_like(mask)], dim=1)
    assert_near(module(**changed, mask=longer), expected)


def check_sequences_of_a_batch_do_not_see_one_another(make: Make) -> None:
    r"""Each alone gives what it gives beside the others."""
    module, given, mask = make().double(), inputs(), per_batch()
    together = module(**given, mask=mask)
    for b in range(BATCH_SIZE):
        alone = {name: x[:, b : b + 1] for name, x in given.items()}
        assert_near(together[:, b : b + 1], module(**alone, mask=mask[..., b : b + 1]))


def check_idle_queries_get_zero_and_finite_gradients(make: Make) -> None:
    r"""What is left is what the last layer makes of zeros, in each precision, each way."""
    for dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16):
        for keep in (False, True):
            module, given = make().to(dtype), inputs(dtype=dtype)
            module.keep_attn = keep
            output = module(**given, mask=with_idle())
            last = module.output if isinstance(module.output, nn.Linear) else module.gated_output
            assert torch.equal(output[2, 1], last.bias)
            assert torch.equal(output[0, 2], last.bias)
            found = gradients(output, [*given.values(), *module.parameters()])
            assert all(one.isfinite().all() for one in found)
            assert not found[0][2, 1].any()
            assert found[0][2, 0].any()

            nothing = torch.zeros(1, SEQ_LEN_K, 1, dtype=torch.bool)
            output = module(**given, mask=nothing)
            assert torch.equal(output, last.bias.expand_as(output))


def check_precision_is_kept(make: Make) -> None:
    r"""What goes in with so many bits comes out with as many, near what 64 bits give."""
    expected = make().double()(**inputs(), mask=with_idle())
    for dtype, bound in ((torch.float32, 2e-5), (torch.float16, 0.03), (torch.bfloat16, 0.2)):
        found = make().to(dtype)(**inputs(dtype=dtype), mask=with_idle())
        assert found.dtype is dtype
        assert largest_difference([found], [expected]) < bound


def check_numbers_are_never_read(make: Make) -> None:
    r"""A tensor on the meta device has none: reading one is an error, as it is a wait on a GPU."""
    module = make().to("meta")
    x = torch.empty(SEQ_LEN_K, BATCH_SIZE, D_MODEL, device="meta")
    mask = torch.empty(SEQ_LEN_K, SEQ_LEN_K, 1, dtype=torch.bool, device="meta")
    assert module(query=x, key=x, value=x, mask=mask).shape == x.shape


def check_dropout_acts_in_training_only(make: Make) -> None:
    r"""And on both ways."""
    for keep in (False, True):
        module, given = make().double(), inputs()
        without = module(**given)
        module.keep_attn = keep
        module.dropout.p = 0.5
        assert_near(module(**given), without)
        module.train()
        torch.manual_seed(6)
        assert not torch.equal(module(**given), module(**given))
        assert largest_difference([module(**given)], [without]) > 1e-3


def check_a_tenth_is_dropped_unless_told_otherwise(make: Make) -> None:
    r"""As in the attention whose place it takes."""
    assert make().dropout.p == 0.1


def check_another_one_starts_with_other_weights(make: Make) -> None:
    r"""Two in a row, and weights that are carried over make them equal."""
    torch.manual_seed(7)
    one, other = make().double(), make().double()
    given = sequence()
    assert all(
        not torch.equal(a, b)
        for a, b in zip(one.parameters(), other.parameters(), strict=True)
        if a.dim() == 2
    )
    saved = io.BytesIO()
    torch.save(one.state_dict(), saved)
    saved.seek(0)
    other.load_state_dict(torch.load(saved, weights_only=True))
    assert torch.equal(one(**given), other(**given))


def check_weights_are_kept_only_when_asked_for(make: Make) -> None:
    r"""And hold nothing back for gradients."""
    module, given = make().double(), inputs()
    module(**given, mask=with_idle())
    assert module.attn is None
    module.keep_attn = True
    module(**given, mask=with_idle())
    assert module.attn.shape == (SEQ_LEN_Q, SEQ_LEN_K, BATCH_SIZE, HEADS)
    assert not module.attn.requires_grad
    assert not module.attn[~with_idle().unsqueeze(-1).expand_as(module.attn)].any()
    module.keep_attn = False
    module(**given)
    assert module.attn is None


def check_wrong_inputs_are_refused(make: Make) -> None:
    r"""Shapes that don't fit, and masks of numbers."""
    module, given = make().double(), inputs()
    wrong = [
        {**given, "key": given["key"][:, :1]},
        {**given, "value": given["value"][:-1]},
        {**given, "query": given["query"][..., 1:]},
        {**given, "mask": per_batch().double()},
        {**given, "mask": per_batch()[:2]},
        {**given, "mask": per_batch().transpose(0, 1)},
    ]
    refused = []
    for arguments in wrong:
        try:
            module(**arguments)
        except ValueError as error:
            refused.append(str(error))
    assert len(refused) == len(wrong)


SEAM: dict[str, Callable[[Make], None]] = {
    name.removeprefix("check_").replace("_", " "): check
    for name, check in list(globals().items())
    if name.startswith("check_")
}
