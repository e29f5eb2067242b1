r"""The body of a function becomes cells."""

import ast
from textwrap import dedent, indent

import pytest

from literate.problems import LiterateError
from literate.python.statements import take_apart
from literate.reading.source import parse
from literate.takeaway.notebook_cells import Body, code_cell, script, take_body


def body_of(text: str) -> Body:
    r"""The body of the one function in a text."""
    (piece,) = take_apart(parse(dedent(text), "pkg/page.py")).pieces
    return take_body(piece, "pkg/page.py")


def cells(text: str) -> list[tuple[str | None, str]]:
    r"""The cells of it, with the text of their notes alone."""
    return [(note and "\n".join(note.texts), code) for note, code in body_of(text).cells]


def test_comments_between_statements_are_notes_and_those_inside_are_code() -> None:
    inside = """\
model = [  # here
    # inside
    steps,
]

for step in model:
    if step:
        print(step)
        # deeper
# Then the rest.
    else_ = 2
if before:
    pass
# in between
else:
    pass
    # at its end
"""
    first = "# First,\n# the model.\n\n# It is small.\n"
    body = indent(f"before = 1\n\n{first}{inside}# See?\n", "    ")
    assert cells(f'def notebook(steps: int = 3):\n    r"""\n    ## Train\n    """\n{body}') == [
        (None, "before = 1\n"),
        ("First,\nthe model.\n\nIt is small.", inside),
        ("See?", "\n"),
    ]


@pytest.mark.parametrize(
    ("comment", "read"),
    [
        ("# By $\\sqrt{d_k}$, as `$HOME` and `[a](b)`.", "# By √d_k, as `$HOME` and `[a](b)`."),
        ("# See [the $x_1$\n# and `y`](a.py#b).", "# See the x_1\n# and `y`."),
        ("# A sum, $a_{ij} +\n# b$, for $5 or $6.", "# A sum, a_ij +\n# b, for $5 or $6."),
        ('x = "$a$ [b](c)"', 'x = "$a$ [b](c)"'),
    ],
)
def test_a_comment_of_a_cell_has_no_tex_and_no_links(comment: str, read: str) -> None:
    assert script([code_cell(comment)]).rstrip().endswith(f"\n\n# %%\n{read}")


def test_notes_and_names_know_their_lines() -> None:
    body = body_of("""\
        # Above.
        def notebook(a=1, *,
                     b=2):
            # One.

            # Two.
            c, (d, *_) = a, (b, 3)
            def e(inner): pass
            for f in c: g = f
            import os.path as h, json.decoder
    """)
    assert [note and note.first for note, _ in body.cells] == [4]
    lines = {2: ["a"], 3: ["b"], 7: ["c", "d", "_"], 8: ["e"], 9: ["f", "g"], 10: ["h", "json"]}
    assert body.names == {name: line for line, names in lines.items() for name in names}


def test_the_lines_of_a_string_keep_their_indentation() -> None:
    text = '''
        def notebook():
            a = """
            deep
          less
        """
            b = f"""
            {a}
        """ + (
          a)
            c = [1,
        2]
            d = a + \\
          b
    '''
    ((_, code),) = cells(text)
    (function,) = ast.parse(dedent(text)).body
    assert ast.dump(ast.Module(function.body, [])) == ast.dump(ast.Module(ast.parse(code).body, []))
    assert code.startswith('a = """\n    deep\n  less\n"""\nb = f"""\n    {a}\n""" + (\na)\n')


def test_parameters_become_a_form() -> None:
    body = body_of("""
        def notebook(
            steps: int = 2_000,
            rate: float = 3e-4,
            shift: float = -1.0,
            fast: bool = True,
            corpus: Literal["a", "é"] = "é",
            *,
            text: str = "'\\n",
            size: int | None = None,
            shape: tuple[int, int] = (
                1,
                2,
            ),
        ):
            pass
    """)
    assert body.form == (
        'steps = 2_000  #@param {type:"integer"}\n'
        'rate = 3e-4  #@param {type:"number"}\n'
        'shift = -1.0  #@param {type:"number"}\n'
        'fast = True  #@param {type:"boolean"}\n'
        'corpus = "é"  #@param {type:"string"}\n'
        'text = "\'\\n"  #@param {type:"string"}\n'
        'size = None  #@param {type:"raw"}\n'
        'shape = ( 1, 2, )  #@param {type:"raw"}\n'
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('def notebook():\n    r"""Only this."""', []),
        ("def notebook(\n    a=1,\n):\n    # Here.\n    b = a", [("Here.", "b = a\n")]),
        # A function inside may return.
        ("def notebook():\n  def f():\n    return 1", [(None, "def f():\n  return 1\n")]),
    ],
)
def test_the_cells_of_a_body_are(text: str, expected: list[tuple[str | None, str]]) -> None:
    assert cells(text) == expected
    assert bool(body_of(text).form) == ("a=1" in text)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("def notebook(a): pass", 1, "the parameter `a` of `notebook` needs a literal"),
        ("def notebook(\n  a=1,\n  *b): pass", 3, "the parameter `b`"),
        ("def notebook(**c): pass", 1, "the parameter `c`"),
        ("def notebook(a=1, b=f()): pass", 1, "the parameter `b`"),
        ("async def notebook():\n  pass", 1, "without decorators, and not asynchronous"),
        ("@d\ndef notebook():\n  pass", 2, "without decorators, and not asynchronous"),
        ("if a:\n  def notebook():\n    pass", 1, "without decorators, and not asynchronous"),
        ("def notebook():\n  x = 1\n  return x", 3, "a cell of a notebook has no return"),
        ("def notebook():\n  if x:\n    yield 1", 3, "a cell of a notebook has no yield"),
        ("def notebook():\n  yield from x", 2, "a cell of a notebook has no yield"),
        ("def notebook(): pass", 1, "has to begin on a line of its own"),
    ],
)
def test_what_works_only_in_a_function_is_an_error(text: str, line: int, said: str) -> None:
    with pytest.raises(LiterateError, match=f"^pkg/page.py:{line}: .*{said}"):
        body_of(text)
