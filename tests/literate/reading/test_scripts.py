r"""Scripts of notebooks are read as what they are; jupytext says where their cells are."""

import re

import jupytext
import pytest

from literate.reading.front_matter import of_source, title_of
from literate.reading.rows import rows
from literate.reading.source import parse

PERCENT = '''# %% [markdown] slideshow={"slide_type": "slide"} tags=["a", "b"]
# # The title
#
# What it does.

#%%
import os

# %% [markdown]
"""
Text in a string, with $x$.
"""

# %% A cell [code] tags=["hide"]
x = 1

# %%% A cell inside
y = 2

# %%
# %matplotlib inline
# %%time
# !pip install nothing
z = 3
'''
LIGHT = """#!/usr/bin/env python
# ---
# title: A light notebook
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: light
# ---

# Some text.

# + {"tags": ["a"]}
y = 2

z = 3
# -

# More text.

# + tags=["b"]
w = 3
# -
"""
NBCONVERT = (
    "# coding: utf-8\n\n# # Title\n\n# In[3]:\n\nx = 1\n\n# In[ ]:\n\n# <codecell>\n\ny = 2\n"
)
GALLERY = '''"""
Title
=====
"""
# %%
# Section
# -------
#
# With :math:`x^2` and ``code``::
#
#     f(1)

x = 1
'''


def words_of_notes(text: str) -> list[str]:
    r"""The words of each note that has some."""
    notes = ["\n".join(row.note.texts) for row in rows(parse(text)) if row.note]
    return [found for note in notes if (found := " ".join(re.findall(r"\w+", note)))]


def test_the_text_of_a_script_is_what_jupytext_takes_for_text() -> None:
    cells = jupytext.reads(PERCENT, "py:percent").cells
    texts = [" ".join(re.findall(r"\w+", one.source)) for one in cells if one.cell_type != "code"]
    assert words_of_notes(PERCENT) == [*texts, "A cell", "A cell inside"]
    assert title_of(parse(PERCENT, "a.py")) == "The title"


def test_of_a_light_script_the_marks_and_the_header_are_no_text() -> None:
    cells = jupytext.reads(LIGHT, "py:light").cells
    texts = [
        " ".join(re.findall(r"\w+", one.source)) for one in cells if one.cell_type == "markdown"
    ]
    assert words_of_notes(LIGHT) == texts == ["Some text", "More text"]
    source = parse(LIGHT, "a.py")
    assert (title_of(source), of_source(source)[2]) == ("A light notebook", ())
    code = [line.text for row in rows(source) for line in row.code]
    assert code[0] == "#!/usr/bin/env python\n"
    assert code[1] == '# + {"tags": ["a"]}\n'
    assert code[-1] == "# -\n"


def test_what_other_programs_write_between_cells_is_no_text() -> None:
    assert words_of_notes(NBCONVERT) == ["Title"]


def test_a_text_of_a_gallery_is_written_for_sphinx() -> None:
    note = [row.note for row in rows(parse(GALLERY)) if row.note][1]
    kinds = [span.kind for span in note.parsed.spans if span.kind != "text"]
    assert kinds == ["inline", "code", "fence"]
    assert [block.text for block in note.parsed.headings] == ["Section"]


@pytest.mark.parametrize(
    "text",
    ["# ---\n# A rule above and below.\n# ---\nx = 1\n", "# +\n# - a list\nx = 1\n"],
)
def test_without_such_a_header_marks_are_text(text: str) -> None:
    notes = ["\n".join(row.note.texts) for row in rows(parse(text)) if row.note]
    assert notes == ["\n".join(line[2:] for line in text.split("\n")[:-2])]
