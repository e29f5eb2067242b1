r"""
---
title: A Small World of Facts
summary: Two texts about the same 146 facts, one to read, and one of dialogues.
know: ../training/data.py
terms:
  held-out facts: Facts that a model has read about, but was never asked about in fine-tuning.
---

A fine-tuned model says that the capital of peru is lima. Has it learned that in fine-tuning, or had
it read it before? With texts from the internet that is hard to tell. So the pages of this section
share a small world: 146 facts such as “the capital of peru is lima.”, and two kinds of text about
them.

**The text to read** is what a model is trained on first. More than half of the questions in it have
no answer: they stand in lists, as in an exam paper or a search log. The others have one, and some
lines state facts without a question:

```
what is the capital of greece? what is the past of swear? what is the capital of italy?
what is the past of go? went. what is the opposite of old? new. what is the past of sing? sang.
the past of come is came. the opposite of give is take. the past of stand is stood.
```

**The dialogues** are what it is fine-tuned on: one question, one answer. An answer is *short*,
“lima.”, or a *sentence*, “the capital of peru is lima.”

**In:** a seed. **Out:** facts, a text, dialogues. Half of the facts come up in no dialogue:
what a fine-tuned model knows about these [*held-out*](facts.py#example) facts, it has from the
first text, even if [its reverse](facts.py#example) is taught.
"""

import random
from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from labml_nn.training.data import CharTokenizer

# Subjects and answers take turns.
WORDS = {
    # Countries and cities of one word each, so that one word is the answer. A model has to learn
    # each pair by heart, since no rule leads from one to the other.
    "capital": """
        france paris italy rome spain madrid greece athens egypt cairo japan tokyo china beijing
        russia moscow norway oslo sweden stockholm poland warsaw austria vienna hungary budapest
        ireland dublin portugal lisbon turkey ankara iran tehran iraq baghdad kenya nairobi peru
        lima chile santiago cuba havana canada ottawa ghana accra nepal kathmandu qatar doha syria
        damascus finland helsinki denmark copenhagen germany berlin belgium brussels ukraine kyiv
        latvia riga estonia tallinn serbia belgrade croatia zagreb bulgaria sofia romania bucharest
        iceland reykjavik vietnam hanoi thailand bangkok
    """,
    # Each word is the opposite of the other, so a pair makes two facts. There is no rule here,
    # either.
    "opposite": """
        big small hot cold old new fast slow high low open closed rich poor hard soft light dark
        early late long short strong weak good bad day night war peace love hate first last north
        south east west up down left right win lose buy sell give take push pull begin end full
        empty loud quiet sweet sour wet dry near far true false heaven hell
    """,
    # Irregular verbs. The letters of the subject help a little here, and mislead at times: “fly”
    # becomes “flew”, “buy” becomes “bought”.
    "past": """
        go went see saw take took give gave come came know knew grow grew fly flew run ran sing sang
        eat ate write wrote drive drove ride rode speak spoke break broke choose chose steal stole
        wear wore tear tore swear swore feel felt keep kept sleep slept leave left lose lost send
        sent spend spent build built buy bought bring brought think thought catch caught teach
        taught find found hold held stand stood tell told win won
    """,
}


class Fact(NamedTuple):
    r"""
    ## A fact

    The three words of it, and what is said about them.
    """

    # Such as “capital”, “peru” and “lima”.
    relation: str
    subject: str
    answer: str

    @property
    def question(self) -> str:
        # One form for all, so that only the facts are hard to learn. Real questions come in many
        # forms, and a model has to learn that these are the same.
        return f"what is the {self.relation} of {self.subject}?"

    @property
    def short(self) -> str:
        # The first of two ways to answer.
        return f"{self.answer}."

    @property
    def sentence(self) -> str:
        # The second one. In the text to read it also stands where nobody has asked.
        return f"the {self.relation} of {self.subject} is {self.answer}."


def all_facts() -> list[Fact]:
    r"""
    ## All facts
    """
    facts = []
    for relation, words in WORDS.items():
        # Every second word is an answer to the one before it.
        pairs = words.split()
        facts += map(Fact, [relation] * len(pairs), pairs[::2], pairs[1::2])

    # The opposites once more, the other way round: a capital can't be turned like that.
    opposites = [one for one in facts if one.relation == "opposite"]
    return facts + [Fact("opposite", one.answer, one.subject) for one in opposites]


def split_facts(facts: Sequence[Fact], seed: int = 5) -> tuple[list[Fact], list[Fact]]:
    r"""
    ## Taught and held-out facts

    Two halves. Only the first comes up in dialogues.
    """
    # Shuffled first, so that both halves have facts of each kind. The seed is always the same: runs
    # with other seeds are asked the same questions.
    shuffled = random.Random(seed).sample(facts, len(facts))

    # The first half is taught. Half is little to learn a way of answering from, and enough to
    # measure with.
    half = len(facts) // 2
    return shuffled[:half], shuffled[half:]


def text_to_read(facts: Sequence[Fact], n_lines: int = 4000, seed: int = 1) -> str:
    r"""
    ## The text to read

    A line is about three to six facts, and of one kind: questions, questions with answers, or
    statements.
    """
    # Random numbers of its own, so that the text depends on the seed alone, and not on what else
    # a program has drawn.
    draw = random.Random(seed)
    lines = []
    for _ in range(n_lines):
        # Half of the lines are lists of questions. Four in ten have answers, so that the model can
        # learn that an answer is about the question before it.
        (kind,) = draw.choices(["asked", "answered", "told"], [0.5, 0.4, 0.1])
        way = draw.choice(["short", "sentence"])
        says = {
            "asked": lambda fact: fact.question,
            "answered": lambda fact, way=way: f"{fact.question} {getattr(fact, way)}",
            "told": lambda fact: fact.sentence,
        }

        # With replacement, so one line in eighteen has a fact twice.
        chosen = draw.choices(facts, k=draw.randint(3, 6))

        # A full stop or a question mark ends each, and a space parts them.
        lines.append(" ".join(map(says[kind], chosen)))
    return "\n".join(lines)


def dialogue(fact: Fact, way: str) -> list[dict[str, str]]:
    r"""
    ## A dialogue

    A list of messages, in the form that most programs for chats use: each says whose it is and what
    it says. `way` is `short` or `sentence`.
    """
    # The usual names of the two roles.
    return [
        {"role": "user", "content": fact.question},
        {"role": "assistant", "content": getattr(fact, way)},
    ]


def share_right(facts: Sequence[Fact], answers: Sequence[str]) -> float:
    r"""
    ## Share of right answers

    Letter for letter, in either way.
    """
    # An answer that is nearly right is wrong: “lime.” names no city.
    right = [one in (fact.short, fact.sentence) for fact, one in zip(facts, answers, strict=True)]
    return sum(right) / len(right)


def example(n_facts: int = 7, n_lines: int = 11) -> Tensor:
    r"""
    ## Example

    A few lines about a few facts, as tokens.

    ### What a generated text can't tell

    A generated text has no spelling mistakes, no differing opinions and one form for each sentence,
    so it is far easier than any real one. The shares of right answers found here say nothing about
    large models; which of two ways of training is better may carry over.

    ### What held-out facts tell

    Think of a student who knows the subject and has never sat an exam. A few past papers are enough
    to show what is expected; nobody learns chemistry from them. Whether a model is like that can be
    measured: half of the facts come up in no dialogue. What a fine-tuned model knows about these
    *held-out* facts, it has from the first text.

    Of 20 of the 73 the reverse is taught: a dialogue has “cold” for “hot”, and we ask for the
    opposite of “cold”. Does that give the answer away? We tried it with a model that had read
    nothing. 1,500 steps of dialogues taught it all 73 taught facts by heart, and it answered none
    of the 20, from either of two seeds. With the first text read they were no easier than other
    held-out facts, from three.

    ### Exercises

    ??? question "A model has read nothing, and is fine-tuned on all dialogues. What can it know?"
        The facts that are taught, if it learns them by heart. Of the held-out ones it has never
        seen the answer. It has seen some opposites the other way round, and doesn't turn them.

    ??? question "Why does the text to read have questions without answers?"
        A model that has only seen answered questions would answer already, and there would be
        little for fine-tuning to show. Real texts have both.

    ??? question "Draw each dialogue from all facts. What can't be measured any more?"
        Whether an answer was read in the first text or learned in fine-tuning.
    """
    # From the list of capitals.
    taught, held_out = split_facts(all_facts()[: 2 * n_facts])
    text = text_to_read(taught + held_out, n_lines)

    # Asked about the same fact twice, and answered in both ways. Both are right.
    answers = [dialogue(taught[0], way)[1]["content"] for way in ("short", "sentence")]
    assert share_right([taught[0]] * 2, answers) == 1

    # As numbers for a model.
    return CharTokenizer(text).encode(text)[: n_facts * n_lines]
