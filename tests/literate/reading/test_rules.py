r"""The conventions that are checked without running a page."""

import pytest

from literate.reading.rules import problems
from literate.reading.source import parse

PAGE = 'r"""\n---\ntitle: A\n# a comment in YAML\nsummary: B\n---\n\nHello.\n"""\n\n\n'


def found(text: str) -> list[tuple[int, str]]:
    return [(one.line, one.sentence) for one in problems(parse(text, "a.py"), {})]


def test_a_page_by_the_rules_has_no_problem() -> None:
    text = PAGE + 'def f():\n    r"""\n    ## F\n\n    ### Part\n\n    ## Next\n    """\n'
    assert found(text) == []


@pytest.mark.parametrize("quotes", ['"""', "'''", '"', 'u"""'])
def test_a_docstring_that_is_not_raw_is_named(quotes: str) -> None:
    text = PAGE + f"def f():\n    {quotes}$\\theta$.{quotes.lstrip('u')}\n"
    sentence = 'the docstring has a backslash and is not raw; begin it with `r"""`.'
    assert found(text) == [(13, sentence)]
    # Without a backslash there is no difference.
    assert found(text.replace("\\", "")) == []


def test_a_docstring_of_a_module_that_is_not_raw_is_named() -> None:
    assert found(PAGE[1:].replace("Hello", r"\theta"))[0][0] == 1


def test_a_second_title_is_named() -> None:
    text = PAGE + 'def f():\n    r"""\n    # F\n    """\n'
    assert [line for line, _ in found(text)] == [14]


def test_a_title_in_place_of_front_matter_is_the_one() -> None:
    assert found('"""\n# A page\n\nHello.\n"""\n') == []
    assert found('"""\n# A page\n\nHello.\n\n# Another\n"""\n')[0][0] == 6


def test_a_skipped_level_is_named() -> None:
    text = PAGE + 'class A:\n    def f(self):\n        r"""\n        ### F\n        """\n'
    assert found(text) == [(15, "the heading skips from level 1 to level 3.")]


def test_a_hash_in_a_fence_is_no_heading() -> None:
    text = PAGE + 'def f():\n    r"""\n    ```\n    # a comment\n    ```\n    """\n'
    assert found(text) == []


WORDS = {
    "card": "GPU",
    "graphics card": "graphics GPU",
    "way back": "backward pass",
    "model card": "",
}


def said(text: str) -> list[tuple[int, str]]:
    r"""The words of the list, where they stand."""
    return [(one.line, one.sentence) for one in problems(parse(text, "a.py"), WORDS)]


def test_a_word_is_named_with_its_line_and_what_to_say() -> None:
    text = '''r"""
A Card.

On a graphics
card, on the way
back.
"""


def f() -> None:
    r"""
    A card; [a card](b.py).
    """
    # Again `code`, a card.
    return None
'''
    say = "the note says “{}”; say “{}”."
    assert said(text) == [
        (2, say.format("Card", "GPU")),
        (4, say.format("graphics card", "graphics GPU")),
        (5, say.format("way back", "backward pass")),
        (12, say.format("card", "GPU")),
        (12, say.format("card", "GPU")),
        (14, say.format("card", "GPU")),
    ]


def test_code_links_quotations_and_other_words_are_left_alone() -> None:
    text = '''r"""
A `card`, $card$, a [link](card.py#card), <a id="card">, “a card”, "a card".

> He said card,
> a card.

```
card
```

Cardboard, discard, a card-holder, a way. Back. The Model
Card.
"""
card = "card"  # card
'''
    assert said(text) == []
