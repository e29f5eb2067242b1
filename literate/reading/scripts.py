r"""
---
title: Notebooks as scripts
summary: What says in a script where the cells of a notebook begin, and what is said to programs.
---

Many keep a notebook as a script: jupytext, Sphinx-Gallery, VS Code, PyCharm, Spyder and nbconvert
each mark where a cell begins. All of these marks are comments, and none is a note. What stands
behind one is the title of its cell.
"""

import re
from collections.abc import Sequence

import yaml

# The line that a cell begins with; Spyder writes cells inside cells with more signs.
CELL = re.compile(r"#\s?%%+(?=\s|$)|#\s?In\[[\d ]*\]:?(?=\s*$)|#\s?<(?:code|markdown)cell>(?=\s*$)")
_MARKDOWN = re.compile(r"#\s?%%+.*?(?:\[(?:markdown|md)\]|\smd\s*$)|#\s?<markdowncell>")
# What a cell says about itself, beside its title.
_ABOUT = re.compile(
    r"\s*(?:[\w.-]+=(?:\"[^\"]*\"|\{[^{}]*\}|\[[^\[\]]*\]|\S+)|\[\w+\]|\{.*\})|\s+md\s*$"
)
# A command of IPython; Python itself could not read it.
_MAGIC = re.compile(r"# ?(?:%{1,2}|!)\w")
# In jupytext's light format, the ends of a cell.
_LIGHT = re.compile(r"# \+(?:$|\s.*$)|# -$")


class Script:
    r"""
    ## A file as a script of a notebook

    `lines` are those of the file.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        first, last = _header(lines)
        # The numbers of its lines.
        self.header = range(first + 1, last + 1)
        self.has_cells = any(CELL.match(line) for line in lines)
        above = "\n".join(lines[first:last])
        self.is_light = "format_name: light" in above

    def is_for_programs(self, number: int, comment: str) -> bool:
        r"""
        ### Is a comment none that anybody reads?

        `number` is that of its line.
        """
        is_light_mark = self.is_light and _LIGHT.match(comment.rstrip())
        is_magic = self.has_cells and _MAGIC.match(comment)
        return number in self.header or bool(is_light_mark or is_magic)


def begins_markdown(line: str) -> bool:
    r"""
    ## Does a cell of text begin here?

    Its text is in comments, or in a string.
    """
    return _MARKDOWN.match(line) is not None


def cell_title(line: str) -> str | None:
    r"""
    ## The title of a cell

    None, if none begins with this line.
    """
    cell = CELL.match(line)
    return None if cell is None else _ABOUT.sub("", line[cell.end() :]).strip()


def told_by_header(lines: Sequence[str]) -> dict[str, str]:
    r"""
    ## What the header of a script says of the page

    Its title, and a summary if there is one.
    """
    first, last = _header(lines)
    text = "\n".join(line[1:].removeprefix(" ") for line in lines[first + 1 : last - 1])
    try:
        content = yaml.load(text, yaml.BaseLoader) if last else None
    except yaml.YAMLError:
        return {}
    told = content if isinstance(content, dict) else {}
    summary = next(
        (told[name] for name in ("summary", "subtitle", "description") if name in told), ""
    )
    named = {"title": told.get("title", ""), "summary": summary}
    return {name: value for name, value in named.items() if isinstance(value, str) and value}


def _header(lines: Sequence[str]) -> tuple[int, int]:
    r"""
    The lines of YAML between two lines `# ---` on top of a file, counted from 0, with their marks;
    what is said to the shell or to an editor may stand above. Nothing, if there is no such header.
    """
    first = next((at for at, line in enumerate(lines[:3]) if line.rstrip() == "# ---"), -1)
    if first < 0 or any(line.strip() and not line.startswith("#") for line in lines[:first]):
        return 0, 0
    for at in range(first + 1, len(lines)):
        if not lines[at].startswith("#"):
            break
        if lines[at].rstrip() == "# ---":
            is_yaml = re.match(r"# ?[\w.-]+:(\s|$)", lines[first + 1])
            return (first, at + 1) if is_yaml else (0, 0)
    return 0, 0
