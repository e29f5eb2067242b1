r"""
---
title: Zensical
summary: The same site, built by the engine that comes after MkDocs.
---

Zensical reads the settings of MkDocs and runs no plug-ins but its own. So it gets the pages as
files, and `mkdocs.yml` with the few changes that follow from that. Nothing has to be kept twice.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import yaml

from literate import site
from literate.problems import LiterateError, Problem
from literate.site import Site

_SETTINGS = "mkdocs.yml"


def build(loaded: Site, destination: Path, report: Callable[[str], None]) -> None:
    r"""
    ## Build the site with Zensical

    Strictly: what it warns of stops the build. The folder `destination` is replaced only when all
    has gone well.
    """
    if destination.is_dir() and any(destination.iterdir()):
        if not (destination / "index.html").is_file():
            sentence = "is no site, which a new one could take the place of; name another folder."
            raise LiterateError([Problem(str(destination), 1, sentence)])
    root = loaded.settings.root
    mapping = _mapping(root / _SETTINGS)
    address = _value(mapping, "site_url")
    folder = root / loaded.settings.store / "zensical"
    # What an earlier build left is not looked at: a page that is gone would still be built.
    shutil.rmtree(folder, ignore_errors=True)
    resolving = replace(loaded, resolves_html=True, url=address or "")
    site.write(resolving, folder / "docs", report)
    (folder / _SETTINGS).write_text(derived(mapping, root, folder), encoding="utf-8")
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
    shutil.rmtree(destination, ignore_errors=True)
    shutil.move(folder / "site", destination)


def derived(mapping: yaml.MappingNode, root: Path, folder: Path) -> str:
    r"""
    ## The settings for Zensical

    Those of MkDocs, as they stand there, but for the folders, the plug-in that would make the pages
    and the theme, which is that of MkDocs only in its classic variant. A site without an address
    has none: for Zensical an empty one would be the root of any server.
    """
    theme = _get(mapping, "theme")
    if not isinstance(theme, yaml.MappingNode):
        theme = _with(
            yaml.MappingNode("tag:yaml.org,2002:map", []),
            {"name": "material" if theme is None else theme.value},
        )
    own = _get(theme, "custom_dir")
    overrides = site.THEME if own is None else root / own.value
    theme = _with(theme, {"variant": "classic", "custom_dir": os.path.relpath(overrides, folder)})
    changes = {"docs_dir": "docs", "site_dir": "site", "plugins": _plugins(mapping)}
    changed = _with(mapping, changes | _needed(mapping))
    changed.value = [
        (key, theme if key.value == "theme" else value)
        for key, value in changed.value
        if key.value != "site_url"
    ]
    if address := _value(mapping, "site_url"):
        changed = _with(changed, {"site_url": address.rstrip("/") + "/"})
    return yaml.serialize(changed, Dumper=yaml.SafeDumper, allow_unicode=True)


def _plugins(mapping: yaml.MappingNode) -> list[dict[str, object]]:
    r"""
    Zensical adds its search where none is named.
    """
    named = _get(mapping, "plugins")
    found = named.value if isinstance(named, yaml.SequenceNode) else []
    return [{"search": {"enabled": "search" in [one.value for one in found]}}]


def _needed(mapping: yaml.MappingNode) -> dict[str, yaml.Node]:
    r"""
    What pages need beside what the settings name. For MkDocs, the plug-in adds it.
    """
    extensions = _items(mapping, "markdown_extensions")
    named = {
        one.value[0][0].value if isinstance(one, yaml.MappingNode) else one.value
        for one in extensions
    }
    needed = site.EXTENSIONS.items()
    lists = {
        "markdown_extensions": [
            *extensions,
            *(_node({name: dict(options)}) for name, options in needed if name not in named),
        ],
    }
    for name, files in (("extra_css", site.SHEETS), ("extra_javascript", site.SCRIPTS)):
        known = _items(mapping, name)
        missing = [one for one in files if one not in [node.value for node in known]]
        lists[name] = [*map(_node, missing), *known]
    return {name: yaml.SequenceNode("tag:yaml.org,2002:seq", all_) for name, all_ in lists.items()}


def _items(mapping: yaml.MappingNode, name: str) -> list[yaml.Node]:
    node = _get(mapping, name)
    if isinstance(node, yaml.MappingNode):
        return [yaml.MappingNode(node.tag, [pair]) for pair in node.value]
    return node.value if isinstance(node, yaml.SequenceNode) else []


def _mapping(file: Path) -> yaml.MappingNode:
    r"""
    The nodes of the settings, which keep tags such as `!ENV` that only an engine knows.
    """
    try:
        node = yaml.compose(file.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except FileNotFoundError:
        sentence = "there is no such file; the settings of the site are those of MkDocs."
        raise LiterateError([Problem(_SETTINGS, 1, sentence)]) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise LiterateError([Problem(_SETTINGS, 1, f"is not YAML: {error}.")]) from None
    if not isinstance(node, yaml.MappingNode):
        raise LiterateError([Problem(_SETTINGS, 1, "has no settings.")])
    return node


def _get(mapping: yaml.MappingNode, name: str) -> yaml.Node | None:
    return next((value for key, value in mapping.value if key.value == name), None)


def _value(mapping: yaml.MappingNode, name: str) -> str:
    r"""
    A text, which may be a variable of the environment or, where that isn't set, what follows it.
    """
    node = _get(mapping, name)
    if node is None:
        return ""
    if node.tag != "!ENV":
        return str(node.value)
    choices = [one.value for one in node.value] if isinstance(node.value, list) else [node.value]
    default = choices.pop() if len(choices) > 1 else ""
    return next((os.environ[one] for one in choices if one in os.environ), default)


def _with(mapping: yaml.MappingNode, changes: Mapping[str, object]) -> yaml.MappingNode:
    kept = [(key, value) for key, value in mapping.value if key.value not in changes]
    return yaml.MappingNode(
        mapping.tag, [*kept, *((_node(key), _node(value)) for key, value in changes.items())]
    )


def _node(value: object) -> yaml.Node:
    if isinstance(value, yaml.Node):
        return value
    node = yaml.compose(yaml.safe_dump(value), Loader=yaml.SafeLoader)
    assert node is not None
    return node
