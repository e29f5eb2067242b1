r"""DoRA is what peft computes; lengths and directions are apart."""

from labml_nn.fine_tuning.dora import DoRALinear
from labml_nn.fine_tuning.lora import adapt, adapter
from tests.labml_nn.fine_tuning.by_peft import ALPHA, RANK, adapted, from_peft, layers, text
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import largest

ORACLES = {"peft": lambda: from_peft(adapted(DoRALinear), extra=("magnitude",))}
test_it_equals_what_peft_computes = equals(ORACLES)


def test_before_training_nothing_has_changed() -> None:
    model = layers()
    expected = model(text())
    adapt(model, RANK, ALPHA, make=DoRALinear)
    assert largest([model(text())], [expected]) < 1e-12
    assert [tuple(one.shape) for one in adapter(model).values()][2::3] == [(11,), (5,)]
