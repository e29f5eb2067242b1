r"""
---
title: Test From a Terminal
summary: The museum's old name for the command that tests an attention or a model.
---

See [the command](../../../wrongline/command.py).
"""

import sys

from wrongline.command import main

# `python -m` runs this file. The program is a package of its own, which knows no exhibit.
if __name__ == "__main__":
    sys.exit(main())
