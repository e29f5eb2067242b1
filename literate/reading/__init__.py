r"""
---
title: Reading
summary: A Python file becomes lines, rows and notes; conventions are checked.
---

* [source](source.py): a Python file becomes lines, each of exactly one kind, and nothing is lost.
* [rows](rows.py): a note and the code under it, until the next note.
* [notes](notes.py): the Markdown of a note, cut into text, code and formulas.
* [markdown](markdown.py): the one reader of Markdown that all rooms use.
* [front_matter](front_matter.py): what a page says about itself before it begins.
* [page_source](page_source.py): all that a page takes from its source, read once.
* [plain](plain.py): a note without the marks of Markdown, for programs that read words and not
  pages.
* [pieces](pieces.py), [titles](titles.py): a note taken apart, and the heading of what it
  documents.
* [rst_documents](rst_documents.py): a README for Sphinx becomes a hand-written page.
* [rules](rules.py): the conventions of a page that can be checked without running it.
* [count](count.py): how long a page is, and how much of it is explained.
"""
