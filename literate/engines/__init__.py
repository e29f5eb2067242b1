r"""
---
title: Engines
summary: MkDocs or Zensical builds the site from the pages.
---

* [plugin](plugin.py): MkDocs is handed the pages.
* [kept_site](kept_site.py): while a site is served, files that are as they were stay where they
  are.
* [raw_html](raw_html.py): lines of code that are HTML already are not read again as Markdown.
* [zensical](zensical.py): the same site, built by the engine that comes after MkDocs.
* [new](new.py): an author begins with a page that builds.
"""
