r"""The conventions that are checked without running a page."""

import pytest

from literate.reading.rules import problems
from literate.reading.source import parse

PAGE = 'r"""\n---\ntitle: A\n# a comment in YAML\nsummary: B\n---\n\nHello.\n"""\n\n\n'


RAW = 'the docstring has a backslash and is not raw; begin it with `r"""`.'
TITLE = "a heading of the first level"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        *[
            (f"{PAGE}def f():\n    {before}$\\theta$.{after}\n", 13, RAW)
            for before, after in [('"""', '"""'), ("'''", "'''"), ('"', '"'), ('u"""', '"""')]
        ],
        # Without a backslash there is no difference.
        (f'{PAGE}def f():\n    """theta."""\n', 0, ""),
        # A mark of click, which Python has to read.
        (f'{PAGE}def f():\n    """\n    Use:\n\n    \\b\n    f -a\n    """\n', 0, ""),
        # Further down it is hard to see.
        (PAGE[1:].replace("Hello", r"\theta"), 1, RAW.replace("backslash", "backslash in line 8")),
        (PAGE + 'def f():\n    r"""\n    # F\n    """\n', 14, TITLE),
        # A title in the place of front matter is the one.
        ('"""\n# A page\n\nHello.\n"""\n', 0, ""),
        ('"""\n# A page\n\nHello.\n\n# Another\n"""\n', 6, TITLE),
        (
            PAGE + 'class A:\n    def f(self):\n        r"""\n        ### F\n        """\n',
            15,
            "the heading skips from level 1 to level 3.",
        ),
        (PAGE + 'def f():\n    r"""\n    ## F\n\n    ### Part\n\n    ## Next\n    """\n', 0, ""),
        # Without a heading of its own, a docstring is about what has one.
        (PAGE + 'class A:\n    """One.\n\n    #### Part\n\n    # More\n    """\n', 0, ""),
        (
            '"""\n# A page\n\n.. include:: ../README.md\n"""\n',
            4,
            "“.. include:: ../README.md” isn't",
        ),
        # A hash in a fence is no heading.
        (PAGE + 'def f():\n    r"""\n    ```\n    # a comment\n    ```\n    """\n', 0, ""),
    ],
)
def test_a_page_by_the_rules_has_no_problem_and_any_other_one(
    text: str, line: int, words: str
) -> None:
    found = [
        (one.line, one.sentence.startswith(words)) for one in problems(parse(text, "a.py"), {})
    ]
    assert found == ([(line, True)] if line else [])


WORDS = {
    "card": "GPU",
    "graphics card": "graphics GPU",
    "way back": "backward pass",
    "model card": "",
}


QUESTION = """r\"\"\"
---
title: A
summary: B
---

??? question "Why?"
    - [ ] One.
        - No, because
          it isn't.
    - [x] Two.
        - Yes.

??? question "What?"
    Nothing to choose from.
\"\"\"
"""


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", []),
        ("[ ] One", "[x] One", ["page.py:7: a question with answers has one that is right"]),
        ("[x]", "[ ]", ["page.py:7: a question with answers has one that is right"]),
        ("        - Yes.\n", "\n        - Yes.\n", []),
        ("        - Yes.\n", "", ["page.py:11: the answer “Two.” doesn't say why"]),
        (
            "        - No, because\n          it isn't.\n",
            "",
            ["page.py:8: the answer “One.” doesn't say why"],
        ),
    ],
)
def test_an_answer_to_choose_says_why_and_one_is_right(
    old: str, new: str, expected: list[str]
) -> None:
    found = [str(one) for one in problems(parse(QUESTION.replace(old, new), "page.py"), {})]
    assert len(found) == len(expected), found
    assert all(a.startswith(b) for a, b in zip(found, expected, strict=True)), found


def test_a_word_is_named_with_its_line_and_what_to_say_where_the_page_says_it() -> None:
    # Code, links' targets, quotations and longer words are left alone.
    text = '''r"""
A Card.

On a graphics
card, on the way
back. A `card`, $card$, a [card](card.py#card), <a id="card">, “a card”, "a card".

> He said card,
> a card.

```
card
```

Cardboard, discard, a card-holder, a way. Back. The Model
Card.
"""
# Again `code`, a card.
card = "card"  # card
'''
    assert [(one.line, one.sentence) for one in problems(parse(text, "a.py"), WORDS)] == [
        (line, f"the note says “{found}”; say “{instead}”.")
        for line, found, instead in [
            *((2, "Card", "GPU"), (4, "graphics card", "graphics GPU")),
            *((5, "way back", "backward pass"), (6, "card", "GPU"), (18, "card", "GPU")),
        ]
    ]
