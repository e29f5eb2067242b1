r"""A language model with a state in the place of attention."""

import torch

from labml_nn.state_spaces.mamba2 import Mamba2
from labml_nn.state_spaces.text_experiment import InPlaceOfAttention, language_model, mamba2


def test_it_has_a_layer_of_its_own_in_each_place() -> None:
    model = language_model(11, 13, mamba2)
    layers = [layer.self_attn for layer in model.encoder.layers]
    assert [type(one) for one in layers] == [InPlaceOfAttention, InPlaceOfAttention]
    assert [type(one.layer) for one in layers] == [Mamba2, Mamba2]
    assert layers[0].layer is not layers[1].layer
    assert (layers[0].layer.heads, layers[0].layer.filtered_sizes) == (4, [64, 16, 16])
    assert layers[0].layer.output.weight.shape == (64, 64)
    assert model.encoder.layers[0].feed_forward.layer1.weight.shape == (256, 64)
    x, other = torch.randn(2, 7, 2, 64)
    assert torch.equal(layers[0](query=x, key=other, value=other, mask=x), layers[0].layer(x))
    assert model(torch.randint(11, (13, 2))).shape == (13, 2, 11)
