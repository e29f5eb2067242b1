r"""The spans of a note. Nothing of the note may be lost, and nothing found in the wrong place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from literate.reading.notes import Note, Span


def cut(text: str, first: int = 1) -> tuple[Span, ...]:
    return Note("comment", first, tuple(text.split("\n"))).parsed.spans


AB = [("code", "a"), ("code", "b")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`code`, $x_i$, ``a ` b``.", [("code", "code"), ("inline", "x_i"), ("code", "a ` b")]),
        ("`$x$` and $`y$", [("code", "$x$"), ("inline", "`y")]),
        ("a\n\n$$\nx\n= y\n$$\n\nb", [("display", "x\n= y")]),
        ("$$x$$", [("display", "x")]),
        # Two dollars of two things, and what only stands before letters.
        ("[$0], {$x}, {$1!}", []),
        ("A_${B}_C/A_${B}_D", []),
        ("$d_k$s, the $n$th, $x_{$", [("inline", "d_k"), ("inline", "n"), ("inline", "x_{")]),
        # A title in reStructuredText.
        ("Parts\n`````\nwith `x`", [("code", "x")]),
        # Fences hide everything, and are closed by one that is as long.
        ("``` py\n$x$ `y`\n```\n$z$", [("fence", "$x$ `y`"), ("inline", "z")]),
        ("~~~\n```\n$x$\n~~~\n`y`", [("fence", "```\n$x$"), ("code", "y")]),
        ("````\n```\n$x$\n````", [("fence", "```\n$x$")]),
        # Indented code hides formulas, but not below a list.
        ("a\n\n    $x$\n\nb", [("fence", "$x$")]),
        ("a\n\n    >>> $x = 1; $y", [("fence", ">>> $x = 1; $y")]),
        ("* a\n\n    $x$", [("inline", "x")]),
        ("* a\n\n        $x$", [("inline", "x")]),
        ('??? tip "a"\n    b\n\n    $x$', [("inline", "x")]),
        # A line of white space is empty, whatever that is.
        ("\x0c\n`x`", [("code", "x")]),
        ("[^1]: a\n\n    $x$", [("inline", "x")]),
        # A quotation can hold a display.
        ("> a\n> $$\n> x\n> $$\n> b", [("display", "x")]),
        # Of a comment that is a program nothing is read.
        ("y = f[0](x)", [("fence", "y = f[0](x)")]),
        # A part of a statement.
        ("a=['$$(b)']) # $c$", [("fence", "a=['$$(b)']) # $c$")]),
        ("else:\n    a = b", [("fence", "else:\n    a = b")]),
        ("(as $a$ does)", [("inline", "a")]),
        # No fences: a heading of reStructuredText, a frame, and a code span.
        *((text, []) for text in ("Heading\n~~~~~~~\n", "~~~~ A ~~~~", "a\n```b``")),
        # Shorter than its heading, and never closed.
        ("A heading\n~~~~~\n\n`x`", [("code", "x")]),
        ("A text\n~~~\nx\n~~~", [("fence", "x")]),
        # No formulas: variables of JSON.
        *((text, []) for text in ('"$ref" or "$defs"', '"#/$defs/a" or "#/$defs/b"')),
        # Nor is what a shell quotes.
        ("the string $'b is then quoted as '$'\"'\"'b'", []),
        # What only looks like code or a formula is text.
        *((text, []) for text in ("$5 and $6", "costs $ 5 $", r"\$x$", "$x$5", "an open $x")),
        *(
            (text, [])
            for text in ("an open ` tick", "$x\n\ny$", "`x\n\ny`", "f\\(x\\)", "see \\[1\\]")
        ),
        ("$$ x $$ in text", [("display", "x")]),
        ("so $$x$$.", [("display", "x")]),
        ("$$x$$ is\n$$y$$", [("display", "x"), ("display", "y")]),
        ("a \\(x_i\\) b", [("inline", "x_i")]),
        ("a\n\\[ x_i \\]", [("display", "x_i")]),
        (
            "a\n\n\\begin{align}\nx &= y \\label{e}\\\\\n\\end{align}.",
            [("display", "\\begin{align*}\nx &= y \\\\.\n\\end{align*}")],
        ),
        *(
            (
                f"a\n\n\\begin{{{name}}}\nx\n\\end{{{name}}}",
                [("display", f"\\begin{{{name}*}}\nx\n\\end{{{name}*}}")],
            )
            for name in ("eqnarray", "flalign", "multline")
        ),
        ("see \\begin{align} x \\end{align}", []),
        ("$$\nx", []),
        # A block keeps what stands before it: the marks of a list or of a quotation.
        ("* ```\n  a\n  ```\n* b", [("fence", "a")]),
        ("> ```\n> a\n>  b\n> ```", [("fence", "a\n b")]),
        ("* $$x$$", [("display", "x")]),
        ("    ```\n    a\n    ```", [("fence", "a")]),
        # Each item and each cell has code of its own; over the lines of a paragraph it goes on.
        ("1. a `b\n2. c` d", []),
        ("a `b\n- c` d", [("code", "b - c")]),
        ("> `a\n> b`", [("code", "a b")]),
        (
            "| `a` | `b` |\n|---|---|\n| $x$ | `a \\| b` |",
            [*AB, ("inline", "x"), ("code", "a | b")],
        ),
        ("[`a`](b.py) ![`c`](d.png)", [("code", "a")]),
        *((text, []) for text in ("half (of it)", "note: a = b", "x", "TODO(me): f(x)")),
    ],
)
def test_the_spans_of_a_note(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(one.kind, one.content) for one in cut(text) if one.kind != "text"] == expected


def test_spans_know_their_lines_in_the_file() -> None:
    text = "a\n`b` and\n$c$\n\n$$\nd\n$$\n`e`"
    lines = [(span.kind, span.line) for span in cut(text, first=10) if span.kind != "text"]
    assert lines == [("code", 11), ("inline", 12), ("display", 14), ("code", 17)]


def test_spans_are_cut_at_their_marks() -> None:
    quoted = "> a `b\n> c` [`d`](e) $f$"
    table = "| g \\| `h` | `i` |\n|---|---|\n| `j \\| k` | `i` |\n| `i` | `i` |"
    texts = [one.text for one in cut(f"{quoted}\n\n{table}") if one.kind != "text"]
    assert texts == ["`b\n> c`", "`d`", "$f$", "`h`", "`i`", "`j \\| k`", *["`i`"] * 3]


def test_a_block_of_code_says_how_it_is_marked() -> None:
    text = "> * ~~~ py title\n>   a\n>   ~~~\n\n```\nb"
    marked = [
        (one.before, one.fence, one.language, one.is_closed)
        for one in cut(text)
        if one.kind == "fence"
    ]
    assert marked == [("> * ", "~~~", "py", True), ("", "```", "", False)]


def test_blocks_know_their_lines_and_their_words() -> None:
    text = (
        "One\n===\n\n## *Two* ##\ntext\n- no list\n\n* a\n    * b\n\n| c |\n|---|\n| d |\n\n"
        '??? question "Why?"\n    - [ ] e\n        - f\n\n```\n# no heading\n```\n[g]: h.py\nend'
    )
    blocks = Note("docstring", 5, tuple(text.split("\n"))).parsed.blocks
    worded = [(one.kind, one.first, one.last, one.text) for one in blocks if one.text]
    assert worded == [
        ("heading", 0, 2, "One"),
        ("heading", 3, 4, "*Two*"),
        ("paragraph", 4, 6, "text\n- no list"),
        *(("list_item", 7, 9, "a"), ("paragraph", 7, 8, "a")),
        *(("list_item", 8, 9, "b"), ("paragraph", 8, 9, "b")),
        ("details", 14, 17, "Why?"),
        *(("list_item", 15, 17, "[ ] e"), ("paragraph", 15, 16, "[ ] e")),
        *(("list_item", 16, 17, "f"), ("paragraph", 16, 17, "f")),
        ("paragraph", 22, 23, "end"),
    ]
    others = {one.kind: (one.first, one.last) for one in blocks if not one.text}
    assert (others["table"], others["fence"], others["definition"]) == (
        (10, 13),
        (18, 21),
        (21, 22),
    )
    assert [one.level for one in blocks if one.kind == "heading"] == [1, 2]
    assert blocks[1].alone(Note("docstring", 5, ())) == Note("docstring", 8, ("*Two*",))


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("# a", [("heading", "a")]),
        (" # a", [("paragraph", "# a")]),
        ("a\n---", [("heading", "a")]),
        ("a\nb\n---", [("paragraph", "a\nb")]),
        ("a\n# b\nc", [("paragraph", "a"), ("heading", "b"), ("paragraph", "c")]),
        ("1. a\n## b", [("list_item", "a"), ("paragraph", "a"), ("heading", "b")]),
        ("1. a\n\n    # b", [("list_item", "a"), ("paragraph", "a"), ("heading", "b")]),
        ('??? tip "a"\n    b\nc', [("details", "a"), ("paragraph", "b"), ("paragraph", "c")]),
    ],
)
def test_what_begins_a_block(text: str, blocks: list[tuple[str, str]]) -> None:
    found = Note("docstring", 1, tuple(text.split("\n"))).parsed.blocks
    assert [(one.kind, one.text) for one in found if one.text] == blocks


@pytest.mark.parametrize(
    ("text", "target", "caption"),
    [
        ('[a `b`\nc](d.py "as e")', "d.py", "a `b`\nc"),
        ("text\n\n[a](b.py)\n\ntext", "b.py", "a"),
        *((text, None, "") for text in ("[a](b.py).", "![a](b.png)", "* [a](b.py)", "[a][b]", "")),
    ],
)
def test_a_paragraph_that_is_a_link_says_so(text: str, target: str | None, caption: str) -> None:
    blocks = Note("docstring", 1, tuple(text.split("\n"))).parsed.blocks
    links = [(one.link, one.text) for one in blocks if one.link and not one.link.is_image]
    links = [link for link in links if not text.startswith("*")]
    found = [(link.text, words[link.opening + 1 : link.closing]) for link, words in links]
    assert found == ([(target, caption)] if target else [])


def test_targets_stand_where_they_are_written() -> None:
    text = '> [a\n> `b`](c.py "d") and\n> [![e](f.png)](<g h>)\n\n[i]: j.py\n\n| [k](l.py) |\n|---|'
    targets = Note("docstring", 1, tuple(text.split("\n"))).parsed.targets
    assert [text[one.start : one.end] for one in targets] == [one.text for one in targets]
    ends = [(text[one.opening], text[one.closing]) for one in targets]
    assert ends == [("[", "]")] * 5
    assert [(one.text, one.title, one.is_image) for one in targets] == [
        ("c.py", "d", False),
        ("f.png", "", True),
        ("g h", "", False),
        ("j.py", "", False),
        ("l.py", "", False),
    ]
    after = [one.after and text[one.after - 1] for one in targets]
    assert after == [")", ")", ")", None, ")"]


@given(st.text(alphabet="a`$~\\ \n*-1[](){}<>", max_size=60))
def test_spans_put_together_are_the_note(text: str) -> None:
    pieces = cut(text)
    assert "".join(span.text for span in pieces) == text
    line = 1
    for span in pieces:
        assert span.line == line
        line += span.text.count("\n")
