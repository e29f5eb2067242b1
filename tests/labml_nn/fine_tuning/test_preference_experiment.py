import copy
import random

import matplotlib.pyplot as plt
import pytest
import torch
from torch import Tensor

from labml_nn.fine_tuning import preference_experiment as page
from labml_nn.fine_tuning.dialogues import IGNORED
from labml_nn.fine_tuning.facts import all_facts
from labml_nn.fine_tuning.preferences import preference_gradients
from tests.labml_nn.fine_tuning.test_dialogue_experiment import TOKENIZER, tiny

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
    facts = all_facts()
    inputs, _ = page.pair_batches(TOKENIZER, facts, 1)(3)
    assert inputs.shape[1] == 24
    chosen = random.Random(1_000_003 + 3).choices(facts, k=12)
    assert inputs.equal(page.pairs(TOKENIZER, chosen)[0])
    assert page.pair_batches(TOKENIZER, facts, 1, n_pairs=5)(3)[0].shape[1] == 10
    others = [page.pair_batches(TOKENIZER, facts, seed)(step)[0] for seed, step in ((1, 4), (2, 3))]
    texts = ["".join(map(TOKENIZER.decode, one.t())) for one in [inputs, *others]]
    assert len(set(texts)) == 3


def test_training_on_pairs_takes_the_model_before_as_reference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    torch.manual_seed(1)
    model = tiny()
    model.encoder.layers[0].dropout.p = 0.9
    before = copy.deepcopy(model).eval()
    made, rates, adamw = [], [], page.adamw

    def remember(reference: torch.nn.Module, beta: float) -> object:
        made.append((reference, beta))
        return preference_gradients(reference, beta)

    monkeypatch.setattr(page, "preference_gradients", remember)
    monkeypatch.setattr(page, "adamw", lambda m, rate: rates.append(rate) or adamw(m, rate))
    steps: list[int] = []

    def count(step: int, loss: Tensor) -> None:
        steps.append(step)

    page.prefer(model, page.pair_batches(TOKENIZER, FACTS, 1), 3, 0.7, count)
    ((reference, beta),) = made
    assert (beta, steps, rates) == (0.7, [1, 2, 3], [1e-4])
    assert not reference.training
    assert not any(one.requires_grad for one in reference.parameters())
    kept, now = reference.state_dict(), model.state_dict()
    assert all(kept[name].equal(one) for name, one in before.state_dict().items())
    assert not kept["generator.projection.weight"].equal(now["generator.projection.weight"])


def test_pairs_make_the_chosen_answers_likelier_than_the_rejected_ones() -> None:
    torch.manual_seed(1)
    model = tiny()
    batch_at = page.pair_batches(TOKENIZER, FACTS, 1)
    losses: list[float] = []
    page.prefer(model, batch_at, 30, 1.0, lambda step, loss: losses.append(loss.item()))
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
