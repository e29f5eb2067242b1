r"""
---
title: The judging run
summary: A child process that judges exercises, as a reader's browser does.
---

This file is a program of its own, which [judged](judged.py) starts. Each request is one line: a
page, a text of it, and one of its exercises, as its editor is told. The answer is what a reader
with that text is [told](../../page_runner/edit/judging.py).
"""

import json
import sys

from literate.measuring.channel import limit_memory, open_channel
from page_runner.edit.running import Program


def main(root: str) -> None:
    r"""
    ## Answer requests

    The first line that is sent says that the process is ready.
    """
    requests, answers = open_channel()
    limit_memory()
    sys.path.insert(0, root)
    print("{}", file=answers, flush=True)
    programs: dict[str, Program] = {}
    for line in requests:
        path, text, exercise = json.loads(line)
        # The packages of a page are imported anew for each text.
        package = path.partition("/")[0].removesuffix(".py")
        if package not in programs:
            programs[package] = Program(root, [package], str, str)
        said = programs[package].judge(path, json.dumps({path: text}), json.dumps(exercise))
        print(said, file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
