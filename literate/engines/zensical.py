r"""
---
title: Zensical
summary: The same site, built by the engine that comes after MkDocs.
---

Zensical reads the settings of MkDocs and runs no plug-ins but its own. So it gets the pages as
files, and settings that inherit those of `mkdocs.yml`, with the few changes that follow from that.
Nothing has to be kept twice.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml
from yaml_env_tag import add_env_tag

from literate import site
from literate.engines.navigation import missing_features
from literate.problems import LiterateError, Problem, needs
from literate.site import Site

_SETTINGS = "mkdocs.yml"


class _Loader(yaml.SafeLoader):
    r"""
    Knows variables of the environment. The name of a function, which only an engine needs, is a
    text here.
    """


add_env_tag(_Loader)
_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, name, node: name)


def build(loaded: Site, destination: Path, report: Callable[[str], None]) -> None:
    r"""
    ## Build the site with Zensical

    Strictly: what it warns of stops the build. The folder `destination` is replaced only when all
    has gone well.
    """
    with needs("zensical", _SETTINGS, "the site"):
        version("zensical")
    root = loaded.settings.root
    loaded.settings.refuse_sources(destination)
    # Of a link, the folder that it leads to is replaced.
    target = destination.resolve()
    if root.is_relative_to(target):
        sentence = "holds this project, which a site would take the place of; name another folder."
        raise LiterateError([Problem(str(destination), 1, sentence)])
    if target.exists() and not _is_site(target):
        sentence = "is no site, which a new one could take the place of; name another folder."
        raise LiterateError([Problem(str(destination), 1, sentence)])
    known = read(root / _SETTINGS)
    address = known.get("site_url") or ""
    folder = root / loaded.settings.store / "zensical"
    # What an earlier build left is not looked at: a page that is gone would still be built.
    shutil.rmtree(folder, ignore_errors=True)
    name = known.get("site_name") or ""
    loaded = replace(loaded, resolves_html=True, url=address, name=name)
    pages = site.correct_pages(loaded, report)
    site.write(loaded, folder / "docs", report, pages)
    changes = yaml.safe_dump(derived(known, root, folder, len(pages)), allow_unicode=True)
    (folder / _SETTINGS).write_text(changes, encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--config-file", _SETTINGS]
    run = subprocess.run(command, cwd=folder, stderr=subprocess.PIPE, text=True, check=False)
    # Zensical ends with a traceback of its own, of which the last line says what it is about.
    warnings, crashed, traceback = run.stderr.partition("Traceback (most recent call last)")
    if warnings.strip():
        report(warnings.strip())
    if run.returncode != 0:
        reason = traceback.strip().splitlines()[-1] if crashed else "above it says why."
        raise LiterateError([Problem(_SETTINGS, 1, f"Zensical did not build the site: {reason}")])
    if not address:
        # It would name no page.
        (folder / "site" / "sitemap.xml").unlink(missing_ok=True)
    site.put(folder / "site", site.for_programs(loaded, pages))
    shutil.rmtree(target, ignore_errors=True)
    shutil.move(folder / "site", target)


def _is_site(folder: Path) -> bool:
    r"""
    Whether this tool has built what is there: an empty folder, or one with its styles.
    """
    return folder.is_dir() and (
        not any(folder.iterdir()) or all((folder / sheet).is_file() for sheet in site.SHEETS)
    )


def derived(known: Mapping[str, Any], root: Path, folder: Path, pages: int) -> dict[str, Any]:
    r"""
    ## The settings for Zensical

    What `mkdocs.yml` has stays; lists get longer. Changed are the folders, the theme, which is that
    of MkDocs only in its classic variant, and the search, which Zensical adds where none is named.
    A site without an address has none: an empty one would be the root of any server. What pages
    need of the engine is added by the plug-in for MkDocs, and here for Zensical.
    """
    theme = known.get("theme") or "material"
    theme = theme if isinstance(theme, Mapping) else {"name": theme}
    own = theme.get("custom_dir")
    overrides = root / own if own else site.THEME
    address = known.get("site_url")
    features = theme.get("features") or []
    needed: dict[str, list[Any]] = {
        "markdown_extensions": [{name: {**options}} for name, options in site.EXTENSIONS.items()],
        "extra_css": [*site.SHEETS],
        "extra_javascript": [*site.SCRIPTS],
    }
    missing = {
        key: [file for file in all_ if _name(file) not in map(_name, known.get(key) or ())]
        for key, all_ in needed.items()
    }
    return missing | {
        "INHERIT": os.path.relpath(root / _SETTINGS, folder),
        "docs_dir": "docs",
        "site_dir": "site",
        "site_url": f"{address.rstrip('/')}/" if address else None,
        "theme": {
            "name": theme.get("name"),
            "variant": "classic",
            "custom_dir": os.path.relpath(overrides, folder),
            "features": [*features, *missing_features(features, pages)],
        },
        "plugins": [{"search": {"enabled": "search" in map(_name, known.get("plugins") or ())}}],
    }


def _name(entry: str | Mapping[str, Any]) -> str:
    r"""
    The name of an extension or a plug-in, with settings or without.
    """
    return entry if isinstance(entry, str) else next(iter(entry))


def read(file: Path) -> dict[str, Any]:
    r"""
    ## The settings of MkDocs
    """
    try:
        known = yaml.load(file.read_text(encoding="utf-8"), Loader=_Loader)
    except FileNotFoundError:
        sentence = "there is no such file; the settings of the site are those of MkDocs."
        raise LiterateError([Problem(_SETTINGS, 1, sentence)]) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise LiterateError([Problem(_SETTINGS, 1, f"is not YAML: {error}.")]) from None
    if not known or not isinstance(known, dict):
        raise LiterateError([Problem(_SETTINGS, 1, "has no settings.")])
    return known
