r"""
---
title: Pages
summary: Notes and code become one Markdown document a page.
---

* [page](page.py): the rows of a source become one Markdown document, by the templates in the folder
  `templates`, which hold its HTML.
* [context](context.py): what a page needs to know of all others.
* [row_views](row_views.py), [head](head.py): the parts of a page, ready for the template.
* [takeaways](takeaways.py), [recorded](recorded.py): the files beside a page, and their addresses.
* [shared_pictures](shared_pictures.py): the picture that a chat or a forum shows of a page.
* [templates](templates.py): how these are loaded.
* [links](links.py): notes link to source files; the site links to pages; both work.
* [highlight](highlight.py): code becomes HTML, line by line.
* [escaping](escaping.py): a text becomes HTML among Markdown that shows it as it is.
* [columns](columns.py): notes stand left of their code, unless one of the two would leave the
  other's place empty.
* [shapes](shapes.py): what stands at the end of a line of code, and what a reader who points at
  it is told.
* [katex](katex.py): where the setter of formulas lies, and how it comes there.
* [fonts](fonts.py): the faces of text and code come from npm, cut down to the letters that pages
  have.
* [formulas](formulas.py): TeX becomes HTML and MathML when the site is built, not in the reader's
  browser.
* [lists](lists.py): all terms from A to Z, and all papers by year.
* [listing](listing.py): the code of a row as HTML, with numbers, links and measured shapes.
* [forms](forms.py), [scripts](scripts.py): what a reader can choose and run on a page.
* [differences](differences.py), [changes](changes.py), [excerpts](excerpts.py): what a class or a
  program changes in another one, and where its names are used.
* [tooltips](tooltips.py): what a page tells when it is asked, kept beside it until then.
* [exhibits_in_notes](exhibits_in_notes.py), [exhibit](exhibit.py): a link to a result becomes a
  figure or a table, with its run.
* [checked_numbers](checked_numbers.py): a number in a note that links to a result must be the one
  that the result has.
* [notes](notes.py): a note becomes Markdown that every engine reads alike, and what it claims is
  checked.
* [documents](documents.py): pages that are written by hand, and lie where the repository wants
  them.
* [steps](steps.py), [programs](programs.py) and [path_of_steps](path_of_steps.py): pages that are
  read in an order, what the program of each step changes, and the loss that falls beside them.
* [result_pages](result_pages.py): each result has a page of its own, and one page lists them all.
* [search](search.py): what a reader can look up is every row of every page.
* [kept_pages](kept_pages.py): while a site is served, pages that nothing has changed are not
  written again.
"""
