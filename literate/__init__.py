r"""
---
title: The tool
summary: How an annotated module becomes a page, a notebook and a snippet.
---

Every page of this site is a Python file, and so is every page of this section: they are the tool
that makes the pages. It takes any annotated package, and this site is its first user.

What happens to a file, in this order:

1. [source](source.py): its lines get their kinds, docstring, comment, code or blank;
2. [rows](rows.py): each note is put together with the code under it;
3. [front matter](front_matter.py) and [notes](notes.py): the Markdown of a note is taken apart;
4. [measure](measure.py): the example of the page runs, and the shape of every tensor is recorded,
   by a [child process](measured_run.py) that alone knows PyTorch: how [axes](axes.py) get their
   names, how code is [instrumented](instrument.py), how the [child](child.py) is kept in check, and
   what is [kept](store.py);
5. [claims](claims.py), [links](links.py), [formulas](formulas.py), set by [KaTeX](katex.py), their
   [symbols](symbols.py), and the [spelling of names](spelling.py): what a note says is checked;
6. [references](references.py), found in [trees](trees.py), the documentation of
   [PyTorch](pytorch.py), [highlighting](highlight.py), [listing](listing.py) with the
   [shapes](shapes.py) of lines in [letters](letters.py), and [page](page.py) in its two
   [columns](columns.py): names become links, and rows become Markdown; what a reader may ask, such
   as the [places](places.py) of a name, is told [about](about.py) the page in a file beside it;
7. [site](site.py): so do all files of a project, as its [settings](settings.py) say, by its
   [rules](rules.py) and [words](words.py), [documents](documents.py) written by hand too,
   and each [problem](problems.py) is named; [count](count.py) says how long the pages are;
8. [search](search.py): the rows, as [plain text](plain.py), become the index that readers look
   words up in;
9. [plug-in](plugin.py): MkDocs is handed the pages, with links to their
   [repository](repository.py) and with [ready HTML](ready.py); while an author writes, pages that
   are [finished](finished.py) stay; or [Zensical](zensical.py) is, which will take its place;
10. [closure](closure.py), [snippet](snippet.py) and [notebook](notebook.py), made of
    [cells](notebook_cells.py), with links to full [addresses](addresses.py): what a reader takes
    away runs by itself, and [all notebooks](notebooks.py) are written.

The [command line](__main__.py) offers each step on its own, and writes [new pages](new.py).
"""
