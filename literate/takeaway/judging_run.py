r"""
---
title: The judging run
summary: A child process that judges exercises, as a reader's browser does.
---

This file is a program of its own, which [judged](judged.py) starts. Each request is one line: a
folder to import from, the path of a page in it, a text of that page, and one of its exercises, as
its editor is told. The answer is what a reader with that text is
[told](../../page_runner/edit/judging.py).
"""

import json
import sys

from literate.measuring.channel import asked, limit_memory, open_channel
from page_runner.edit.running import Program


def main() -> None:
    r"""
    ## Answer requests

    The first line that is sent says that the process is ready.
    """
    requests, answers = open_channel()
    limit_memory()
    outside = [*sys.path]
    print("{}", file=answers, flush=True)
    programs: dict[tuple[str, str], Program] = {}
    for folder, path, text, exercise in asked(requests):
        sys.path[:] = [folder, *outside]
        # The packages of a page are imported anew for each text.
        package = path.partition("/")[0].removesuffix(".py")
        if (folder, package) not in programs:
            programs[folder, package] = Program(folder, [package], str, str)
        said = programs[folder, package].judge(path, json.dumps({path: text}), json.dumps(exercise))
        print(said, file=answers, flush=True)


if __name__ == "__main__":
    main()
