r"""What every attention must do at `attention(query=, key=, value=, mask=)`, and its oracles.

A test file has two lines for what all have in common:

    test_it_equals_what_others_compute = equals(ORACLES)
    test_at_the_seam = at_the_seam(attention, {"sinks": (HEADS,)})

where `attention` is a `functools.partial` of the class, and the shapes are those of the parameters
that plain attention doesn't have.
"""

import inspect
import io
import math
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from tests.labml_nn.models import sees_only_the_past
from tests.oracles.compare import difference, largest, weighted_sum
from tests.oracles.hugging_face import Angles, by_hugging_face, copied, no_turn
from tests.oracles.loops import Score, by_loops, dot

# The heads are no power of two, and have groups.
SEQ_LEN_Q, SEQ_LEN_K, BATCH_SIZE, HEADS, D_K = 5, 7, 3, 6, 10
D_MODEL = HEADS * D_K

# Makes an attention, with more keyword arguments or not.
Make = partial[nn.Module]


# What goes in


def inputs(
    seq_len_q: int = SEQ_LEN_Q, seq_len_k: int = SEQ_LEN_K, dtype: torch.dtype = torch.float64
) -> dict[str, Tensor]:
    r"""A query, a key and a value, all different, with gradients."""
    generator = torch.Generator().manual_seed(2)
    sizes = (("query", seq_len_q), ("key", seq_len_k), ("value", seq_len_k))
    drawn = ((name, torch.randn(n, BATCH_SIZE, D_MODEL, generator=generator)) for name, n in sizes)
    return {name: x.to(dtype).requires_grad_() for name, x in drawn}


def text(dtype: torch.dtype = torch.float64) -> Tensor:
    r"""A sequence that attends to itself."""
    return inputs(dtype=dtype)["key"]


def attend(module: nn.Module, x: Tensor, mask: Tensor | None = None) -> Tensor:
    r"""Self-attention."""
    return module(query=x, key=x, value=x, mask=mask)


def some_mask(seq_len_q: int = SEQ_LEN_Q, idle: bool = False) -> Tensor:
    r"""Another one for each sequence. Every query sees a key; or two see none."""
    generator = torch.Generator().manual_seed(3)
    mask = torch.rand(seq_len_q, SEQ_LEN_K, BATCH_SIZE, generator=generator) < 0.5
    mask[:, 1] = True
    if idle:
        mask[4, :, 2] = mask[2, :, 1] = False
    return mask


# For self-attention: none, one for all sequences, one for each, and one for all queries.
MASKS = (None, causal_mask(SEQ_LEN_K), some_mask(SEQ_LEN_K, idle=True), some_mask(SEQ_LEN_K)[:1])


def randomised(module: nn.Module) -> nn.Module:
    r"""All parameters random, so that no one or zero of the beginning hides anything."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in module.double().eval().parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.copy_(noise * 1.5 / math.sqrt(parameter.shape[-1]))
    return module


def bias_of_output(module: nn.Module) -> Tensor:
    r"""What is left where the heads give zero."""
    last = getattr(module, "gated_output", module.output)
    return last.weight.new_zeros(D_MODEL) if last.bias is None else last.bias


def shapes(module: nn.Module) -> dict[str, tuple[int, ...]]:
    r"""The names and shapes of the parameters, and of what else is saved."""
    return {name: tuple(t.shape) for name, t in module.state_dict().items()}


def shapes_of_heads(key_features: int = D_MODEL) -> dict[str, tuple[int, ...]]:
    r"""Those of multi-head attention, with fewer features for keys and values or not."""
    rows = {"query": D_MODEL, "key": key_features, "value": key_features}
    found: dict[str, tuple[int, ...]] = {}
    for name, features in rows.items():
        found |= {f"{name}.linear.weight": (features, D_MODEL), f"{name}.linear.bias": (features,)}
    return found | {"output.weight": (D_MODEL, D_MODEL), "output.bias": (D_MODEL,)}


# Oracles


def from_loops(
    module: nn.Module,
    mask: Tensor | None,
    score: Score = dot,
    visible: Tensor | None = None,
    given: Mapping[str, Tensor] | None = None,
) -> float:
    r"""How far output and gradients are from the loops'. `visible`: what the module should see
    under the mask, if not what the mask says.
    """
    given = given or inputs(len(mask) if mask is not None else SEQ_LEN_Q)
    variables = [*given.values(), *module.parameters()]
    expected = by_loops(module, given, mask if visible is None else visible, score)
    return difference(module(**given, mask=mask), expected, variables, variables)


def from_module(mine: nn.Module, mask: Tensor | None, theirs: nn.Module | None = None) -> float:
    r"""From another attention with the same parameters, which is plain unless it is given."""
    theirs = (theirs or MultiHeadAttention(HEADS, D_MODEL)).double().eval()
    theirs.load_state_dict(mine.state_dict())
    x = text()
    my_variables, their_variables = [x, *mine.parameters()], [x, *theirs.parameters()]
    return difference(attend(mine, x, mask), attend(theirs, x, mask), my_variables, their_variables)


def from_kernel(
    module: nn.Module,
    mask: Tensor,
    added: Tensor | None = None,
    changed: Callable[[Tensor], Tensor] = lambda x: x,
    **options: float,
) -> float:
    r"""From PyTorch's kernel between the projections, which gets `changed` queries and keys and,
    if numbers are `added` to the scores, these and minus infinity where the mask hides.
    """
    given, visible = inputs(len(mask)), mask.permute(2, 0, 1).unsqueeze(1)
    parts = zip((module.query, module.key, module.value), given.values(), strict=True)
    q, k, v = (p.linear(x).unflatten(-1, (-1, D_K)).permute(1, 2, 0, 3) for p, x in parts)
    seen = visible if added is None else added.masked_fill(~visible, -torch.inf)
    mean = F.scaled_dot_product_attention(changed(q), changed(k), v, seen, **options)
    expected = module.output(mean.permute(2, 0, 1, 3).flatten(start_dim=2))
    variables = [*given.values(), *module.query.linear.parameters(), *module.output.parameters()]
    return difference(module(**given, mask=mask), expected, variables, variables)


def joined(ours: nn.Module, theirs: nn.MultiheadAttention) -> nn.MultiheadAttention:
    r"""Our parameters in PyTorch's attention, which has the three projections in one."""
    parts = [getattr(part, "linear", part) for part in (ours.query, ours.key, ours.value)]
    theirs.double().in_proj_weight.data.copy_(torch.cat([part.weight for part in parts]))
    theirs.in_proj_bias.data.copy_(torch.cat([part.bias for part in parts]))
    theirs.out_proj.load_state_dict(ours.output.state_dict())
    return theirs


def torch_layer(ours: nn.Module, theirs: nn.TransformerEncoderLayer) -> nn.TransformerEncoderLayer:
    r"""Our parameters in PyTorch's layer."""
    joined(ours.self_attn, theirs.double().self_attn)
    names = {"norm_self_attn": "norm1", "norm_ff": "norm2"}
    names |= {"feed_forward.layer1": "linear1", "feed_forward.layer2": "linear2"}
    copied(ours, theirs, names)
    return theirs


# What the configurations of most of their models call our sizes.
CONFIG = {
    "hidden_size": D_MODEL,
    "num_attention_heads": HEADS,
    "num_key_value_heads": HEADS,
    "head_dim": D_K,
    "attention_bias": True,
    "attn_implementation": "eager",
}
PARTS = {f"{name}.linear": f"{name[0]}_proj" for name in ("query", "key", "value")}
PARTS |= {"output": "o_proj"}


def from_hugging_face(
    ours: nn.Module,
    theirs: nn.Module,
    names: Mapping[str, str] = PARTS,
    angles: Angles | None = None,
    mask: Tensor | None = None,
) -> float:
    r"""How far it is from theirs with our parameters, from our name of a part to theirs. With
    `mask`, numbers for them to add, ours makes its own.
    """
    copied(ours, theirs.double(), names)
    x = text()
    mine = [p for name in names for p in ours.get_submodule(name).parameters()]
    others = [p for name in names.values() for p in theirs.get_submodule(name).parameters()]
    found = attend(ours, x, causal_mask(len(x)) if mask is None else None)
    expected = by_hugging_face(theirs, x, angles or no_turn(D_K), mask)
    return difference(found, expected, [x, *mine], [x, *others])


def equals(oracles: Mapping[str, Callable[[], float]], bound: float = 1e-10) -> Callable:
    r"""The test that a page is near each of its oracles."""

    @pytest.mark.parametrize("oracle", oracles)
    def test(oracle: str) -> None:
        assert oracles[oracle]() < bound

    return test


def refuses(make: Callable[..., object], sentence: str, cases: Sequence[dict]) -> Callable:
    r"""The test that each of these arguments is refused, in a sentence in which `{name=}` stands
    for an argument with its name.
    """

    @pytest.mark.parametrize("case", cases, ids=str)
    def test(case: dict) -> None:
        named = sentence
        for name, value in case.items():
            named = named.replace(f"{{{name}=}}", f"{name}={value}")
        with pytest.raises(ValueError, match=named):
            make(**case)

    return test


# What all of them do


def check_no_future(make: Make) -> None:
    r"""Under the causal mask."""
    module, mask = randomised(make()), causal_mask(SEQ_LEN_K)
    sees_only_the_past(lambda x: attend(module, x, mask), text().detach(), lambda x: x + 1)


def check_hidden_keys(make: Make) -> None:
    r"""What a key that nobody sees says does not matter; nor that it is there."""
    module, x, mask = randomised(make()), text().detach(), some_mask(SEQ_LEN_K)
    mask[:, 5:] = False
    other = torch.cat([x[:5], x[5:] - 9])
    expected = attend(module, x, mask)[:5]
    assert largest([attend(module, other, mask)[:5]], [expected]) < 1e-12
    alone = attend(module, x[:5, 1:2], mask[:5, :5, 1:2])
    assert largest([alone], [expected[:, 1:2]]) < 1e-12


def check_hidden_keys_of_another(make: Make) -> None:
    r"""The same where keys come from another sequence than queries, a longer one."""
    module, given, mask = randomised(make()), inputs(), some_mask()
    mask[:, 5:] = False
    expected = module(**given, mask=mask)
    changed = {name: torch.cat([x[:5], x[5:] - 9]) for name, x in given.items()}
    assert largest([module(**changed, mask=mask)], [expected]) < 1e-12


def check_idle(
    make: Make, types: tuple[torch.dtype, ...] = (torch.float64, torch.bfloat16, torch.float16)
) -> None:
    r"""A query that sees nothing gets zero from every head, and gradients are finite."""
    for dtype in types:
        module, x = randomised(make()).to(dtype), text(dtype)
        output = attend(module, x, some_mask(SEQ_LEN_K, idle=True))
        assert output.dtype is dtype
        assert torch.equal(output[4, 2], bias_of_output(module))
        assert torch.equal(output[2, 1], bias_of_output(module))
        found = torch.autograd.grad(weighted_sum(output), [x, *module.parameters()])
        assert all(one.isfinite().all() for one in found)
        assert found[0][2, 0].any()


def check_weights(make: Make) -> None:
    r"""Those of the last call are kept without a gradient, if they are kept; zero if hidden."""
    module, mask = randomised(make()), some_mask(SEQ_LEN_K, idle=True)
    attend(module, text(), mask)
    if module.attn is not None:
        assert module.attn.shape == (SEQ_LEN_K, SEQ_LEN_K, BATCH_SIZE, HEADS)
        assert not module.attn.requires_grad
        assert not module.attn[~mask].any()


def check_saved(make: Make) -> None:
    r"""What is saved is all that is needed; in 32 bits the result is about the same."""
    module, other, saved = randomised(make()), make().double().eval(), io.BytesIO()
    torch.save(module.state_dict(), saved)
    saved.seek(0)
    other.load_state_dict(torch.load(saved, weights_only=True))
    found, expected = (attend(one, text(), causal_mask(SEQ_LEN_K)) for one in (other, module))
    assert torch.equal(found, expected)
    single = attend(other.float(), text(torch.float32), causal_mask(SEQ_LEN_K))
    assert single.dtype is torch.float32
    assert largest([single.double()], [expected]) < 1e-4


def check_dropout(make: Make) -> None:
    r"""If all weights are dropped, only the bias remains; none is dropped outside training."""
    module, x = randomised(make()), text()
    plain = attend(module, x, causal_mask(SEQ_LEN_K))
    module.dropout.p = 1.0
    assert torch.equal(attend(module, x, causal_mask(SEQ_LEN_K)), plain)
    dropped = attend(module.train(), x, causal_mask(SEQ_LEN_K))
    assert torch.equal(dropped, bias_of_output(module).expand_as(dropped))
    assert make(dropout_prob=0.3).dropout.p == 0.3
    assert inspect.signature(make.func).parameters["dropout_prob"].default == 0.1


def check_device(make: Make) -> None:
    r"""What a call makes is made on the device of its input."""
    module, x = make().to("meta"), text(torch.float32).to("meta")
    assert attend(module, x, some_mask(SEQ_LEN_K).to("meta")).device.type == "meta"


def check_parameters(make: Make, more: Mapping[str, tuple[int, ...]]) -> None:
    r"""Those of plain attention and these, in the same order; no bias if none is wanted."""
    names = [name.replace("gated_output", "output") for name in make().state_dict()]
    found = dict(zip(names, shapes(make()).values(), strict=True))
    assert found == shapes_of_heads() | dict(more)
    assert [name for name in names if name in shapes_of_heads()] == list(shapes_of_heads())
    bare = {name.replace("gated_output", "output") for name in make(bias=False).state_dict()}
    assert not [name for name in bare & shapes_of_heads().keys() if name.endswith("bias")]
    assert inspect.signature(make.func).parameters["bias"].default is True


HIDDEN = (check_hidden_keys, check_hidden_keys_of_another)
CHECKS = [
    check_no_future,
    *HIDDEN,
    check_idle,
    check_weights,
    check_saved,
    check_dropout,
    check_device,
]


def at_the_seam(
    make: Make,
    more: Mapping[str, tuple[int, ...]] | None = None,
    but: tuple[Callable[[Make], None], ...] = (),
    and_also: tuple[Callable[[Make], None], ...] = (),
) -> Callable:
    r"""The test of all checks but these; of the parameters, if it is said which there are more."""
    checks = [check for check in (*CHECKS, *and_also) if check not in but]
    checks += [] if more is None else [partial(check_parameters, more=more)]

    @pytest.mark.parametrize("check", checks)
    def test(check: Callable[[Make], None]) -> None:
        # What the modules of one test share, a table of angles, is not shared with other tests.
        check(deepcopy(make))

    return test
