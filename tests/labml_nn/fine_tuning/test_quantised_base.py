r"""Frozen weights in eight bits compute what PyTorch's rounded weights do, and are never kept."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.fine_tuning import quantised_base as page
from labml_nn.fine_tuning.dora import DoRALinear
from labml_nn.fine_tuning.lora import LoRALinear, adapter, merge
from labml_nn.fine_tuning.quantised_base import Product, QuantisedLinear, quantise_bases
from labml_nn.training.trained import quantise, restore
from tests.labml_nn.fine_tuning.by_peft import adapted, from_peft, text
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


def test_on_rounded_weights_it_equals_what_peft_computes() -> None:
    model = adapted()
    for one in model[::2]:
        one.base.weight.data = restore(*quantise(one.base.weight.data))
    assert from_peft(model) < 1e-10
    expected = model(text())
    quantise_bases(model)
    assert largest([model(text())], [expected]) < 1e-10


def test_the_base_has_a_byte_for_each_weight_and_nothing_to_train() -> None:
    model = adapted()
    kept = adapter(model).keys()
    quantise_bases(model)
    assert adapter(model).keys() == kept == {"0.a", "0.b", "2.a", "2.b"}
    buffers = {name: (tuple(one.shape), one.dtype) for name, one in model.named_buffers()}
    assert buffers == {
        "0.base.whole": ((11, 7), torch.int8), "0.base.scale": ((11,), torch.float64),
        "2.base.whole": ((5, 11), torch.int8), "2.base.scale": ((5,), torch.float64),
    }


def test_no_restored_weights_are_kept_for_the_backward_pass() -> None:
    whole, scale = quantise(torch.randn(5, 7))
    x, saved = torch.randn(3, 7, requires_grad=True), []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda tensor: saved.append(tensor.dtype) or tensor, lambda tensor: tensor
    ):
        Product.apply(x, whole, scale)
        assert saved == [torch.int8, torch.float32]
        saved.clear()
        F.linear(x, restore(whole, scale).requires_grad_())
        assert torch.int8 not in saved


def test_gradients_of_gradients_are_refused() -> None:
    x = torch.randn(3, 7, requires_grad=True)
    output = Product.apply(x, *quantise(torch.randn(5, 7)))
    (gradient,) = torch.autograd.grad(output.square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def test_merged_it_is_a_plain_model_with_the_same_results() -> None:
    model = adapted()
    quantise_bases(nn.Sequential(model))
    assert {type(one.base) for one in model[::2]} == {QuantisedLinear}
    expected = model(text())
    merge(model)
    assert largest([model(text())], [expected]) < 1e-12
    assert [type(one) for one in model] == [nn.Linear, nn.SiLU, nn.Linear]
    assert (model[0].in_features, model[0].out_features) == (7, 11)


def test_the_numbers_of_the_page() -> None:
    assert restore(torch.tensor([[127, -64]]), torch.tensor([0.01])).tolist() == [
        pytest.approx([1.27, -0.64])
    ]
    layer = QuantisedLinear(nn.Linear(128, 512))
    assert not any(one.requires_grad for one in layer.buffers())
    base = sum(one.numel() * one.element_size() for one in layer.buffers())
    assert (base, 8 * (128 + 512) * 4, 128 * 512 * 4) == (67_584, 20_480, 262_144)


def test_the_example() -> None:
    exact, of_rounded = page.example()
    assert 0 < largest([exact], [of_rounded]) < 0.05
