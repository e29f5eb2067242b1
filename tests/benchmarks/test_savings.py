r"""The benchmark of the savings leaves out what it says, and nothing else."""

import pytest
import torch

from benchmarks import savings
from labml_nn.training.corpora import python_sources
from labml_nn.training.loop import Trainer
from labml_nn.transformers.basic.causal_attention import CausalSelfAttention
from labml_nn.transformers.mha import MultiHeadAttention


@pytest.fixture(scope="module")
def trainers() -> dict[tuple[str, str], Trainer]:
    text = python_sources()[:20_000]
    return {variant: savings.trainer_of(*variant, "off", text) for variant in savings.VARIANTS}


def kinds(trainer: Trainer) -> set[type]:
    return {type(one) for one in trainer.model.modules() if isinstance(one, MultiHeadAttention)}


@pytest.mark.parametrize(
    ("without", "kind"),
    [(savings.AS_IT_IS, CausalSelfAttention), (savings.ANY_MASK, MultiHeadAttention)],
    ids=["as it is", "any mask"],
)
def test_the_classic_model_has_the_attention_that_is_named(
    trainers: dict[tuple[str, str], Trainer], without: str, kind: type
) -> None:
    trainer = trainers["classic", without]
    assert kinds(trainer) == {kind}

    # All else is as before: one vector for each of the two groups.
    assert len(trainer.moved) == 2


@pytest.mark.parametrize("preset", ["classic", "modern"])
def test_apart_each_parameter_is_moved_on_its_own(
    trainers: dict[tuple[str, str], Trainer], preset: str
) -> None:
    whole, apart = trainers[preset, savings.AS_IT_IS], trainers[preset, savings.APART]
    assert {id(one) for one in apart.moved} == {id(one) for one in apart.model.parameters()}
    assert len(whole.moved) < len(apart.moved)
    assert kinds(whole) == kinds(apart)


@pytest.mark.parametrize("preset", ["classic", "modern"])
def test_the_parameters_apart_learn_the_same(
    trainers: dict[tuple[str, str], Trainer], preset: str
) -> None:
    losses = {
        without: torch.stack([trainers[preset, without].train_step() for _ in range(3)])
        for without in (savings.AS_IT_IS, savings.APART)
    }
    # In 16 bits, and added up in another order.
    torch.testing.assert_close(losses[savings.AS_IT_IS], losses[savings.APART], rtol=1e-3, atol=0)


def test_what_is_measured_moves_the_weights_and_forgets_the_gradients(
    trainers: dict[tuple[str, str], Trainer],
) -> None:
    trainer = trainers["modern", savings.AS_IT_IS]
    found = savings.optimizing_seconds({"it": trainer}, rounds=1, steps=1)
    assert found["it"] > 0
    optimize = savings.optimizing(trainer)
    trainer.first_loss(trainer.way, trainer.predict).backward()
    before = [one.detach().clone() for one in trainer.moved]
    assert optimize() > 0
    assert all((one != old).any() for one, old in zip(trainer.moved, before, strict=True))
    assert all(not one.grad.any() for one in trainer.moved)
