r"""DoRA is what peft computes; lengths and directions are apart."""

import torch
from torch import nn

from labml_nn.fine_tuning import dora as page
from labml_nn.fine_tuning.dora import DoRALinear
from labml_nn.fine_tuning.lora import adapt, adapter, merge
from tests.labml_nn.fine_tuning.by_peft import ALPHA, RANK, adapted, from_peft, layers, text
from tests.oracles.compare import largest


def turned() -> DoRALinear:
    r"""A layer whose product has learned something, and whose lengths haven't."""
    layer = DoRALinear(nn.Linear(7, 11).double(), RANK, ALPHA)
    nn.init.normal_(layer.b)
    return layer


def test_it_equals_what_peft_computes() -> None:
    assert from_peft(adapted(DoRALinear), extra=("magnitude",)) < 1e-10


def test_before_training_nothing_has_changed() -> None:
    model = layers()
    expected = model(text())
    adapt(model, RANK, ALPHA, make=DoRALinear)
    assert largest([model(text())], [expected]) < 1e-12
    assert [tuple(one.shape) for one in adapter(model).values()][2::3] == [(11,), (5,)]


def test_the_product_turns_rows_and_the_magnitude_is_their_length() -> None:
    layer = turned()
    assert largest([layer.weight().norm(dim=1)], [layer.base.weight.norm(dim=1)]) < 1e-12
    direction = layer.weight() / layer.magnitude[:, None]
    nn.init.uniform_(layer.magnitude, 1, 2)
    assert largest([layer.weight().norm(dim=1)], [layer.magnitude]) < 1e-12
    assert largest([layer.weight() / layer.magnitude[:, None]], [direction]) < 1e-12


def test_merged_it_gives_the_same() -> None:
    model = adapted(DoRALinear)
    expected = model(text())
    merge(model)
    assert largest([model(text())], [expected]) < 1e-12


def test_the_row_of_the_page() -> None:
    base = nn.Linear(2, 1, bias=False)
    base.weight.data = torch.tensor([[3.0, 4.0]])
    layer = DoRALinear(base, 1, alpha=1.0)
    assert layer.magnitude.tolist() == [5.0]
    layer.b.data, layer.a.data = torch.tensor([[1.0]]), torch.tensor([[1.0, -4.0]])
    assert layer.weight().tolist() == [[5.0, 0.0]]
    layer.magnitude.data = torch.tensor([10.0])
    assert layer.merged().weight.tolist() == [[10.0, 0.0]]


def test_a_row_that_only_gets_longer_stays_the_same() -> None:
    layer = DoRALinear(nn.Linear(7, 1).double(), 1, alpha=1.0)
    nn.init.ones_(layer.b)
    layer.a.data = layer.base.weight.detach().clone()
    assert largest([layer.weight()], [layer.base.weight]) < 1e-12


def test_the_example() -> None:
    assert page.example().shape == (7, 3, 5)
