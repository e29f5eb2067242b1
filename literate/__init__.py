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
5. [claims](claims.py), [links](links.py) and [formulas](formulas.py): what a note says is checked;
6. [references](references.py), [highlighting](highlight.py) and [page](page.py): names become
   links, and rows become Markdown;
7. [site](site.py): so do all files of a project, as its [settings](settings.py) say, by its
   [rules](rules.py), and each [problem](problems.py) is named;
8. [plug-in](plugin.py): MkDocs is handed the pages, with links to their
   [repository](repository.py) and with [ready HTML](ready.py); while an author writes, the pages
   are [live](live.py);
9. [closure](closure.py), [snippet](snippet.py) and [notebook](notebook.py): what a reader takes
   away runs by itself.

The [command line](__main__.py) offers each step on its own.
"""
