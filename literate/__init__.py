r"""
---
title: The tool
summary: How an annotated module becomes a page, a notebook and a snippet.
---

Nearly every page of this site is a Python file, and so is every page of this section: they are the
tool that makes the pages. It takes any annotated package, and this site is its first user.

```text
problems, settings            what every room may use
   │
reading ─┬─ measuring ────┐   source → rows and notes; the example runs, tensors get their shapes
         ├─ python ───────┤   what names stand for, and what a definition needs
         └─ results ──────┤   what programs have measured
                        page  notes and code → one Markdown document
                          │
                      takeaway → site → engines: MkDocs, Zensical
```

A module imports from its own room and from those before it, in this order:
[problems](problems.py), [settings](settings.py), [reading](reading/__init__.py),
[measuring](measuring/__init__.py), [python](python/__init__.py), [results](results/__init__.py),
[page](page/__init__.py), [takeaway](takeaway/__init__.py), [site](site.py),
[engines](engines/__init__.py), and the [command line](__main__.py). A test holds that.
"""
