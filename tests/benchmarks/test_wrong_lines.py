r"""The benchmark of wrong lines: its rows are what they say, and its grades are fair."""

import inspect
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from benchmarks import wrong_lines
from benchmarks.wrong_cases import exhibits, issues, tools
from benchmarks.wrong_cases.case import Case, Subject, causal_with_padding, logits_in
from benchmarks.wrong_cases.gpt import LONGEST, Attention, Gpt, with_attention
from benchmarks.wrong_cases.tools import Said, ask
from benchmarks.wrong_cases.words import PARTS, WORDS

CASES = [*exhibits.cases(), *issues.cases()]


def told(call: Callable[[], Any]) -> Any:
    r"""Numbers, or the error in their place."""
    try:
        return call()
    except RuntimeError as error:
        return str(error)
    except TypeError as error:
        return str(error)


def in_parts(model: Any, tokens: Tensor, sizes: tuple[int, ...]) -> Tensor:
    r"""Logits of a text that is read with a cache, kept outside."""
    past, found = None, []
    for part in tokens.split(sizes, dim=1):
        logits, past = model(part, past_key_values=past, use_cache=True)
        found.append(logits)
    return torch.cat(found, dim=1)


def kept_inside(model: Any, tokens: Tensor) -> Tensor:
    model.reset_cache()
    return torch.cat([model(one, use_cache=True) for one in tokens.split(2, dim=1)], dim=1)


def stepped(subject: Subject) -> Tensor:
    r"""All weights after two steps, and what the steps have printed."""
    step = subject.train(subject.model).step
    losses = [step(subject.inputs, subject.targets) for _ in range(2)]
    weights = [one.detach().flatten() for one in subject.model.parameters()]
    return torch.cat([torch.stack(losses), *weights])


def behaviour(subject: Subject) -> dict[str, Any]:
    r"""Whatever a subject does, by itself: no tool has a part in it."""
    model, tokens = subject.model.eval(), subject.inputs
    arguments = inspect.signature(model.forward).parameters
    found: dict[str, Any] = {"weights": [name for name, _ in model.named_parameters()]}
    found["learns"] = [one.requires_grad for one in model.parameters()]
    found["targets"] = subject.targets.tolist()
    with torch.no_grad():
        torch.manual_seed(2)
        found["plain"] = told(lambda: logits_in(model(tokens)))
        found["loss"] = told(lambda: subject.loss(logits_in(model(tokens)), subject.targets))
        long = tokens.repeat(1, subject.longest // tokens.shape[1])
        found["long"] = told(lambda: logits_in(model(long)))
        mask = torch.ones_like(tokens)
        mask[::2, :3] = 0
        documents = torch.arange(tokens.shape[1]).div(6).long().expand(tokens.shape)
        if "attention_mask" in arguments:
            found["padding"] = model(tokens, attention_mask=mask)
        if "document_ids" in arguments:
            found["documents"] = model(tokens, document_ids=documents)
        if subject.cached:
            found["cached"] = told(lambda: in_parts(model, tokens, (7, 1, 1, 3)))
        if hasattr(model, "reset_cache"):
            found["kept inside"] = kept_inside(model, tokens)
        if subject.read is not None:
            attention = subject.attention().eval()
            x = torch.randn(2, 6, 24)
            found["read"] = subject.read(attention, list(x.split((4, 1, 1), dim=1)))
        if subject.takes_mask:
            attention = subject.attention().eval()
            x = torch.randn(4, 12, 24)
            found["masked"] = told(lambda: attention(x, mask=causal_with_padding()))
    torch.manual_seed(3)
    found["steps"] = told(lambda: stepped(subject))
    return found


def same(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return one.shape == other.shape and torch.allclose(one, other, atol=1e-6)
    return type(one) is type(other) and one == other


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_wrong_line_changes_something_and_a_right_one_nothing(case: Case) -> None:
    right, again, wrong = (behaviour(make()) for make in (case.right, case.right, case.wrong))
    assert all(same(right[name], again[name]) for name in right)
    assert not all(same(right[name], wrong[name]) for name in right)


def test_the_small_model_is_right_with_a_cache_padding_and_documents() -> None:
    model, tokens = Gpt().eval(), issues.of(Gpt)().inputs
    with torch.no_grad():
        whole = model(tokens)
        for sizes in ((12,), (1,) * 12, (7, 5), (3, 1, 8)):
            torch.testing.assert_close(in_parts(model, tokens, sizes), whole)
        # Padding on the left, and on the right.
        mask = torch.ones_like(tokens)
        for side, shown in ((slice(0, 4), slice(4, 12)), (slice(8, 12), slice(0, 8))):
            hiding = mask.clone()
            hiding[:, side] = 0
            alone = model(tokens[:, shown])
            torch.testing.assert_close(model(tokens, attention_mask=hiding)[:, shown], alone)
        # A later token changes no earlier logits, and one document none of another.
        other = tokens.clone()
        other[:, 6:] = (other[:, 6:] + 1) % 31
        assert torch.equal(model(other)[:, :6], whole[:, :6])
        documents = (torch.arange(12) >= 6).long().expand(tokens.shape)
        other = tokens.clone()
        other[:, :6] = (other[:, :6] + 1) % 31
        one, two = (model(given, document_ids=documents)[:, 6:] for given in (tokens, other))
        assert torch.equal(one, two)
    assert LONGEST >= 2 * 64


# One of each kind; the others are among the slow tests.
SAMPLES = ("Unscaled", "padding on the left takes positions")
RIGHTS = {case.like or case.name: case for case in reversed(CASES)}


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(one, id=name, marks=() if one.name in SAMPLES else pytest.mark.whole)
        for name, one in {
            **RIGHTS,
            **{one.name: one for one in CASES if one.name in SAMPLES},
        }.items()
    ],
)
def test_nothing_is_wrong_with_what_is_right(case: Case) -> None:
    said = ask("wrongline", case.right())
    assert [one for one in said if one.fails] == []


def seen(*said: Said) -> dict[str, Any]:
    return {"said": [vars(one) for one in said], "seconds": 1.0}


# Its words are those of a mask.
MASKED = Case("MaskUnused", "exhibit", "somewhere", issues.of(Gpt), issues.of(Gpt))


def test_every_mistake_has_its_words() -> None:
    assert sorted(WORDS) == sorted(one.name for one in CASES)
    assert all(re.compile(words) for words in (*WORDS.values(), *PARTS.values()))


@pytest.mark.parametrize(
    ("sentence", "grade"),
    [
        ("the mask is not used", "named"),
        ("it differs: look at the mask, and at the position", "suspected"),
        ("it differs (is there no mask?), or so", "suspected"),
        ("a weight (of two) has no part in it: the mask", "named"),
        ("Outputs differ. hint: check the mask", "suspected"),
        ("it differs", "found"),
    ],
)
def test_who_lists_what_may_be_wrong_has_not_named_it(sentence: str, grade: str) -> None:
    assert wrong_lines.grade(MASKED, seen(), seen(Said("a", True, sentence))) == grade


def test_what_is_said_of_the_right_one_too_is_no_finding() -> None:
    always = Said("a", True, "the mask is not used")
    assert wrong_lines.grade(MASKED, seen(always), seen(always)) == "–"
    remark = Said("a", False, "it can be meant")
    assert wrong_lines.grade(MASKED, seen(remark), seen(always)) == "named"
    assert wrong_lines.grade(MASKED, seen(), {"not_asked": "why"}) == "not asked"
    assert wrong_lines.false_alarms(seen(always, Said("b", False, "can be meant"))) == ["a"]


def test_a_tool_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(tools.TOOLS, "sleeper", lambda subject: time.sleep(30))
    found = wrong_lines.alone("sleeper", MASKED, "right", 0.1)
    assert found == {"not_asked": "it took more than 0.1 s"}


def test_what_a_tool_raises_is_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(subject: Subject) -> list[Said]:
        raise ValueError("a mask of 6x6 for 6x7 scores")

    monkeypatch.setitem(tools.TOOLS, "failing", fails)
    (said,) = ask("failing", MASKED.right())
    assert said == Said("the call", True, "ValueError: a mask of 6x6 for 6x7 scores")


def test_a_missing_package_is_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacks(subject: Subject) -> list[Said]:
        raise ModuleNotFoundError("No module named 'x'")

    monkeypatch.setitem(tools.TOOLS, "lacking", lacks)
    found = wrong_lines.looked_at("lacking", MASKED, "right")
    assert found["not_asked"].startswith("a package is missing")


def test_it_runs_in_the_small_way_without_any_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert wrong_lines.main(["--small"]) == 0
    printed = capsys.readouterr().out
    assert "MaskUnused: wrongline named" in printed
    assert "torchtest2 isn't there" in printed


def test_a_mistake_that_is_planted_in_the_small_model_is_found_by_ours() -> None:
    class Ahead(Attention):
        def sees(self, n_new: int, n_all: int) -> Tensor:
            return super().sees(n_new, n_all).tril(n_all) | torch.ones(n_new, n_all).bool()

    said = ask("wrongline", issues.of(with_attention(Ahead))())
    assert any("sees the future" in one.sentence for one in said)
