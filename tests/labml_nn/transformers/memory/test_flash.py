r"""Tiles against PyTorch's kernel, with gradients, and what they hold in memory."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given as for_any
from hypothesis import settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from labml_nn.transformers.memory import flash
from labml_nn.transformers.memory.flash import (
    FlashAttention,
    Tiled,
    blocks,
    in_transformer,
    tiled_attention,
    tiles_of,
)
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask

BATCH_SIZE, HEADS, D_K = 3, 2, 5
D_MODEL = HEADS * D_K


def vectors(
    seq_len_q: int = 11, seq_len_k: int = 13, d_v: int = D_K, dtype: torch.dtype = torch.float64
) -> list[Tensor]:
    r"""A query, a key and a value with gradients."""
    generator = torch.Generator().manual_seed(1)
    return [
        torch.randn(BATCH_SIZE, HEADS, length, width, generator=generator)
        .to(dtype)
        .requires_grad_()
        for length, width in ((seq_len_q, D_K), (seq_len_k, D_K), (seq_len_k, d_v))
    ]


def any_mask(*shape: int) -> Tensor:
    r"""Half of it is visible, and all of the second key."""
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(2)) < 0.5
    mask[..., 1] = True
    return mask


def with_gradients(output: Tensor, variables: list[Tensor]) -> list[Tensor]:
    r"""The output, and gradients of a sum in which each of its numbers counts differently."""
    generator = torch.Generator().manual_seed(4)
    weights = torch.randn(output.shape, generator=generator).to(output.dtype)
    return [output, *torch.autograd.grad((output * weights).sum(), variables)]


def furthest(mine: list[Tensor], theirs: list[Tensor]) -> float:
    r"""The largest absolute difference between two lists of tensors."""
    found = [(a - b).detach().abs().max() for a, b in zip(mine, theirs, strict=True)]
    return max(one.nan_to_num(nan=torch.inf).item() for one in found)


def from_kernel(size: int, causal: bool, masked: bool, lengths: tuple[int, int], d_v: int) -> float:
    r"""PyTorch's causal mask begins at the top left, so it is given as a mask."""
    parts = vectors(*lengths, d_v)
    allowed = any_mask(BATCH_SIZE, 1, *lengths) if masked else None
    mine = tiled_attention(*parts, allowed, causal, size)
    lower = causal_mask(lengths[1])[-lengths[0] :, :, 0]
    both = {(True, True): lambda: lower & allowed, (True, False): lambda: lower}
    mask = both.get((causal, masked), lambda: allowed)()
    theirs = F.scaled_dot_product_attention(*parts, mask, scale=1.0)
    return furthest(with_gradients(mine, parts), with_gradients(theirs, parts))


def from_pytorch(size: int) -> float:
    r"""The module, with the same weights."""
    torch.manual_seed(5)
    module = FlashAttention(HEADS, D_MODEL, 0.0, size=size).double()
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
    query = torch.randn(7, BATCH_SIZE, D_MODEL).double().requires_grad_()
    key, value = torch.randn(2, 11, BATCH_SIZE, D_MODEL).double().requires_grad_()
    mask = any_mask(7, 11)
    mine = module(query=query, key=key, value=value, mask=mask[..., None])
    theirs, _ = other(query, key, value, attn_mask=~mask, need_weights=False)
    found = with_gradients(
        mine,
        [query, *(part.weight for part in parts), *(part.bias for part in parts)]
        + list(module.output.parameters()),
    )
    joined = [*found[:2], torch.cat(found[2:5]), torch.cat(found[5:8]), *found[8:]]
    named = [query, other.in_proj_weight, other.in_proj_bias, *other.out_proj.parameters()]
    return furthest(joined, with_gradients(theirs, named))


def from_loops() -> float:
    r"""One number at a time, the last query at the last key."""
    parts = vectors(5, 7)
    mine = tiled_attention(*parts, causal=True, size=3).detach()
    query, key, value = (part.tolist() for part in parts)
    worst = 0.0
    for b in range(BATCH_SIZE):
        for h in range(HEADS):
            for i in range(5):
                q, seen = query[b][h][i], range(i + 3)
                exps = [
                    math.exp(sum(x * y for x, y in zip(q, key[b][h][j], strict=True))) for j in seen
                ]
                for d in range(D_K):
                    mean = sum(exps[j] * value[b][h][j][d] for j in seen) / sum(exps)
                    worst = max(worst, abs(mean - mine[b, h, i, d].item()))
    return worst


ORACLES: dict[str, Callable[[], float]] = {
    "F.scaled_dot_product_attention": lambda: max(
        from_kernel(size, causal, masked, lengths, d_v)
        for size in (1, 4, 11, 64)
        for causal in (False, True)
        for masked, d_v in ((False, D_K), (True, 7))
        for lengths in ((11, 13), (11, 11))
    ),
    "torch.nn.MultiheadAttention": lambda: max(from_pytorch(size) for size in (1, 3, 64)),
    "a loop over scalars": from_loops,
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


@settings(max_examples=50)
@for_any(
    seq_len_q=st.integers(1, 7),
    seq_len_k=st.integers(1, 7),
    size=st.integers(1, 8),
    causal=st.booleans(),
    visible=st.floats(0, 1),
    seed=st.integers(0, 9),
)
def test_any_lengths_and_any_mask_give_zero_for_idle_queries_and_else_the_same(
    seq_len_q: int, seq_len_k: int, size: int, causal: bool, visible: float, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    allowed = torch.rand(1, HEADS, seq_len_q, seq_len_k, generator=generator) < visible
    parts = vectors(seq_len_q, seq_len_k)
    mine = with_gradients(tiled_attention(*parts, allowed, causal, size), parts)
    lower = torch.ones(seq_len_q, seq_len_k, dtype=torch.bool).tril(seq_len_k - seq_len_q)
    mask = (allowed & lower) if causal else allowed
    idle = ~mask.any(dim=-1, keepdim=True)
    theirs = F.scaled_dot_product_attention(*parts, mask | idle, scale=1.0).masked_fill(idle, 0.0)
    assert furthest(mine, with_gradients(theirs, parts)) < 1e-12
    assert not mine[0][idle.expand_as(mine[0])].any()


@pytest.mark.parametrize("causal", [False, True])
def test_gradients_are_those_of_finite_differences(causal: bool) -> None:
    allowed = any_mask(BATCH_SIZE, 1, 5, 7)
    allowed[0, 0, 2] = False

    def attend(*parts: Tensor) -> Tensor:
        return tiled_attention(*parts, allowed, causal, 3)

    assert torch.autograd.gradcheck(attend, tuple(vectors(5, 7)), fast_mode=True)


def test_gradients_of_gradients_are_refused() -> None:
    parts = vectors()
    (gradient,) = torch.autograd.grad(
        tiled_attention(*parts).square().sum(), parts[0], create_graph=True
    )
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def test_blocks_cover_everything_once() -> None:
    assert blocks(7, 3) == [slice(0, 3), slice(3, 6), slice(6, 7)]
    assert blocks(6, 3) == [slice(0, 3), slice(3, 6)]
    assert blocks(2, 3) == [slice(0, 2)]


@pytest.mark.parametrize(("shift", "expected"), [(0, [1, 2, 3, 4]), (4, [2, 3, 4, 5])])
def test_tiles_of_the_future_are_skipped(shift: int, expected: list[int]) -> None:
    query, key, _ = vectors(16, 16 + shift)
    visited = [
        [columns.start for columns, _ in tiles_of(rows, query, key, None, True, 4)]
        for rows in blocks(16, 4)
    ]
    assert visited == [[4 * column for column in range(number)] for number in expected]
    every = tiles_of(slice(0, 4), query, key, None, False, 4)
    assert len(list(every)) == (16 + shift) // 4


def test_no_output_depends_on_a_later_position() -> None:
    parts = vectors(11, 11)
    output = tiled_attention(*parts, causal=True, size=4)
    for position in range(11):
        for part in parts[1:]:
            (gradient,) = torch.autograd.grad(output[:, :, position].sum(), part, retain_graph=True)
            depends = gradient.abs().sum(dim=(0, 1, 3)) > 0
            assert not depends[position + 1 :].any()
            assert position == 0 or depends[: position + 1].all()


def test_scores_that_would_overflow_do_no_harm() -> None:
    query, key, value = vectors()
    huge = query * 1e3
    assert not (huge @ key.mT).exp().isfinite().all()
    parts = [part.detach().requires_grad_() for part in (huge, key, value)]
    found = with_gradients(tiled_attention(*parts, size=4), parts)
    expected = F.scaled_dot_product_attention(*parts, scale=1.0)
    assert furthest(found, with_gradients(expected, parts)) < 1e-8


def test_no_tensor_on_the_way_is_larger_than_what_goes_in() -> None:
    sizes = []

    def remember(
        mode: Any, function: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        result = function(*args, **(kwargs or {}))
        sizes.extend(t.numel() for t in torch.utils._pytree.tree_leaves(result))
        return result

    watch = type("Watch", (TorchDispatchMode,), {"__torch_dispatch__": remember})
    parts = vectors(64, 64)
    with watch():
        tiled_attention(*parts, causal=True, size=8).sum().backward()
    assert max(sizes) == parts[0].numel() < BATCH_SIZE * HEADS * 64 * 64


def test_what_is_kept_for_the_way_back_grows_with_the_length() -> None:
    kept = []

    def remember(tensor: Tensor) -> Tensor:
        kept.append(tensor.numel())
        return tensor

    parts = vectors(64, 64)
    with torch.autograd.graph.saved_tensors_hooks(remember, lambda tensor: tensor):
        tiled_attention(*parts, causal=True, size=8)
    n_queries = BATCH_SIZE * HEADS * 64
    assert sum(kept) == 4 * n_queries * D_K + n_queries


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_each_type_stays(dtype: torch.dtype) -> None:
    parts = vectors(dtype=dtype)
    found = with_gradients(tiled_attention(*parts, size=4), parts)
    assert {t.dtype for t in found} == {dtype}
    wide = [part.detach().double() for part in parts]
    exact = F.scaled_dot_product_attention(*wide, scale=1.0)
    assert (found[0] - exact).abs().max() < 4 * torch.finfo(dtype).eps
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(tiled_attention(*parts, size=4), found[0])


def test_a_block_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1, got 0"):
        tiled_attention(*vectors(), size=0)


@pytest.mark.parametrize("options", [{"size": None}, {"size": 3}], ids=str)
def test_the_module_is_multi_head_attention(options: dict[str, int | None]) -> None:
    torch.manual_seed(6)
    module = FlashAttention(HEADS, D_MODEL, 0.0, **options).double()
    plain = MultiHeadAttention(HEADS, D_MODEL, 0.0).double()
    plain.load_state_dict(module.state_dict())
    x = torch.randn(7, BATCH_SIZE, D_MODEL).double()
    mask = causal_mask(7).repeat(1, 1, BATCH_SIZE)
    mask[2, :, 1] = False
    found = module(query=x, key=x, value=x, mask=mask)
    assert (found - plain(query=x, key=x, value=x, mask=mask)).abs().max() < 1e-12
    assert torch.equal(found[2, 1], module.output.bias)
    assert module.attn is None
    module.keep_attn = plain.keep_attn = True
    module(query=x, key=x, value=x), plain(query=x, key=x, value=x)
    assert (module.attn - plain.attn).abs().max() < 1e-12


def test_the_module_takes_tiles_unless_weights_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    def remember(*parts: Any) -> Tensor:
        sizes.append(parts[-1])
        return tiled_attention(*parts)

    monkeypatch.setattr(flash, "tiled_attention", remember)
    x = torch.randn(7, BATCH_SIZE, D_MODEL)
    module = FlashAttention(HEADS, D_MODEL, 0.5, size=3)
    dropped = module(query=x, key=x, value=x)
    assert sizes == []
    assert not torch.equal(dropped, module(query=x, key=x, value=x))
    module.eval()(query=x, key=x, value=x)
    FlashAttention(HEADS, D_MODEL, 0.0, size=5)(query=x, key=x, value=x)
    FlashAttention(HEADS, D_MODEL, 0.0)(query=x, key=x, value=x)
    assert sizes == [3, 5]


def test_a_causal_mask_is_recognised_and_its_tiles_are_skipped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = []

    def remember(*parts: Any) -> Tensor:
        seen.append((parts[3] is None, parts[4]))
        return tiled_attention(*parts)

    monkeypatch.setattr(flash, "tiled_attention", remember)
    module, x = FlashAttention(HEADS, D_MODEL, 0.0, size=3), torch.randn(7, BATCH_SIZE, D_MODEL)
    module(query=x, key=x, value=x)
    module(query=x, key=x, value=x, mask=causal_mask(7))
    module(query=x, key=x, value=x, mask=any_mask(7, 7)[..., None])
    assert seen == [(True, False), (True, True), (False, False)]


def test_in_a_transformer_there_are_two_by_two_tiles() -> None:
    make = in_transformer(d_model=D_MODEL, heads=HEADS, seq_len=7, dropout_prob=0.5)["self_attn"]
    one, other = make(), make()
    assert (one.size, one.dropout.p, one.query.heads) == (4, 0.5, HEADS)
    assert not torch.equal(one.key.linear.weight, other.key.linear.weight)
    shapes = {name: tuple(p.shape) for name, p in one.state_dict().items()}
    assert shapes == {name: tuple(p.shape) for name, p in plain_weights().items()}


def plain_weights() -> dict[str, Tensor]:
    r"""Those of the attention that everybody knows."""
    return MultiHeadAttention(HEADS, D_MODEL).state_dict()


def test_unless_it_is_said_there_are_no_tiles_and_blocks_of_64() -> None:
    made = FlashAttention(HEADS, D_MODEL)
    assert (made.size, made.dropout.p) == (None, 0.1)
    assert made.output.bias is not None
    parts = vectors(65, 129)
    assert torch.equal(tiled_attention(*parts), tiled_attention(*parts, None, False, 64))


def test_without_a_bias_there_is_none() -> None:
    assert all("bias" not in n for n in FlashAttention(HEADS, D_MODEL, 0.0, False).state_dict())


def test_the_example_is_causal() -> None:
    torch.manual_seed(7)
    mean, output = flash.example()
    assert mean.shape == (3, 5, 7, 2)
    assert output.shape == (7, 3, 10)


@pytest.mark.parametrize("causal", [False, True])
def test_numbers_are_never_read_on_the_way(causal: bool) -> None:
    r"""A tensor on the meta device has none: reading one is an error, as it is a wait on a GPU."""
    parts = [part.to("meta") for part in vectors()]
    allowed = torch.ones(1, 1, 11, 13, dtype=torch.bool, device="meta")
    output = Tiled.apply(*parts, allowed, causal, 4)
    assert output.shape == parts[0].shape
    assert torch.autograd.grad(output.sum(), parts[0])[0].device.type == "meta"


# PyTorch's compiler makes an instance of the function, against which PyTorch warns.
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
def test_compiled_it_gives_the_same_with_its_gradients() -> None:
    module, x = (
        FlashAttention(HEADS, D_MODEL, 0.0, size=3).double(),
        torch.randn(5, 3, D_MODEL).double(),
    )
    x.requires_grad_()
    variables = [x, *module.parameters()]
    compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
    mask = causal_mask(len(x))
    mine = with_gradients(compiled(query=x, key=x, value=x, mask=mask), variables)
    plain = with_gradients(module(query=x, key=x, value=x, mask=mask), variables)
    assert furthest(mine, plain) < 1e-12
