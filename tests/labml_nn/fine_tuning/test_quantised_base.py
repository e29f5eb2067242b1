r"""Frozen weights in eight bits compute what PyTorch's rounded weights do, and are never kept."""

import pytest
import torch
from torch import Tensor, nn

from labml_nn.fine_tuning.dora import DoRALinear
from labml_nn.fine_tuning.lora import LoRALinear, merge
from labml_nn.fine_tuning.quantised_base import Product, QuantisedLinear, quantise_bases
from labml_nn.training.trained import quantise, restore
from tests.labml_nn.fine_tuning.by_peft import adapted, from_peft, text
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import difference, largest


def rounded(weight: Tensor) -> Tensor:
    r"""To the nearest of 255 values for each row, by PyTorch."""
    scale, zero = weight.abs().amax(1) / 127, torch.zeros(len(weight), dtype=torch.int32)
    return torch.fake_quantize_per_channel_affine(weight, scale, zero, 0, -127, 127)


@pytest.mark.parametrize("make", [LoRALinear, DoRALinear])
def test_it_is_the_same_model_on_weights_that_pytorch_has_rounded(make: type[LoRALinear]) -> None:
    # PyTorch rounds in single precision only.
    model, other = adapted(make).float(), adapted(make).float()
    for one in other[::2]:
        one.base.weight.data = rounded(one.base.weight.data)
    quantise_bases(model)
    x = text().detach().float().requires_grad_()
    mine, theirs = ([p for p in one.parameters() if p.requires_grad] for one in (model, other))
    assert difference(model(x), other(x), [x, *mine], [x, *theirs]) < 1e-5


def from_peft_on_rounded_weights() -> float:
    r"""How far LoRA on a base of bytes is from that of peft on the same rounded weights."""
    model = adapted()
    for one in model[::2]:
        one.base.weight.data = restore(*quantise(one.base.weight.data))
    far = from_peft(model)
    expected = model(text())
    quantise_bases(model)
    return max(far, largest([model(text())], [expected]))


ORACLES = {"peft, on rounded weights": from_peft_on_rounded_weights}
test_on_rounded_weights_it_equals_what_peft_computes = equals(ORACLES)


def test_the_base_has_a_byte_for_each_weight_and_nothing_to_train() -> None:
    layer = QuantisedLinear(nn.Linear(7, 11))
    buffers = {name: (tuple(one.shape), one.dtype) for name, one in layer.named_buffers()}
    assert buffers == {"whole": ((11, 7), torch.int8), "scale": ((11,), torch.float32)}
    assert not any(one.requires_grad for one in layer.buffers())


def test_no_restored_weights_are_kept_for_the_backward_pass() -> None:
    x, saved = torch.randn(3, 7, requires_grad=True), []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda tensor: saved.append(tensor.dtype) or tensor, lambda tensor: tensor
    ):
        Product.apply(x, *quantise(torch.randn(5, 7)))
    assert saved == [torch.int8, torch.float32]


def test_merged_it_is_a_plain_model_with_the_same_results() -> None:
    model = adapted()
    quantise_bases(nn.Sequential(model))
    assert {type(one.base) for one in model[::2]} == {QuantisedLinear}
    expected = model(text())
    merge(model)
    assert largest([model(text())], [expected]) < 1e-12
    assert [type(one) for one in model] == [nn.Linear, nn.SiLU, nn.Linear]
    assert (model[0].in_features, model[0].out_features) == (7, 11)


def test_gradients_of_gradients_are_refused() -> None:
    x = torch.randn(3, 7, requires_grad=True)
    output = Product.apply(x, *quantise(torch.randn(5, 7)))
    (gradient,) = torch.autograd.grad(output.square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()
