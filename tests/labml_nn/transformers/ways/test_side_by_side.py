import pytest
import torch
from torch import nn

from labml_nn.transformers.ways import side_by_side as page
from tests.labml_nn.transformers.seam import D_K, D_MODEL, HEADS, equals
from tests.labml_nn.transformers.ways.oracles import CAUSAL, by_pytorch, sequences
from tests.oracles.compare import difference

NAMES = ["sequence first", "batch first", "folded heads", "one head at a time"]


def ways() -> dict[str, nn.Module]:
    torch.manual_seed(1)
    return {name: way.double() for name, way in page.four_ways(HEADS, D_MODEL).items()}


def from_pytorch() -> float:
    x, found = sequences(), ways()
    weights = found["sequence first"].state_dict()
    layers = [
        {"weight": weights[f"{name}.weight"], "bias": weights[f"{name}.bias"]}
        for name in ("query.linear", "key.linear", "value.linear", "output")
    ]
    return max(
        difference(page.attend(name, way, x), by_pytorch(x, layers, CAUSAL)[0], [x], [x])
        for name, way in found.items()
    )


def from_each_other() -> float:
    found = page.largest_differences(ways(), HEADS, sequences().detach())
    assert list(found) == NAMES
    return torch.stack(list(found.values())).max().item()


ORACLES = {
    "torch.nn.MultiheadAttention": from_pytorch,
    "the other three ways": from_each_other,
}


test_equals_its_oracle_with_gradients = equals(ORACLES)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_difference_of_outputs_is_seen_in_either_direction(sign: int) -> None:
    found, x = ways(), sequences().detach()
    found["folded heads"].register_forward_hook(lambda *call: call[2] + sign * 1e-3)
    assert page.largest_differences(found, HEADS, x)["folded heads"].item() == pytest.approx(1e-3)


def test_a_difference_of_gradients_is_seen_and_is_as_large_in_either_direction() -> None:
    def other_gradients(share: float) -> float:
        # The same output, and gradients that are larger by this share.
        found = ways()
        found["folded heads"].register_forward_hook(
            lambda *call: call[2] + share * (call[2] - call[2].detach())
        )
        largest = page.largest_differences(found, HEADS, sequences().detach())
        return largest["folded heads"].item()

    assert other_gradients(2) > 0.1
    assert other_gradients(-2) == pytest.approx(other_gradients(2))


def test_the_mask_copies_the_scores_of_sequence_first_into_another_order() -> None:
    query = torch.randn(7, 1, HEADS, D_K)
    scores = ways()["sequence first"].get_scores(query, query)
    assert scores.stride(1) == 1
    assert scores.masked_fill(scores > 0, 0.0).stride() == (7 * HEADS, HEADS, HEADS, 1)


def test_only_the_product_leaves_the_scores_of_a_query_side_by_side() -> None:
    query, key = torch.randn(2, 7, 3, 5, 2)
    scores = torch.einsum("ibhd,jbhd->ijbh", query, key)
    hidden = torch.ones(7, 7, dtype=torch.bool).triu(1)[..., None, None]
    assert scores.stride(1) == 1
    assert scores.masked_fill(hidden, 0).is_contiguous()
    assert scores.softmax(dim=1).is_contiguous()
    # Along the last axis it leaves them.
    assert scores.permute(2, 3, 0, 1).softmax(dim=-1).stride(-1) == 1
