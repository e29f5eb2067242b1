r"""FlexAttention's own forward pass against ours, and the gradients that it hasn't got."""

from collections.abc import Callable
from unittest.mock import patch

import pytest
import torch
from torch import Tensor, nn
from torch.nn.attention.flex_attention import flex_attention
from torch.torch_version import TorchVersion

from labml_nn.transformers.memory import flex
from labml_nn.transformers.memory.flex import (
    FlexAttention,
    ForwardByFlex,
    and_given,
    by_flex,
    in_transformer,
)
from labml_nn.transformers.memory.score_functions import (
    MaskFunction,
    ScoreFunction,
    add_distance,
    by_hand,
    cap_softly,
    see_a_window,
    see_everything,
    see_the_past,
)
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask

BATCH_SIZE, HEADS, SEQ_LEN_Q, SEQ_LEN_K, D_K = 3, 2, 7, 11, 5
D_MODEL = HEADS * D_K

# Without it, each new pair of functions is traced for a second, with the same numbers in the end.
UNTRACED = "torch.nn.attention.flex_attention._FLEX_ATTENTION_DISABLE_COMPILE_DEBUG"

each_way = pytest.mark.parametrize("way", ["by hand", "flex"])


@pytest.fixture(autouse=True)
def untraced(monkeypatch: pytest.MonkeyPatch) -> None:
    r"""FlexAttention calls the functions as they are."""
    monkeypatch.setattr(UNTRACED, True)


def vectors() -> list[Tensor]:
    r"""A query, a key and a value with gradients."""
    generator = torch.Generator().manual_seed(1)
    return [
        torch.randn(BATCH_SIZE, HEADS, n, D_K, generator=generator).double().requires_grad_()
        for n in (SEQ_LEN_Q, SEQ_LEN_K, SEQ_LEN_K)
    ]


def of_each_text_and_head(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    r"""A mask that is another one for each text and each head, and hides all from one query."""
    return (i + 2 * j + b + h) % 3 > 0


def of_each_head(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    r"""A mask that is another one for each head, with a query that sees nothing."""
    return (i + j > 8) & (j + h != 5) & (i != 3)


CASES: list[tuple[ScoreFunction | None, MaskFunction | None]] = [
    (None, None),
    (cap_softly(0.7), see_the_past),
    (add_distance(HEADS), see_a_window(3)),
    (None, of_each_text_and_head),
    (cap_softly(0.7), of_each_head),
]


def with_gradients(output: Tensor, variables: list[Tensor]) -> list[Tensor]:
    r"""The output, and gradients of a sum in which each of its numbers counts differently."""
    generator = torch.Generator().manual_seed(4)
    weights = torch.randn(output.shape, generator=generator).to(output.dtype)
    return [output, *torch.autograd.grad((output * weights).sum(), variables)]


def furthest(mine: list[Tensor], theirs: list[Tensor]) -> float:
    r"""The largest absolute difference between two lists of tensors."""
    found = [(a - b).detach().abs().max() for a, b in zip(mine, theirs, strict=True)]
    return max(one.nan_to_num(nan=torch.inf).item() for one in found)


def from_flex() -> float:
    r"""FlexAttention computes, and we compute by hand; it has no gradients on a CPU."""
    parts = [part.detach() for part in vectors()]
    with patch(UNTRACED, True):
        return max(
            furthest([by_flex(*parts, *case, False)], [by_hand(*parts, *case)[0]]) for case in CASES
        )


def from_pytorch() -> float:
    r"""The module, forward by FlexAttention and backward by hand, with the same weights."""
    torch.manual_seed(5)
    module = FlexAttention(HEADS, D_MODEL, 0.0, mask_mod=see_a_window(3), way="flex").double()
    other = nn.MultiheadAttention(D_MODEL, HEADS).double()
    parts = [module.query.linear, module.key.linear, module.value.linear]
    other.load_state_dict(
        {
            "in_proj_weight": torch.cat([part.weight for part in parts]),
            "in_proj_bias": torch.cat([part.bias for part in parts]),
            "out_proj.weight": module.output.weight,
            "out_proj.bias": module.output.bias,
        }
    )
    x = torch.randn(SEQ_LEN_K, BATCH_SIZE, D_MODEL).double().requires_grad_()
    i = torch.arange(SEQ_LEN_K)
    hidden = (i[:, None] < i) | (i[:, None] - i > 2)
    theirs, _ = other(x, x, x, attn_mask=hidden, need_weights=False)
    with patch(UNTRACED, True):
        mine = module(query=x, key=x, value=x, mask=causal_mask(SEQ_LEN_K))
    found = with_gradients(
        mine,
        [x, *(part.weight for part in parts), *(part.bias for part in parts)]
        + list(module.output.parameters()),
    )
    joined = [*found[:2], torch.cat(found[2:5]), torch.cat(found[5:8]), *found[8:]]
    named = [x, other.in_proj_weight, other.in_proj_bias, *other.out_proj.parameters()]
    return furthest(joined, with_gradients(theirs, named))


ORACLES: dict[str, Callable[[], float]] = {
    "FlexAttention, not compiled": from_flex,
    "torch.nn.MultiheadAttention": from_pytorch,
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


@pytest.mark.parametrize("case", CASES, ids=range(len(CASES)))
def test_gradients_on_a_cpu_are_those_by_hand(
    case: tuple[ScoreFunction | None, MaskFunction | None],
) -> None:
    parts = vectors()
    mine = with_gradients(ForwardByFlex.apply(*parts, *case, False), parts)
    assert furthest(mine, with_gradients(by_hand(*parts, *case)[0], parts)) < 1e-12


def test_what_wants_no_gradient_is_left_alone() -> None:
    query, key, value = vectors()
    value = value.detach()
    ForwardByFlex.apply(query, key, value, None, None, False).sum().backward()
    assert query.grad is not None
    assert not value.requires_grad


def test_without_a_fallback_pytorch_refuses() -> None:
    with pytest.raises(NotImplementedError, match="backward on CPU"):
        by_flex(*vectors(), None, None, False)


def test_gradients_of_gradients_are_refused() -> None:
    parts = vectors()
    output = ForwardByFlex.apply(*parts, None, None, False)
    (gradient,) = torch.autograd.grad(output.square().sum(), parts[0], create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def test_before_2_5_there_is_no_flex_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__version__", TorchVersion("2.4.1"))
    with pytest.raises(RuntimeError, match="came with PyTorch 2.5, and this is 2.4.1"):
        by_flex(*vectors(), None, None, False)
    x = torch.randn(SEQ_LEN_K, BATCH_SIZE, D_MODEL)
    module = FlexAttention(HEADS, D_MODEL, 0.0, mask_mod=see_the_past)
    assert module(query=x, key=x, value=x).shape == x.shape


def test_what_is_asked_to_be_compiled_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    r"""Compiling takes a minute, so it is only asked for."""
    seen = []

    def remember(function: Callable) -> Callable:
        seen.append(function)
        return function

    monkeypatch.setattr(torch, "compile", remember)
    x = torch.randn(SEQ_LEN_K, BATCH_SIZE, D_MODEL)
    FlexAttention(HEADS, D_MODEL, 0.0, way="flex")(query=x, key=x, value=x)
    assert seen == []
    FlexAttention(HEADS, D_MODEL, 0.0, way="compiled")(query=x, key=x, value=x)
    assert seen == [flex_attention]


@pytest.mark.parametrize(
    ("mask_mod", "shape"),
    [(see_the_past, (1, 1)), (of_each_head, (1, 2)), (of_each_text_and_head, (3, 2))],
    ids=["one", "each head", "each text and head"],
)
def test_there_are_as_many_block_masks_as_needed(
    mask_mod: MaskFunction, shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []

    def remember(
        query: Tensor, *parts: Tensor, score_mod: None, block_mask: object, scale: float
    ) -> Tensor:
        seen.append((block_mask.shape, scale))
        return query

    monkeypatch.setattr("torch.nn.attention.flex_attention.flex_attention", remember)
    by_flex(*vectors(), None, mask_mod, False)
    assert seen == [((*shape, SEQ_LEN_Q, SEQ_LEN_K), 1.0)]


@each_way
def test_a_mask_that_is_given_hides_as_well(way: str) -> None:
    torch.manual_seed(6)
    module = FlexAttention(HEADS, D_MODEL, 0.0, mask_mod=see_the_past, way=way).double()
    plain = MultiHeadAttention(HEADS, D_MODEL, 0.0).double()
    plain.load_state_dict(module.state_dict())
    x = torch.randn(SEQ_LEN_K, BATCH_SIZE, D_MODEL).double().requires_grad_()
    for shape in ((11, 11, 3), (1, 11, 3), (11, 11, 1), (1, 11, 1)):
        mask = torch.rand(shape) < 0.6
        mask[:, :4, :1] = False
        variables = [x, *module.parameters()]
        found = with_gradients(module(query=x, key=x, value=x, mask=mask), variables)
        expected = plain(query=x, key=x, value=x, mask=mask & causal_mask(SEQ_LEN_K))
        theirs = with_gradients(expected, [x, *plain.parameters()])
        assert furthest(found, theirs) < 1e-12
        assert torch.equal(found[0][2, 0], module.output.bias)
        assert module.attn is None


def test_a_mask_becomes_a_function_that_looks_into_it() -> None:
    mask = torch.rand(SEQ_LEN_Q, SEQ_LEN_K, BATCH_SIZE, 1) < 0.5
    place = [torch.tensor(n) for n in (2, 1, 4, 9)]
    assert and_given(mask, SEQ_LEN_Q, see_everything)(*place) == mask[4, 9, 2, 0]
    row = and_given(mask[4:5, :, 2:], SEQ_LEN_Q, see_everything)
    assert [bool(row(*place[:3], torch.tensor(j))) for j in range(11)] == mask[4, :, 2, 0].tolist()
    assert not row(*place).shape
    for given in (torch.ones_like(mask), torch.ones_like(mask[:, :, :1])):
        assert not and_given(given, SEQ_LEN_Q, see_the_past)(*place)
        asked = and_given(given, SEQ_LEN_Q, lambda *place: torch.stack(place))(*place)
        assert asked.tolist() == [1 & n for n in (2, 1, 4, 9)]


def test_weights_are_dropped_and_kept_by_hand() -> None:
    x = torch.randn(SEQ_LEN_K, BATCH_SIZE, D_MODEL)
    module = FlexAttention(HEADS, D_MODEL, 0.5, mask_mod=see_the_past, way="flex")
    assert not torch.equal(module(query=x, key=x, value=x), module(query=x, key=x, value=x))
    module.eval()
    expected = module(query=x, key=x, value=x)
    module.keep_attn = True
    kept = module(query=x, key=x, value=x)
    assert (kept - expected).abs().max() < 1e-6
    assert module.attn.shape == (SEQ_LEN_K, SEQ_LEN_K, BATCH_SIZE, HEADS)
    assert (module.attn.sum(dim=1) - 1).abs().max() < 1e-6
    assert not module.attn[causal_mask(SEQ_LEN_K).logical_not()[..., 0]].any()
    assert not module.attn.requires_grad
    module.keep_attn = False
    module(query=x, key=x, value=x)
    assert module.attn is None


@each_way
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_each_type_stays(way: str, dtype: torch.dtype) -> None:
    torch.manual_seed(7)
    options = {"score_mod": add_distance(HEADS), "mask_mod": see_a_window(4), "way": way}
    module = FlexAttention(HEADS, D_MODEL, 0.0, **options).to(dtype)
    wide = FlexAttention(HEADS, D_MODEL, 0.0, **options).double()
    wide.load_state_dict({name: weight.double() for name, weight in module.state_dict().items()})
    x = torch.randn(SEQ_LEN_K, BATCH_SIZE, D_MODEL).to(dtype)
    output = module(query=x, key=x, value=x)
    assert output.dtype == dtype
    exact = wide(query=x.double(), key=x.double(), value=x.double())
    assert (output - exact).abs().max() < 8 * torch.finfo(dtype).eps


@each_way
def test_no_output_depends_on_what_is_hidden_or_on_another_text(way: str) -> None:
    torch.manual_seed(8)
    module = FlexAttention(HEADS, D_MODEL, 0.0, mask_mod=see_a_window(3), way=way).double()
    x = torch.randn(SEQ_LEN_K, BATCH_SIZE, D_MODEL).double().requires_grad_()
    output = module(query=x, key=x, value=x)
    for position in range(SEQ_LEN_K):
        (gradient,) = torch.autograd.grad(output[position, 1].sum(), x, retain_graph=True)
        depends = gradient.abs().sum(dim=2) > 0
        assert depends[:, 1].tolist() == [0 <= position - j < 3 for j in range(SEQ_LEN_K)]
        assert not depends[:, [0, 2]].any()


def test_unless_it_is_said_it_is_plain_attention_by_hand() -> None:
    made = FlexAttention(HEADS, D_MODEL)
    assert (made.score_mod, made.mask_mod, made.way) == (None, None, "by hand")
    assert made.dropout.p == 0.1
    assert made.output.bias is not None


def test_nothing_is_dropped_in_evaluation() -> None:
    x = torch.randn(SEQ_LEN_K, BATCH_SIZE, D_MODEL)
    module, plain = FlexAttention(HEADS, D_MODEL, 0.5), FlexAttention(HEADS, D_MODEL, 0.0)
    plain.load_state_dict(module.state_dict())
    assert torch.equal(module.eval()(query=x, key=x, value=x), plain(query=x, key=x, value=x))


def test_beside_cpus_flex_attention_has_its_own_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def remember(query: Tensor, *more: object) -> Tensor:
        seen.append(torch.is_grad_enabled())
        return query

    monkeypatch.setattr(flex, "by_flex", remember)
    for device in ("cpu", "meta"):
        x = torch.randn(SEQ_LEN_K, BATCH_SIZE, D_MODEL, device=device)
        FlexAttention(HEADS, D_MODEL, 0.0, way="flex").to(device)(query=x, key=x, value=x)
    assert seen == [False, True]


def test_a_way_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="got 'fast'$"):
        FlexAttention(HEADS, D_MODEL, way="fast")


def test_the_parameters_are_those_of_multi_head_attention() -> None:
    for bias in (True, False):
        shapes = [
            {name: p.shape for name, p in kind(HEADS, D_MODEL, 0.0, bias).state_dict().items()}
            for kind in (FlexAttention, MultiHeadAttention)
        ]
        assert shapes[0] == shapes[1]


def test_in_a_transformer_distances_take_the_place_of_positions() -> None:
    parts = in_transformer(d_model=D_MODEL, heads=HEADS, seq_len=7, dropout_prob=0.5)
    one, other = parts["self_attn"](), parts["self_attn"]()
    assert parts["positions"] is nn.Identity
    assert not torch.equal(one.key.linear.weight, other.key.linear.weight)
    assert (one.dropout.p, one.mask_mod, one.way) == (0.5, None, "by hand")
    place = [torch.tensor(n) for n in (0, 1, 5, 2)]
    expected = add_distance(HEADS)(torch.zeros(()), *place)
    assert one.score_mod(torch.zeros(()), *place) == expected != 0


def test_the_example_sees_what_two_masks_leave() -> None:
    torch.manual_seed(9)
    output, weights = flex.example()
    assert output.shape == (7, 3, 10)
    assert not weights[0, 1:].any()


def test_compiled_it_gives_the_same_with_its_gradients() -> None:
    module, x = (
        FlexAttention(HEADS, D_MODEL, 0.0, score_mod=add_distance(HEADS)).double(),
        torch.randn(5, 3, D_MODEL).double(),
    )
    x.requires_grad_()
    variables = [x, *module.parameters()]
    compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
    mask = causal_mask(len(x))
    mine = with_gradients(compiled(query=x, key=x, value=x, mask=mask), variables)
    plain = with_gradients(module(query=x, key=x, value=x, mask=mask), variables)
    assert furthest(mine, plain) < 1e-12
