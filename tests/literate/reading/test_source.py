r"""Lines and their kinds. The oracle is Python itself: what is left when the notes are taken out
must be the same program."""

import ast
import io
import sysconfig
import tokenize
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from unittest.mock import Mock, call

import pytest
from hypothesis import given
from hypothesis import strategies as st

from literate.problems import LiterateError
from literate.reading.rows import rows
from literate.reading.source import Source, parse, read
from tests.literate.packages import program


def kinds(text: str) -> str:
    r"""The first letters of the kinds: (d)ocstring, c(o)mment as #, code as x, blank as _."""
    letters = {"docstring": "d", "comment": "#", "code": "x", "blank": "_"}
    return "".join(letters[line.kind] for line in parse(text).lines)


def assert_lossless(source: Source, data: bytes) -> None:
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    joined = "".join(line.text for row in rows(source) for line in row.lines)
    assert joined.encode(encoding) == data, f"{source.path}: the rows are not the file"


def code_alone(source: Source) -> str:
    r"""The file with its comments blanked and each docstring replaced by an empty one."""
    docstrings = [source.docstring, *(one.docstring for one in source.definitions)]
    firsts = {one.first for one in docstrings if one is not None}
    kept = []
    # A string below an assignment does nothing, and is a statement.
    documented = [range(one.first, one.last + 1) for one in source.of_attributes.values()]
    strings = {number for lines in documented for number in lines}
    for line in source.lines:
        if line.number in strings:
            kept.append(line.text)
        elif line.kind == "docstring" and line.number in firsts:
            indent = line.text[: len(line.text) - len(line.text.lstrip())]
            kept.append(f'{indent}""\n')
        elif line.kind in ("docstring", "comment"):
            kept.append("\n")
        else:
            kept.append(line.text)
    return "".join(kept)


def assert_shown(source: Source) -> None:
    r"""Each line is code or a part of the note of one row; else there is nothing on it."""
    shown = []
    for row in rows(source):
        shown += [line.number for line in row.code if line.kind == "code"]
        if row.note is not None:
            lines = [row.note.line(at) for at in range(len(row.note.texts))]
            if row.note.numbers or not lines:
                # In another style, its lines are in order, and none is from elsewhere. One that
                # has nothing but an instruction to another tool has no text.
                own = [line.number for line in row.lines if line.kind == row.note.kind]
                assert lines == sorted(lines), source.path
                assert {*lines} <= {*own}, source.path
                lines = own
            shown += lines
    noted = [line.number for line in source.lines if line.kind != "blank"]
    assert sorted(shown) == noted, source.path
    assert not any(line.text.strip() for line in source.lines if line.kind == "blank")


def assert_program_kept(source: Source) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept = ast.parse(code_alone(source).replace("\r\n", "\n").replace("\r", "\n"))
        whole = ast.parse(source.text.replace("\r\n", "\n").replace("\r", "\n"))
    assert program(kept) == program(whole), source.path


def foreign_files() -> list[Path]:
    r"""The standard library, and some files of each folder of other projects."""
    library = Path(sysconfig.get_path("stdlib"))
    files = [path for path in sorted(library.rglob("*.py")) if "site-packages" not in path.parts]
    by_folder: dict[Path, list[Path]] = {}
    for path in sorted(Path(sysconfig.get_path("purelib")).rglob("*.py")):
        by_folder.setdefault(path.parent, []).append(path)
    return files + [path for paths in by_folder.values() for path in paths[:2]]


def assert_files_survive(paths: list[Path]) -> int:
    parsed = 0
    for path in paths:
        try:
            source = read(path)
        except LiterateError as error:
            # Only what Python itself refuses may be refused, and it is refused with its line.
            with warnings.catch_warnings(), pytest.raises((SyntaxError, ValueError)):
                warnings.simplefilter("ignore")
                compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
            assert str(error).startswith(f"{path.as_posix()}:")
            continue
        assert_lossless(source, path.read_bytes())
        assert_shown(source)
        assert_program_kept(source)
        parsed += 1
    return parsed


@pytest.mark.parametrize("step", [83, pytest.param(1, marks=pytest.mark.whole)])
def test_nothing_is_lost_of_the_standard_library_and_other_projects(step: int) -> None:
    paths = foreign_files()[::step]
    with ProcessPoolExecutor(2) as pool:
        parsed = sum(pool.map(assert_files_survive, [paths[::2], paths[1::2]]))
    assert parsed > 2000 // step


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('r"""One.\n\nTwo."""\n\nimport os  # not a note\n# a note\nx = 1\n', "ddd_x#x"),
        # A hash inside a string is code, and so is an empty line there.
        ('x = """\n# no note\n\n"""\n', "xxxx"),
        # A docstring that shares its line, and strings that are none.
        ('def f(): "one"\n', "x"),
        ('"one"; x = 1\n', "x"),
        ('"one"  # remark\n', "x"),
        ('def f():\n    x = 1\n    """no"""\n', "xxx"),
        ('def f():\n    f"""no"""\n', "xx"),
        ('def f():\n    b"""no"""\n', "xx"),
        ('def f():\n    "one" "two"\n', "xx"),
        # Comments for machines are code; one inside brackets is a note.
        ("#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n# a note\n", "xx#"),
        ("# mypy: ignore-errors\n# type: ignore\n# noqa\n# types: all\n", "xxx#"),
        # The header of a notebook that jupytext keeps as a script; a command of IPython in it.
        ("# ---\n# jupyter:\n#   a: 1\n# ---\n\n# %%\n# !pip install x\n# !a\n", "_____#xx"),
        ("# ---\n# a note\n# ---\n# !important\n", "####"),
        ("x = [\n    # one\n    1,\n]\n", "x#xx"),
        # Form feeds and line separators do not end lines.
        ("x = 1\n\x0c\ny = '\u2028'  # \x0b\nz = 2\n", "x_xx"),
    ],
)
def test_each_line_has_its_kind(text: str, expected: str) -> None:
    assert kinds(text) == expected


def test_qualified_names_and_places_of_definitions() -> None:
    text = (
        "class A:\n    @staticmethod\n    def f(\n        x,\n    ):\n        def g():\n"
        "            pass\nif True:\n    async def h():\n        pass\n"
    )
    found = parse(text).definitions
    assert [(one.name, one.first, one.line, one.last, one.in_function) for one in found] == [
        ("A", 1, 1, 7, False),
        ("A.f", 2, 3, 7, False),
        ("A.f.g", 6, 6, 7, True),
        ("h", 9, 9, 10, False),
    ]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (r"Ri\u2081 and \N{EM DASH}.", "Ri\N{SUBSCRIPT ONE} and \N{EM DASH}."),
        (r"A\x41, \\n", "AA, \\n"),
        # What Sphinx sets a role apart with; a line of TeX ends so, too.
        (r":class:`A`\\ s", r":class:`A`\ s"),
        (r"$a \\ b$", r"$a \\ b$"),
        (r"2\\ *a*", r"2\ *a*"),
        (r"a \\\\ b", r"a \\ b"),
        # A line may end behind a sentence, and in a word that is quoted it is told of.
        (r"One." + r"\n", "One. "),
        (r"A line “data\n”.", r"A line “data\n”."),
        # Who means TeX has one backslash for it, which Python leaves or misreads.
        (r"$\theta$ and $\mu$", r"$\theta$ and $\mu$"),
        (r"$\mu$ and \u2081", r"$\mu$ and \u2081"),
    ],
)
def test_a_docstring_that_is_not_raw_is_its_value_where_it_has_escapes(
    written: str, shown: str
) -> None:
    docstring = parse(f'"""{written}"""\n').docstring
    assert docstring is not None and docstring.shown == shown


def test_docstrings_are_text_of_the_file_not_values() -> None:
    # Columns are counted in characters, not bytes.
    source = parse('def É():\n    r"""$\\theta$"""\ndef g():\n    """é\\theta"""\n')
    found = [(one.docstring.text, one.docstring.raw) for one in source.definitions]
    assert found == [("$\\theta$", True), ("é\\theta", False)]


@pytest.mark.parametrize(
    ("data", "line", "words"),
    [
        (b"x = 1\ndef f(:\n", 2, "invalid syntax"),
        (b"x = 1\ny = '\xff'\n", 2, "is not utf-8"),
        (b"# coding: no-such\n", 1, "unknown encoding"),
        (b"x = (1,\n", 1, "was never closed"),
    ],
)
def test_what_is_not_python_is_named_with_its_line(
    data: bytes, line: int, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "case.py"
    path.write_bytes(data)
    with pytest.raises(LiterateError) as caught:
        read(path, "pkg/case.py")
    problem = caught.value.problems[0]
    assert (problem.path, problem.line) == ("pkg/case.py", line)
    assert words in problem.sentence
    assert "\n" not in str(caught.value)


PIECES = st.lists(
    st.sampled_from(
        [
            "x = 1", "# note", "    # indented note", "", "   ", "\t", "def f():", "    pass",
            "class C:", "    '''doc'''", '    r"""doc', 'end"""', "x = '''", "# a", "'''", "x = [",
            "]", "\x0c", "if x:", "    y = '#'", "é = 'ü' # ö", "@d", "    return \\", "        1",
        ]
    ),
    max_size=12,
)  # fmt: skip


@given(PIECES, st.sampled_from(["\n", "\r\n", "\r"]), st.booleans())
def test_any_lines_are_refused_with_a_line_or_kept(
    pieces: list[str], ending: str, last: bool
) -> None:
    text = ending.join(pieces) + (ending if last else "")
    try:
        source = parse(text, "case.py")
    except LiterateError as error:
        assert str(error).startswith("case.py:")
        return
    assert "".join(line.text for row in rows(source) for line in row.lines) == text
    assert [line.number for line in source.lines] == list(range(1, len(source.lines) + 1))
    assert_program_kept(source)


def test_what_follows_from_a_source_is_worked_out_once() -> None:
    source, other = parse("x = 1\n"), parse("x = 1\n")
    count = Mock(side_effect=[1, 2])
    assert [source.once(count), source.once(count), other.once(count)] == [1, 1, 2]
    assert count.mock_calls == [call(source), call(other)]


def test_a_file_with_the_text_of_a_known_source_is_that_source(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    with pytest.raises(LiterateError, match=r"a\.py:1: can't be read: No such file"):
        read(path, "a.py")
    path.write_text("x = 1\n", encoding="utf-8")
    known = read(path, "a.py")
    assert read(path, "a.py", known) is known
    path.write_text("x = 2\n", encoding="utf-8")
    assert read(path, "a.py", known).text == "x = 2\n"
