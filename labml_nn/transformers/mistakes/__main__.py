r"""
---
title: Test From a Terminal
summary: The command that tests an attention or a model, and names its mistakes.
---

See [the museum's command](command.py).
"""

import sys

from labml_nn.transformers.mistakes.command import main

# `python -m` runs this file. The program is on a page of its own, so that it can be imported
# without running.
if __name__ == "__main__":
    sys.exit(main())
