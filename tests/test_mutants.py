r"""The tool that breaks pages: which mutants it makes, and what it says of tests."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants import Equivalent, own_tests, read_equivalents
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


def test_only_one_line_is_changed_and_it_can_be_compiled() -> None:
    lines = PAGE.splitlines()
    for one in mutants(PAGE):
        others = one.source.splitlines()
        assert [
            i for i, pair in enumerate(zip(lines, others, strict=True), 1) if len(set(pair)) > 1
        ] == [one.line]
        ast.parse(one.source)
        assert lines[one.line - 1].strip() == one.original != one.mutated


def test_no_two_mutants_are_the_same() -> None:
    sources = [one.source for one in mutants(PAGE)]
    assert len(set(sources)) == len(sources) >= 10


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


def test_each_page_has_tests_of_its_own() -> None:
    assert own_tests(Path("a/b/c.py")) == Path("tests/a/b/test_c.py")


def test_an_entry_can_name_the_definition_of_a_line_that_is_there_twice() -> None:
    one, other = mutants("def f():\n    a = 1\n\n\ndef g():\n    a = 1\n")
    entry = Equivalent("p.py", "a = 1", "a = 2", "why", "g")
    assert [entry.fits(one), entry.fits(other)] == [False, True]


def test_each_entry_of_the_list_gives_a_reason_and_is_there_once() -> None:
    entries = read_equivalents()
    assert all(len(entry.reason) > 20 for entry in entries)
    assert len(set(entries)) == len(entries)


def run_tool(
    folder: Path, repository: Path, page: str, test: str, listed: str = "", *options: str
) -> tuple[int, str]:
    r"""The tool in another folder, on a page and its test."""
    (folder / "pages").mkdir()
    (folder / "pages" / "toy.py").write_text(page)
    (folder / "tests" / "pages").mkdir(parents=True)
    (folder / "tests" / "pages" / "test_toy.py").write_text(test)
    (folder / "listed.toml").write_text(listed)
    command = [sys.executable, "-m", "tests.mutants", "pages/toy.py", "--equivalent", "listed.toml"]
    done = subprocess.run(
        [*command, *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(repository)},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_what_tests_let_pass_is_shown_and_the_page_stays_as_it_is(
    tmp_path: Path, repository: Path
) -> None:
    status, said = run_tool(tmp_path, repository, PAGE, TEST)
    assert status == 1
    assert "pages/toy.py:3: survived\n    WIDE = 2\n    WIDE = 3\n" in said
    assert "survived in power\n    def power(base: int, exponent: int = 3)" in said
    assert f"{len(mutants(PAGE))} mutants: {len(mutants(PAGE)) - 5} killed, 0 equivalent, 5" in said
    assert (tmp_path / "pages" / "toy.py").read_text() == PAGE


def test_mutants_that_are_the_same_are_listed_and_nothing_else_is(
    tmp_path: Path, repository: Path
) -> None:
    def entry(original: str, mutated: str) -> str:
        texts = f"page = 'pages/toy.py'\noriginal = '{original}'\nmutated = '{mutated}'\n"
        return f"[[mutant]]\n{texts}reason = 'so it is'\n"

    same = entry("WIDE = 2", "WIDE = 3")
    gone = entry("WIDE = 4", "WIDE = 5")
    noticed = entry("result *= base", "result /= base")
    status, said = run_tool(tmp_path, repository, PAGE, TEST, same + gone + noticed)
    assert status == 2
    assert "1 equivalent, 4 survived" in said
    assert (
        "'WIDE = 4' -> 'WIDE = 5' is in the list of equivalents, and 0 mutants are like it" in said
    )
    assert "'result /= base' is in the list of equivalents, and test_it_multiplies notices" in said


def test_a_mutant_that_never_ends_is_ended(tmp_path: Path, repository: Path) -> None:
    page = "def count(n: int) -> int:\n    while n > 0:\n        n -= 1\n    return n\n"
    test = "from pages.toy import count\n\n\ndef test_it() -> None:\n    assert count(3) == 0\n"
    status, said = run_tool(tmp_path, repository, page, test, "", "--verbose", "--limit", "2")
    assert "killed by (time or memory)\n    n -= 1\n    n += 1\n" in said
    assert status == 0


def test_tests_that_fail_on_the_page_itself_prove_nothing(tmp_path: Path, repository: Path) -> None:
    status, said = run_tool(tmp_path, repository, PAGE, TEST.replace("9", "8"))
    assert status == 2
    assert "tests/pages/test_toy.py fails on the page as it is: test_it_multiplies" in said
