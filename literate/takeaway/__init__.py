r"""
---
title: What a reader takes away
summary: Snippets and notebooks that run by themselves.
---

* [repository](repository.py): where the sources can be seen, if that is known.
* [addresses](addresses.py): where the links of a note lead when the note has left its file.
* [licence](licence.py): of the package, and what a file says of its rights.
* [snippet](snippet.py): a definition and all that it needs, in one file that runs by itself.
* [twin](twin.py): a page as Markdown, for programs that read, and the file that leads to all.
* [citation](citation.py): how a page is cited.
* [feed](feed.py): new pages, for readers of feeds.
* [notebook_cells](notebook_cells.py): definitions, notes and the body of a function become the
  cells of a notebook.
* [folded_answers](folded_answers.py): a question stands there, and its answers can be opened.
* [carried](carried.py): the figures and tables of a note, in Markdown.
* [rasters](rasters.py): a figure becomes a PNG.
* [exercises](exercises.py): a hole for a line of the page, and a cell that judges what fills it;
  whether it [judges rightly](judged.py) is tried before.
* [assembly](assembly.py): the lines of a function, shuffled among wrong ones.
* [takes](requirements.py): the packages, the minutes and the memory of a notebook, for its head.
* [notebook](notebook.py): a page becomes a notebook that runs anywhere, without this repository.
* [of_page](page_files.py): the snippets and the notebook that a reader can take from a page.
* [notebooks](notebooks.py): the notebooks of a package are written, or compared with those that
  were.
"""
