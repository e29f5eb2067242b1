r"""What the notebook on finding questions runs."""

import random

import matplotlib.pyplot as plt
import pytest
import torch
import torch.nn.functional as F

from labml_nn.encoders import classifier_experiment as page
from labml_nn.encoders.classifier import Classifier, side_by_side
from labml_nn.encoders.experiment import small_encoder
from labml_nn.encoders.masked_tokens import MaskTokenizer
from labml_nn.training.data import CharTokenizer

TOKENIZER = MaskTokenizer(CharTokenizer("abcdefghijkl"))
LABELLED = [("aab", True), ("bba", False), ("aaab", True), ("babb", False)]
MANY = [("ab" * (1 + at % 5), at % 3 == 0) for at in range(97)]


def test_a_classifier_learns_and_is_asked_without_dropout() -> None:
    torch.manual_seed(1)
    model = Classifier(small_encoder(len(TOKENIZER)), TOKENIZER.pad)
    losses = page.fine_tune(model, page.labelled_batches(LABELLED, TOKENIZER, seed=1), 12)
    assert len(losses) == 12 and losses[-1] < 0.2 < losses[0]
    assert page.share_right(model, TOKENIZER, LABELLED) == 1.0
    assert page.share_right(model, TOKENIZER, [(one, not label) for one, label in LABELLED]) == 0
    assert not model.training
    assert not any(p.grad is None for p in model.parameters())


@pytest.mark.parametrize(("seed", "step", "size"), [(5, 3, 32), (2, 7, 11)])
def test_batches_of_sentences_depend_on_seed_and_step(seed: int, step: int, size: int) -> None:
    # 32 sentences, where nobody says how many.
    given = {} if size == 32 else {"batch_size": size}
    tokens, labels = page.labelled_batches(MANY, TOKENIZER, seed, **given)(step)
    chosen = random.Random(seed * 1_000_003 + step).choices(MANY, k=size)
    assert torch.equal(tokens, side_by_side([one for one, _ in chosen], TOKENIZER))
    assert labels.tolist() == [label for _, label in chosen]


def test_the_loss_is_one_cross_entropy_for_each_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Classifier(small_encoder(len(TOKENIZER)), TOKENIZER.pad).eval()
    batch_at = page.labelled_batches(MANY, TOKENIZER, seed=5)

    def look(*given: object, gradients: object, after_step: object) -> None:
        assert given[0] is model and given[1] is batch_at and given[3] == 7
        tokens, labels = batch_at(3)
        loss = gradients(model, tokens, labels)
        expected = F.cross_entropy(model(tokens), labels)
        assert loss.item() == pytest.approx(expected.item()) and not loss.requires_grad
        after_step(1, loss)

    monkeypatch.setattr(page, "train", look)
    (loss,) = page.fine_tune(model, batch_at, 7)
    assert loss == pytest.approx(F.cross_entropy(model(batch_at(3)[0]), batch_at(3)[1]).item())


def test_the_notebook_trains_two_classifiers_on_the_same_sentences(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (
        "ROMEO:\nWho is it now? It is a friend of mine. Is he at home? He went away today. " * 200
    )
    monkeypatch.setattr(page, "read_text", lambda corpus: text)
    drawn = {}
    monkeypatch.setattr(plt, "show", lambda: drawn.update(axes=plt.gca()))
    page.notebook(steps=2, fine_tuning_steps=3)
    shown = capsys.readouterr().out
    assert "validation loss" in shown
    assert "pretrained: " in shown and "from scratch: " in shown
    curves = {line.get_label(): line.get_ydata().tolist() for line in drawn["axes"].lines}
    assert [*curves] == ["pretrained", "from scratch"]
    assert [len(one) for one in curves.values()] == [3, 3]
    assert curves["pretrained"] != curves["from scratch"]
    plt.close("all")
