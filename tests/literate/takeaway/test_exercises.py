r"""A hole in a notebook, and what is said about what fills it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import pytest

from literate.measuring.measure import Measurement, Tensor
from literate.problems import LiterateError
from literate.reading.source import parse
from literate.settings import Settings
from literate.takeaway.addresses import Addresses
from literate.takeaway.exercises import left_over, problems
from literate.takeaway.notebook import build
from tests.literate.packages import package
from tests.test_exercises import RIGHT, UNSOLVED, execute

PAGE = '''r"""
---
title: A page
summary: S.
---
"""
import torch
from torch import Tensor, nn


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.factor = 2.0

    @torch.no_grad()
    def forward(self, x: Tensor, power: int = 1) -> Tensor:
        # To a power,
        y = (
            x**power
        )
        # and larger.
        y, z = y * self.factor, y.sum(0)
        return y if power else z


def tell(word: str) -> str:
    return f"{word}!"


def example(n: int = 3) -> tuple[Tensor, dict[str, object]]:
    layer = Layer()
    return layer(torch.randn(n, 2)), {"word": tell("a"), "power": layer(torch.ones(n, 2), 0)}
'''
HOLES = """
[["pkg/page.py"]]
of = "Layer.forward"
line = "y, z ="
["pkg/page.py".wrong]
"it stops" = { "self.factor, y.sum(0)" = "self.nothing, y" }
"it is halved" = { "* self" = "/ self" }
[["pkg/page.py"]]
of = "tell"
line = "return "
wrong = {}
[["pkg/page.py"]]
of = "Layer.forward"
line = "y = ("
wrong = {}
[["pkg/page.py"]]
of = "tell"
line = "return "
bug = "it asks"
["pkg/page.py".wrong]
"it is silent" = "return word"
"it asks" = { "!" = "?" }
"""


def test_below_the_exercises_stands_where_own_code_is_tested(tmp_path: Path) -> None:
    (tmp_path / "holes.toml").write_text(HOLES)
    field = "---\ntitle: Paste It\nsummary: A field.\n---\n"
    sources = package({"pkg/page.py": PAGE, "pkg/field.py": f'r"""\n{field}"""\n'})
    edit = {"forms": {"pkg/field.py": {"script": "paste"}}}

    def texts(settings: Settings, **known: Any) -> list[str]:
        built = build(sources, "pkg.page", Addresses(**known), settings)
        return [one.source for one in nbformat.reads(built, 4).cells if "outputs" not in one]

    asked = Settings(tmp_path, {}, exercises="holes.toml", edit=edit)
    words = (
        "You can test your own attention or model, too: paste it into the site's page “Paste It”."
    )
    assert words in texts(asked)
    link = "[Test your own attention or model](https://a.site/pkg/field/): you paste it there, "
    linked = texts(asked, page=lambda path: f"https://a.site/{path.removesuffix('.py')}/")
    assert link + "and it runs in your browser." in linked
    # One without exercises needs none, and neither does a site without the field.
    for settings in (Settings(tmp_path, {}, edit=edit), replace(asked, edit=None)):
        assert not any("your own" in one for one in texts(settings))


NO = "Not yet: what it returns"


def notebook(folder: Path, holes: str = HOLES) -> list[str]:
    r"""The code of the notebook of the page."""
    (folder / "holes.toml").write_text(holes)
    settings = Settings(folder, {}, exercises="holes.toml")
    built = build(package({"pkg/page.py": PAGE}), "pkg.page", settings=settings)
    return [one.source for one in nbformat.reads(built, 4).cells if "outputs" in one]


@pytest.mark.parametrize(
    ("number", "line", "expected"),
    [
        (0, "YOUR_LINE", UNSOLVED),
        (0, "y * self.factor, y.sum(0)", RIGHT),
        (0, "torch.add(y, y), torch.einsum('ab->b', y)", RIGHT),
        (0, "y / self.factor, y.sum(0)", "Not yet. This is a known mistake: it is halved.\n"),
        (0, "y * 3, y.sum(0)", f"{NO} has the right shape, but other numbers than the lesson's.\n"),
        (0, "y.t() * 2, y.sum(0)", f"{NO} has the shape [2, 3], and the lesson's [3, 2].\n"),
        (0, "(y * 2).double(), 0", f"{NO} is torch.float64, and the lesson's torch.float32.\n"),
        (0, "None, 0", f"{NO} is None, and the lesson's a tensor of the shape [3, 2].\n"),
        (0, "(y, y), 0", f"{NO} is a tuple, and the lesson's a tensor of the shape [3, 2].\n"),
        (
            *(0, "y * self.factors, 0"),
            "With your line the example stops. AttributeError: 'Layer' object has no attribute "
            "'factors'\n",
        ),
        # The example returns the sum in one call and the product in the other.
        (
            *(0, "(y * self.factor if power else y), y.sum(0)"),
            "The example gives the right results, so it can't tell. But `y` has the right shape, "
            "but other numbers than the lesson's.\n",
        ),
        (1, "word + '!'", RIGHT),
        (1, "word", f"{NO} is 'a', and the lesson's 'a!'.\n"),
        (2, "x.pow(power)", RIGHT),
        (3, "?", "Not yet. The bug is still there.\n"),
        (3, "!", RIGHT),
        (3, "", "Not yet. This is a known mistake: it is silent.\n"),
    ],
)
def test_a_line_is_judged_by_all_that_the_example_gives(
    tmp_path: Path, number: int, line: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = notebook(tmp_path)
    hole, judge = code[-8 + 2 * number : len(code) - 6 + 2 * number]
    names: dict[str, object] = {}
    for one in [*code[:-8], hole.replace("?" if number == 3 else "YOUR_LINE", line)]:
        execute(one, names)
    for _ in range(2):
        capsys.readouterr()
        execute(judge, names)
        assert capsys.readouterr().out == expected


ASSEMBLED = (
    HOLES
    + """
[["pkg/page.py"]]
of = "Layer.forward"
line = "y = ("
assemble = true
["pkg/page.py".wrong]
"it is halved" = { "* self" = "/ self" }
"""
)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("YOUR_LINE", UNSOLVED),
        ("y = x**power; y, z = y * self.factor, y.sum(0); return y if power else z", RIGHT),
        (
            "y = x**power; y, z = y / self.factor, y.sum(0); return y if power else z",
            "Not yet. This is a known mistake: it is halved.\n",
        ),
    ],
)
def test_lines_of_a_notebook_are_put_in_order(
    tmp_path: Path, lines: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    *before, hole, judge = notebook(tmp_path, ASSEMBLED)
    shuffled = [line for line in hole.splitlines() if line.startswith("#     ")]
    assert len(shuffled) == 6 and "#     y, z = y / self.factor, y.sum(0)" in shuffled
    names: dict[str, object] = {}
    for one in [*before, hole.replace("YOUR_LINE", lines)]:
        execute(one, names)
    capsys.readouterr()
    execute(judge, names)
    assert capsys.readouterr().out == expected


def test_a_hole_keeps_the_function_with_its_notes(tmp_path: Path) -> None:
    code = notebook(tmp_path)
    assert code[-4] == (
        "# After “Set-up and imports”.\n"
        "# `Layer.forward`, with a hole.\n@torch.no_grad()\n"
        "def my_forward_3(self, x: Tensor, power: int = 1) -> Tensor:\n"
        "    # To a power,\n    y = YOUR_LINE\n    # and larger.\n"
        "    y, z = y * self.factor, y.sum(0)\n    return y if power else z"
    )


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ('of = "tell"', 'of = "Layer.tell"', 10, "doesn't have once a line that begins `return `."),
        ('"y = ("', '"y = x"', 14, "doesn't have once a line that begins `y = x`."),
        ('"* self"', '"y"', 7, "changes `y`: not once in `y, z = y * self.factor, y.sum(0)`."),
        ('"it asks"', '"it sings"', 19, "the bug “it sings” of `tell` is none of its wrong lines."),
        ("wrong = {}", "", 8, "an exercise of `pkg/page.py` has no `wrong`."),
    ],
)
def test_what_does_not_fit_the_page_is_told_with_its_line_in_the_list(
    tmp_path: Path, old: str, new: str, line: int, said: str
) -> None:
    assert old in HOLES
    with pytest.raises(LiterateError) as caught:
        notebook(tmp_path, HOLES.replace(old, new, 1))
    assert str(caught.value).startswith(f"holes.toml:{line}: ")
    assert str(caught.value).endswith(said)


def told(folder: Path, holes: str, **settings: object) -> list[str]:
    r"""What is said about the exercises of the page, which is measured."""
    (folder / "holes.toml").write_text(holes)
    settings = Settings(folder, {}, exercises="holes.toml", examples=["*"], **settings)
    measured = Measurement(
        {"n": (3, 5)},
        {23: (Tensor("y", ((3, 2), (5, 2)), ("n", "2"), "float32"), Tensor("z", (), (), ""))},
        {},
    )
    source = parse(PAGE, "pkg/page.py")
    found = [*problems(settings, source, measured), *left_over(settings, [source.path])]
    return [str(problem) for problem in found]


def test_a_shape_is_that_of_the_example_and_the_right_line_stands_on_the_page_alone(
    tmp_path: Path,
) -> None:
    for shape, said in {"[n, 2]": "", "n": "is no list of axes.", "[2, n]": "[n, 2] (y)."}.items():
        asked = HOLES.replace('line = "y, z ="', f'line = "y, z ="\nshape = "{shape}"')
        found = told(tmp_path, asked)
        assert [one.startswith("holes.toml:5: ") and one.endswith(said) for one in found] == (
            [True] if said else []
        )
    right = "y, z = y * self.factor, y.sum(0)"
    (said,) = told(tmp_path, HOLES.replace("y, z =", right))
    assert said.startswith(f"holes.toml:4: `{right}` is the whole line that readers write, ")
    # In a mistake, too.
    (said,) = told(tmp_path, HOLES.replace('"* self" = "/ self"', f'"{right}" = "y = 1"'))
    assert said.startswith(f"holes.toml:7: `{right}` is the whole line")
    line = len(HOLES.splitlines()) + 2
    assert told(tmp_path, HOLES + HOLES.replace("/page", "/gone")) == [
        f"holes.toml:{line}: has an exercise of `pkg/gone.py`, which is no page."
    ]


def test_a_page_that_is_practised_has_exercises_of_each_kind(tmp_path: Path) -> None:
    practised = {"lessons": {"practised": ["pkg/page.py"]}}
    said = "pkg/page.py:1: a reader of this page practises: it has no"
    assert told(tmp_path, HOLES, **practised) == [f"{said} question why."]
    without = HOLES.replace('bug = "it asks"', "")
    assert told(tmp_path, without, **practised) == [f"{said} bug to mend and no question why."]
