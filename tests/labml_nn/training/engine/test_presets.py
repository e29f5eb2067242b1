r"""Every preset trains, and every part in the small transformer, and none sees the future."""

import ast
from dataclasses import asdict
from pathlib import Path

import pytest
import torch

import labml_nn
from labml_nn.training.engine.errors import InputError
from labml_nn.training.engine.presets import PARTS, PRESETS
from labml_nn.training.engine.text import prepare_text
from labml_nn.training.engine.trainer import Trainer
from labml_nn.training.leaks import honest_loss
from labml_nn.transformers.fused_attention import FusedAttention
from tests.labml_nn.training.engine.models import losses

PACKAGE = Path(labml_nn.__file__).parent / "transformers"
TEXT = "".join(chr(97 + index % 12) for index in range(2000))
SMALL = {"batch_size": 3, "seq_len": 7, "device": "cpu", "precision": "float32"}
SIZES = {"d_model": 16, "heads": 4, "n_layers": 2, "d_ff": 11}


def make(preset: str, **changes: object) -> Trainer:
    chosen = PRESETS[preset]
    config = chosen.make_config({"steps": 30, **SMALL, **SIZES, **changes})
    return chosen.make_trainer(config, prepare_text(TEXT, 7))


@pytest.mark.parametrize(
    ("preset", "parameters"), [("classic", 810_306), ("modern", 804_096), ("gpu", 10_672_517)]
)
def test_a_preset_has_the_size_of_its_page(preset: str, parameters: int) -> None:
    chosen = PRESETS[preset]
    model = chosen.model(chosen.make_config({}), 66)
    assert sum(one.numel() for one in model.parameters()) <= parameters


def test_what_is_given_takes_the_place_of_a_presets_defaults() -> None:
    config = asdict(PRESETS["modern"].make_config({"d_ff": 11}))
    assert (config["d_ff"], config["schedule"], config["final"]) == (11, "linear", 0.0)
    assert config["matrix_learning_rate"] == 0.016


def test_fast_takes_the_fused_attention_with_the_same_weights() -> None:
    plain, fast = make("classic"), make("classic", fast=True)
    attention = [one.model.encoder.layers[0].self_attn for one in (plain, fast)]
    assert [isinstance(one, FusedAttention) for one in attention] == [False, True]
    assert losses(plain, 3) == pytest.approx(losses(fast, 3), abs=1e-5)


def test_sizes_that_make_no_sense_are_refused() -> None:
    for preset, changes, sentence in (
        ("classic", {"d_model": 18}, "d_model must be a multiple of heads=4, got 18"),
        ("classic", {"heads": 0}, "heads must be at least 1, got 0"),
        ("classic", {"dropout_prob": 1.0}, "dropout_prob must be at least 0 and below 1, got 1.0"),
        ("modern", {"d_model": 20}, "d_model=20"),
        ("modern", {"matrix_learning_rate": 0.0}, "matrix_learning_rate must be above 0, got 0.0"),
        ("parts", {"part": "os.system"}, "part must be one of .*one_head.*, got os.system"),
    ):
        with pytest.raises(InputError, match=sentence):
            make(preset, **changes)


def test_every_page_with_a_part_has_a_name_and_no_page_has_two() -> None:
    pages = {
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for path in PACKAGE.rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name == "in_transformer"
    }
    assert sorted(PARTS.values()) == sorted(pages)


EVERYTHING = [(name, {"dropout_prob": 0.0}) for name in PRESETS if name != "parts"]
EVERYTHING += [("parts", {"part": part}) for part in PARTS if part != "sliding_window"]
# A quarter of seven characters is a window of one key, and nothing to choose from.
EVERYTHING += [("parts", {"part": "sliding_window", "seq_len": 11})]
# In 16 bits another attention computes.
EVERYTHING += [("classic", {"fast": True, "precision": "bfloat16"})]
EVERYTHING += [("modern", {"precision": "bfloat16"})]


@pytest.mark.parametrize(("preset", "changes"), EVERYTHING)
def test_each_model_learns_and_sees_nothing_but_what_comes_before(
    preset: str, changes: dict[str, object]
) -> None:
    trainer = make(preset, **changes)
    before = [p.detach().clone() for p in trainer.model.parameters()]
    found = losses(trainer, 30)
    assert found[-1] < found[0] - 0.5
    assert not any(p.equal(b) for p, b in zip(trainer.model.parameters(), before, strict=True))
    assert not honest_loss(trainer.model, trainer.validation, 7).leaks


# PyTorch's RMSNorm says that it computes in float32 there, with the scales that it has.
@pytest.mark.filterwarnings("ignore:Mismatch dtype between input and weight")
@pytest.mark.parametrize("part", PARTS)
def test_a_part_can_be_trained_in_bfloat16(part: str) -> None:
    one, other = (make("parts", part=part, precision=name) for name in ("float32", "bfloat16"))
    assert losses(one, 1) == pytest.approx(losses(other, 1), rel=0.02)
    assert all(bool(weight.grad.isfinite().all()) for weight in other.model.parameters())
    assert {weight.dtype for weight in other.model.parameters()} == {torch.float32}
