r"""DoRA is what peft computes; lengths and directions are apart."""

from labml_nn.fine_tuning.dora import DoRALinear
from labml_nn.fine_tuning.lora import adapt, adapter
from tests.labml_nn.fine_tuning.by_peft import ALPHA, RANK, adapted, from_peft, layers, text
from tests.oracles.compare import largest


def test_it_equals_what_peft_computes() -> None:
    assert from_peft(adapted(DoRALinear), extra=("magnitude",)) < 1e-10


def test_before_training_nothing_has_changed() -> None:
    model = layers()
    expected = model(text())
    adapt(model, RANK, ALPHA, make=DoRALinear)
    assert largest([model(text())], [expected]) < 1e-12
    assert [tuple(one.shape) for one in adapter(model).values()][2::3] == [(11,), (5,)]
