r"""
---
title: Installed, Not Copied
summary: A package with a “pyproject.toml” in its own folder is installed; nobody copies out of it.
---

A snippet is for something small. What takes a thousand lines is a package, and pip installs it from
its folder in the repository. So the pages of such a package have no snippets: they say how it is
installed. A snippet of another page that imports it keeps the import, and names it as a
requirement. A [notebook](notebook.py) has its code all the same: it runs where nothing can be
installed, and where no address is known.
"""

import tomllib
from collections.abc import Iterable, Mapping

from literate.python.statements import Modules, by_module
from literate.reading.source import Source
from literate.settings import Settings


def installed(settings: Settings, repository: str | None) -> Mapping[str, str]:
    r"""
    ## What pip is told

    For each package that is installed by itself. Without the address of the repository it is the
    package's name alone.
    """
    found: dict[str, str] = {}
    for package in settings.sources:
        file = settings.root / package / "pyproject.toml"
        # A package can be the whole project.
        if not file.is_file() or file.resolve().parent == settings.root.resolve():
            continue
        project = tomllib.loads(file.read_text(encoding="utf-8")).get("project", {})
        name = project.get("name", package)
        place = f" @ git+{repository}#subdirectory={package}" if repository else ""
        found[package] = f"{name}{place}"
    return found


def to_pip(package: str, installed: Mapping[str, str]) -> str:
    r"""
    ## What a reader types

    Empty for a package that isn't installed by itself. Where no address is known it is the folder:
    the name alone may be somebody else's at PyPI.
    """
    known = installed.get(package, "")
    return known if "@" in known or not known else f"./{package}"


def copied(sources: Iterable[Source], installed: Mapping[str, str]) -> Modules:
    r"""
    ## What snippets are made of

    Only what isn't installed by itself.
    """
    return by_module(one for one in sources if one.path.partition("/")[0] not in installed)
