import pytest
import torch
import torch.nn.functional as F
from torch import nn

from labml_nn.training.fast import compiled as page


def test_small_operations_are_what_their_page_says() -> None:
    x, stream = torch.randn(2, 7, 3, 5)
    bias = torch.randn(5)
    summed = stream + F.gelu(x + bias)
    centred = summed - summed.mean(-1, keepdim=True)
    expected = centred / (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    torch.testing.assert_close(page.between_products(x, bias, stream), expected)


def test_they_are_one_graph_with_the_same_result() -> None:
    x, stream = torch.randn(2, 7, 3, 5)
    graph = torch.compile(page.between_products, backend="aot_eager", fullgraph=True)
    found = graph(x, torch.ones(5), stream)
    torch.testing.assert_close(found, page.between_products(x, torch.ones(5), stream))


@pytest.mark.filterwarnings("ignore:`torch.jit.script_method`:DeprecationWarning")
def test_a_compiled_model_has_the_parameters_of_the_model() -> None:
    model = nn.Linear(3, 5)
    assert next(page.compiled(model).parameters()) is model.weight
