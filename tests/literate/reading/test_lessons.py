r"""What a lesson owes its reader, and that no other page owes it."""

import pytest

from literate.reading.lessons import Lessons, called_the_same, problems
from literate.reading.source import parse

PAGE = '''import math
import torch
from pkg.other import Layer


class Attention:
    class Part:
        def __init__(self, bias: bool, heads: int) -> None:
            r"""`bias` and `heads`."""

    def __init__(self, heads: int, d_model: int, *sizes: int) -> None:
        r"""
        * `heads` and `d_model`
        * `sizes` are some
        """
        self.heads, self.d_model = self.d_model, self.heads
        first, *rest = sizes

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        r"""
        `x` and the result are `[seq_len]`.
        """
        return x


def __init__(x: int) -> None: ...


def forward(x: int) -> None: ...


def example() -> None: ...
'''
LESSONS = Lessons(
    pages=["pkg/*"],
    machinery=["pkg/engine/*"],
    orders=[
        {"of": "P*", "has": ["heads"], "order": ["bias", "d_k", "heads"]},
        {"has": ["heads", "d_model"], "order": ["heads", "d_model"]},
        {"order": ["d_model", "heads"]},
    ],
    joined=["a, b = (1, 2)"],
    imports={"pkg/*": ["torch"], "pkg/train*": ["numpy"]},
)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("* `sizes` are some", "", "11: the docstring of `Attention.__init__` doesn't explain `si"),
        ("* `sizes` are some", "The other arguments are those of [x](x.py).", ""),
        ("`[seq_len]`", "long", "19: the docstring of `Attention.forward` gives no shape: say whi"),
        ("are `[seq_len]`", "have the shapes that are those of [x](x.py)", "19: "),
        ("`x` and the result are `[seq_len]`", "The shapes are those of [x](x.py)", ""),
        ("heads: int, d_model: int", "d_model: int, heads: int", "11: the arguments of `Attentio"),
        ("bias: bool, heads: int", "heads: int, bias: bool", "8: the arguments of `Attention.Pa"),
        ("first, *rest = sizes", "a, b = 1, 2", ""),
        ("first, *rest = sizes", "a, b = 2, 1", "17: several names get several values; a line "),
        ("first, *rest = sizes", "a, b = (x for x in sizes)", "17: several names get several val"),
        ("import math", "import numpy", "1: imports `numpy`; beside Python and `pkg`, this page h"),
        ("pkg.other", "pkg.engine.run", "3: imports `pkg.engine.run`, which is machinery; a less"),
        ("def example", "def another", "1: has tensors and no `example` that makes some, so no sh"),
        ("def example", "def notebook", ""),
        ("torch.Tensor", "float", ""),
    ],
)
def test_what_a_lesson_owes_is_told_with_its_line(old: str, new: str, said: str) -> None:
    assert [*problems(parse(PAGE, "pkg/a.py"), LESSONS)] == []
    assert old in PAGE
    changed = parse(PAGE.replace(old, new), "pkg/a.py")
    found = [str(one) for one in problems(changed, LESSONS)]
    assert [one.startswith(f"pkg/a.py:{said}") for one in found] == [True] * bool(said)


def test_a_program_owes_nothing_but_its_imports_and_another_page_nothing_at_all() -> None:
    text = "import numpy\nimport pkg.engine.run\n\n\nclass A:\n    def forward(self, x): ...\n"
    lines = {
        "pkg/a.py": [1, 2, 6],
        "pkg/train.py": [2, 6],
        "pkg/engine/a.py": [1],
        "other/a.py": [],
    }
    for path, expected in lines.items():
        assert [one.line for one in problems(parse(text, path), LESSONS)] == expected
    assert [*problems(parse(text, "pkg/a.py"), Lessons())] == []


def test_two_lessons_of_one_title_or_one_summary_are_named() -> None:
    front = 'r"""\n---\ntitle: {}\nsummary: {}\n---\n"""\n'
    said = {"pkg/a.py": "A S", "pkg/b.py": "B S", "pkg/c.py": "A T", "other/d.py": "A S"}
    pages = [parse(front.format(*both.split()), path) for path, both in said.items()]
    assert [str(one) for one in called_the_same(pages, LESSONS)] == [
        "pkg/b.py:1: says “S” of itself, as pkg/a.py does.",
        "pkg/c.py:1: says “A” of itself, as pkg/a.py does.",
    ]
