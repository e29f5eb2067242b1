import pytest
import torch
from torch import Tensor, nn

from labml_nn.transformers.layer_norm import LayerNorm, batch_normalise, normalise
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import difference, largest

TOKEN = torch.tensor([2.0, 4, 9], dtype=torch.float64)
NORMALISED = [-1.02, -0.34, 1.36]


def near(found: Tensor, expected: list[float]) -> None:
    r"""As the page writes it, with two decimals."""
    assert [round(number, 2) + 0.0 for number in found.flatten().tolist()] == expected


def text() -> Tensor:
    return torch.randn(7, 3, 5, dtype=torch.float64, requires_grad=True)


def distance_to_torch() -> float:
    found = []
    for eps in (1e-5, 0.1):
        x, ours, theirs = text(), LayerNorm(5, eps).double(), nn.LayerNorm(5, eps).double()
        for one, other in zip(ours.parameters(), theirs.parameters(), strict=True):
            nn.init.normal_(other)
            one.data.copy_(other.data)
        found += [
            difference(ours(x), theirs(x), [x, *ours.parameters()], [x, *theirs.parameters()])
        ]
    return max(found)


def distance_to_loops() -> float:
    r"""One number after the other."""
    x, ours = text(), LayerNorm(5, 0.1).double()
    nn.init.normal_(ours.gain)
    nn.init.normal_(ours.bias)
    expected = torch.empty_like(x)
    for i in range(7):
        for j in range(3):
            features = x[i, j].tolist()
            mean = sum(features) / 5
            variance = sum((one - mean) ** 2 for one in features) / 5
            for k, one in enumerate(features):
                normal = (one - mean) / (variance + 0.1) ** 0.5
                expected[i, j, k] = ours.gain[k] * normal + ours.bias[k]
    return largest([ours(x)], [expected])


def distance_to_batch_norm() -> float:
    x, theirs = text(), nn.BatchNorm1d(5).double()
    expected = theirs(1e-3 * x.flatten(0, 1)).view(x.shape)
    return difference(batch_normalise(1e-3 * x), expected, [x], [x])


ORACLES = {
    "torch.nn.LayerNorm": distance_to_torch,
    "loops over scalars": distance_to_loops,
    "torch.nn.BatchNorm1d": distance_to_batch_norm,
}
test_it_is_what_others_compute = equals(ORACLES)


def test_the_numbers_of_the_page() -> None:
    near(normalise(TOKEN), NORMALISED)
    module = LayerNorm(3).double()
    assert module.eps == nn.LayerNorm(3).eps
    assert torch.equal(module(TOKEN), normalise(TOKEN))
    module.gain.data.copy_(torch.tensor([2, 1, 0.5]))
    module.bias.data.copy_(torch.tensor([0, 0, 1]))
    near(module(TOKEN), [-2.04, -0.34, 1.68])
    near(normalise(-TOKEN), [1.02, 0.34, -1.36])
    near(normalise(TOKEN / 1000), [-0.69, -0.23, 0.93])
    assert normalise(torch.full((3,), 5.0)).tolist() == [0, 0, 0]
    near(normalise(torch.tensor([[3.0, 7], [9, -1], [4, 4]])), [-1, 1, 1, -1, 0, 0])
    # As the Annotated Transformer has it.
    near((TOKEN - TOKEN.mean()) / (TOKEN.std() + 1e-6), [-0.83, -0.28, 1.11])
    near(torch.tensor([[2.0, 1], [6.8, 3.4]]).softmax(dim=-1)[:, 0], [0.73, 0.97])


@pytest.mark.parametrize(("scale", "shift"), [(1, 100), (10, 0), (0.5, -3)])
def test_shift_and_scale_of_a_token_are_removed(scale: float, shift: float) -> None:
    near(normalise(scale * TOKEN + shift), NORMALISED)
    x = text().detach()
    torch.testing.assert_close(normalise(scale * x + shift, 0), normalise(x, 0))


def test_a_second_token_changes_the_first_in_batch_normalisation_alone() -> None:
    for second, along_row, down_column in (
        ([30.0, 10, 20], [1.22, -1.22, 0], 1.0),
        ([0.0, 0, 0], [0.0, 0, 0], -1.0),
    ):
        tokens = torch.stack([TOKEN, torch.tensor(second).double()]).unsqueeze(1)
        near(normalise(tokens), NORMALISED + along_row)
        near(batch_normalise(tokens), [-down_column] * 3 + [down_column] * 3)


def test_only_a_mean_over_positions_lets_the_past_see_the_future() -> None:
    x = text().detach()[:, 0]
    other = x.clone()
    other[-1] = x[-1] * torch.arange(5)
    both = nn.LayerNorm([7, 5]).double()
    assert torch.equal(normalise(other)[:-1], normalise(x)[:-1])
    assert ((both(other) - both(x))[:-1].abs() > 1e-6).all()
