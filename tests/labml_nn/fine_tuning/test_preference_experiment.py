import random

import matplotlib.pyplot as plt
import pytest
import torch

from labml_nn.fine_tuning import preference_experiment as page
from labml_nn.fine_tuning.dialogues import IGNORED
from labml_nn.fine_tuning.facts import all_facts
from labml_nn.training.loop import train
from tests.labml_nn.fine_tuning.test_dialogue_experiment import TOKENIZER, tiny
from tests.oracles.compare import largest

FACTS = all_facts()[:5]


def test_pairs_are_short_answers_then_sentences_to_the_same_questions() -> None:
    inputs, targets = page.pairs(TOKENIZER, FACTS)
    assert inputs.shape == targets.shape
    answers = [TOKENIZER.decode(one[one != IGNORED]) for one in targets.t()]
    assert answers == [f"{one.short}<end>" for one in FACTS] + [
        f"{one.sentence}<end>" for one in FACTS
    ]
    texts = [TOKENIZER.decode(one) for one in inputs.t()]
    assert all(fact.question in one for fact, one in zip(FACTS * 2, texts, strict=True))


def test_a_batch_of_pairs_depends_on_seed_and_step() -> None:
    for seed, step in ((1, 3), (2, 4)):
        chosen = random.Random(seed * 1_000_003 + step).choices(FACTS, k=12)
        inputs, _ = page.pair_batches(TOKENIZER, FACTS, seed)(step)
        assert inputs.equal(page.pairs(TOKENIZER, chosen)[0])
    assert page.pair_batches(TOKENIZER, FACTS, 1, n_pairs=5)(3)[0].shape[1] == 10


def test_training_on_pairs_takes_the_model_before_as_reference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(page, "preference_gradients", lambda *given: given)
    model = tiny()
    recipe = page.preference_recipe(model, 0.7)
    (optimizer,), (reference, beta) = recipe.pop("optimizers"), recipe.pop("gradients")
    assert (recipe, beta) == ({}, 0.7)
    assert optimizer.param_groups[0]["lr"] == 1e-4
    assert reference is not model and not reference.training
    assert not any(one.requires_grad for one in reference.parameters())
    assert largest(list(reference.parameters()), list(model.parameters())) == 0


def test_pairs_make_the_chosen_answers_likelier_than_the_rejected_ones() -> None:
    torch.manual_seed(1)
    model = tiny()
    batch_at = page.pair_batches(TOKENIZER, FACTS, 1)
    losses: list[float] = []
    recipe = page.preference_recipe(model, 1.0)
    after_step = {"after_step": lambda step, loss: losses.append(loss.item())}
    train(model, batch_at, steps=30, **recipe, **after_step)
    assert losses[0] == pytest.approx(0.693, abs=1e-3)
    assert losses[-1] < 0.5


def test_a_short_answer_is_what_is_no_sentence() -> None:
    assert page.share_short(["lima.", "the capital of peru is lima.", "then", ""]) == 0.75


def test_the_notebook_trains_three_times_and_looks_twice(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(page, "small_model", tiny)
    monkeypatch.setattr(plt, "show", lambda: plt.close("all"))
    page.notebook(steps=2, fine_tuning_steps=2, preference_steps=2)
    shown = capsys.readouterr().out
    assert shown.count("are short") == shown.count("are right") == 2
    assert "validation loss" in shown
