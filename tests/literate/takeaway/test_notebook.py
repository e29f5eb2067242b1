r"""A notebook says what its page says, and is the same whenever the sources are.

When the notebook of the case has to be another, `python -m tests.literate.takeaway.test_notebook`
writes it anew.
"""

import ast
import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import jupytext
import nbformat
import pytest
import torch
from nbformat import NotebookNode

from literate.page.exhibits_in_notes import Exhibit
from literate.page.templates import TEMPLATES
from literate.problems import LiterateError
from literate.results import files
from literate.settings import load
from literate.takeaway import carried
from literate.takeaway.addresses import Addresses, of_site
from literate.takeaway.exercises import judge_runs
from literate.takeaway.folded_answers import CHOOSE, MORE, unfolded
from literate.takeaway.looks import helper
from literate.takeaway.notebook import AFTER_A_RESTART, PLAIN, build, file_name, script
from literate.takeaway.notebook_cells import has_notebook, text_cell
from literate.takeaway.notebooks import build_all, stale, with_scripts, write
from literate.takeaway.rasters import Rasters
from tests.literate.packages import own_sources, package, program
from tests.literate.recorded import FIGURE, result

FILES = {
    "pkg/__init__.py": "",
    "pkg/layers.py": '''
        r"""
        ---
        title: The Layers
        summary: Some.
        ---
        """
        import math
        import torch
        from torch import nn

        # A half, and
        # no more.
        HALF = 0.5
        THIRD = 1 / 3

        class Layer(nn.Module):
            r"""
            ## A layer
            """
            # Inside.
            def forward(self, x: torch.Tensor) -> torch.Tensor:
                return x * HALF * math.sqrt(THIRD)

        def unused(): pass
    ''',
    "pkg/training/page.py": '''
        r"""
        ---
        title: The Page
        summary: It trains.
        paper: { title: A Paper, authors: Somebody, year: 2017, link: https://example.org/paper }
        ---

        Uses a [layer](../layers.py#Layer), as $x$ in

        $$
        x = \\theta
        $$
        """
        import argparse
        import sys
        import torch
        import yaml.base
        from pkg.layers import Layer, unused

        # Small.
        RATE = 0.1
        STEPS = 3

        # No page needs it.
        OTHER = 4

        class Model(torch.nn.Module):
            r"""
            ## The model

            Of [layers](../layers.py).
            """
            def __init__(self) -> None:
                r"""
                * nothing
                """
                super().__init__()
                # Of it.
                self.layer = Layer()
            def step(self) -> None:
                r"""
                ### A step

                It halves.
                """

        class Failed(Exception):
            r"""
            ### What went wrong
            """

        # Above a function
        # without a docstring.
        def train(model: Model) -> float:
            if not model:
                raise Failed
            return RATE * STEPS + yaml.base.x

        def main() -> int:
            argparse.ArgumentParser()
            return notebook()

        # It begins.
        def notebook(steps: int = 2, name: str = "a") -> None:
            r"""
            ## Train it
            """
            model = Model()

            # ### The loss
            # See [the model](#Model).
            import tqdm
            loss = train(model)
            print(loss, name, tqdm)

        def example() -> float:
            return train(Model())

        if __name__ == "__main__":
            sys.exit(main())
    ''',
}
HEAD = 'r"""\n---\ntitle: A page\nsummary: S.\n---\n"""\n'
PAGE, PATH = "pkg.training.page", "pkg/training/page.py"
CASE = Path(__file__).parents[1] / "cases" / "notebook.ipynb"


def notebook_of(files: dict[str, str], addresses: Addresses | None = None) -> NotebookNode:
    r"""The notebook of the page, read back."""
    return nbformat.reads(build(package(files), PAGE, addresses or Addresses()), as_version=4)


def test_a_notebook_is_the_one_of_the_case() -> None:
    assert build(package(FILES), PAGE) == CASE.read_text(encoding="utf-8")


def test_links_and_a_badge_lead_to_the_repository() -> None:
    cells = notebook_of(FILES, Addresses(repository="https://github.com/owner/name")).cells
    notes = "\n".join(cell.source for cell in cells if cell.cell_type != "code")
    files = "https://github.com/owner/name/blob/HEAD/pkg"
    colab = "https://colab.research.google.com"
    place = "owner/name/blob/main/notebooks/training/page.ipynb"
    assert re.findall(r"\]\((https:[^)]*)\)", notes) == [
        "https://example.org/paper",
        f"{colab}/assets/colab-badge.svg",
        f"{colab}/github/{place}",
        f"https://kaggle.com/kernels/welcome?src=https://github.com/{place}",
        f"https://molab.marimo.io/github/{place}",
        f"{files}/training/page.py",
        f"{files}/layers.py#L16",
        *[f"{files}/layers.py"] * 2,
        f"{files}/training/page.py#L27",
    ]


def test_a_page_that_uses_no_other_has_no_such_headings_and_each_cell_its_id() -> None:
    again = "    # Again.\n    print(1)\n"
    notebook = notebook_of({PATH: f"{HEAD}def notebook():\n{again}{again}"})
    assert [cell.source for cell in notebook.cells if cell.cell_type == "markdown"] == [
        f"# A page\n\nS.\n\n{AFTER_A_RESTART}\n\nMade from `pkg/training/page.py`.",
        *("Again.", "Again."),
    ]
    assert "colab" not in notebook.metadata
    assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)


def test_a_cell_says_which_sections_it_comes_after() -> None:
    page = f'''{HEAD}
def notebook(steps: int = 2):
    r"""
    ## Try it
    """
    # ### The text
    text = "a"
    # ### The model
    model = steps * text
    # ### Training
    print(model, steps)
    # ### No names
    print(1)
'''
    code = [one.source for one in notebook_of({PATH: page}).cells if one.cell_type == "code"]
    assert [source.split("\n")[0] for source in code[2:]] == [
        'text = "a"',
        "# After “Try it” and “The text”.",
        "# After “Try it” and “The model”.",
        "print(1)",
    ]


def test_a_cell_of_definitions_says_what_it_comes_after_too() -> None:
    page = f'''{HEAD}
import math

def half(x):
    r"""
    ## Half
    """
    return x / 2

def example(x: "half" = math.pi):
    return half(x)
'''
    code = [one.source for one in notebook_of({PATH: page}).cells if one.cell_type == "code"]
    first = [source.removeprefix("#@title").split("\n")[0] for source in code[1:]]
    assert [one for one in first if "Shows" not in one] == [
        "import math",
        "def half(x):",
        "# After “Set-up and imports” and what is above in this section.",
        "# After what is above in this section.",
    ]


def test_a_cell_comes_after_no_section_below_it() -> None:
    page = f'''{HEAD}
def quarter(x):
    r"""
    ## Quarter
    """
    return half(half(x))

def half(x):
    r"""
    ## Half
    """
    return x / 2

def example():
    return quarter(8) + half(2)
'''
    code = [one.source for one in notebook_of({PATH: page}).cells if one.cell_type == "code"]
    assert code[1:3] == [
        "def quarter(x):\n    return half(half(x))",
        "def half(x):\n    return x / 2",
    ]


def test_below_the_other_pages_stands_one_heading() -> None:
    def headings(files: dict[str, str]) -> list[str]:
        texts = [one.source for one in notebook_of(files).cells if one.cell_type == "markdown"]
        return re.findall(r"(?m)^## .+", "\n".join(texts))

    # Constants have no heading of their own, and a class has one.
    assert headings(FILES)[:3] == [
        *("## What this page builds on", "## On this page", "## The model")
    ]
    start, end = FILES[PATH].index("# Small."), FILES[PATH].index("class Model")
    without = (FILES[PATH][:start] + FILES[PATH][end:]).replace("RATE * STEPS", "0.3")
    assert headings(FILES | {PATH: without})[:2] == ["## What this page builds on", "## The model"]


def test_a_method_that_has_a_heading_and_nothing_below_it_is_one_line() -> None:
    files = FILES | {PATH: FILES[PATH].replace("\n\n                It halves.", "")}
    (note,) = (one.source for one in notebook_of(files).cells if "A step" in one.source)
    assert note.endswith("* nothing\n\n**`step`**: A step")


def test_a_form_that_is_filled_in_anew_says_which_section_reads_the_setting(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = [one.source for one in notebook_of(FILES).cells if one.cell_type == "code"]
    (set_up,) = (one for one in code if one.startswith("#@title Set-up"))
    (form,) = (one for one in code if one.startswith("#@title Settings"))
    names: dict[str, object] = {"set_up_notebook": None}
    (note,) = (one for one in ast.parse(set_up).body if getattr(one, "name", "") == "note_form")
    exec(ast.unparse(note), names)
    # Twice the same, and another name; no cell reads the steps.
    for filled in (form, form, form.replace('"a"', '"b"').replace("steps = 2", "steps = 3")):
        exec(filled, names)
    said = "name has changed: run the section “The loss” again, and what is below.\n"
    assert capsys.readouterr().out == said


SHOWN = """
        A table, and *then* a figure:

        [All the
        ways](../../results/trials.json#tables.ways)

        [The time of `step`](../../results/trials.json#figures.time)

        Of [1.55](../../results/trials.json#values.loss) nats.
"""
NOTED = FILES | {
    PATH: FILES[PATH].replace("Uses a [layer]", f"{SHOWN.strip()}\n\n        Uses a [layer]")
}
RUN = "*From* `python trials.py`, 2026-11-21, Fast 1, 2 cores, PyTorch 2.13.0."


def shown(addresses: Addresses, png: Callable[[str], str]) -> NotebookNode:
    r"""The notebook of a page that shows a table and a figure."""
    found = result()
    text = build(package(NOTED), PAGE, addresses, results={found.path: found}, png=png)
    return nbformat.reads(text, as_version=4)


def test_a_notebook_has_the_tables_and_the_figures_of_its_notes_with_their_runs() -> None:
    asked: list[str] = []
    cells = shown(Addresses(), lambda name: asked.append(name) or "UE5H").cells
    assert asked == ["results/trials.json#figures.time"]
    table, figure, after = (cell for cell in cells[1:4])
    assert table.source == (
        "A table, and *then* a figure:\n\n"
        "| Way | Page | Loss (nats) | Steps |\n| --- | --- | ---: | ---: |\n"
        "| one at a time | pkg/a.py | 1.500 | 12,345 |\n"
        f"| v1.2 | pkg/a.py#mean | 1.250 | – |\n\nAll the ways\n\n{RUN}"
    )
    image = "![The time of step](data:image/png;base64,UE5H)"
    assert figure.source == f"{image}\n\nThe time of `step`\n\n{RUN}"
    assert figure.metadata == {"figure": asked[0], "numbers": result().figures["time"].digest}
    assert after.source.startswith("Of 1.55 nats.\n\nUses a layer")


def test_a_sample_with_dollars_is_no_formula() -> None:
    table = {"columns": [{"name": "text", "title": "Text"}], "rows": [{"text": "a$b$ *c*"}]}
    asked = Exhibit("Samples", "", 1)
    text = carried.shown(asked, result(tables={"ways": table}), "tables.ways", lambda path: None)
    # A viewer that sets formulas finds none in the Markdown, nor two dollars in one element.
    dollar = "<span>&#36;</span>"
    assert text and f"| a{dollar}b{dollar} \\*c\\* |" in text


def test_with_addresses_a_notebook_leads_to_its_page_and_says_which_addresses_it_has() -> None:
    site = "https://example.org/site/"
    known = {"repository": "https://github.com/owner/name", "site": site}
    addresses = of_site(
        PLAIN, {path: path[4:-2] + "md" for path in FILES}, site, known["repository"]
    )
    notebook = shown(addresses, str)
    assert notebook.metadata.literate == known
    head = notebook.cells[0].source
    assert f"[The page, with notes beside the code]({site}training/page/)" in head
    assert f"[1.55]({site}results/trials/#values.loss)" in notebook.cells[3].source
    assert "Pages that this one names" not in json.dumps(notebook)


def test_without_addresses_the_pages_that_are_named_stand_at_the_end() -> None:
    listed = "## Pages that this one names\n\n* The Layers, `pkg/layers.py`"
    assert notebook_of(FILES).cells[-1].source == listed


def test_a_check_compares_the_numbers_of_a_picture_and_not_its_bytes(tmp_path: Path) -> None:
    page = tmp_path / "training/page.ipynb"
    pages = package(NOTED)
    found = result()
    made = build_all(pages, tmp_path, results={found.path: found}, png=lambda name: "UE5H")
    assert write(made) == [*made]
    assert write(made) == []
    assert "base64,UE5H)" in page.read_text(encoding="utf-8")
    assert stale(build_all(pages, tmp_path, results={found.path: found})) == []
    # The bytes that are there are taken again; those of other numbers are drawn.
    assert Rasters({found.path: found}, tmp_path).of("results/trials.json#figures.time") == "UE5H"
    lines = [{"name": "mean", "points": [[1, 2.5], [2, 3.25]]}]
    other = result(figures={"time": FIGURE | {"lines": lines}})
    (problem,) = stale(build_all(pages, tmp_path, results={other.path: other}))
    assert problem.path == page.as_posix()
    drawn = Rasters({other.path: other}, tmp_path).of("results/trials.json#figures.time")
    assert base64.b64decode(drawn).startswith(b"\x89PNG")


def test_what_the_example_says_under_headings_comes_after_all_code() -> None:
    text = (
        'def example():\n    r"""\n    ## Example\n\n    A.\n\n    ### Results\n\n    B.\n    """\n'
    )
    cells = notebook_of(
        {PATH: f"{HEAD}{text}    return 1\n\n\ndef notebook():\n    print(1)\n"}
    ).cells
    sources = [cell.source for cell in cells]
    assert sources[-1] == "### Results\n\nB." and sources[-2] == "print(1)"
    assert "## Example\n\nA." in sources


def test_colab_is_asked_for_a_gpu_where_the_end_of_a_notebook_looks_for_one() -> None:
    def asks(end: str, device: str = "torch.cuda.is_available()") -> bool:
        layers = f"import torch\n\n\ndef device():\n    return {device}\n"
        page = f"{HEAD}from pkg.layers import device\n\n\ndef example():\n    return 1\n{end}"
        made = notebook_of(FILES | {"pkg/layers.py": layers, PATH: page})
        said = "choose one under Runtime" in "".join(cell.source for cell in made.cells)
        assert said is ("accelerator" in made.metadata)
        return said

    end = "\n\ndef notebook():\n    print({})\n"
    assert asks(end.format("device()"))
    assert not asks(end.format("1"))
    assert not asks(end.format("device()"), "torch.cuda.device_count()")
    # A page without an end explains what it defines.
    assert not asks("\n\ndef other():\n    return device()\n")


def test_a_note_of_another_page_is_in_no_notebook_but_its_own() -> None:
    layers = FILES["pkg/layers.py"]
    for old, new in (
        ("# A half, and", "# A halve, and"),
        ("## A layer", "## One layer"),
        ("# Inside.", ""),
    ):
        assert layers.count(old) == 1
        renoted = FILES | {"pkg/layers.py": layers.replace(old, new)}
        assert build(package(renoted), PAGE) == build(package(FILES), PAGE)


def test_the_same_sources_give_the_same_bytes_and_a_change_leaves_the_other_ids() -> None:
    assert build(package(FILES), PAGE) == build(package(dict(reversed(FILES.items()))), PAGE)
    changed = FILES | {"pkg/layers.py": FILES["pkg/layers.py"].replace("x * HALF", "HALF * x")}
    before = [cell.id for cell in notebook_of(FILES).cells]
    after = [cell.id for cell in notebook_of(changed).cells]
    assert [one != two for one, two in zip(before, after, strict=True)].count(True) == 1


CIRCLE = {
    PATH: """
        class Base: pass
        from pkg.other import Child
        def notebook():
            child = Child()
    """,
    "pkg/other.py": "from pkg.training.page import Base\nclass Child(Base): pass",
}


def changed(old: str, new: str) -> tuple[dict[str, str], str]:
    r"""The files with another line, and this line."""
    assert FILES[PATH].count(old) == 1
    return {PATH: FILES[PATH].replace(old, new)}, new


@pytest.mark.parametrize(
    ("files", "line", "said"),
    [
        (*changed("steps: int = 2", "Layer: int = 2"), "`Layer` would replace what `Layer`"),
        (*changed("loss = train(model)", "math = 1"), "`math` would replace an import"),
        (*changed("import tqdm", "super = 1"), "`super` would replace what a definition reads"),
        (*changed("import tqdm", "show_shapes = 1"), "`show_shapes` would replace what every"),
        (*changed("RATE = 0.1", "show_shapes = RATE = 0"), "`show_shapes` is the name of what"),
        (CIRCLE, "class", "`Base` has to be defined before what pkg.training.page imports"),
    ],
)
def test_what_is_no_notebook_is_an_error(files: dict[str, str], line: str, said: str) -> None:
    with pytest.raises(LiterateError) as caught:
        notebook_of(FILES | files)
    lines = package(files)[PAGE].text.splitlines()
    (number,) = [number for number, text in enumerate(lines, 1) if line in text]
    assert str(caught.value).startswith(f"{PATH}:{number}: ")
    assert said in str(caught.value)


def test_a_page_without_a_title_stops_the_notebooks_only_where_the_settings_are_strict() -> None:
    sources = package({"pkg/a.py": "def example():\n    return 1\n"})
    said: list[str] = []
    with pytest.raises(LiterateError, match="pkg/a.py:1: the module has no docstring"):
        build_all(sources, Path(), PLAIN, report=said.append)
    assert said == []
    made = build_all(sources, Path(), replace(PLAIN, strict=False), report=said.append)
    assert list(made) == [Path("a.ipynb")] and "# a\\n" in made[Path("a.ipynb")]
    assert [one.partition(";")[0] for one in said] == ["pkg/a.py:1: the module has no docstring"]


def test_a_page_that_no_notebook_can_be_made_of_leaves_the_others_theirs() -> None:
    example = "def example():\n    return 1\n"
    sources = package(
        {
            "pkg/a.py": f'"""# A"""\n{example}example.__doc__ = "Assigned"\n',
            "pkg/b.py": f'"""# B"""\n{example}',
        }
    )
    said: list[str] = []
    made = build_all(sources, Path(), replace(PLAIN, strict=False), report=said.append)
    assert list(made) == [Path("b.ipynb")]
    assert [one.partition(" ")[0] for one in said] == ["pkg/a.py:4:"]
    with pytest.raises(LiterateError, match="pkg/a.py:4: does something when"):
        build_all(sources, Path(), PLAIN)


def test_a_first_sentence_that_is_the_summary_stands_there_once() -> None:
    text = 'r"""\n# A\n\nIt halves. And more.\n"""\n\n\ndef example():\n    return 1\n'
    (made,) = build_all(package({"pkg/a.py": text}), Path()).values()
    assert made.count("It halves.") == 1


def definitions(text: str) -> list[str]:
    r"""The classes and functions of a program, at all depths."""
    found = ast.walk(ast.parse(text))
    return [program(one) for one in found if isinstance(one, ast.ClassDef | ast.FunctionDef)]


def test_our_notebooks_are_what_was_committed_valid_and_say_what_their_sources_say(
    repository: Path,
) -> None:
    sources, settings = own_sources(repository), load(repository)
    folder = repository / "notebooks"
    results = files.read(repository, settings.results)
    built = build_all(sources, folder, settings, results=results)
    assert stale(built, folder) == []
    given = {
        "needed": {},
        "sections": {},
        "lazy_annotations": False,
        "on_gpu": False,
        "has_form": True,
        "judge_runs": judge_runs(),
    }
    brought = ("set_up.py.jinja", "show_shapes.py.jinja", "judge.py.jinja")
    helpers = [TEMPLATES.get_template(name).render(**given) for name in brought]
    with_gpu = TEMPLATES.get_template(brought[0]).render(**given | {"on_gpu": True})
    originals = {one for text in (*helpers, with_gpu) for one in definitions(text)}
    originals.update(one for source in sources.values() for one in definitions(source.text))
    originals.update(definitions(helper()))
    compared = 0
    for path, text in built.items():
        notebook = nbformat.reads(text, as_version=nbformat.NO_CONVERT)
        nbformat.validate(notebook)
        code = [cell for cell in notebook.cells if cell.cell_type == "code"]
        assert not [one.source for one in code if re.search(r"(?m)^ *#.*\]\([^)]", one.source)]
        # What a reader should write is nowhere in the sources.
        asked = (", with a hole.", ", with a bug.", ", among wrong ones:")
        whole = [one.source for one in code if not any(mark in one.source for mark in asked)]
        inlined = [one for text in whole for one in definitions(text)]
        assert set(inlined) <= originals, path
        compared += len(inlined)
        assert {(cell.execution_count, len(cell.outputs)) for cell in code} == {(None, 0)}
    assert compared > 100


@pytest.mark.parametrize(
    ("text", "settings", "expected"),
    [
        ("def notebook(): pass", {}, True),
        ("def example(): pass", {}, True),
        ("def example(): pass", {"machinery": ["other/*", "pkg/a/*"]}, True),
        ("def example(): pass", {"machinery": ["other/*", "pkg/*"]}, False),
        ("def example(): pass", {"examples": ["other/*", "pkg/a.py"]}, True),
        ("def example(): pass", {"examples": ["other/*"]}, False),
        ("def example(): pass", {"edit": {"forms": {"pkg/a.py": {"target": "pkg.b:f"}}}}, True),
        ("def example(): pass", {"edit": {"forms": {"pkg/a.py": {"target": "pkg.a:f"}}}}, False),
        ("class notebook: pass", {}, False),
        ("from pkg.b import notebook", {}, False),
    ],
)
def test_a_page_has_a_notebook_if_it_defines_something_to_run(
    text: str, settings: dict[str, Any], expected: bool
) -> None:
    (source,) = package({"pkg/a.py": text}).values()
    assert has_notebook(source, replace(PLAIN, **settings)) == expected


def test_a_notebook_has_the_path_of_its_page() -> None:
    for path in ("transformers/basic/page", "index"):
        ((module, source),) = package({f"pkg/{path.replace('index', '__init__')}.py": ""}).items()
        assert file_name(source, module) == f"{path}.ipynb"


def test_notebooks_are_written_and_what_is_stale_is_named_with_the_remedy(tmp_path: Path) -> None:
    second = FILES[PATH].replace("from pkg.layers import Layer, unused", "Layer = int")
    files = FILES | {"pkg/second.py": second}
    page = tmp_path / "training/page.ipynb"
    built = build_all(package(files), tmp_path)
    assert list(built) == [page, tmp_path / "second.ipynb"]
    again = "write the notebooks again, `python -m literate notebooks`."
    assert [str(one) for one in stale(built)] == [
        f"{tmp_path}/second.ipynb:1: is missing; {again}",
        f"{page}:1: is missing; {again}",
    ]
    write(built)
    assert stale(built, tmp_path) == []
    assert page.read_bytes() == build(package(files), PAGE).encode()
    # A change of what only one of them uses, and of what neither uses.
    layers = files["pkg/layers.py"].replace("0.5", "0.25").replace("pass", "return None")
    changed = build_all(package(files | {"pkg/layers.py": layers}), tmp_path)
    (tmp_path / "old.ipynb").write_text("{}")
    assert [str(one) for one in stale(changed, tmp_path)] == [
        f"{tmp_path}/old.ipynb:1: no page has this notebook; delete it.",
        f"{page}:1: is not what the sources give; {again}",
    ]
    # A notebook of somebody else is not written over, nor is a page by its own script.
    with pytest.raises(LiterateError, match="old.ipynb:1: is not a notebook of this tool"):
        write({tmp_path / "second.ipynb": "", tmp_path / "old.ipynb": ""})
    assert stale(built, tmp_path)[0].path == f"{tmp_path}/old.ipynb"
    own = replace(PLAIN, root=tmp_path)
    with pytest.raises(LiterateError, match="pkg/second.py:1: its script would take its place"):
        beside = {tmp_path / "pkg" / path.relative_to(tmp_path): "" for path in built}
        with_scripts(beside, package(files), tmp_path / "pkg", own)
    page.write_bytes(page.read_bytes().replace(b"\n", b"\r\n"))
    assert [one.path for one in stale(built)] == [str(page)]
    assert [*build_all(package(files), tmp_path, chosen=["pkg.second"])] == list(built)[1:]
    # The problems of all notebooks are told together.
    files |= {"pkg/z.py": "def notebook(a):\n  pass", "pkg/y.py": "def notebook(b):\n  pass"}
    with pytest.raises(LiterateError) as caught:
        build_all(package(files), tmp_path)
    assert [one.path for one in caught.value.problems] == ["pkg/y.py", "pkg/z.py"]


def set_up(needed: dict[str, str]) -> dict[str, object]:
    r"""Run the set-up of a notebook; the names that it leaves behind."""
    names: dict[str, object] = {}
    template = TEMPLATES.get_template("set_up.py.jinja")
    exec(
        template.render(
            needed=needed, sections={}, lazy_annotations=False, on_gpu=True, has_form=False
        ),
        names,
    )
    return names


def test_the_set_up_installs_what_is_missing_on_colab_and_names_it_elsewhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    commands: list[list[str]] = []
    monkeypatch.setattr(subprocess, "run", lambda command, check: commands.append(command))
    missing = {"no_such_module": "no-such-package", "neither": "neither", "json": "json"}
    with pytest.raises(ModuleNotFoundError, match="pip install no-such-package neither$"):
        set_up(missing)
    monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    set_up({"json": "json", "torch": "torch"})
    assert commands == []
    set_up(missing)
    pip = [sys.executable, "-m", "pip", "install", "--quiet"]
    assert commands == [[*pip, "no-such-package", "neither"]]


def test_the_set_up_says_what_does_the_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Tesla T4")
    for cuda, said in [(True, "Tesla T4"), (False, "no NVIDIA GPU")]:
        monkeypatch.setattr(torch.cuda, "is_available", lambda cuda=cuda: cuda)
        set_up({"torch": "torch"})
        assert capsys.readouterr().out.endswith(f", torch {torch.__version__}, {said}\n")


SEQUEL = {
    "pkg/part.py": f"""{HEAD}
def half(x): return x / 2
def in_place(): return half(1.0)
def example(): return half(3.0)
""",
    "pkg/trial.py": f"""{HEAD}
from pkg.part import half, in_place
LIMIT = 1.0
def judge(found): return half(found) < LIMIT
def notebook(times: int = 2):
    found = times * in_place()
    assert judge(found)
""",
    "pkg/other.py": f"{HEAD}def in_place(): return 1.0 / 3\n",
}
SEQUELS = replace(PLAIN, sequels={"in_place": "pkg/trial.py"})


def run_notebook(text: str) -> dict[str, object]:
    r"""The names that the code of a notebook leaves behind."""
    names: dict[str, object] = {}
    for cell in nbformat.reads(text, as_version=4).cells:
        if cell.cell_type == "code":
            exec(cell.source, names)
    return names


@pytest.mark.parametrize(
    ("page", "found"), [("pkg.part", 1.0), ("pkg.trial", 1.0), ("pkg.other", 2 / 3)]
)
def test_the_sequel_of_a_page_uses_the_function_of_that_page(page: str, found: float) -> None:
    # A page has a notebook if there is something to run: this one has nothing but its sequel.
    assert run_notebook(build(package(SEQUEL), page, settings=SEQUELS))["found"] == found
    # Without the setting there is none.
    last = nbformat.reads(build(package(SEQUEL), "pkg.part"), as_version=4).cells[-1]
    assert last.source.endswith("\nshow_shapes(example)")


def test_a_sequel_of_a_function_that_has_gone_is_an_error(tmp_path: Path) -> None:
    settings = replace(SEQUELS, sequels={**SEQUELS.sequels, "gone": "pkg/trial.py"})
    with pytest.raises(LiterateError, match="function `gone`, which no page defines"):
        build_all(package(SEQUEL), tmp_path, settings)
    assert build_all(package(SEQUEL), tmp_path, SEQUELS)


def test_an_answer_that_the_site_folds_is_folded() -> None:
    text = (
        '??? question "What is `1 < 2`?"\n    True.\n\n    ```\n    ??? no "exercise"\n    ```\n\n'
        '???+ tip "Again"\n    Why?\nEnd.'
    )
    assert unfolded(text) == (
        "<details><summary>What is <code>1 &lt; 2</code>?</summary>\n\nTrue.\n\n"
        '```\n??? no "exercise"\n```\n\n</details>\n\n'
        "<details open><summary>Again</summary>\n\nWhy?\n\n</details>\n\nEnd."
    )


def test_the_words_of_a_summary_that_stand_out_do_so() -> None:
    text = '??? question "Which do *we* ask, `a*b*c`?"\n    No 1 * 2.'
    summary = "<summary>Which do <em>we</em> ask, <code>a*b*c</code>?</summary>"
    assert unfolded(text).startswith(f"<details>{summary}")


def test_an_answer_to_choose_folds_why_it_is_right_or_wrong() -> None:
    text = (
        'Ask.\n\n??? question "Why $\\sqrt{2}$ and *not* `1`?"\n    See [there](a.py).\n\n'
        "    - [ ] `a < b`,\n      or $\\alpha$.\n        - It is\n          less.\n\n"
        "          ```\n          a\n          ```\n"
        "    - [x] Both.\n        - Yes.\n        - Twice.\n\nEnd."
    )
    assert unfolded(text) == (
        f"Ask.\n\n**Why $\\sqrt{{2}}$ and *not* `1`?**\n\nSee [there](a.py).\n\n{CHOOSE}\n\n"
        "<details><summary><code>a &lt; b</code>, or α.</summary>\n\n"
        "✗ It is\nless.\n\n```\na\n```\n\n</details>\n\n"
        "<details><summary>Both.</summary>\n\n✓\n\n- Yes.\n- Twice.\n\n</details>\n\nEnd."
    )


def test_a_question_below_answers_to_choose_is_told_from_them() -> None:
    choice = '??? question "Why?"\n    - [x] Yes.\n        - It is.\n\n'
    plain = '??? question "What?"\n    This.\n\n'
    text = unfolded(plain + choice + plain + plain + choice)
    assert text.count(MORE) == 1
    above, below = text.split(MORE)
    assert above.endswith("✓ It is.\n\n</details>\n\n")
    assert below.startswith("\n\n<details><summary>What?</summary>")


def test_a_title_has_letters_in_place_of_a_formula() -> None:
    title = "What is $\\frac{a}{\\sqrt{b}}$ < $x$, by [this `b`](a.py)?"
    text = f'??? question "{title}"\n    $\\frac{{1}}{{2}}$.'
    assert unfolded(text).startswith(
        "<details><summary>What is a/√b &lt; x, by this <code>b</code>?</summary>\n"
    )
    assert "$\\frac{1}{2}$." in unfolded(text)


def test_a_page_that_cannot_be_tried_is_an_error_that_says_why() -> None:
    other = SEQUEL["pkg/other.py"] + "judge = 3\n"
    with pytest.raises(LiterateError) as caught:
        build(package(SEQUEL | {"pkg/other.py": other}), "pkg.other", settings=SEQUELS)
    said = "pkg/other.py:8: `judge` is one thing here and another at pkg/trial.py:10, and a copy in"
    assert str(caught.value).startswith(said)


def test_the_example_prints_the_shapes_of_what_it_names_and_returns(
    capsys: pytest.CaptureFixture[str],
) -> None:
    example = f"""{HEAD}
import torch
def example(n: int = 3) -> list[torch.Tensor]:
    x = torch.zeros(n)
    x = x[None]
    y, _ = x.int(), x
    return [y, (x, {{"x": x}})]
"""
    run_notebook(build(package({"pkg/a.py": example}), "pkg.a"))
    assert capsys.readouterr().out.splitlines()[1:] == [
        "x: [1, 3] float32",
        "y: [1, 3] int32",
        "result[0]: [1, 3] int32",
        "result[1][0]: [1, 3] float32",
    ]


def test_an_example_without_tensors_shows_what_it_returns(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for returned, shown in (
        ('2, ["a"]', ["result[0]: 2", "result[1]: ['a']"]),
        ("'a'", ["result: 'a'"]),
    ):
        run_notebook(
            build(package({"pkg/a.py": f"{HEAD}def example():\n    return {returned}\n"}), "pkg.a")
        )
        assert capsys.readouterr().out.splitlines()[1:] == shown


def test_shapes_come_in_the_order_in_which_the_example_binds_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # Python keeps a name that an inner function uses apart from the others, from A to Z.
    example = f"""{HEAD}
import torch
def example(n: int = 3) -> torch.Tensor:
    x = torch.zeros(n, 2)
    c, b = x[0], x[:, 0]
    a = [(lambda: (x, b, c))() for _ in range(2)]
    return (d := a[0][0])
"""
    run_notebook(build(package({"pkg/a.py": example}), "pkg.a"))
    assert [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()[1:]] == [
        "x",
        "c",
        "b",
        "d",
        "result",
    ]


def test_an_example_that_fails_leaves_no_profiler_behind() -> None:
    names: dict[str, object] = {}
    exec(TEMPLATES.get_template("show_shapes.py.jinja").render(), names)
    before = sys.getprofile()
    with pytest.raises(ZeroDivisionError):
        names["show_shapes"](lambda: 1 / 0)
    assert sys.getprofile() is before


def test_the_script_of_a_notebook_is_python_that_can_be_read_and_gives_its_cells_back() -> None:
    text = script(package(FILES), PAGE)
    ast.parse(text)
    notebook = notebook_of(FILES)
    assert text.count("\n# %%") == len(notebook.cells)
    assert "# %% [markdown]\n# # The Page\n" in text
    back = jupytext.reads(text, "py:percent")
    cells = [(one.cell_type, one.source, one.metadata) for one in back.cells]
    assert cells == [(one.cell_type, one.source, one.metadata) for one in notebook.cells]


def test_a_script_says_first_how_annotations_are_read() -> None:
    later = "from __future__ import annotations\n\n\ndef example(x: Later = 1): return x\n"
    text = script(package({"pkg/a.py": later}), "pkg.a")
    exec(compile(text, "a.py", "exec", dont_inherit=True), {"__name__": "__main__"})
    assert text.count("from __future__") == 1


def test_a_reader_edits_one_of_the_two_and_synchronises_them(
    repository: Path, tmp_path: Path
) -> None:
    sources, settings = own_sources(repository), load(repository)
    module = "labml_nn.course.experiment"
    built = build_all(sources, tmp_path, settings, [module])
    write(with_scripts(built, sources, tmp_path, settings))
    notebook, text = tmp_path / "course/experiment.ipynb", tmp_path / "course/experiment.py"

    def synchronised(edited: Path) -> NotebookNode:
        other = ({notebook, text} - {edited}).pop()
        os.utime(edited, (other.stat().st_mtime + 10,) * 2)
        command = [sys.executable, "-m", "jupytext", "--quiet", "--sync", str(edited)]
        subprocess.run(command, check=True, capture_output=True)
        return nbformat.read(notebook, as_version=4)

    first = nbformat.read(notebook, as_version=4)
    # Nothing is lost on the way there and back.
    assert synchronised(text).cells == first.cells and synchronised(notebook).cells == first.cells
    text.write_text(text.read_text().replace("# %%\n", "# %%\n# Mine.\n", 1))
    edited = synchronised(text)
    changed = [
        (one.source, other.source)
        for one, other in zip(first.cells, edited.cells, strict=True)
        if one.source != other.source
    ]
    assert len(changed) == 1 and changed[0][1] == f"# Mine.\n{changed[0][0]}"
    # Outputs stay where they are when the script is what was edited.
    ran = next(one for one in edited.cells if one.cell_type == "code")
    ran.outputs = [nbformat.v4.new_output("stream", text="done")]
    nbformat.write(edited, notebook)
    synchronised(notebook)
    text.write_text(text.read_text().replace("# Mine.", "# Ours."))
    last = synchronised(text)
    assert [one.outputs for one in last.cells if one.get("outputs")] == [ran.outputs]


def test_no_line_of_a_text_begins_with_a_per_cent_sign() -> None:
    assert (
        text_cell("* [99](https://x.y/z)\n  % of 7\n%").source == "* [99](https://x.y/z) % of 7 %"
    )
    # A command in an example stays one.
    assert text_cell("```\nf(3)\n%time f(3)\n%%time\n```").source.count("\n%") == 2


if __name__ == "__main__":
    CASE.write_text(build(package(FILES), PAGE), encoding="utf-8", newline="\n")
