r"""The function spelled out, against PyTorch's and against loops."""

import math
from collections import Counter
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from labml_nn.transformers.memory import sdpa
from labml_nn.transformers.memory.sdpa import each_backend, spelled_out, what_a_new_token_sees
from tests.oracles import onnx_cases, op_info

BATCH_SIZE, HEADS, SEQ_LEN_Q, SEQ_LEN_K, D_K, D_V = 3, 6, 7, 11, 5, 13


def vectors(
    key_heads: int = HEADS, d_v: int = D_V, dtype: torch.dtype = torch.float64
) -> list[Tensor]:
    r"""A query, a key and a value with gradients."""
    generator = torch.Generator().manual_seed(1)
    shapes = (
        (BATCH_SIZE, HEADS, SEQ_LEN_Q, D_K),
        (BATCH_SIZE, key_heads, SEQ_LEN_K, D_K),
        (BATCH_SIZE, key_heads, SEQ_LEN_K, d_v),
    )
    return [torch.randn(s, generator=generator).to(dtype).requires_grad_() for s in shapes]


def visible() -> Tensor:
    r"""One query sees nothing."""
    shape = (BATCH_SIZE, 1, SEQ_LEN_Q, SEQ_LEN_K)
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(2)) < 0.5
    mask[..., 1] = True
    mask[1, 0, 2] = False
    return mask


def added() -> Tensor:
    r"""Any numbers, some of them minus infinity, and one row of nothing else."""
    numbers = torch.randn(HEADS, SEQ_LEN_Q, SEQ_LEN_K, generator=torch.Generator().manual_seed(3))
    return numbers.double().masked_fill(~visible()[1], -math.inf)


OPTIONS: dict[str, dict[str, object]] = {
    "nothing": {},
    "a mask": {"attn_mask": visible()},
    "a mask of numbers": {"attn_mask": added()},
    "causal": {"is_causal": True},
    "a scale": {"scale": 0.3},
    "all": {"attn_mask": visible(), "scale": -2.0},
}


def with_gradients(output: Tensor, variables: list[Tensor]) -> list[Tensor]:
    r"""The output, and gradients of a sum in which each of its numbers counts differently."""
    generator = torch.Generator().manual_seed(4)
    weights = torch.randn(output.shape, generator=generator).to(output.dtype)
    return [output, *torch.autograd.grad((output * weights).sum(), variables)]


def furthest(mine: list[Tensor], theirs: list[Tensor]) -> float:
    r"""The largest absolute difference between two lists of tensors."""
    found = [(a - b).detach().abs().max() for a, b in zip(mine, theirs, strict=True)]
    return max(one.nan_to_num(nan=torch.inf).item() for one in found)


def from_pytorch(options: dict[str, object], key_heads: int) -> float:
    parts, grouped = vectors(key_heads), key_heads != HEADS
    mine = with_gradients(spelled_out(*parts, **options, enable_gqa=grouped), parts)
    theirs = F.scaled_dot_product_attention(*parts, **options, enable_gqa=grouped)
    return furthest(mine, with_gradients(theirs, parts))


def from_loops() -> float:
    r"""One number at a time, with a mask that is added."""
    parts = vectors()
    mine = spelled_out(*parts, added()).detach()
    query, key, value, bias = (part.tolist() for part in [*parts, added()])
    worst = 0.0
    for b in range(BATCH_SIZE):
        for h in range(HEADS):
            for i in range(SEQ_LEN_Q):
                exps = [
                    math.exp(
                        sum(x * y for x, y in zip(query[b][h][i], key[b][h][j], strict=True))
                        / math.sqrt(D_K)
                        + bias[h][i][j]
                    )
                    for j in range(SEQ_LEN_K)
                ]
                for d in range(D_V):
                    total = sum(e * value[b][h][j][d] for j, e in enumerate(exps))
                    mean = total / (sum(exps) or 1.0)
                    worst = max(worst, abs(mean - mine[b, h, i, d].item()))
    return worst


def reason_against(case: onnx_cases.Case) -> str:
    r"""Why a case of ONNX's can't be said with this function, or nothing."""
    reasons = {
        "caps the scores": case.attributes.get("softcap", 0) > 0,
        "wants the scores or the weights": "qk_matmul_output" in case.outputs,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def said(case: onnx_cases.Case, dtype: torch.dtype) -> Tensor:
    r"""A case of ONNX's."""
    parts = [part.to(dtype) for part in onnx_cases.heads_first(case)]
    result = spelled_out(
        *parts,
        onnx_cases.added(case, dtype),
        scale=onnx_cases.scale_of(case),
        enable_gqa=onnx_cases.grouped(case),
    )
    return onnx_cases.heads_last(case, result)


ONNX = onnx_cases.cases("Attention")
SAID = [case for case in ONNX if not reason_against(case)]


def from_samples() -> float:
    r"""PyTorch's own samples, but for those that drop weights."""
    worst = 0.0
    for one in op_info.samples():
        parts = [t.detach().clone().requires_grad_() for t in (one.query, one.key, one.value)]
        more = {"attn_mask": one.mask, "is_causal": one.is_causal}
        mine = with_gradients(spelled_out(*parts, **more), parts)
        theirs = with_gradients(F.scaled_dot_product_attention(*parts, **more), parts)
        worst = max(worst, furthest(mine, theirs))
    return worst


ORACLES: dict[str, Callable[[], float]] = {
    "F.scaled_dot_product_attention": lambda: max(
        from_pytorch(options, key_heads)
        for options in OPTIONS.values()
        for key_heads in (6, 3, 2, 1)
    ),
    "a loop over scalars": from_loops,
    "ONNX Attention": lambda: max(
        furthest([said(case, torch.float64)], [onnx_cases.in_double(case)]) for case in SAID
    ),
    "PyTorch's samples of scaled_dot_product_attention": from_samples,
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


@pytest.mark.parametrize("case", SAID, ids=lambda case: case.name)
def test_it_gives_what_a_case_of_onnx_says(case: onnx_cases.Case) -> None:
    assert onnx_cases.near(case, "Y", said(case, case.inputs["Q"].dtype))


def test_all_cases_of_onnx_but_these_can_be_said() -> None:
    assert len(ONNX) == 93
    assert Counter(map(reason_against, ONNX)) == {
        "": 67,
        "caps the scores": 11,
        "wants the scores or the weights": 15,
    }


def test_a_query_that_sees_nothing_gets_zero_and_gives_finite_gradients() -> None:
    parts = vectors()
    output, *found = with_gradients(spelled_out(*parts, visible()), parts)
    assert not output[1, :, 2].any()
    assert output[0, :, 2].any()
    assert not found[0][1, :, 2].any()
    assert all(gradient.isfinite().all() for gradient in found)


def test_fewer_heads_of_keys_have_to_be_asked_for() -> None:
    for function in (spelled_out, F.scaled_dot_product_attention):
        with pytest.raises(RuntimeError, match="must match"):
            function(*vectors(2))


def test_two_masks_are_refused_as_pytorch_refuses_them() -> None:
    with pytest.raises(ValueError, match=r"got one of shape \[3, 1, 7, 11\]"):
        spelled_out(*vectors(), visible(), is_causal=True)
    with pytest.raises(RuntimeError, match="is_causal"):
        F.scaled_dot_product_attention(*vectors(), visible(), is_causal=True)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_each_type_stays(dtype: torch.dtype) -> None:
    parts = vectors(dtype=dtype)
    output = spelled_out(*parts, visible())
    assert output.dtype == dtype
    exact = spelled_out(*(part.double() for part in parts), visible())
    assert (output - exact).abs().max() < 8 * torch.finfo(dtype).eps


def test_causal_with_a_cache_sees_the_first_key_alone() -> None:
    assert what_a_new_token_sees(5).tolist() == [1, 0, 0, 0, 0]


@pytest.mark.parametrize("is_causal", [False, True])
def test_the_backends_of_a_cpu_agree(is_causal: bool) -> None:
    parts = [part.detach() for part in vectors(d_v=D_K)]
    found = each_backend(*parts, is_causal)
    assert list(found) == ["MATH", "FLASH_ATTENTION"]
    expected = spelled_out(*parts, is_causal=is_causal)
    assert all((result - expected).abs().max() < 1e-12 for result in found.values())


def test_backends_see_the_future_unless_it_is_said() -> None:
    parts = [part.detach() for part in vectors(d_v=D_K)]
    assert (each_backend(*parts)["MATH"] - spelled_out(*parts)).abs().max() < 1e-12


def test_values_of_another_width_leave_the_tiles() -> None:
    assert list(each_backend(*(part.detach() for part in vectors()))) == ["MATH"]


def test_the_example_agrees_with_itself() -> None:
    torch.manual_seed(7)
    mean, found, seen = sdpa.example()
    assert all((result - mean).abs().max() < 1e-5 for result in found.values())
    assert seen.shape == (13,)


def test_numbers_are_never_read_on_the_way() -> None:
    r"""A tensor on the meta device has none: reading one is an error, as it is a wait on a GPU."""
    parts = [part.to("meta") for part in vectors()]
    assert spelled_out(*parts, is_causal=True).shape == (BATCH_SIZE, HEADS, SEQ_LEN_Q, D_V)
    assert spelled_out(*parts, visible().to("meta")).device.type == "meta"
