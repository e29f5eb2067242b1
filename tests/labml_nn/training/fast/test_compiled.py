import pytest
import torch
import torch.nn.functional as F
from torch import nn

from labml_nn.training.fast import compiled as page


def test_small_operations_are_one_graph_and_what_their_page_says() -> None:
    x, stream = torch.randn(2, 7, 3, 5)
    bias = torch.randn(5)
    summed = stream + F.gelu(x + bias)
    centred = summed - summed.mean(-1, keepdim=True)
    expected = centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    graph = torch.compile(page.between_products, backend="aot_eager", fullgraph=True)
    for function in (page.between_products, graph):
        torch.testing.assert_close(function(x, bias, stream), expected)


@pytest.mark.filterwarnings("ignore:`torch.jit.script_method`:DeprecationWarning")
def test_a_compiled_model_has_the_parameters_of_the_model() -> None:
    model = nn.Linear(3, 5)
    assert next(page.compiled(model).parameters()) is model.weight
