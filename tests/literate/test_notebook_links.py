r"""Notebooks with addresses: the ways to and from them, and what their pages show."""

import json
import re
from functools import cache
from typing import Any

import pytest

from literate import site
from literate.python.statements import by_module
from literate.settings import load
from literate.takeaway.addresses import of_site
from literate.takeaway.notebook import build, file_name
from literate.takeaway.notebook_cells import has_notebook
from tests.literate.packages import own_sources
from tests.literate.projects import ROOT
from tests.literate.test_notebook_texts import ends_before_nothing, unseen

REPOSITORY = "https://github.com/owner/name"
SITE = "https://owner.github.io/name/"
# With figures, with tables, with neither; with an end of its own, and with that of another page.
SAMPLE = (
    "labml_nn.basics.byte_pairs",
    "labml_nn.optimizers.adamw",
    "labml_nn.transformers.mha",
    "labml_nn.transformers.modern.experiment",
)
MODULES = [name for name, one in own_sources(ROOT).items() if has_notebook(one, load(ROOT))]
# A paragraph of a note that is a link to a figure or a table, and nothing else.
SHOWN = re.compile(
    r"(?:^|\n)\n\[(?P<caption>[^\[\]]+)\]\((?:\.\./)*results/[^)\s]+#(?:figures|tables)\.[^.)\s]+\)"
    r"(?=\n\n|\n?$)"
)


@cache
def loaded() -> site.Site:
    r"""The project, read once for all notebooks."""
    return site.load(load(ROOT))


def cells_of(module: str) -> list[dict[str, Any]]:
    r"""The cells of a notebook with addresses."""
    known = loaded()
    addresses = of_site(known.settings, known.uris, SITE, REPOSITORY)
    sources = by_module(known.sources.values())
    built = build(sources, module, addresses, known.settings, known.results)
    cells = json.loads(built)["cells"]
    return [{**cell, "source": "".join(cell["source"])} for cell in cells]


def shown_by(text: str) -> list[str]:
    r"""The captions of figures and tables in docstrings and comments."""
    notes = re.findall(r'"""(.*?)"""', text, flags=re.DOTALL)
    notes += re.findall(r"(?m)(?:^[ \t]*#.*\n)+", text)
    plain = [re.sub(r"(?m)^[ \t]*(?:# ?)?", "", note).strip("\n") for note in notes]
    return [
        " ".join(one["caption"].split()) for note in plain for one in SHOWN.finditer(f"\n\n{note}")
    ]


def test_captions_are_found() -> None:
    text = '''r"""
Look:

[A
figure](../results/a.json#figures.one)

A [number](../results/a.json#values.one), and [one
in a line](../results/a.json#figures.one) of text.
"""
# [A table](results/a.json#tables.two)
'''
    assert shown_by(text) == ["A figure", "A table"]


@pytest.mark.parametrize(
    "module",
    [pytest.param(one, marks=() if one in SAMPLE else pytest.mark.whole) for one in MODULES],
)
def test_a_notebook_with_addresses_has_ways_and_what_its_page_shows(module: str) -> None:
    cells = cells_of(module)
    source = by_module(loaded().sources.values())[module]
    name = file_name(source, module)
    head = cells[0]["source"]
    notes = [cell["source"] for cell in cells if cell["cell_type"] == "markdown"]
    # The way to Colab, and back to the page.
    badge = "[![Open in Colab](https://colab.research.google.com/assets/colab-badge.svg)]"
    opened = f"https://colab.research.google.com/github/owner/name/blob/main/notebooks/{name}"
    assert f"{badge}({opened})" in head
    page = loaded().uris[source.path].removesuffix("index.md").removesuffix(".md").rstrip("/")
    assert f"({SITE}{page}/)" in head
    # No link that only the repository or the site would understand.
    code = r"```.*?```|`[^`\n]*`|\$\$.*?\$\$|\$[^$\n]*\$"
    text = re.sub(code, "", "\n\n".join(notes), flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)\s]+)", text) + re.findall(r'(?:href|src)="([^"]+)"', text)
    assert [one for one in targets if not one.startswith(("https://", "data:image/png"))] == []
    assert unseen(cells) == []
    assert ends_before_nothing(cells) == []
    # Each figure and each table of the page.
    wanted = shown_by(source.text)
    said = " ".join(" ".join(notes).split())
    assert [caption for caption in wanted if plain(caption) not in plain(said)] == []


def plain(text: str) -> str:
    r"""Letters and digits alone, since links and formulas look different in a notebook."""
    return re.sub(r"\(https:[^)]*\)|[^\w ]", "", text)
