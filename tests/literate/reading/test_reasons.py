r"""Which sentences of a page give a reason, and where they begin."""

from literate.reading.reasons import listing, reasons
from literate.reading.source import parse

PAGE = '''r"""
---
title: Not read, because it is no note
summary: Nor is this, so it isn't found.
---
Nothing here. The weights are small, e.g. 0.1,
because they are many. Since
[a run](run.py) shows it, it is true.

## No heading, since it is short

* One item, so it counts.

??? question "Why?"
    - [ ] Therefore.

```
because of code
```
"""
# So far so good, and so long that it ends. So it begins; that is why it ends.
x = 1  # because of nothing
'''


def test_sentences_with_a_reason_are_found_where_they_begin() -> None:
    found = [(one.line, one.sentence, one.has_link) for one in reasons(parse(PAGE))]
    assert found == [
        (6, "The weights are small, e.g. 0.1, because they are many.", False),
        (7, "Since [a run](run.py) shows it, it is true.", True),
        (12, "One item, so it counts.", False),
        (15, "[ ] Therefore.", False),
        (21, "So it begins; that is why it ends.", False),
    ]


def test_a_line_names_its_place_and_marks_a_link() -> None:
    page = parse('r"""\n---\ntitle: T\nsummary: S\n---\nA, so [B](b.py).\nSo C.\n"""\n', "p.py")
    assert list(listing([page])) == ["p.py:6: + A, so [B](b.py).", "p.py:7:   So C."]
