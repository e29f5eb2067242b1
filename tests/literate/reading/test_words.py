r"""Words that notes should not say are found where they stand, and only there."""

from literate.reading.source import parse
from literate.reading.words import problems

WORDS = {
    "card": "GPU",
    "graphics card": "graphics GPU",
    "way back": "backward pass",
    "model card": "",
}


def found(text: str) -> list[tuple[int, str]]:
    r"""The lines, and what is said there."""
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
    assert found(text) == [
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
    assert found(text) == []


def test_without_a_list_nothing_is_wrong() -> None:
    assert list(problems(parse("# A card.\n"), {})) == []
