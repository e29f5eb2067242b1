r"""Front matter: what is taken from it, and that each mistake is named with its line."""

import pytest

from literate.reading.front_matter import split
from literate.reading.notes import Note

PAPER = "paper:\n  title: T\n  authors: A et al.\n  year: 2017\n  link: https://arxiv.org/abs/1"


def parsed(text: str, first: int = 1) -> tuple:
    return split(Note("docstring", first, ("", *text.split("\n"))), "pkg/a.py")


def test_the_keys_of_a_page() -> None:
    matter, rest, problems = parsed(f"---\ntitle: A\nsummary: B.\n{PAPER}\n---\n\nHello.", first=3)
    assert problems == ()
    assert (matter.title, matter.summary) == ("A", "B.")
    paper = {"title": "T", "authors": "A et al.", "year": "2017", "link": "https://arxiv.org/abs/1"}
    assert matter.paper == paper
    # The docstring begins on line 3, so `Hello.` stands on line 14.
    assert rest.first + rest.texts.index("Hello.") == 14


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("Hello.", 1, "begins with neither front matter nor a heading"),
        ("---\ntitle: A\nsummary: B", 2, "never closed"),
        ("---\ntitle: A\n---", 2, "'summary' is a required"),
        ("---\ntitle:\nsummary: B\n---", 3, "`front matter.title` needs a text"),
        ("---\ntitle: [A]\nsummary: B\n---", 3, "`front matter.title` needs a text"),
        ("---\ntitle: A\nsummary: B\nnotebok: x\n---", 5, "`front matter.notebok` is no key"),
        ("---\ntitle: A: B\nsummary: C\n---", 3, "is not YAML"),
        ("---\n- title\n---", 2, "is no table"),
        ("---\n---", 2, "'title' is a required"),
        ("---\ntitle: A\nsummary: B\npaper: P\n---", 5, "`front matter.paper`: 'P' is no table"),
        ("---\ntitle: A\nsummary: B\npaper:\n  title: T\n---", 5, "'authors' is a required"),
        ("---\ntitle: A\nsummary: B\nterms: {'': x}\n---", 5, "needs a text"),
        (f"---\ntitle: A\nsummary: B\n{PAPER}\n  doi: 1\n---", 10, "matter.paper.doi` is no"),
    ],
)
def test_each_mistake_is_named_with_its_line(text: str, line: int, words: str) -> None:
    _, rest, problems = parsed(text)
    assert text.startswith("---") or rest.texts == ("", text)
    named = [(one.path, one.line) for one in problems if words in one.sentence]
    assert named == [("pkg/a.py", line)]


def test_a_tag_of_python_runs_nothing() -> None:
    matter, _, _ = parsed("---\ntitle: !!python/object/apply:os.getcwd []\nsummary: B\n---")
    assert matter.title == ""


def test_a_heading_takes_the_place_of_front_matter() -> None:
    text = "# *Attention*\n\nIt mixes [what](a.py) is there, e.g. values. More."
    matter, rest, problems = parsed(text, 3)
    assert problems == ()
    assert (matter.title, matter.summary) == ("Attention", "It mixes what is there, e.g. values.")
    # The docstring begins on line 3, so the paragraph stands on line 6.
    assert rest.texts[-1].startswith("It mixes") and rest.first + len(rest.texts) - 1 == 6


def test_a_heading_below_front_matter_is_not_shown_twice() -> None:
    matter, rest, problems = parsed("---\ntitle: A\nsummary: B.\n---\n\n# A\n\nHello.")
    assert (matter.title, problems) == ("A", ())
    assert [text for text in rest.texts if text] == ["Hello."]
