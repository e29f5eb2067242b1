import math
from collections import Counter
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode

from labml_nn.transformers import fast_attention
from labml_nn.transformers.fast_attention import (
    bias_of,
    can_look,
    causal_mean,
    is_causal,
    mean_of_values,
)
from tests.oracles import onnx_cases, op_info
from tests.oracles.compare import difference, largest

SHAPE = (2, 3, 7, 5)


def parts(dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(SHAPE, generator=generator).to(dtype).requires_grad_() for _ in range(3)]


MASKS = {
    "none": None,
    "causal": torch.ones(1, 1, 7, 7, dtype=torch.bool).tril(),
    "each": torch.rand(2, 3, 7, 7, generator=torch.Generator().manual_seed(2)) < 0.5,
}
MASKS["each"][..., 0] = True


@pytest.mark.parametrize("mask", list(MASKS))
@pytest.mark.parametrize("kernel", [True, False])
def test_it_is_the_softmax_written_out(mask: str, kernel: bool) -> None:
    query, key, value = parts()
    allowed = MASKS[mask]
    result = mean_of_values(query, key, value, allowed, kernel=kernel)
    (result**2).sum().backward()
    gradients = [t.grad for t in (query, key, value)]

    q, k, v = parts()
    weights = torch.einsum("bhid,bhjd->bhij", q, k).exp()
    weights = weights * (1 if allowed is None else allowed)
    weights = weights / weights.sum(-1, keepdim=True)
    expected = torch.einsum("bhij,bhjd->bhid", weights, v)
    (expected**2).sum().backward()
    torch.testing.assert_close(result, expected)
    for found, t in zip(gradients, (q, k, v), strict=True):
        torch.testing.assert_close(found, t.grad)


@pytest.mark.parametrize("kernel", [True, False])
def test_without_a_mask_the_causal_mean_is_that_with_it(kernel: bool) -> None:
    one, other = parts(), parts()
    found = causal_mean(*one, MASKS["causal"], kernel)
    expected = mean_of_values(*other, MASKS["causal"])
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)
    (found**2).sum().backward()
    (expected**2).sum().backward()
    for a, b in zip(one, other, strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=0, atol=1e-12)


def test_the_causal_mean_gives_the_kernel_no_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    r"""FlashAttention, on a card, takes none."""
    called = []
    monkeypatch.setattr(
        "torch.nn.functional.scaled_dot_product_attention",
        lambda query, key, value, *rest, **how: called.append((rest, how)) or query,
    )
    query, key, value = parts(torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        assert causal_mean(query, key, value, MASKS["causal"]).dtype is torch.bfloat16
    assert called == [((None, 0.0), {"is_causal": True, "scale": 1.0})]


@pytest.mark.parametrize("kernel", [True, False])
def test_weights_are_dropped_out(kernel: bool) -> None:
    query, key, _ = parts(torch.float32)
    # With values of one, the result is the sum of the weights that are left, scaled up.
    ones = torch.ones(SHAPE)
    torch.manual_seed(1)
    sums = mean_of_values(query, key, ones, None, 0.5, kernel).detach()
    assert sums.std() > 0.1
    assert sums.mean().item() == pytest.approx(1, abs=0.3)


@pytest.mark.parametrize("kernel_has_groups", [True, False])
@pytest.mark.parametrize("kernel", [True, False])
def test_a_head_of_keys_serves_a_group_of_neighbouring_queries(
    kernel: bool, kernel_has_groups: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fast_attention, "KERNEL_HAS_GROUPS", kernel_has_groups)
    query, key, value = (part.detach() for part in parts())
    query = torch.cat([query, 2 * query], dim=1)
    allowed = MASKS["causal"]
    result = mean_of_values(query, key, value, allowed, kernel=kernel)
    for head in range(6):
        one = slice(head, head + 1)
        its = slice(head // 2, head // 2 + 1)
        alone = mean_of_values(query[:, one], key[:, its], value[:, its], allowed)
        torch.testing.assert_close(result[:, one], alone)


@pytest.mark.parametrize("kernel_has_groups", [True, False])
@pytest.mark.parametrize("kernel", [True, False])
@pytest.mark.parametrize("groups", [1, 2])
def test_keys_are_written_out_only_for_who_knows_no_groups(
    groups: int, kernel: bool, kernel_has_groups: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    repeat, written = torch.Tensor.repeat_interleave, []

    def remember(keys: torch.Tensor, *how: int, **named: int) -> torch.Tensor:
        written.append(keys)
        return repeat(keys, *how, **named)

    monkeypatch.setattr(torch.Tensor, "repeat_interleave", remember)
    monkeypatch.setattr(fast_attention, "KERNEL_HAS_GROUPS", kernel_has_groups)
    query, key, value = (part.detach() for part in parts())
    mean_of_values(query.repeat(1, groups, 1, 1), key, value, None, kernel=kernel)
    assert len(written) == (2 if groups == 2 and not (kernel and kernel_has_groups) else 0)


def test_the_causal_mean_asks_no_kernel_that_is_not_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = causal_mean(*parts(), MASKS["causal"])
    monkeypatch.delattr(F, "scaled_dot_product_attention")
    found = causal_mean(*parts(), MASKS["causal"], kernel=False)
    torch.testing.assert_close(found, expected)


def test_under_autocast_the_plain_way_has_the_type_of_the_value() -> None:
    query, key, value = parts(torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        result = mean_of_values(query, key, value, MASKS["causal"], kernel=False)
    assert result.dtype is torch.bfloat16


def test_the_bias_is_zero_or_minus_infinity() -> None:
    bias = bias_of(torch.tensor([True, False]), torch.bfloat16)
    assert bias.tolist() == [0.0, -torch.inf]
    assert bias.dtype is torch.bfloat16
    assert bias_of(MASKS["causal"].to("meta"), torch.bfloat16).device.type == "meta"
    assert bias_of(torch.zeros(2), torch.bfloat16).dtype is torch.bfloat16


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_on_a_cpu_the_kernel_computes_with_32_bits_and_gives_back_16(dtype: torch.dtype) -> None:
    query, key, value = (t.detach() for t in parts(dtype))
    found = mean_of_values(query, key, value, MASKS["causal"])
    wide = mean_of_values(query.float(), key.float(), value.float(), MASKS["causal"])
    assert found.dtype is dtype
    assert found.equal(wide.to(dtype))


@pytest.mark.parametrize(
    ("device", "dtype", "expected"),
    [
        ("cpu", torch.bfloat16, torch.float32),
        ("meta", torch.bfloat16, torch.bfloat16),
        ("cpu", torch.float64, torch.float64),
    ],
)
def test_the_kernel_is_the_usual_way_and_gets_what_is_fast_there(
    device: str, dtype: torch.dtype, expected: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, seen = F.scaled_dot_product_attention, []

    def remember(*tensors: torch.Tensor, **named: float) -> torch.Tensor:
        seen.append({t.dtype for t in tensors[:3]})
        return kernel(*tensors, **named)

    monkeypatch.setattr(F, "scaled_dot_product_attention", remember)
    query, key, value = (t.detach().to(device) for t in parts(dtype))
    assert mean_of_values(query, key, value, None).dtype is dtype
    assert seen == [{expected}]
    mean_of_values(query, key, value, None, kernel=False)
    assert len(seen) == 1


def distance_to_loops() -> float:
    r"""From numbers of Python's own, both ways."""
    found = 0.0
    for kernel in (True, False):
        for allowed in MASKS.values():
            query, key, value = (t.detach() for t in parts())
            expected = torch.zeros_like(query)
            seen = torch.ones(7, 7, dtype=torch.bool) if allowed is None else allowed
            seen = seen.expand(2, 3, 7, 7).tolist()
            for b in range(2):
                for h in range(3):
                    q, k, v = (t[b, h].tolist() for t in (query, key, value))
                    for i in range(7):
                        weights = [
                            math.exp(sum(x * y for x, y in zip(q[i], k[j], strict=True)))
                            * seen[b][h][i][j]
                            for j in range(7)
                        ]
                        for d in range(5):
                            mean = sum(w * row[d] for w, row in zip(weights, v, strict=True))
                            expected[b, h, i, d] = mean / sum(weights)
            result = mean_of_values(query, key, value, allowed, kernel=kernel)
            found = max(found, largest([result], [expected]))
    return found


def reason_against(case: onnx_cases.Case) -> str:
    r"""Why a case can't be said with this function, or nothing."""
    reasons = {
        "caps the scores": case.attributes.get("softcap", 0) > 0,
        "wants the scores or the weights": "qk_matmul_output" in case.outputs,
        "a query that may attend to nothing": onnx_cases.sees_nothing(case),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def said(case: onnx_cases.Case, dtype: torch.dtype, kernel: bool) -> torch.Tensor:
    r"""A case of ONNX's. A scale is the query's own business."""
    query, key, value = (t.to(dtype) for t in onnx_cases.heads_first(case))
    query = query * onnx_cases.scale_of(case)
    given = onnx_cases.added(case, dtype)
    return onnx_cases.heads_last(case, mean_of_values(query, key, value, given, kernel=kernel))


ONNX = onnx_cases.cases("Attention")
SAID = [case for case in ONNX if not reason_against(case)]


def distance_to_onnx() -> float:
    r"""From ONNX's reference in numpy, in double precision, both ways."""
    return max(
        largest([said(case, torch.float64, kernel)], [onnx_cases.in_double(case)])
        for case in SAID
        for kernel in (True, False)
    )


# Those that drop nothing and add nothing.
SAMPLES = [one for one in op_info.samples() if not one.dropout_prob and one.mask is None]


def distance_to_samples() -> float:
    r"""Of the plain way from PyTorch's kernel, given PyTorch's own samples, with gradients."""
    found = 0.0
    for one in SAMPLES:
        variables = [t.detach().clone().requires_grad_() for t in (one.query, one.key, one.value)]
        query, key, value = variables
        scaled = query / math.sqrt(query.shape[-1])
        mine = mean_of_values(scaled, key, value, one.allowed(), kernel=False)
        theirs = F.scaled_dot_product_attention(query, key, value, is_causal=one.is_causal)
        found = max(found, difference(mine, theirs, variables, variables))
    return found


ORACLES: dict[str, Callable[[], float]] = {
    "a loop over scalars": distance_to_loops,
    "ONNX Attention": distance_to_onnx,
    "PyTorch's samples of scaled_dot_product_attention": distance_to_samples,
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_is_what_others_compute(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


@pytest.mark.parametrize("kernel", [True, False])
@pytest.mark.parametrize("case", SAID, ids=lambda case: case.name)
def test_it_gives_what_a_case_of_onnx_says(kernel: bool, case: onnx_cases.Case) -> None:
    assert onnx_cases.near(case, "Y", said(case, case.inputs["Q"].dtype, kernel))


def test_all_cases_of_onnx_but_these_can_be_said() -> None:
    assert len(ONNX) == 93
    assert Counter(map(reason_against, ONNX)) == {
        "": 63,
        "caps the scores": 11,
        "wants the scores or the weights": 15,
        "a query that may attend to nothing": 4,
    }


def test_all_samples_of_pytorch_but_these_can_be_said() -> None:
    samples = op_info.samples()
    assert len(SAMPLES) == 12
    assert sum(one.dropout_prob > 0 for one in samples) == 12
    assert sum(one.mask is not None and one.mask.is_floating_point() for one in samples) == 1
    assert len(samples) == 25


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_the_causal_mask_is_recognised_and_no_other(n: int) -> None:
    causal = torch.ones(1, 1, n, n, dtype=torch.bool).tril()
    assert is_causal(causal)
    for place in range(n * n):
        other = causal.clone()
        other.view(-1)[place] ^= True
        assert not is_causal(other)


def test_a_mask_of_another_shape_or_of_numbers_is_not_causal() -> None:
    causal = MASKS["causal"]
    assert not is_causal(causal[:, :, 1:])
    assert not is_causal(causal[:, :, :, :-1])
    assert not is_causal(causal.repeat(2, 1, 1, 1))
    assert not is_causal(causal.repeat(1, 3, 1, 1))
    assert not is_causal(causal.double())


def test_numbers_of_a_mask_are_looked_at_on_a_cpu_and_by_nobody_who_follows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    causal = MASKS["causal"]
    assert can_look(causal)
    assert not can_look(causal.to("meta"))
    assert not is_causal(causal.to("meta"))
    with FakeTensorMode() as mode:
        assert not can_look(mode.from_tensor(causal))
    with monkeypatch.context() as patch:
        patch.setattr(torch.jit, "is_tracing", lambda: True)
        assert not can_look(causal)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert not is_causal(causal)


@pytest.mark.parametrize("mask", list(MASKS))
def test_the_kernel_is_told_of_the_causal_mask_and_given_any_other(
    mask: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel, seen = F.scaled_dot_product_attention, []

    def remember(*tensors: torch.Tensor, is_causal: bool = False, **named: float) -> torch.Tensor:
        seen.append((tensors[3], is_causal))
        return kernel(*tensors, is_causal=is_causal, **named)

    monkeypatch.setattr(F, "scaled_dot_product_attention", remember)
    mean_of_values(*parts(), MASKS[mask])
    assert seen == [{"none": (None, False), "causal": (None, True)}.get(mask, (MASKS[mask], False))]


@pytest.mark.parametrize("kernel", [True, False])
def test_numbers_are_added_to_the_scores(kernel: bool) -> None:
    query, key, value = parts()
    bias = torch.randn(1, 3, 7, 7, dtype=torch.float64, requires_grad=True)
    result = mean_of_values(query, key, value, bias, kernel=kernel)
    found = torch.autograd.grad((result**2).sum(), (query, bias))
    scores = torch.einsum("bhid,bhjd->bhij", query, key) + bias
    expected = torch.einsum("bhij,bhjd->bhid", scores.softmax(dim=-1), value)
    wanted = torch.autograd.grad((expected**2).sum(), (query, bias))
    torch.testing.assert_close(result, expected)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("kernel", [True, False])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_numbers_may_have_another_type_than_the_scores(kernel: bool, dtype: torch.dtype) -> None:
    query, key, value = parts(dtype)
    result = mean_of_values(query, key, value, torch.zeros(1, 1, 7, 7), kernel=kernel)
    assert result.dtype is dtype
    expected = mean_of_values(query, key, value, None, kernel=kernel)
    torch.testing.assert_close(result, expected)
