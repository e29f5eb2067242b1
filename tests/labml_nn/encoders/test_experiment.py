r"""What the notebook of the encoders runs."""

import math
from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import torch
from torch import Tensor, nn

from labml_nn.encoders import experiment as page
from labml_nn.encoders.classifier import Classifier
from labml_nn.encoders.masked_model import IGNORED, MaskedModel, MaskTokenizer
from labml_nn.encoders.modern_encoder import local_mask
from labml_nn.training.data import CharTokenizer, RandomWindows, tiny_shakespeare
from labml_nn.training.loop import adamw, train

TOKENIZER = MaskTokenizer(CharTokenizer("abcdefghijkl"))
TEXT = torch.arange(1000) % 13


class Sure(nn.Module):
    r"""Marks are the likeliest, then come the letters 3, 1 and 0."""

    def forward(self, tokens: Tensor) -> Tensor:
        logits = torch.zeros(*tokens.shape, len(TOKENIZER))
        logits[..., 3], logits[..., 1], logits[..., 0], logits[..., 13:] = 12, 11, 10, 13
        return logits


def test_the_encoder_has_local_layers_and_as_many_weights_as_the_page_says() -> None:
    encoder = page.small_encoder(68)
    assert encoder.sees_all == [True, False, False]
    assert torch.equal(encoder.near, local_mask(64, 8))
    assert 150_000 < sum(p.numel() for p in encoder.parameters()) < 155_000


def test_batches_have_a_mark_first_and_gaps_in_the_windows_of_other_lessons() -> None:
    batch_at = page.masked_batches(TEXT, TOKENIZER, seed=5, rate=0.5)
    inputs, targets = batch_at(3)
    assert (inputs[0] == TOKENIZER.first).all() and (targets[0] == IGNORED).all()
    windows = RandomWindows(TEXT, 63, 16, 5).at(3)[0]
    chosen = targets[1:] != IGNORED
    assert torch.equal(targets[1:][chosen], windows[chosen])
    assert torch.equal(inputs[1:][~chosen], windows[~chosen])
    assert 0.4 < chosen.double().mean() < 0.6
    assert torch.equal(batch_at(3)[1], targets) and not torch.equal(batch_at(4)[1], targets)
    # The gaps of step 0 of another seed are not those of step 1 of this one.
    other = page.masked_batches(TEXT, TOKENIZER, seed=6)(0)[1] != IGNORED
    assert not torch.equal(other, page.masked_batches(TEXT, TOKENIZER, seed=5)(1)[1] != IGNORED)


def test_held_out_gaps_are_in_windows_side_by_side_and_hide_all_chosen_letters() -> None:
    tokens, inputs, targets = page.held_out_gaps(TEXT, TOKENIZER)
    assert torch.equal(tokens[1:].T.flatten(), TEXT[: 15 * 63])
    assert (tokens[0] == TOKENIZER.first).all()
    chosen = targets != IGNORED
    assert (inputs[chosen] == TOKENIZER.mask).all()
    assert torch.equal(targets[chosen], tokens[chosen])
    assert torch.equal(inputs[~chosen], tokens[~chosen])
    assert 0.1 < chosen.double().mean() < 0.2
    assert torch.equal(page.held_out_gaps(TEXT, TOKENIZER)[2], targets)


def test_the_loss_is_the_mean_over_gaps_alone_and_without_dropout() -> None:
    targets = torch.tensor([[3, IGNORED], [1, 0]])
    model = Sure().train()
    logits = model(targets)[0, 0]
    expected = logits.logsumexp(0) - torch.tensor([12.0, 11.0, 10.0]).mean()
    found = page.loss_in_gaps(model, targets.clamp(min=0), targets)
    assert found == pytest.approx(expected.item(), abs=1e-5)
    assert not model.training


def test_guesses_are_the_three_likeliest_letters_of_each_gap() -> None:
    model = Sure().train()
    found = page.guesses(model, TOKENIZER, "a_b_")
    total = sum(math.exp(x) for x in (12, 11, 10, 13, 13, 13)) + 10
    p = [math.exp(x) / total for x in (12, 11, 10)]
    assert found == [f"'d' {p[0]:.2f}, 'b' {p[1]:.2f}, 'a' {p[2]:.2f}"] * 2
    assert not model.training


LABELLED = [("aab", True), ("bba", False), ("aaab", True), ("babb", False)]


def test_a_classifier_learns_and_is_asked_without_dropout() -> None:
    torch.manual_seed(1)
    encoder = page.small_encoder(len(TOKENIZER))
    model = Classifier(encoder, TOKENIZER.pad)
    page.fine_tune(model, TOKENIZER, LABELLED, 12, seed=1)
    assert page.share_right(model, TOKENIZER, LABELLED) == 1.0
    assert page.share_right(model, TOKENIZER, [(one, not label) for one, label in LABELLED]) == 0
    assert not model.training
    assert not any(p.grad is None for p in model.parameters())


def test_batches_of_sentences_depend_on_seed_and_step(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Tensor] = []

    def look(
        model: nn.Module, batch_at: Callable, optimizers: list, steps: int, gradients: Callable
    ) -> None:
        tokens, labels = batch_at(0)
        assert tokens.shape == (5, 32) and labels.shape == (32,) and steps == 7
        seen.extend([labels, batch_at(1)[1]])
        assert not gradients(model, tokens, labels).requires_grad

    monkeypatch.setattr(page, "train", look)
    for seed in (1, 1, 2):
        page.fine_tune(Classifier(page.small_encoder(16), 15), TOKENIZER, LABELLED, 7, seed)
    one, after_one, again, _, other, _ = seen
    assert torch.equal(one, again)
    assert not torch.equal(one, other) and not torch.equal(one, after_one)
    assert not torch.equal(other, after_one)


def test_an_encoder_learns_to_fill_gaps() -> None:
    torch.manual_seed(1)
    model = MaskedModel(page.small_encoder(len(TOKENIZER)), bias=False)
    gaps = page.held_out_gaps(TEXT, TOKENIZER)[1:]
    before = page.loss_in_gaps(model, *gaps)
    train(model, page.masked_batches(TEXT, TOKENIZER, 1), [adamw(model)], 30)
    assert before == pytest.approx(math.log(16), abs=0.2)
    assert page.loss_in_gaps(model, *gaps) < before - 1


def test_the_notebook_fills_gaps_and_finds_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.gca().get_xlabel()))
    (tmp_path / "text.txt").write_text(tiny_shakespeare()[:40_000], encoding="utf-8")
    page.notebook(str(tmp_path / "text.txt"), steps=2, fine_tuning_steps=2)
    plt.close("all")
    said = capsys.readouterr().out
    assert shown == ["step"]
    assert "validation loss" in said and said.count("are right") == 2
    assert "sentences have labels, and" in said
