r"""
---
title: The Training Command
summary: "python -m labml_nn.training.engine trains any preset, and resumes any run."
---

See [Training on the command line](command_line.py).
"""

import sys

from labml_nn.training.engine.command_line import main

if __name__ == "__main__":
    sys.exit(main())
