r"""Every part of the library trains in the small transformer, by its name, and sees no future."""

import ast
from pathlib import Path

import pytest
import torch

import labml_nn
from labml_nn.training.data import InputError
from labml_nn.training.leaks import honest_loss
from labml_nn.training.presets import PRESETS
from labml_nn.training.speed import Way, take
from labml_nn.transformers.basic.parts_experiment import PARTS, PartsConfig, make_small

PACKAGE = Path(labml_nn.__file__).parent


def pages_with_a_part() -> set[str]:
    r"""The modules that define a function `in_transformer`."""
    return {
        ".".join(["labml_nn", *path.relative_to(PACKAGE).with_suffix("").parts])
        for path in PACKAGE.rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name == "in_transformer"
    }


def test_every_page_with_a_part_has_a_name_and_no_part_has_two() -> None:
    assert sorted(part.__module__ for part in PARTS.values()) == sorted(pages_with_a_part())


@pytest.mark.parametrize("part", PARTS)
def test_a_part_learns_and_sees_nothing_but_what_comes_before(part: str) -> None:
    trainer = make_small(part)
    before = [p.detach().clone() for p in trainer.model.parameters()]
    losses = [trainer.train_step().item() for _ in range(30)]
    assert losses[-1] < losses[0] - 0.5
    changed = [not p.equal(b) for p, b in zip(trainer.model.parameters(), before, strict=True)]
    assert all(changed)
    assert not honest_loss(trainer.model, trainer.validation, trainer.config.seq_len).leaks


@pytest.mark.parametrize("attention", ["kernel", "products"])
@pytest.mark.parametrize("part", PARTS)
def test_a_part_can_be_trained_with_products_in_16_bits(part: str, attention: str) -> None:
    trainer = make_small(part)
    losses = {}
    for precision in ("float32", "bfloat16"):
        way = Way(precision, attention, "off")
        losses[precision] = trainer.first_loss(way, take(way, trainer.replica))
    losses["bfloat16"].backward()
    assert losses["bfloat16"].item() == pytest.approx(losses["float32"].item(), rel=0.02)
    assert all(weight.grad.isfinite().all() for weight in trainer.model.parameters())


def test_an_unknown_part_is_refused_with_the_names_that_there_are() -> None:
    with pytest.raises(InputError, match="unknown part 'os.system': there are .*one_head"):
        PartsConfig(part="os.system")


def test_the_same_seed_gives_what_stays_the_same_weights() -> None:
    plain, other = make_small("learned_positions").model, make_small("relu").model
    assert plain.generator.projection.weight.equal(other.generator.projection.weight)
    assert torch.equal(
        plain.encoder.layers[1].self_attn.output.weight,
        other.encoder.layers[1].self_attn.output.weight,
    )


def test_it_is_a_preset_with_an_option_for_the_part() -> None:
    assert PRESETS["parts"].config_class is PartsConfig
