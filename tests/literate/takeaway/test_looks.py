r"""Cells to play with: where they stand, what they need, and what is wrong with an entry."""

from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode

from literate.problems import LiterateError
from literate.settings import Settings, load
from literate.takeaway.looks import left_over, look
from literate.takeaway.notebook import build
from tests.literate.packages import package
from tests.literate.projects import ROOT

PAGE = '''r"""
---
title: A page
summary: S.
---
"""
import torch
from torch import Tensor


def double(x: Tensor) -> Tensor:
    y = 2 * x
    return y


def triple(x: Tensor) -> Tensor:
    return 3 * x


def example(n: int = 3) -> Tensor:
    return triple(double(torch.randn(n)))
'''
LOOK = """
# One.
["pkg/page.py"]
title = "See it doubled"
about = "Why?"
knobs = { sentence = 'to "be"', width = 3, size = 0.5, flag = true }
code = '''
words = sentence.split()
look_inside(double, lambda: double(size * torch.ones(width)), words)
'''
"""


def settings(folder: Path, text: str) -> Settings:
    (folder / "looks.toml").write_text(text)
    return Settings(folder, {}, looks="looks.toml")


def cells(folder: Path, text: str = LOOK) -> list[NotebookNode]:
    built = build(package({"pkg/page.py": PAGE}), "pkg.page", settings=settings(folder, text))
    return nbformat.reads(built, 4).cells


def test_the_cell_stands_after_the_last_definition_that_it_uses(tmp_path: Path) -> None:
    sources = [one.source for one in cells(tmp_path)]
    at = sources.index("## See it doubled\n\nWhy?")
    assert "\ndef double" in sources[at - 1]
    assert sources[at + 1].startswith("#@title Draws what lines make\ndef ")
    assert sources[at + 2] == (
        "# After “Set-up and imports” and what is above in this section.\n"
        'sentence = "to \\"be\\""  #@param {type:"string"}\n'
        'width = 3  #@param {type:"integer"}\n'
        'size = 0.5  #@param {type:"number"}\n'
        'flag = True  #@param {type:"boolean"}\n\n'
        "words = sentence.split()\n"
        "look_inside(double, lambda: double(size * torch.ones(width)), words)"
    )
    assert "def triple" in sources[at + 3]
    assert any('"matplotlib": "matplotlib"' in one for one in sources)


def test_a_page_without_an_entry_has_no_helper(tmp_path: Path) -> None:
    sources = [one.source for one in cells(tmp_path, "")]
    assert not any("look_inside" in one or "matplotlib" in one for one in sources)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('about = "Why?"', "", "looks.toml:3: the cell of `pkg/page.py` has no `about`."),
        (
            "words = sentence",
            "words sentence",
            "looks.toml:3: the cell of `pkg/page.py` is not Python: invalid syntax.",
        ),
        ("title =", "title", "looks.toml:1: is not TOML"),
        (
            *("words = sentence", "double = words = sentence"),
            "pkg/page.py:1: `double` would replace",
        ),
        ("width = 3", "torch = 3", "pkg/page.py:1: `torch` would replace"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert LOOK.count(old) == 1
    with pytest.raises(LiterateError) as error:
        cells(tmp_path, LOOK.replace(old, new))
    assert said in str(error.value)


def test_a_cell_of_no_page_is_named(tmp_path: Path) -> None:
    (problem,) = left_over(settings(tmp_path, LOOK), {"pkg/other.py"})
    assert str(problem) == "looks.toml:3: has a cell of `pkg/page.py`, which is no page."


def test_each_step_of_the_course_has_a_cell() -> None:
    # Pages of the navigation between the two headings.
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8").split("# The twelve steps")[1]
    steps = navigation.split("- All steps at once")[0].split("- ")[1:]
    pages = ["labml_nn/" + one.strip().removesuffix(".md") + ".py" for one in steps]
    assert len(pages) == 12
    assert [page for page in pages if look(load(ROOT), page) is None] == []
