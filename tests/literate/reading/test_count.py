r"""What is counted on a page, and where a limit is passed."""

from literate.reading.count import count, limits_of, problems, table
from literate.reading.source import parse

PAGE = '''r"""
---
title: Not counted
summary: Not either.
---
Four words: `d_k`-wide $x + y$.

$$
a b c
$$
"""
# One comment, of
# five words.
import math  # a trailing comment
@decorator  # type: ignore
def f() -> str:
    r"""
    Two words.

    ```
    no word
    ```
    """
    # Two more.
    return """

    a string
    """
'''


def test_each_line_and_each_word_is_counted_as_the_help_says() -> None:
    assert count(parse(PAGE)) == {
        # import, decorator, def, and four lines of return.
        "code": 7,
        "comments": 3,
        "ratio": 3 / 7,
        "words": 4 + 5 + 2 + 2,
        "introduction": 4 + 5,
        "lines": PAGE.count("\n"),
        "summary": len("Not either."),
    }


def test_the_last_pattern_that_fits_decides() -> None:
    limits = {"pkg/*": {"code": 80, "words": 250}, "pkg/*_experiment.py": {"code": 100}}
    assert limits_of("pkg/sub/a.py", limits) == {"code": 80, "words": 250}
    assert limits_of("pkg/sub/an_experiment.py", limits) == {"code": 100, "words": 250}
    assert limits_of("other/a.py", limits) == {}


def test_what_passes_a_limit_is_marked_in_the_table_and_is_a_problem() -> None:
    limits = {"*": {"code": 7, "words": 12, "introduction": 9}, "b.py": {"summary": 10}}
    pages = [parse(PAGE, "b.py"), parse('r"""One."""\n', "a.py"), parse("# x\ny = 1\n", "c.py")]
    lines = [line.split() for line in table(pages, limits)]
    assert lines == [
        ["code", "comments", "ratio", "words", "introduction", "lines"],
        ["b.py", "7", "3", "0.43", "13*", "9", "28"],
        ["a.py", "0", "0", "1", "0", "1"],
        ["c.py", "1", "1", "1.00", "1", "0", "2"],
        ["sum", "8", "4", "15", "9", "31"],
        ["median", "1", "1", "0.71", "1", "0", "2"],
    ]
    assert len(list(table(pages[:1], {}))) == 2
    assert [str(problem) for page in pages for problem in problems(page, limits)] == [
        "b.py:1: the page has 13 words, and at most 12 here.",
        "b.py:1: the page has 11 characters in its summary, and at most 10 here.",
    ]
