r"""
---
title: From the disk
summary: The panel of the run as one plain script, for a page that was opened as a file.
---

A browser loads no module from the disk, and it lets no script read a file there. A plain script it
does load. So the modules of the panel are joined to one: each without its imports, because all of
them share one scope, and what starts the panel is handed to the page. The record of the run, too,
is there as a script.
"""

import re
from pathlib import Path

# In an order in which each stands behind those that it imports.
MODULES = ("elements.js", "grid.js", "steps.js", "panel.js")

_IMPORT = re.compile(r'^import \{[^}]*\} from "[^"]*";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const)\b)", re.MULTILINE)


def joined(folder: Path) -> str:
    r"""
    ## Join the modules of a folder

    The script that knows its own address takes the place of the module that does.
    """
    texts = [(folder / name).read_text(encoding="utf-8") for name in MODULES]
    body = "".join(_EXPORT.sub("", _IMPORT.sub("", text)) for text in texts)
    body = body.replace("import.meta.url", "address")
    function = f"(address) => {{\n{body}return {{ start }};\n}}"
    return f"self.panel = ({function})(document.currentScript.src);\n"


def telling(record: str) -> str:
    r"""
    ## The script of a record

    It tells the page of the record, which is JSON, with an event.
    """
    return f'dispatchEvent(new CustomEvent("trace", {{ detail: {record.strip()} }}));\n'
