r"""Mamba is the mixer of transformers, and its scan is the sum of all that was written."""

import pytest
import torch
from transformers import MambaConfig
from transformers.models.mamba.modeling_mamba import MambaMixer

from labml_nn.state_spaces.mamba import Mamba, selective_scan
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import difference, largest

# Of theirs, by the names of ours.
NAMES = {
    "project.weight": "in_proj.weight",
    "filter_bias": "conv1d.bias",
    "select.weight": "x_proj.weight",
    "steps.weight": "dt_proj.weight",
    "steps.bias": "dt_proj.bias",
    "log_rates": "A_log",
    "skip": "D",
    "output.weight": "out_proj.weight",
}


def test_it_is_the_layer_of_transformers() -> None:
    # It computes rates and steps in single precision.
    theirs = MambaMixer(
        MambaConfig(
            hidden_size=34, intermediate_size=68, state_size=5, conv_kernel=3, time_step_rank=3,
            num_hidden_layers=1,
        ),
        layer_idx=0,
    )  # fmt: skip
    with torch.no_grad():
        for parameter in (theirs.A_log, theirs.D, theirs.conv1d.bias):
            parameter.normal_()
    mine = Mamba(34, 68, n_state=5, width=3)
    state = theirs.state_dict()
    weights = {name: state[other] for name, other in NAMES.items()}
    mine.load_state_dict(weights | {"filter": state["conv1d.weight"][:, 0]})
    x, y = (torch.randn(7, 2, 34).requires_grad_() for _ in range(2))
    y.data = x.data.clone()
    assert difference(mine(x), theirs(y.transpose(0, 1)).transpose(0, 1), [x], [y]) < 1e-5


def from_sums() -> float:
    r"""How far the scan is from the sum of all that was written, less what has decayed."""
    torch.manual_seed(1)
    # Seven tokens, two texts, three channels and five numbers for each.
    x, step, rates = torch.randn(7, 2, 3), torch.rand(7, 2, 3), -0.1 - torch.rand(3, 5)
    x, step, rates = x.double(), step.double(), rates.double()
    write, read = torch.randn(2, 7, 2, 5, dtype=torch.float64)
    expected = torch.zeros_like(x)
    for i in range(7):
        for j in range(i + 1):
            left = (step[j + 1 : i + 1].sum(0).unsqueeze(-1) * rates).exp()
            weights = (left * write[j].unsqueeze(1) * read[i].unsqueeze(1)).sum(-1)
            expected[i] += weights * step[j] * x[j]
    return largest([selective_scan(x, step, rates, write, read)[0]], [expected])


ORACLES = {"sums over all earlier tokens": from_sums}
test_the_scan_is_the_sum_of_all_that_was_written_less_what_has_decayed = equals(ORACLES)


def test_no_position_sees_a_later_one() -> None:
    layer, x = Mamba(5, 11, 3), torch.randn(7, 2, 5)
    changed = x.clone()
    changed[4:] += 1
    assert torch.equal(layer(x)[:4], layer(changed)[:4])
    assert (layer(x)[4:] != layer(changed)[4:]).any(dim=-1).all()


def test_a_new_layer_has_sixteen_numbers_for_each_channel_and_steps_in_their_range() -> None:
    torch.manual_seed(1)
    layer = Mamba(33, 2111)
    assert layer.sizes == [3, 16, 16]
    assert layer.filter.shape == (2111, 4)
    assert layer.filter.abs().max() <= 0.5 and layer.filter_bias.abs().max() <= 0.5
    assert layer.filter.min() < -0.4 and layer.filter_bias.min() < -0.4
    steps = torch.nn.functional.softplus(layer.steps.bias)
    assert 0.000999 < steps.min() < 0.00102 and 0.098 < steps.max() < 0.100001
    assert steps.median().item() == pytest.approx(0.01, rel=0.5)
    assert torch.equal(layer.log_rates.exp().round(), torch.arange(1.0, 17).expand(2111, 16))
    assert layer.skip.tolist() == [1] * 2111
    biases = {name for name, _ in layer.named_parameters() if "bias" in name}
    assert biases == {"filter_bias", "steps.bias"}
