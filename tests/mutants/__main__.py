r"""`python -m tests.mutants PAGE …`: break pages, and see whether their tests notice."""

import sys

from tests.mutants.examine import main

if __name__ == "__main__":
    sys.exit(main())
