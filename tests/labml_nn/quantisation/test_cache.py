r"""A cache in few bits gives what PyTorch's rounding gives, and rounds nothing twice."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from labml_nn.quantisation import cache as page
from labml_nn.training.data import prepare, tiny_shakespeare
from labml_nn.training.trained import load
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from labml_nn.transformers.kv_cache import CachedTransformer
from tests.oracles.compare import largest

SIZES = (11, 24, 3, 2, 7, 41)


def errors(x: Tensor, dim: int, n_bits: int) -> Tensor:
    r"""How far the nearest of all values is that there are."""
    low, high = x.amin(dim, keepdim=True), x.amax(dim, keepdim=True)
    step = ((high - low) / (2**n_bits - 1)).bfloat16().float()
    values = low.bfloat16().float() + torch.arange(2**n_bits).view(-1, 1, 1, 1, 1) * step
    return (x - values).abs().amin(dim=0)


@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("n_bits", [2, 4, 8])
def test_numbers_are_rounded_between_the_lowest_and_the_highest(dim: int, n_bits: int) -> None:
    x = torch.randn(7, 2, 3, 8) + 5 * torch.randn(8)
    whole, low, step = page.quantise_range(x, n_bits, dim)
    assert (whole.dtype, low.dtype, step.dtype) == (torch.uint8, torch.bfloat16, torch.bfloat16)
    assert low.shape == step.shape == x.amin(dim, keepdim=True).shape
    off = (page.restore_range(whole, low, step) - x).abs()
    assert largest([off], [errors(x, dim, n_bits)]) < 1e-5


def test_equal_numbers_stay_as_they_are() -> None:
    x = torch.full((5, 2), 3.5)
    whole, low, step = page.quantise_range(x, 2, 0)
    assert torch.equal(page.restore_range(whole, low, step), x)
    assert step.tolist() == [[1, 1]]


def projection(dim: int, n_bits: int = 4) -> page.QuantisedProjection:
    r"""Three heads of eight features, in groups of five."""
    return page.QuantisedProjection(24, 3, 8, True, n_bits, dim, 5).requires_grad_(False)


@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("pieces", [[1] * 17, [17], [4, 1, 11, 1]])
def test_complete_groups_are_rounded_and_the_rest_is_not(dim: int, pieces: list[int]) -> None:
    project, x = projection(dim), torch.randn(17, 2, 24)
    exact = project.linear(x).view(17, 2, 3, 8)
    for part in x.split(pieces):
        seen = project(part)
    # The newest keys are seen as they are, even if they complete a group.
    n_before = (17 - pieces[-1]) // 5 * 5
    expected = torch.cat([errors(one, dim, 4) for one in exact[:15].split(5)])
    assert largest([seen[n_before:]], [exact[n_before:]]) < 1e-6
    assert largest([(seen - exact)[:n_before].abs()], [expected[:n_before]]) < 1e-5
    assert largest([project.cache[15:]], [exact[15:]]) < 1e-6
    assert largest([(project.cache - exact)[:15].abs()], [expected]) < 1e-5


@pytest.mark.parametrize(("n_bits", "n_bytes"), [(2, 2), (4, 4), (8, 8)])
def test_eight_features_take_so_many_bytes(n_bits: int, n_bytes: int) -> None:
    project = projection(0, n_bits)
    project(torch.randn(11, 2, 24))
    assert [packed.shape for packed, _, _ in project.groups] == 2 * [(5, 2, 3, n_bytes)]
    assert {packed.dtype for packed, _, _ in project.groups} == {torch.uint8}
    assert project.recent.shape == (1, 2, 3, 8)
    # Nothing of what was rounded is kept in 32 bits.
    assert project.recent.untyped_storage().nbytes() == project.recent.nbytes


def test_a_cache_that_goes_back_keeps_the_complete_groups_as_they_were() -> None:
    project = projection(0)
    project(torch.randn(17, 2, 24))
    before, groups = project.cache, list(project.groups)
    project.cache = before[:12]
    assert torch.equal(project.cache, before[:12])
    assert project.groups == groups[:2]


def test_the_model_is_the_exact_one_until_a_group_is_complete() -> None:
    exact, model = CachedTransformer(*SIZES), page.QuantisedTransformer(*SIZES)
    model.load_state_dict(exact.state_dict())
    tokens = torch.randint(11, (40, 2))
    off = []
    for length in range(1, 41):
        off.append(largest([model(tokens[:length])], [exact(tokens[:length])]))
    # The call that completes 32 keys still sees them as they were.
    assert max(off[:32]) < 1e-6
    assert 1e-6 < min(off[32:])
    assert max(off) < 0.1
    first = [layer.self_attn for layer in model.encoder.layers]
    made = [(p.dim, p.n_bits, p.group_len) for one in first for p in (one.key, one.value)]
    assert made == 2 * [(0, 4, 32), (-1, 4, 32)]
    model.clear()
    assert first[0].key.cache is None


@torch.no_grad()
def test_stripes_of_the_keys_come_from_positions_in_the_classic_model(repository: Path) -> None:
    tokenizer, _, text = prepare(tiny_shakespeare(), 64)
    weights = (repository / "results/weights/classic.safetensors").read_bytes()
    inputs, targets = (text[at : 64 * 64 + at].view(64, 64).t() for at in (0, 1))

    def two_bits(x: Tensor, dim: int) -> Tensor:
        return page.restore_range(*page.quantise_range(x, 2, dim))

    def less_mean(x: Tensor) -> Tensor:
        mean = x.mean(dim=(0, 1), keepdim=True)
        return two_bits(x - mean, -1) + mean

    def loss(rounded: Callable[[Tensor], Tensor]) -> float:
        model = AutoregressiveTransformer(len(tokenizer)).eval()
        load(model, weights)
        for layer in model.encoder.layers:
            layer.self_attn.key.register_forward_hook(lambda _, given, keys: rounded(keys))
        return F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten()).item()

    # Groups of 32 positions. One mean for both groups isn't enough, a mean for each is.
    by_channel = loss(lambda keys: torch.cat([two_bits(one, 0) for one in keys.split(32)]))
    assert loss(lambda keys: two_bits(keys, -1)) > loss(less_mean) > by_channel + 0.02
    of_each = loss(lambda keys: torch.cat([less_mean(one) for one in keys.split(32)]))
    assert of_each < by_channel + 0.005
