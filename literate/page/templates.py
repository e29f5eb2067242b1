r"""
---
title: Templates
summary: Where the HTML of the pages is written.
---

A template writes HTML or Markdown. What goes into it has been escaped before, where its kind is
known; so the templates escape nothing.
"""

import html
import json
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


def stated(text: str) -> str:
    r"""
    ## A text for the front matter of a page

    Escaped: the templates of the engines take it for HTML. But for apostrophes, which mean nothing
    there, and which Material escapes once more where it reads a title to a screen reader. And as
    JSON, which is YAML that needs no care with colons and quotes.
    """
    return json.dumps(html.escape(text).replace("&#x27;", "'"), ensure_ascii=False)
