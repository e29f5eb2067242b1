r"""The models of the course as the browser trains them: the curve of the record, and no mask."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from labml_nn.course import train_here
from labml_nn.course.steps import fit, steps_of_course
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare


def told(name: str, steps: int, **given: Any) -> list[dict[str, Any]]:
    return list(train_here.train_here(name, steps, samples=1, **given))


def losses(name: str, steps: int, **given: Any) -> list[float]:
    return [one["loss"] for one in told(name, steps, **given) if "loss" in one]


@pytest.mark.parametrize("name", ["One head, with positions", "The classic recipe"])
def test_single_steps_are_the_training_of_the_course(name: str, repository: Path) -> None:
    steps = 5
    text = tiny_shakespeare()[: train_here.CHARACTERS]
    tokenizer, training, _ = prepare(text, train_here.SEQ_LEN)
    make, recipe = steps_of_course(
        len(tokenizer), train_here.D_MODEL, train_here.HEADS, train_here.SEQ_LEN
    )[name]
    torch.manual_seed(1)
    model = make()
    batches = RandomWindows(training, train_here.SEQ_LEN, train_here.BATCH_SIZE, 1)
    fit(model, batches, steps, recipe)
    # After the same steps both have the same loss on the batch that would come next.
    inputs, targets = batches.at(steps)
    with torch.no_grad():
        logits = model(inputs).flatten(0, 1)
    expected = torch.nn.functional.cross_entropy(logits, targets.flatten()).item()
    if name == "One head, with positions":
        assert_close(losses(name, steps + 1)[-1], expected, atol=1e-5, rtol=0)
    else:
        assert expected < losses(name, steps)[0]


def test_the_recorded_curve_is_that_of_the_page(repository: Path) -> None:
    record = json.loads((repository / "results/train_here.json").read_text("utf-8"))
    lines = {one["name"]: one["points"] for one in record["figures"]["losses"]["lines"]}
    assert {*train_here.STEPS} <= {*lines}
    name = "One head"
    found = losses(name, 4)
    known = {step: loss for step, loss in lines[name]}
    assert_close([found[0], found[1], found[3]], [known[1], known[2], known[4]], atol=1e-3, rtol=0)


def test_a_head_without_its_mask_sees_the_next_letter() -> None:
    torch.manual_seed(1)
    for name in ("One head, with positions", "Four layers"):
        model = steps_of_course(11, 16, 4, 8)[name][0]().eval()
        tokens = torch.arange(8)[:, None] % 11
        other = tokens.clone()
        other[-1] = 5
        assert torch.equal(model(tokens)[:-1], model(other)[:-1])
        assert train_here.without_mask(model)
        assert not torch.allclose(model(tokens)[:-1], model(other)[:-1])
    table = steps_of_course(11, 16, 4, 8)["A learned table of pairs"][0]()
    assert not train_here.without_mask(table)


def test_more_than_the_usual_rate_moves_farther() -> None:
    usual, high = losses("One head", 2), losses("One head", 2, times=10.0)
    assert usual[0] == high[0]
    assert usual[1] != high[1]


def test_it_tells_samples_and_at_last_the_loss_on_unseen_text() -> None:
    found = told("A learned table of pairs", 2, masked=False)
    assert "no mask" in found[0]["note"]
    assert [one for one in found if "sample" in one][0]["sample"].startswith("ROMEO:\n")
    assert 3 < found[-1]["validation"] < 4.5
    names = [one["name"] for one in next(train_here.choices())["choices"]]
    assert names == [*train_here.STEPS]
