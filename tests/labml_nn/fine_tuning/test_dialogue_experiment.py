import random

import matplotlib.pyplot as plt
import pytest
import torch
from torch import Tensor

from labml_nn.fine_tuning import dialogue_experiment as page
from labml_nn.fine_tuning.dialogues import ChatTokenizer
from labml_nn.fine_tuning.facts import all_facts, text_to_read
from labml_nn.fine_tuning.packing import PackedTransformer
from labml_nn.training.sampling import draw
from labml_nn.transformers.fused_attention import FusedAttention

FACTS = all_facts()[:3]
TEXT = text_to_read(FACTS, n_lines=200)
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


def test_a_batch_is_full_of_dialogues_about_the_facts_and_depends_on_seed_and_step() -> None:
    batch_at = page.packed_batches(TOKENIZER, FACTS, seed=1)
    inputs, targets = batch_at(3)
    assert inputs.shape == targets.shape == (128, 6)
    assert all(one.equal(other) for one, other in zip(batch_at(3), (inputs, targets), strict=True))
    others = [batch_at(4), page.packed_batches(TOKENIZER, FACTS, seed=2)(3)]
    assert not any(one.equal(inputs) for one, _ in others)
    assert not others[0][0].equal(others[1][0])
    assert page.packed_batches(TOKENIZER, FACTS, 1, batch_size=2)(3)[0].shape == (128, 2)
    # The same random numbers, and so the same way of the first answer, as by the page's formula.
    for step in range(9):
        (way,) = random.Random(2 * 1_000_003 + step).choices(["short", "sentence"])
        text = TOKENIZER.decode(page.packed_batches(TOKENIZER, FACTS, 2)(step)[0][:, 0])
        said = text.split("<assistant>")[1]
        assert said.startswith("the ") == (way == "sentence")
    text = "".join(TOKENIZER.decode(column) for column in inputs.t())
    questions = [one.partition("<end>")[0] for one in text.split("<user>")[1:]]
    assert set(questions) == {one.question for one in FACTS}
    said = TOKENIZER.decode(targets.t()[targets.t() != -100]).split("<end>")
    assert {one for one in said if one} == {
        one for fact in FACTS for one in (fact.short, fact.sentence)
    }
    sizes = {
        len(TOKENIZER.render(page.dialogue(one, "sentence"))[0]) for one in all_facts()
    }
    assert max(sizes) == 73
    # The longest dialogues alone fill as many windows as are wanted.
    sizes = {page.packed_batches(TOKENIZER, all_facts(), 1)(step)[0].shape[1] for step in range(40)}
    assert sizes == {6}


def test_reading_and_fine_tuning_lower_their_losses_at_their_rates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rates = []
    adamw = page.adamw
    monkeypatch.setattr(page, "adamw", lambda m, *rate: rates.append(rate) or adamw(m, *rate))
    torch.manual_seed(1)
    model = tiny()
    losses: list[float] = []

    def collect(step: int, loss: Tensor) -> None:
        losses.append(loss.item())

    tokens = TOKENIZER.encode(TEXT)
    page.read(model, tokens, 30, 1, collect)
    batches = page.RandomWindows(tokens, 128, 6, 1)
    fresh = [page.RandomWindows(tokens, 128, 6, 2).at(0)[0], batches.at(0)[0]]
    assert len(losses) == 30 and losses[-1] < 0.8 * losses[0]
    assert not fresh[0].equal(fresh[1])
    page.fine_tune(model, page.packed_batches(TOKENIZER, FACTS, 1), 30, collect, rate=3e-3)
    assert len(losses) == 60 and losses[-1] < 0.8 * losses[30]
    page.fine_tune(model, page.packed_batches(TOKENIZER, FACTS, 1), 1)
    assert rates == [(), (3e-3,), (2e-4,)]


def test_reading_takes_six_windows_of_the_context_by_the_seed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen = []
    monkeypatch.setattr(page, "train", lambda model, batch_at, *_, **__: seen.append(batch_at(0)))
    tokens = TOKENIZER.encode(TEXT)
    page.read(tiny(), tokens, 1, 7)
    assert seen[0][0].equal(page.RandomWindows(tokens, 128, 6, 7).at(0)[0])


def test_asking_gives_the_question_alone_and_room_for_any_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = tiny().eval()
    with torch.no_grad():
        model.generator.projection.weight.zero_()
        model.generator.projection.bias[TOKENIZER.encode("l")] = 100.0
    assert page.ask(model, TOKENIZER, FACTS) == ["l" * 40] * 3
    assert max(len(one.sentence) for one in all_facts()) == 37
    model.generator.projection.bias.data[TOKENIZER.encode("m")] = 100.0
    one, same = (
        page.ask(model, TOKENIZER, FACTS, draw, torch.Generator().manual_seed(1)) for _ in range(2)
    )
    assert one == same and set("".join(one)) == {"l", "m"}
    asked = []
    monkeypatch.setattr(page, "answer", lambda *given: asked.append(given))
    page.ask(model, TOKENIZER, FACTS[:1])
    assert asked[0][2] == [[{"role": "user", "content": FACTS[0].question}]]


def test_the_notebook_reads_fine_tunes_and_asks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(page, "small_model", tiny)
    monkeypatch.setattr(plt, "show", lambda: plt.close("all"))
    page.notebook(steps=2, fine_tuning_steps=2)
    shown = capsys.readouterr().out
    assert "step     2" in shown
    assert "validation loss" in shown
    assert shown.count("what is") > 5
