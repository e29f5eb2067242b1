import pytest
import torch

from labml_nn.transformers import fast_attention
from labml_nn.transformers.fast_attention import bias_of, mean_of_values

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


def test_under_autocast_the_plain_way_has_the_type_of_the_value() -> None:
    query, key, value = parts(torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        result = mean_of_values(query, key, value, MASKS["causal"], kernel=False)
    assert result.dtype is torch.bfloat16


def test_the_bias_is_zero_or_minus_infinity() -> None:
    bias = bias_of(torch.tensor([True, False]), torch.bfloat16)
    assert bias.tolist() == [0.0, -torch.inf]
    assert bias.dtype is torch.bfloat16


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
