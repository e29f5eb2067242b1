r"""
---
title: Start the Command
summary: "`python -m wrongline`, which is the same as the command `wrongline`."
---

See [the command](command.py).
"""

import sys

from wrongline.command import main

# `python -m` runs this file. The program is on a page of its own, so that it can be imported
# without running.
if __name__ == "__main__":
    sys.exit(main())
