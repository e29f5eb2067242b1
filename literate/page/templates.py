r"""
---
title: Templates
summary: Where the HTML of the pages is written.
---

A template writes HTML or Markdown. What goes into it has been escaped before, where its kind is
known; so the templates escape nothing.
"""

from typing import Any

import jinja2

TEMPLATES = jinja2.Environment(
    loader=jinja2.PackageLoader("literate.page"),
    autoescape=False,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    undefined=jinja2.StrictUndefined,
)
# The macros of code and notes, as functions.
CODE: Any = TEMPLATES.get_template("code.html.jinja").module
# Those of the forms in which a page shows tables and parts of other pages.
FORMS: Any = TEMPLATES.get_template("forms.html.jinja").module
