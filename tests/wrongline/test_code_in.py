r"""Of what is copied from a terminal, a notebook or a page, the code is left, line by line."""

import json

import pytest

from wrongline.code_in import code_in, example


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (">>> def f():\n...     return 3\n...\n>>> f()\n3", "def f():\n    return 3\n\nf()\n"),
        ("In [1]: def f():\n   ...:     return 3\n\nOut[1]: 3", "def f():\n    return 3\n\n"),
        ("In [1]: >>> def f():\n   ...: ...     return 3", "def f():\n    return 3"),
        (" 9  def f():\n10      return 3\n11", "def f():\n    return 3\n"),
        ("1: a = [\n2:   5]\n3: b = a", "a = [\n  5]\nb = a"),
        ("7\ndef f():\n8\n    return 3", "\ndef f():\n\n    return 3"),
        ("> def f():\n>     return 3\n>\n", "def f():\n    return 3\n\n"),
        ("@@ -3,2 +3,2 @@\n-def g():\n+def f():\n     return 3", "\n\ndef f():\n    return 3"),
        ("!pip install x\n%matplotlib inline\na = 5\n", "\n\na = 5\n"),
        ("```python\na = 5\n```", "\na = 5\n"),
        # What runs stays as it is.
        ('"""\n>>> f()\n3\n"""\na = 7 \\\n%2', '"""\n>>> f()\n3\n"""\na = 7 \\\n%2'),
    ],
)
def test_prompts_and_commands_are_no_code_and_lines_keep_their_numbers(
    text: str, code: str
) -> None:
    assert code_in(text) == code


# A cell of a notebook, as a browser copies it, between prose and what it has printed.
COPIED = """It's scaled, isn't it?
For each query:
In [1]:
class A:
    note = \'\'\'
at the edge
\'\'\'

    def f(self):
        return [1,
    2]
Out[1]:
step 0: loss 4.2, and it's fine
Loss
x = (3 +
4)
if x:
    y = 1
else:
    y = 2
"""


def test_prose_and_what_was_printed_is_cut_between_the_pieces_that_parse() -> None:
    lines = COPIED.split("\n")
    kept = code_in(COPIED).split("\n")
    gone = {1, 2, 3, 12, 13, 14}
    assert kept == ["" if at in gone else one for at, one in enumerate(lines, 1)]


@pytest.mark.parametrize(
    "text",
    [
        "class A:\n    def f(self)\n        return 3",
        "from x import (a,\n\nb = 3",
        "@wrapped\ndef f(\n    return 3",
        "x = 3 +\ny = 4",
    ],
)
def test_what_was_meant_as_code_keeps_its_error(text: str) -> None:
    assert code_in(text) == text


def test_only_what_stands_between_fences_is_code() -> None:
    text = "# Title\n\nUse it:\n```python\na = 5\n```\nIt isn't much.\n"
    assert code_in(text) == "\n\n\n\na = 5\n\n\n"


def test_indented_code_is_moved_to_the_edge() -> None:
    assert code_in("    a = 5\n    b = 6\n") == "a = 5\nb = 6\n"


@pytest.mark.parametrize("indent", [1, None])
def test_a_notebooks_file_is_its_cells(indent: int | None) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["It's prose\n"]},
        {"cell_type": "code", "outputs": [{"text": ["7\n"]}], "source": ["a = 5\n", "b = '}'"]},
    ]
    text = json.dumps({"cells": cells}, indent=indent)
    found = code_in(text).split("\n")
    assert [one for one in found if one] == ["a = 5", "b = '}'"]
    # A line keeps its number, if it has one of its own.
    if indent:
        assert '"a = 5' in text.split("\n")[found.index("a = 5")]


def test_the_example_has_the_cell_alone() -> None:
    assert [one for one in example() if one] == ["x = [1,", "     2]", "x", "[1, 2]"]
