r"""LoRA is what peft computes, starts at nothing, and can be merged and taken off."""

import pytest
import torch
from torch import nn

from labml_nn.fine_tuning.lora import LoRALinear, adapt, adapter, merge
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from tests.labml_nn.fine_tuning.by_peft import (
    ALPHA,
    D_IN,
    HIDDEN,
    RANK,
    adapted,
    from_peft,
    layers,
    text,
)
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import largest

ORACLES = {"peft": lambda: from_peft(adapted())}
test_it_equals_what_peft_computes = equals(ORACLES)


def test_before_training_the_model_is_bit_for_bit_what_it_was() -> None:
    model = layers()
    expected = model(text())
    adapt(model, RANK, ALPHA)
    assert torch.equal(model(text()), expected)


def test_a_starts_as_the_weights_of_a_linear_layer_do() -> None:
    torch.manual_seed(1)
    layer = LoRALinear(nn.Linear(400, 300), 200, ALPHA)
    plain = nn.Linear(400, 200).weight
    assert layer.a.abs().max() <= 400**-0.5
    assert layer.a.std().item() == pytest.approx(plain.std().item(), rel=0.02)


def test_merged_it_has_the_layers_and_the_results_of_before_and_the_base_stays() -> None:
    model = adapted()
    expected, bases = model(text()), [one.base for one in model[::2]]
    weights = [one.weight.clone() for one in bases]
    merge(model)
    assert largest([model(text())], [expected]) < 1e-12
    assert model.state_dict().keys() == layers().state_dict().keys()
    assert [type(one) for one in model] == [nn.Linear, nn.SiLU, nn.Linear]
    assert (model[0].in_features, model[0].out_features) == (D_IN, HIDDEN)
    assert all(map(torch.equal, weights, [one.weight for one in bases]))
    assert not any(one.weight.requires_grad for one in bases)


def test_what_is_kept_for_a_task_brings_it_back_and_is_a_copy() -> None:
    model, other = adapted(), adapted()
    kept, expected = adapter(model), model(text())
    assert kept.keys() == {"0.a", "0.b", "2.a", "2.b"}
    assert adapter(LoRALinear(nn.Linear(7, 11), RANK, ALPHA)).keys() == {"a", "b"}
    for one in (*model[::2], *other[::2]):
        nn.init.zeros_(one.b)
    other.load_state_dict(kept, strict=False)
    assert torch.equal(other(text()), expected)
    assert not any(one.requires_grad for one in kept.values())


def test_only_the_chosen_layers_of_a_transformer_get_adapters() -> None:
    model = AutoregressiveTransformer(13, 10, 5, 2, 22, 7)
    names = set(model.state_dict())
    adapt(model, 1, ALPHA, lambda name: name.endswith(("query.linear", "value.linear")))
    found = {name for name, one in model.named_modules() if isinstance(one, LoRALinear)}
    assert found == {
        f"encoder.layers.{layer}.self_attn.{which}.linear"
        for layer in (0, 1)
        for which in ("query", "value")
    }
    trained = [one for one in model.parameters() if one.requires_grad]
    assert sum(one.numel() for one in trained) == 2 * 2 * (10 + 10)
    merge(model)
    assert set(model.state_dict()) == names


@pytest.mark.parametrize("sides", [(5, 7), (7, 5)])
@pytest.mark.parametrize("rank", [0, 6])
def test_a_rank_that_makes_no_sense_is_refused(sides: tuple[int, int], rank: int) -> None:
    with pytest.raises(ValueError, match=f"the rank must be between 1 and 5, got {rank}"):
        LoRALinear(nn.Linear(*sides), rank, ALPHA)
    LoRALinear(nn.Linear(*sides), 5, ALPHA)


def test_a_model_without_such_layers_is_refused() -> None:
    with pytest.raises(ValueError, match="no Linear was chosen"):
        adapt(layers(), RANK, ALPHA, lambda name: False)
    with pytest.raises(ValueError, match="no LoRALinear was chosen"):
        merge(layers())


def test_in_the_first_step_b_learns_and_a_is_only_decayed() -> None:
    layer = LoRALinear(nn.Linear(D_IN, HIDDEN), RANK, ALPHA)
    before = layer.a.detach().clone()
    optimizer = torch.optim.AdamW(layer.parameters(), 0.01, weight_decay=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        layer(torch.ones(1, D_IN)).sum().backward()
        optimizer.step()
        if not layer.a.grad.any():
            assert layer.a.allclose(before * 0.999) and layer.b.all()
    assert layer.a.grad.any()
