import random
from collections import Counter

import pytest

from labml_nn.fine_tuning.facts import (
    Fact,
    all_facts,
    dialogue,
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


def test_half_of_the_facts_is_taught_and_of_each_kind_some_are_held_out() -> None:
    taught, held_out = split_facts(FACTS)
    assert sorted(taught + held_out) == sorted(FACTS)
    assert (len(taught), len(held_out)) == (73, 73)
    assert min(Counter(one.relation for one in held_out).values()) > 10
    assert taught[0] == Fact("opposite", "push", "pull")
    assert split_facts(FACTS) == (taught, held_out) != split_facts(FACTS, seed=6)


def test_a_line_of_the_text_has_one_kind_in_the_shares_of_the_page() -> None:
    shares, sizes = Counter(), set()
    for line in text_to_read(FACTS, n_lines=2000).split("\n"):
        marks = line.count("?"), line.count(".")
        shares[min(marks[0], 1), min(marks[1], 1), "? the " in line] += 1 / 2000
        sizes.add(max(marks))
    asked, short, sentence, told = (1, 0, False), (1, 1, False), (1, 1, True), (0, 1, False)
    expected = {asked: 0.5, short: 0.2, sentence: 0.2, told: 0.1}
    assert shares == pytest.approx(expected, abs=0.04)
    assert sizes == {3, 4, 5, 6}


def test_the_text_depends_on_the_seed_alone() -> None:
    random.seed(1)
    first = text_to_read(FACTS, 20)
    random.seed(2)
    assert text_to_read(FACTS, 20) == first != text_to_read(FACTS, 20, seed=2)
    assert len(text_to_read(FACTS).split("\n")) == 4000
    *_, told = text_to_read(FACTS, 5).split("\n")
    assert told.startswith("what is the opposite of sell? the opposite of sell is buy.")


def test_an_answer_is_right_letter_for_letter_in_either_way() -> None:
    assert dialogue(LIMA, "sentence") == [
        {"role": "user", "content": "what is the capital of peru?"},
        {"role": "assistant", "content": "the capital of peru is lima."},
    ]
    given = ["lima.", "the capital of peru is lima.", "lima.", "lima"]
    assert share_right([LIMA] * 4, given) == 0.75
    with pytest.raises(ValueError, match="zip"):
        share_right([LIMA], given)
