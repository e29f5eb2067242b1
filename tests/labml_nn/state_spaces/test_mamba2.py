r"""Mamba-2 is the mixer of transformers, and a product gives what the scan gives."""

from functools import partial
from inspect import signature

import torch
from torch import Tensor
from transformers import Mamba2Config
from transformers.models.mamba2.modeling_mamba2 import Mamba2Mixer

from labml_nn.state_spaces.mamba import selective_scan
from labml_nn.state_spaces.mamba2 import Mamba2, decays, scan_in_chunks
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import difference, largest

NAMES = {
    "project.weight": "in_proj.weight",
    "filter_bias": "conv1d.bias",
    "step_bias": "dt_bias",
    "log_rates": "A_log",
    "skip": "D",
    "norm.gain": "norm.weight",
    "output.weight": "out_proj.weight",
}


def test_it_is_the_layer_of_transformers() -> None:
    # It computes in single precision, in chunks of three.
    theirs = Mamba2Mixer(
        Mamba2Config(
            hidden_size=14, expand=3, num_heads=2, head_dim=21, state_size=5, conv_kernel=3,
            n_groups=1, chunk_size=3, layer_norm_epsilon=1e-6, num_hidden_layers=1,
        ),
        layer_idx=0,
    )  # fmt: skip
    with torch.no_grad():
        for parameter in (theirs.A_log, theirs.D, theirs.conv1d.bias, theirs.norm.weight):
            parameter.normal_()
    mine = Mamba2(2, 14, 21, n_state=5, width=3)
    state = theirs.state_dict()
    weights = {name: state[other] for name, other in NAMES.items()}
    mine.load_state_dict(weights | {"filter": state["conv1d.weight"][:, 0]})
    x, y = (torch.randn(7, 2, 14).requires_grad_() for _ in range(2))
    y.data = x.data.clone()
    assert difference(mine(x), theirs(y.transpose(0, 1)).transpose(0, 1), [x], [y]) < 1e-5


def inputs() -> tuple[Tensor, ...]:
    r"""Of 17 tokens, two texts, three heads of seven channels, and five numbers for each."""
    x, log_kept = torch.randn(17, 2, 3, 7), -torch.rand(17, 2, 3)
    write, read = torch.randn(2, 17, 2, 5)
    return x.double(), log_kept.double(), write.double(), read.double()


def from_scan(chunk_len: int) -> float:
    r"""How far the products are from the scan of Mamba, in results and in the state."""
    torch.manual_seed(1)
    x, log_kept, write, read = inputs()
    # The scan of Mamba multiplies inputs and rates by steps, so the steps are divided out.
    step = -log_kept.unsqueeze(-1).expand_as(x).flatten(2)
    rates = -torch.ones(21, 5, dtype=torch.float64)
    expected, state = selective_scan(x.flatten(2) / step, step, rates, write, read)
    y, own = scan_in_chunks(x, log_kept, write, read, chunk_len)
    return largest([y, own], [expected.view_as(y), state.view_as(own)])


ORACLES = {f"the scan, in chunks of {n}": partial(from_scan, n) for n in (1, 5, 17, 64)}
test_the_product_gives_what_the_scan_gives = equals(ORACLES)


def test_chunks_have_64_tokens_if_nothing_is_said() -> None:
    assert signature(scan_in_chunks).parameters["chunk_len"].default == 64


def test_much_that_is_forgotten_does_not_overflow() -> None:
    left = decays(torch.full((5, 1, 1), -1000.0))
    assert left[:, :, 0, 0].tolist() == torch.eye(5).tolist()


def test_a_new_layer_has_a_rate_and_a_step_for_each_head() -> None:
    torch.manual_seed(1)
    layer = Mamba2(2111, 5, 3)
    assert layer.filtered_sizes == [6333, 16, 16]
    assert layer.filter.shape == (6365, 4)
    assert layer.filter.abs().max() <= 0.5 and layer.filter_bias.abs().max() <= 0.5
    assert layer.filter.min() < -0.4 and layer.filter_bias.min() < -0.4
    steps = torch.nn.functional.softplus(layer.step_bias)
    assert 0.000999 < steps.min() < 0.00102 and 0.098 < steps.max() < 0.100001
    assert largest([layer.log_rates.exp()], [torch.arange(1.0, 2112)]) < 1e-2
    assert layer.skip.tolist() == [1] * 2111
    biases = {name for name, _ in layer.named_parameters() if "bias" in name}
    assert biases == {"filter_bias", "step_bias"}
