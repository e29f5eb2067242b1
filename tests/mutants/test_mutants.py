r"""The tool that breaks pages: which mutants it makes, and what it says of tests."""

import ast
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.literate.projects import run, write
from tests.mutants.examine import JUDGES, Equivalent, judges, own_tests, read_equivalents
from tests.mutants.mutations import mutants, spread

PAGE = '''r"""A page."""

WIDE = 2


def power(base: int, exponent: int = 3) -> int:
    r"""Of a number, 1 + 1."""
    if exponent < 0:
        raise ValueError(f"exponent must be at least 0, got {exponent + 0}")
    result = 1
    while exponent > 0:
        exponent -= 1
        result *= base
    return result


def example(size: int = 5) -> int:
    r"""Not tested."""
    return power(size) + 1
'''
TEST = """
import pytest

from pages.toy import power


def test_power() -> None:
    assert power(3, 2) == 9
    with pytest.raises(ValueError):
        power(2, -1)
"""


def changed(source: str) -> set[str]:
    r"""What the lines of a source may become."""
    return {one.mutated for one in mutants(source)}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("y = x.softmax(dim=1)", ["y = x", "y = x.softmax(dim=2)", "y = x.log_softmax(dim=1)"]),
        ("y = q / math.sqrt(d)", ["y = q * math.sqrt(d)", "y = q", "y = q / d"]),
        ("y = a - b", ["y = a + b", "y = b - a", "y = a", "y = b"]),
        ("y = (a + b) * c", ["y = (a - b) * c", "y = (a + b) / c", "y = (a + b)", "y = c"]),
        ("y = mask | ~seen", ["y = mask & ~seen", "y = mask | seen", "y = mask"]),
        ("y = x.tril()", ["y = x.tril(1)", "y = x.tril(-1)", "y = x.triu()", "y = x"]),
        ("y = ones.tril(n - m)", ["y = ones.tril(n - m + 1)", "y = ones.tril(m - n)"]),
        ("y = i < n", ["y = i <= n", "y = i >= n"]),
        ("y = not a and b", ["y = a and b", "y = not a or b", "y = not a", "y = b"]),
        ("y = x[1:n]", ["y = x[2:n]", "y = x[0:n]", "y = x[:n]", "y = x[1:]", "y = x[1:n - 1]"]),
        ("y = x[-1]", ["y = x[-2]", "y = x[0]"]),
        ("y = arange(n)", ["y = arange(1, n + 1)", "y = arange(n - 1)"]),
        ("y = x.any(dim=1, keepdim=True)", ["y = x.any(dim=1, keepdim=False)"]),
        ("y = f(a, b)", ["y = f(b, a)", "y = a"]),
        ("y = Linear(a, b, bias=bias)", ["y = Linear(a, b)", "y = Linear(a, b, bias=False)"]),
        ("y = Dropout(0.1)", ["y = Dropout(0.2)"]),
        ("y = x.permute(2, 0, 1)", ["y = x.permute(0, 2, 1)", "y = x.permute(2, 1, 0)"]),
        ('y = einsum("ij,jk->ik", a, b)', ['y = einsum("ji,jk->ik", a, b)']),
        ("a, b = x.chunk(2)", ["b, a = x.chunk(2)", "a, b = x.chunk(3)"]),
        ("y = a if c else b", ["y = a", "y = b"]),
        ("x = x + r", ["pass", "x = x - r", "x = r"]),
        ("init.zeros_(w)", ["pass", "init.ones_(w)"]),
        ("é = ü + 1", ["é = ü - 1", "é = ü + 2"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_mistakes_that_one_could_make_are_made(line: str, expected: list[str]) -> None:
    assert set(expected) <= changed(f"def f():\n    {line}\n")


def test_one_layer_is_taken_for_another() -> None:
    line = "return self.query(x), self.key(x), self.g(x)"
    page = f"class A:\n    def f(self, x):\n        {line}\n    def g(self, x): return x\n"
    found = changed(page)
    assert {line.replace("query", "key"), line.replace("key", "query")} <= found
    assert line.replace("self.g", "self.query") not in found


def test_each_mutant_is_another_in_one_line_and_can_be_compiled() -> None:
    lines = PAGE.splitlines()
    made = mutants(PAGE)
    assert len({one.source for one in made}) == len(made) >= 10
    for one in made:
        pairs = enumerate(zip(lines, one.source.splitlines(), strict=True), 1)
        assert [number for number, (old, new) in pairs if old != new] == [one.line]
        ast.parse(one.source)
        assert lines[one.line - 1].strip() == one.original != one.mutated
    # Words, types, messages and the example are left alone.
    assert {one.line for one in made} == {3, 6, 8, 10, 11, 12, 13}


def test_a_sample_is_the_same_each_time_and_touches_as_many_lines_as_it_can() -> None:
    everyone = mutants(PAGE)
    chosen = spread(everyone, 6)
    assert chosen == spread(everyone, 6)
    assert len({one.line for one in chosen}) == 6
    assert spread(everyone, 999) == sorted(everyone, key=lambda one: (one.line, one.mutated))


def test_each_entry_of_the_list_gives_a_reason_is_there_once_and_can_name_a_definition() -> None:
    one, other = mutants("def f():\n    a = 1\n\n\ndef g():\n    a = 1\n")
    entry = Equivalent("p.py", "a = 1", "a = 2", "why", "g")
    assert [entry.fits(one), entry.fits(other)] == [False, True]
    entries = read_equivalents()
    assert all(len(entry.reason) > 20 for entry in entries)
    assert len(set(entries)) == len(entries)
    # An entry whose line has gone fits no mutant.
    lines = {page: Path(page).read_text().splitlines() for page in {one.page for one in entries}}
    gone = [one for one in entries if one.original not in map(str.strip, lines[one.page])]
    assert gone == []


def test_each_page_of_the_table_of_judges_is_there_and_so_are_its_tests() -> None:
    table = tomllib.loads(JUDGES.read_text())
    for page, tests in table.items():
        assert all(Path(file).exists() for file in (page, *tests))
        assert judges(Path(page)) == [Path(file) for file in tests] != [own_tests(Path(page))]
    assert judges(Path("pages/toy.py")) == [Path("tests/pages/test_toy.py")]


def tool(
    folder: Path, test: str, same: Iterable[tuple[str, str]] = (), judges: str = ""
) -> tuple[int, str]:
    r"""The status of the tool, and what it says of the page; with these listed as equivalent, and
    this table of judges.
    """
    listed = "".join(
        f"[[mutant]]\npage = 'pages/toy.py'\nreason = 'so it is'\noriginal = '{original}'\n"
        f"mutated = '{mutated}'\n"
        for original, mutated in same
    )
    files = {
        "pages/toy.py": PAGE,
        "tests/pages/test_toy.py": test,
        "listed.toml": listed,
        "judges.toml": judges,
    }
    write(folder, files)
    tables = ("--equivalent", "listed.toml", "--judges", "judges.toml")
    options = (*tables, "--verbose", "--limit", "5")
    done = run(folder, "tests.mutants", "pages/toy.py", *options)
    assert (folder / "pages/toy.py").read_text() == PAGE
    return done.returncode, done.stdout


# In a tree of its own, with the tests of a page run once for each mutant: a quarter of a minute.
@pytest.mark.whole
def test_what_tests_let_pass_is_shown_or_listed(tmp_path: Path) -> None:
    status, said = tool(tmp_path, TEST)
    assert status == 1
    assert "killed by (time or memory)\n    exponent -= 1\n    exponent += 1\n" in said
    assert "pages/toy.py:3: survived\n    WIDE = 2\n    WIDE = 3\n" in said
    assert "survived in power\n    def power(base: int, exponent: int = 3)" in said
    survivors = re.findall(r"survived.*\n    (.*)\n    (.*)\n", said)
    made, left = len(mutants(PAGE)), len(survivors)
    assert f"{made} mutants: {made - left} killed, 0 equivalent, {left} survived" in said

    status, said = tool(tmp_path, TEST, survivors)
    assert status == 0
    assert f"{left} equivalent, 0 survived" in said

    wrong = [("WIDE = 4", "WIDE = 5"), ("result *= base", "result /= base")]
    status, said = tool(tmp_path, TEST, wrong)
    assert status == 2
    there = "is in the list of equivalents, and"
    assert f"'WIDE = 4' -> 'WIDE = 5' {there} 0 mutants are like it" in said
    assert f"'result /= base' {there} test_power notices" in said


def test_tests_that_fail_on_the_page_itself_prove_nothing(tmp_path: Path) -> None:
    wrong = TEST.replace("9", "8")
    write(tmp_path, {"tests/pages/test_more.py": wrong.replace("test_power", "test_more")})
    files = ["tests/pages/test_toy.py", "tests/pages/test_more.py"]
    status, said = tool(tmp_path, TEST, judges=f"'pages/toy.py' = {files}")
    assert status == 2
    assert f"{', '.join(files)} fails on the page as it is: test_more" in said
    status, said = tool(tmp_path, TEST, judges="'pages/toy.py' = ['tests/none.py']")
    assert status == 2
    assert "pages/toy.py: there is no tests/none.py\n" in said
