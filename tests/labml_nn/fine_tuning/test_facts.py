import random
from collections import Counter

import pytest

from labml_nn.fine_tuning.facts import (
    Fact,
    all_facts,
    dialogue,
    example,
    share_right,
    split_facts,
    text_to_read,
)

FACTS = all_facts()
LIMA = Fact("capital", "peru", "lima")


def test_there_are_146_facts_of_three_relations_and_no_question_has_two_answers() -> None:
    assert Counter(one.relation for one in FACTS) == {"capital": 41, "opposite": 66, "past": 39}
    assert len({one.question for one in FACTS}) == 146
    known = [LIMA, Fact("opposite", "hot", "cold"), Fact("opposite", "cold", "hot")]
    known += [Fact("past", "fly", "flew"), Fact("past", "buy", "bought")]
    assert set(known) <= set(FACTS)


def test_what_is_said_about_a_fact() -> None:
    assert LIMA.question == "what is the capital of peru?"
    assert (LIMA.short, LIMA.sentence) == ("lima.", "the capital of peru is lima.")
    assert dialogue(LIMA, "short") == [
        {"role": "user", "content": "what is the capital of peru?"},
        {"role": "assistant", "content": "lima."},
    ]
    assert dialogue(LIMA, "sentence")[1]["content"] == LIMA.sentence


def test_half_of_the_facts_is_taught_and_of_each_kind_some_are_held_out() -> None:
    taught, held_out = split_facts(FACTS)
    assert sorted(taught + held_out) == sorted(FACTS)
    assert (len(taught), len(held_out)) == (73, 73)
    assert min(Counter(one.relation for one in held_out).values()) > 10
    assert taught[0] == Fact("opposite", "push", "pull")
    assert split_facts(FACTS) == (taught, held_out) != split_facts(FACTS, seed=6)


def kinds(text: str) -> Counter:
    r"""How many lines are of which kind; a line of no kind is an error."""
    said = {
        "asked": [{one.question for one in FACTS}],
        "short": [{f"{one.question} {one.short}" for one in FACTS}],
        "sentence": [{f"{one.question} {one.sentence}" for one in FACTS}],
        "told": [{one.sentence for one in FACTS}],
    }
    found = Counter()
    for line in text.split("\n"):
        ends = line.replace("? what", "?\nwhat").replace(". what", ".\nwhat")
        parts = ends.replace(". the", ".\nthe").split("\n")
        assert 3 <= len(parts) <= 6
        (kind,) = (name for name, (all_of_it,) in said.items() if set(parts) <= all_of_it)
        found[kind, len(parts)] += 1
    return found


def test_a_line_of_the_text_has_one_kind_in_the_shares_of_the_page() -> None:
    found = kinds(text_to_read(FACTS, n_lines=2000))
    shares = Counter()
    for (kind, _), count in found.items():
        shares[kind] += count / 2000
    expected = {"asked": 0.5, "short": 0.2, "sentence": 0.2, "told": 0.1}
    assert shares == pytest.approx(expected, abs=0.04)
    assert {size for _, size in found} == {3, 4, 5, 6}


def test_the_text_depends_on_the_seed_alone() -> None:
    random.seed(1)
    first = text_to_read(FACTS, 20)
    random.seed(2)
    assert text_to_read(FACTS, 20) == first != text_to_read(FACTS, 20, seed=2)
    assert len(text_to_read(FACTS).split("\n")) == 4000
    *_, told = text_to_read(FACTS, 5).split("\n")
    assert told.startswith("what is the opposite of sell? the opposite of sell is buy.")


def test_an_answer_is_right_letter_for_letter_in_either_way() -> None:
    given = ["lima.", "the capital of peru is lima.", "lima", "the capital of peru is rome."]
    assert share_right([LIMA] * 4, given) == 0.5
    with pytest.raises(ValueError, match="zip"):
        share_right([LIMA], given)


def test_the_example_is_a_piece_of_text() -> None:
    assert example().shape == (77,)
    assert example(5, 3).shape == (15,)
