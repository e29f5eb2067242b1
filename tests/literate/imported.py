r"""Most of the work of a small build, done once for all of a process's builds, which are forks."""

import mkdocs.commands.build
import mkdocs.commands.serve
import pymdownx.superfences

import literate.engines.new
import literate.engines.plugin
import literate.takeaway.executed
from literate.takeaway.snippet import DISTRIBUTIONS

__all__ = ["literate", "mkdocs", "pymdownx"]
# It reads the lists of files of all packages that are installed.
DISTRIBUTIONS()
