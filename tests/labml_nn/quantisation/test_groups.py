r"""
Weights in groups are those of torchao, whole numbers are packed without loss, and a layer in four
bits computes what its rounded weights do.
"""

import copy
from itertools import product
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torchao.quantization import quant_primitives

from labml_nn.quantisation import groups as page
from labml_nn.training.data import prepare, tiny_shakespeare
from labml_nn.training.trained import load
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import largest


def from_torchao(n_bits: int, group_len: int) -> float:
    r"""How far rounded weights are from those of torchao; the whole numbers are the same."""
    # It multiplies by a reciprocal: a weight halfway between two numbers may go the other way.
    torch.manual_seed(1)
    weights, most = torch.randn(11, 35), 2 ** (n_bits - 1) - 1
    scale, zero = quant_primitives.choose_qparams_affine(
        weights, quant_primitives.MappingType.SYMMETRIC, (1, group_len), torch.int8, -most, most,
        scale_dtype=torch.bfloat16,
    )  # fmt: skip
    # It multiplies by the reciprocal of the scale, which would have 16 bits, too.
    given = (1, group_len), scale.float(), zero, torch.int8, -most, most
    expected = quant_primitives.quantize_affine(weights, *given)
    whole, own = page.quantise(weights, n_bits, group_len)
    assert torch.equal(own, scale.view(own.shape))
    assert torch.equal(whole, expected)
    assert whole.dtype == torch.int8
    theirs = quant_primitives.dequantize_affine(expected, *given, output_dtype=torch.float32)
    return largest([page.restore(whole, own)], [theirs])


CASES = list(product([2, 3, 4, 8], [7, 35]))
ORACLES = {"torchao": lambda: max(from_torchao(*case) for case in CASES)}
test_it_rounds_as_torchao_does = equals(ORACLES)


def test_no_weight_is_off_by_more_than_half_a_scale() -> None:
    weights = torch.randn(5, 21, dtype=torch.float64) * torch.logspace(-30, 30, 5)[:, None]
    for n_bits in range(2, 9):
        whole, scale = page.quantise(weights, n_bits, 7)
        assert whole.abs().max() == 2 ** (n_bits - 1) - 1
        errors = (weights - page.restore(whole, scale)).view(5, 3, 7).abs().amax(2)
        # The largest may be off by what the scale's 16 bits leave open.
        assert (errors <= scale.double() * (0.5 + 1e-6)).all()
    assert scale.dtype == torch.bfloat16


def test_zeros_stay_zero_and_a_group_that_does_not_fit_is_refused() -> None:
    whole, scale = page.quantise(torch.zeros(3, 10), 4, 5)
    assert (whole.tolist(), scale.tolist()) == ([[0] * 10] * 3, [[1, 1]] * 3)
    with pytest.raises(ValueError, match="group_len must divide 35 columns, got 4"):
        page.quantise(torch.zeros(3, 35), 4, 4)


@pytest.mark.parametrize("n_bits", [1, 2, 4, 8])
def test_numbers_are_packed_into_the_bytes_that_they_need(n_bits: int) -> None:
    whole = torch.randint(2**n_bits, (3, 5, 16))
    packed = page.pack(whole, n_bits)
    assert (packed.shape, packed.dtype) == ((3, 5, 2 * n_bits), torch.uint8)
    assert torch.equal(page.unpack(packed, n_bits), whole)


def test_the_first_number_has_the_lowest_bits() -> None:
    assert page.pack(torch.tensor([1, 2, 0, 3]), 2).tolist() == [1 + 2 * 4 + 3 * 64]
    assert page.pack(torch.tensor([7, 15]), 4).tolist() == [7 + 15 * 16]


@pytest.mark.parametrize(("n_bits", "n"), [(3, 8), (4, 7)])
def test_numbers_that_do_not_fill_bytes_are_refused(n_bits: int, n: int) -> None:
    with pytest.raises(ValueError, match=f"{n} numbers of {n_bits} bits don't fill whole bytes"):
        page.pack(torch.zeros(2, n), n_bits)


def test_a_model_in_four_bits_computes_what_its_rounded_weights_do() -> None:
    model = nn.Sequential(nn.Linear(14, 6, bias=False), nn.Sequential(nn.ReLU(), nn.Linear(6, 5)))
    four_bits = copy.deepcopy(model)
    page.to_four_bits(four_bits, 2)
    page.round_weights(model, 4, 2)
    x = torch.randn(3, 14)
    assert torch.equal(four_bits(x), model(x))
    shapes = {name: (tuple(one.shape), one.dtype) for name, one in four_bits.state_dict().items()}
    assert shapes == {
        "0.packed": ((6, 7), torch.uint8), "0.scale": ((6, 7), torch.bfloat16),
        "1.1.packed": ((5, 3), torch.uint8), "1.1.scale": ((5, 3), torch.bfloat16),
        "1.1.bias": ((5,), torch.float32),
    }  # fmt: skip


def test_a_group_of_0_is_a_row() -> None:
    model = nn.Sequential(nn.Linear(7, 5))
    expected = page.restore(*page.quantise(model[0].weight.detach(), 3, 7))
    page.round_weights(model, 3)
    assert torch.equal(model[0].weight, expected)


def test_the_usual_groups_take_as_many_bytes_as_the_page_says() -> None:
    model = nn.Sequential(nn.Linear(128, 512))
    page.to_four_bits(model)
    layer = model[0]
    assert not layer.scale.requires_grad
    assert (layer.packed.nbytes, layer.scale.nbytes) == (32_768, 4_096)


@torch.no_grad()
def test_five_values_by_rows_beat_three_by_groups_in_the_classic_model(repository: Path) -> None:
    tokenizer, _, text = prepare(tiny_shakespeare(), 64)
    weights = (repository / "results/weights/classic.safetensors").read_bytes()
    inputs, targets = (text[at : 64 * 40 + at].view(40, 64).t() for at in (0, 1))
    found = {}
    # Two bits allow three values, and groups take 16 more for 32 weights. Five are rounded here by
    # hand: the page's numbers of bits skip them.
    for most, group_len in ((1, 32), (2, 0)):
        model = AutoregressiveTransformer(len(tokenizer)).eval()
        load(model, weights)
        for layer in (one for one in model.modules() if isinstance(one, nn.Linear)):
            groups = layer.weight.unflatten(1, (-1, group_len or layer.in_features))
            scale = (groups.abs().amax(dim=2, keepdim=True) / most).bfloat16().float()
            layer.weight.copy_(((groups / scale).round() * scale).flatten(1))
        found[most] = F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten()).item()
    assert found[2] < found[1] - 0.4
