r"""
---
title: Words
summary: What the notes should not say, and what to say for it.
---

A reader who doesn't know a word looks it up, and finds nothing if we made it up. So a project lists
words that it has used in place of the usual ones, in its [settings](../settings.py):

```toml
[tool.literate.words]
card = "GPU"
"way back" = "backward pass"
```

A word of the list in a docstring or a comment is a problem, with the place and the remedy. A longer
phrase with nothing to say for it, `"model card" = ""`, is allowed. Code, formulas, links and
quotations may say what they like.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache

from literate.problems import Problem
from literate.reading.notes import spans
from literate.reading.rows import rows
from literate.reading.source import Source

# A line that is quoted, words in quotes, the target of a link, a tag of HTML.
_FOREIGN = re.compile(r'(?m)^\s*>.*|“[^”]*”|"[^"\n]*"|\]\([^)\n]*\)|<[^>\n]*>')


def problems(source: Source, words: Mapping[str, str]) -> Iterator[Problem]:
    r"""
    ## The words of a source that are on the list
    """
    if not words:
        return
    listed = _pattern(tuple(words))
    notes = [row.note for row in rows(source) if row.note]
    for span in (one for note in notes for one in spans(note) if one.kind == "text"):
        # Spaces in place of what is foreign, so that lines and columns stay.
        text = _FOREIGN.sub(lambda found: re.sub(r"\S", " ", found[0]), span.text)
        for found in listed.finditer(text):
            line = span.line + text.count("\n", 0, found.start())
            said = " ".join(found[0].split())
            instead = words[said.lower()]
            if instead:
                sentence = f"the note says “{said}”; say “{instead}”."
                yield Problem(source.path, line, sentence)


@cache
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    r"""
    Whole words in upper or lower case, the longest first. A phrase may go on in the next line.
    """
    by_length = sorted(words, key=len, reverse=True)
    spelled = "|".join(r"\s+".join(map(re.escape, one.split())) for one in by_length)
    return re.compile(rf"(?<![\w-])(?:{spelled})(?![\w-])", re.IGNORECASE)
