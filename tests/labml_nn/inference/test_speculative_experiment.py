from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import matplotlib.pyplot as plt
import pytest
import torch

from labml_nn.inference import compare_drafts
from labml_nn.inference import speculative_experiment as page
from labml_nn.training.data import prepare
from labml_nn.transformers.basic.autoregressive_experiment import fit
from tests.oracles.compare import largest

TEXT = "the quick brown fox jumps over the lazy dog\n" * 30
TOKENIZER, TRAINING, VALIDATION = prepare(TEXT, 64)
N_VOCAB = len(TOKENIZER)


def small(d_model: int = 8, seed: int = 1) -> page.RewindingTransformer:
    sizes = (N_VOCAB, d_model, 4, 1, 4 * d_model, 64)
    torch.manual_seed(seed)
    model = page.AutoregressiveTransformer(*sizes)
    fit(model, TRAINING, 30, 64, 12, seed)
    return page.with_cache(model, *sizes)


def test_a_writer_has_the_weights_of_the_model_and_no_dropout() -> None:
    sizes = (N_VOCAB, 8, 4, 3, 32, 64)
    model = page.AutoregressiveTransformer(*sizes)
    writer = page.with_cache(model, *sizes)
    assert largest(list(writer.parameters()), list(model.parameters())) == 0
    assert not writer.training


def test_drafts_that_draw_get_the_temperature_and_the_generator() -> None:
    drafts = page.make_drafts(small(), TOKENIZER.decode(TRAINING), TOKENIZER)
    generator = torch.Generator()
    assert list(drafts) == ["none", "transformer", "counted letters", "prompt look-up"]
    nothing, model, counted, lookup = (make(0.7, generator) for make in drafts.values())
    for draft in (model, counted):
        assert (draft.temperature, draft.generator) == (0.7, generator)
    assert counted.predict.counted.n_letters == 3
    assert (nothing.n_letters, lookup.n_letters) == (0, 3)
    assert nothing.n_vocab == lookup.n_vocab == N_VOCAB


@pytest.mark.parametrize("given", [{}, {"n_draft": 2, "temperature": 0.3, "seed": 5}])
def test_comparing_writes_from_each_prompt_with_one_seed_a_draft(given: dict[str, float]) -> None:
    n_draft, temperature, seed = ({"n_draft": 4, "temperature": 1.0, "seed": 1} | given).values()
    target, prompts = small(), [VALIDATION[:5], VALIDATION[5:16]]
    made, called = [], []

    def make(temperature: float, generator: torch.Generator) -> str:
        made.append((temperature, generator.initial_seed(), generator))
        return "a draft"

    def speculate(*arguments: object) -> tuple[None, torch.Tensor]:
        assert len(target.read) == 0
        target(prompts[0][:, None])
        called.append(arguments)
        return None, torch.tensor([3, 1, 5])

    with (
        patch.object(compare_drafts, "speculate", speculate),
        patch.object(compare_drafts.time, "perf_counter", iter([10.0, 14.0, 20.0, 22.0]).__next__),
    ):
        found = compare_drafts.compare(target, {"one": make, "two": make}, prompts, 9, **given)
    # Two texts of nine letters in three passes each, in four and in two seconds.
    assert found == {"one": (3.0, 4.5), "two": (3.0, 9.0)}
    assert [one[:2] for one in made] == [(temperature, seed)] * 2
    assert made[0][2] is not made[1][2]
    for (*_, generator), calls in zip(made, (called[:2], called[2:]), strict=True):
        for prompt, call in zip(prompts, calls, strict=True):
            assert call == (target, "a draft", prompt, 9, n_draft, temperature, generator)


def test_the_notebook_prints_each_draft_twice_and_a_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Two small ones, whatever sizes are asked for.
    def make_small(kind: type) -> Callable[..., torch.nn.Module]:
        return lambda n_vocab, *sizes: kind(n_vocab, 8, 2, 1, 16, 256)

    for name in ("AutoregressiveTransformer", "RewindingTransformer"):
        monkeypatch.setattr(page, name, make_small(getattr(page, name)))
    monkeypatch.setattr(plt, "show", lambda: plt.close("all"))
    (tmp_path / "text.txt").write_text(TEXT * 6, encoding="utf-8")
    page.notebook(str(tmp_path / "text.txt"), steps=2, sample_length=9)
    shown = capsys.readouterr().out
    assert shown.count("validation loss") == 2
    assert shown.count("temperature 1.0, ") == shown.count("temperature 0.0, ") == 4
    assert "temperature 0.0, none: 1.00 a pass" in shown
    last = shown.rpartition("a second\n")[2]
    assert len(last.replace("|", "")) == 10
