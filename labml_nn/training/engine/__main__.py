r"""
---
title: The Training Command
summary: "python -m labml_nn.training.engine trains any preset, and resumes any run."
---

See [Training on the command line](command_line.py).
"""

import sys

from labml_nn.training.engine.command_line import main

# `python -m` runs this file. The program is on a page of its own, so that it can be imported
# without running.
if __name__ == "__main__":
    sys.exit(main())
