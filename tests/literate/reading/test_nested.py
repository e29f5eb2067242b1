r"""Lists as people indent them are, for the engine, what they are for CommonMark."""

import re
from html.parser import HTMLParser

import markdown
import pytest
from markdown_it import MarkdownIt

from literate.reading.nested import nested
from literate.reading.text_lines import TextLine
from literate.site import EXTENSIONS

NESTED = """
Parameters:

- one
  - two a
  - two b
    goes on

    a paragraph of b
- three

  a paragraph of three
    - four, with four blanks
        - five

1. first
   - in first
     ```python
     - no item
     ```
2. second
"""
BELOW_A_SENTENCE = """
The values are
- one, which
  is long
- two
  1. a
  2. b
"""
FAR_TO_THE_RIGHT = """
There is a path iff:
    - at most one vertex
      is odd,
    - and one of
        - these
        - those

Else there is none.
"""
IN_A_BOX = """
!!! note
    One of
    - a
      - b
    - c
"""
AN_ITEM_RIGHT_BELOW_AN_INNER_LIST = """
1. one

   * inner
2. two

   a paragraph of two

3. three
"""
ONE_THAT_A_COLON_ANNOUNCES = """
The values are:
1. one
   - inner

2. two
"""
A_NUMBER_AT_THE_END_OF_A_SENTENCE = """
- from 0 to
  2048. It is one
- two
  1. a
  2. b
"""
IN_A_QUOTATION = """
> There are:
> - one
>   - two
> - three
  goes on

> as it is

More.
"""
NO_LIST = """
A sum of a
- b is none, and in the year
2020. nothing happened.

$$
a
- b
- c
$$
"""


class Items(HTMLParser):
    r"""Each item with the number of lists that it stands in."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.depth = 0
        self.found: list[tuple[int, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.depth += tag in ("ul", "ol")
        self.found += [(self.depth, "")] if tag == "li" else []

    def handle_endtag(self, tag: str) -> None:
        self.depth -= tag in ("ul", "ol")

    def handle_data(self, data: str) -> None:
        if self.found and self.depth:
            depth, text = self.found.pop()
            self.found.append((depth, text + re.sub(r"\W", "", data)))


def lines_of(text: str) -> list[TextLine]:
    return [TextLine(line, at) for at, line in enumerate(text.split("\n"))]


def items(text: str) -> list[tuple[int, str]]:
    made = "\n".join(line.text for line in nested(lines_of(text)))
    html = markdown.markdown(made, extensions=list(EXTENSIONS), extension_configs=EXTENSIONS)
    return Items(html).found


@pytest.mark.parametrize(
    "text",
    [
        NESTED,
        BELOW_A_SENTENCE,
        AN_ITEM_RIGHT_BELOW_AN_INNER_LIST,
        ONE_THAT_A_COLON_ANNOUNCES,
        A_NUMBER_AT_THE_END_OF_A_SENTENCE,
        IN_A_QUOTATION,
    ],
)
def test_lists_are_those_of_commonmark(text: str) -> None:
    expected = Items(MarkdownIt("commonmark").render(text)).found
    assert items(text) == expected
    assert {depth for depth, _ in expected} > {1}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # To CommonMark the first would be a sentence, and it knows no boxes.
        (
            FAR_TO_THE_RIGHT,
            [(1, "atmostonevertexisodd"), (1, "andoneof"), (2, "these"), (2, "those")],
        ),
        (IN_A_BOX, [(1, "a"), (2, "b"), (1, "c")]),
        (NO_LIST, []),
    ],
)
def test_lists_are_what_their_author_means(text: str, expected: list[tuple[int, str]]) -> None:
    assert items(text) == expected


def test_a_number_that_a_box_begins_with_stays_as_it_is() -> None:
    text = '??? question "How far?"\n    2. The keys are.'
    assert "\n".join(line.text for line in nested(lines_of(text))) == text


def test_lines_keep_their_numbers_and_a_list_with_four_blanks_stays() -> None:
    made = nested(lines_of(NESTED))
    assert [line.text.strip() for line in made if not line.is_blank] == [
        line.strip() for line in NESTED.split("\n") if line.strip()
    ]
    texts = NESTED.split("\n")
    assert all(line.text.strip() in ("", texts[line.at].strip()) for line in made)
    again = [TextLine(line.text, at) for at, line in enumerate(made)]
    assert nested(again) == again
