r"""The tool that breaks pages: which mutants it makes, and what it says of tests."""

import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.literate.projects import run as start
from tests.literate.projects import write
from tests.mutants import Equivalent, read_equivalents
from tests.mutations import mutants, spread

PAGE = '''r"""A page."""

WIDE = 2


def power(base: int, exponent: int = 3) -> int:
    r"""Of a number, 1 + 1."""
    if exponent < 0:
        raise ValueError(f"exponent must be at least 0, got {exponent + 0}")
    result = 1
    for _ in range(exponent):
        result *= base
    return result


def example(size: int = 5) -> int:
    r"""Not tested."""
    return power(size) + 1
'''

TEST = """
import pytest

from pages.toy import power


def test_it_multiplies() -> None:
    assert power(3, 2) == 9


def test_a_negative_exponent_is_refused() -> None:
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
        (
            "y = ones.tril()",
            ["y = ones.tril(1)", "y = ones.tril(-1)", "y = ones.triu()", "y = ones"],
        ),
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
    source = (
        "class A:\n    def f(self, x):\n        return self.query(x), self.key(x), self.g(x)\n"
        "    def g(self, x):\n        return x\n"
    )
    assert "return self.key(x), self.key(x), self.g(x)" in changed(source)
    assert "return self.query(x), self.query(x), self.g(x)" in changed(source)
    assert "return self.query(x), self.key(x), self.query(x)" not in changed(source)


def test_each_mutant_is_another_in_one_line_and_can_be_compiled() -> None:
    lines = PAGE.splitlines()
    made = mutants(PAGE)
    assert len({one.source for one in made}) == len(made) >= 10
    for one in made:
        pairs = enumerate(zip(lines, one.source.splitlines(), strict=True), 1)
        assert [number for number, (old, new) in pairs if old != new] == [one.line]
        ast.parse(one.source)
        assert lines[one.line - 1].strip() == one.original != one.mutated


def test_words_types_messages_and_the_example_are_left_alone() -> None:
    touched = {one.original for one in mutants(PAGE)}
    assert touched == {
        "WIDE = 2",
        "def power(base: int, exponent: int = 3) -> int:",
        "if exponent < 0:",
        "result = 1",
        "for _ in range(exponent):",
        "result *= base",
    }


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


@pytest.fixture
def tool(tmp_path: Path, repository: Path) -> Callable[..., tuple[int, str]]:
    r"""A function that runs the tool on a page and its test; its status, and what it says."""

    def run(page: str, test: str, listed: str = "", *options: str) -> tuple[int, str]:
        write(
            tmp_path,
            {"pages/toy.py": page, "tests/pages/test_toy.py": test, "listed.toml": listed},
        )
        command = ("tests.mutants", "pages/toy.py", "--equivalent", "listed.toml", *options)
        done = start(tmp_path, *command)
        assert (tmp_path / "pages" / "toy.py").read_text() == page
        return done.returncode, done.stdout + done.stderr

    return run


def test_what_tests_let_pass_is_shown(tool: Callable[..., tuple[int, str]]) -> None:
    status, said = tool(PAGE, TEST)
    assert status == 1
    assert "pages/toy.py:3: survived\n    WIDE = 2\n    WIDE = 3\n" in said
    assert "survived in power\n    def power(base: int, exponent: int = 3)" in said
    assert f"{len(mutants(PAGE))} mutants: {len(mutants(PAGE)) - 5} killed, 0 equivalent, 5" in said


def test_mutants_that_are_the_same_are_listed_and_nothing_else_is(
    tool: Callable[..., tuple[int, str]],
) -> None:
    listed = "".join(
        "[[mutant]]\npage = 'pages/toy.py'\nreason = 'so it is'\n"
        f"original = '{original}'\nmutated = '{mutated}'\n"
        for original, mutated in [
            ("WIDE = 2", "WIDE = 3"),
            ("WIDE = 4", "WIDE = 5"),
            ("result *= base", "result /= base"),
        ]
    )
    status, said = tool(PAGE, TEST, listed)
    assert status == 2
    assert "1 equivalent, 4 survived" in said
    there = "is in the list of equivalents, and"
    assert f"'WIDE = 4' -> 'WIDE = 5' {there} 0 mutants are like it" in said
    assert f"'result /= base' {there} test_it_multiplies notices" in said


def test_a_mutant_that_never_ends_is_ended(tool: Callable[..., tuple[int, str]]) -> None:
    page = "def count(n: int) -> int:\n    while n > 0:\n        n -= 1\n    return n\n"
    test = "from pages.toy import count\n\n\ndef test_it() -> None:\n    assert count(3) == 0\n"
    status, said = tool(page, test, "", "--verbose", "--limit", "2")
    assert "killed by (time or memory)\n    n -= 1\n    n += 1\n" in said
    assert status == 0


def test_tests_that_fail_on_the_page_itself_prove_nothing(
    tool: Callable[..., tuple[int, str]],
) -> None:
    status, said = tool(PAGE, TEST.replace("9", "8"))
    assert status == 2
    assert "tests/pages/test_toy.py fails on the page as it is: test_it_multiplies" in said
