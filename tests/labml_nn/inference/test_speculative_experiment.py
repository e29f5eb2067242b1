from pathlib import Path

import pytest
import torch

from labml_nn.inference import speculative_experiment as page
from labml_nn.training.data import prepare
from labml_nn.training.sampling import generate, greedy

TEXT = "the quick brown fox jumps over the lazy dog\n" * 30


def test_every_draft_leaves_the_greedy_text_as_it_is_and_adds_what_it_says() -> None:
    tokenizer, training, validation = prepare(TEXT, 64)
    n_vocab, prompt = len(tokenizer), validation[:11]
    target = page.train_writer(training, n_vocab, 16, 2, 64, 30, 1)
    small = page.train_writer(training, n_vocab, 8, 1, 64, 30, 1)
    drafts = page.make_drafts(small, tokenizer.decode(training), tokenizer)
    expected = generate(target, prompt[:, None], 23, 64, greedy)[:, 0]
    for make in drafts.values():
        propose = make(0.0, torch.Generator())
        target.clear()
        text, _ = page.speculate(target, propose, prompt, 23, 4, 0.0)
        assert torch.equal(text, expected)
    found = page.compare(target, drafts, [prompt, prompt], 23, 4, 0.0)
    assert found["none"][0] == 1
    # The text repeats itself, so both drafts without a network know it well.
    assert min(found["counted letters"][0], found["prompt look-up"][0]) > 1
    assert all(1 <= per_pass <= 5 and speed > 0 for per_pass, speed in found.values())


def test_the_weights_depend_on_the_seed_and_the_model_is_trained() -> None:
    _, training, _ = prepare(TEXT, 64)
    trainings = ((0, 1), (0, 1), (0, 2), (5, 1))
    models = [page.train_writer(training, 31, 8, 1, 64, *one) for one in trainings]
    weights = [model.generator.projection.weight for model in models]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    assert not torch.equal(weights[0], weights[3])


def test_the_notebook_prints_each_draft_twice_and_a_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def make_small(*given: object) -> page.RewindingTransformer:
        return page.RewindingTransformer(given[1], 8, 2, 1, 16, 256).eval()

    monkeypatch.setattr(page, "train_writer", make_small)
    (tmp_path / "text.txt").write_text(TEXT * 6, encoding="utf-8")
    page.notebook(str(tmp_path / "text.txt"), steps=2, sample_length=9)
    shown = capsys.readouterr().out
    assert shown.count("temperature 1.0, ") == shown.count("temperature 0.0, ") == 4
    assert "temperature 0.0, none: 1.00 a pass" in shown
    last = shown.rpartition("a second\n")[2]
    assert len(last.replace("|", "")) == 10
