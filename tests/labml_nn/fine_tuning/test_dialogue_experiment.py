import random
from collections.abc import Callable

import matplotlib.pyplot as plt
import pytest
import torch
from torch import nn

from labml_nn.fine_tuning import dialogue_experiment as page
from labml_nn.fine_tuning.dialogues import ChatTokenizer
from labml_nn.fine_tuning.facts import all_facts, text_to_read
from labml_nn.fine_tuning.packing import PackedTransformer
from labml_nn.training.data import RandomWindows
from labml_nn.training.run import Run
from labml_nn.training.sampling import draw, greedy
from labml_nn.transformers.fused_attention import FusedAttention

FACTS = all_facts()[:3]
TOKENIZER = ChatTokenizer(text_to_read(all_facts()))


def tiny(tokenizer: ChatTokenizer = TOKENIZER) -> PackedTransformer:
    begin = tokenizer.marks["<begin>"]
    sizes = {"d_model": 16, "heads": 2, "n_layers": 1, "d_ff": 32}
    return PackedTransformer(begin, n_vocab=len(tokenizer), seq_len=page.SEQ_LEN, **sizes)


def test_the_model_has_the_sizes_of_the_page_and_knows_its_mark() -> None:
    model = page.small_model(TOKENIZER)
    assert model.begin == TOKENIZER.marks["<begin>"]
    assert len(model.encoder.layers) == 3
    assert model.encoder.layers[0].self_attn.heads == 4
    assert model(torch.zeros(page.SEQ_LEN, 1, dtype=torch.long)).shape == (128, 1, len(TOKENIZER))
    assert sum(one.numel() for one in model.parameters()) == 342_274
    assert all(type(one.self_attn) is FusedAttention for one in model.encoder.layers)


def test_a_batch_is_full_of_dialogues_that_seed_and_step_decide() -> None:
    for seed, step, size in ((1, 3, 6), (2, 4, 2)):
        draw = random.Random(seed * 1_000_003 + step)
        ways = draw.choices(["short", "sentence"], k=4 * size)
        said = zip(draw.choices(FACTS, k=4 * size), ways, strict=True)
        rendered = [TOKENIZER.render(page.dialogue(*one)) for one in said]
        tokens, counted = page.pack(rendered, 129, TOKENIZER.marks["<begin>"])
        inputs, targets = page.packed_batches(TOKENIZER, FACTS, seed, size)(step)
        assert inputs.equal(tokens[:-1, :size])
        assert targets.equal(tokens.where(counted, -100)[1:, :size])
    batch_at = page.packed_batches(TOKENIZER, all_facts(), 1)
    assert {batch_at(step)[0].shape for step in range(40)} == {(128, 6)}


def test_text_is_read_in_six_windows_of_the_context() -> None:
    tokens = TOKENIZER.encode(text_to_read(FACTS, n_lines=200))
    inputs, targets = page.text_batches(tokens, seed=7)(3)
    expected = RandomWindows(tokens, 128, 6, 7).at(3)
    assert inputs.equal(expected[0]) and targets.equal(expected[1])
    assert inputs.shape == (128, 6)


def test_asking_gives_the_question_alone_and_room_for_any_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(page, "answer", lambda *given: given)
    model, generator = tiny(), torch.Generator()
    questions = [[{"role": "user", "content": one.question}] for one in FACTS]
    given = (model, TOKENIZER, questions, 40, 128)
    assert page.ask(model, TOKENIZER, FACTS, draw, generator) == (*given, draw, generator)
    assert page.ask(model, TOKENIZER, FACTS) == (*given, greedy, None)
    assert max(len(one.sentence) for one in all_facts()) < 40


def test_the_notebook_reads_and_fine_tunes_at_two_rates_and_asks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rates, seen = [], []

    def watched(model: nn.Module, batch_at: Callable, optimizers: list, **more: object) -> Run:
        rates.append([group["lr"] for one in optimizers for group in one.param_groups])
        seen.append(batch_at(5)[0])
        return Run(model, batch_at, optimizers, **more)

    monkeypatch.setattr(page, "Run", watched)
    monkeypatch.setattr(page, "small_model", tiny)
    drawn = {}
    monkeypatch.setattr(plt, "show", lambda: drawn.update(axes=plt.gca()))
    page.notebook(steps=2, fine_tuning_steps=2)
    shown = capsys.readouterr().out
    assert "reading: step 2 of 2" in shown
    assert "validation loss" in shown
    assert shown.count("what is") > 5
    assert rates == [[3e-3] * 2, [2e-4] * 2]
    # The text has no marks, and each window of dialogues begins with one.
    begin = TOKENIZER.marks["<begin>"]
    assert not (seen[0] == begin).any() and (seen[1][0] == begin).all()
    # A point after each step of the fine-tuning.
    lines = {line.get_label(): line.get_xdata().tolist() for line in drawn["axes"].lines}
    assert lines == {"taught": [1, 2], "held out": [1, 2]}
    plt.close("all")
