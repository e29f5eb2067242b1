r"""
---
title: Inventories
summary: Which names other projects document, and where; and the same of this one.
---

A site that Sphinx has built has a file “objects.inv”: all names that are documented there, with
their addresses. MkDocs with mkdocstrings writes one, too, and so does this tool, so that others can
link to names here. It is four lines of text, and then a line for each name, packed.

The settings name the sites whose names notes may lead to:

```toml
[tool.literate.inventories]
numpy = "https://numpy.org/doc/stable/"
```

The file is fetched once, into the folder that keeps measurements. It is data from somebody else:
its size and its form are looked at, and nothing of it is run. Where it can't be had, that is said,
and names of that project stay without links.
"""

import re
import sys
import zlib
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote, urljoin
from urllib.request import Request, urlopen

from literate.page.links import folder
from literate.reading.source import Source
from literate.settings import Settings

FILE = "objects.inv"
HEAD = b"# Sphinx inventory version 2\n"
# That of Python has 0.1 MB, and 1 MB unpacked.
MOST_BYTES = 20_000_000
MOST_UNPACKED = 200_000_000
SECONDS = 20

# Name, domain with kind, priority, address, and the name that is shown.
_LINE = re.compile(r"(\S.*?) +(py:\w+) +-?\d+ +(\S+) +.+")


class NoInventory(Exception):
    r"""
    ## Why there is none
    """


def read(content: bytes, address: str) -> dict[str, str]:
    r"""
    ## The names of an inventory, with their addresses

    Those of Python; `address` is that of the site. Raises [NoInventory](#NoInventory).
    """
    if not content.startswith(HEAD):
        raise NoInventory("it isn't an inventory of Sphinx, version 2")
    lines = content.split(b"\n", 4)
    if len(lines) < 5 or b"zlib" not in lines[3]:
        raise NoInventory("its names aren't packed as they should be")
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(lines[4], MOST_UNPACKED).decode()
    except (zlib.error, UnicodeDecodeError):
        raise NoInventory("its names can't be unpacked") from None
    if unpacking.unconsumed_tail:
        raise NoInventory(f"unpacked, it has more than {MOST_UNPACKED // 1_000_000} MB")
    found: dict[str, str] = {}
    for line in text.splitlines():
        if match := _LINE.fullmatch(line.rstrip()):
            name, _, place = match.groups()
            # An address is one of that site, whatever stands there.
            where = urljoin(address, place.removesuffix("$") + name * place.endswith("$"))
            if where.startswith(address):
                found.setdefault(name, where)
    return found


def written(project: str, names: Iterable[tuple[str, str, str]]) -> bytes:
    r"""
    ## Write an inventory

    `names` are the full name of each, its kind and its place on the site.
    """
    head = HEAD + f"# Project: {project}\n# Version: \n".encode()
    head += b"# The remainder of this file is compressed using zlib.\n"
    lines = (f"{name} py:{kind} 1 {place} -\n" for name, kind, place in sorted(names))
    return head + zlib.compress("".join(lines).encode(), 9)


def of_site(project: str, sources: Mapping[str, Source], uris: Mapping[str, str]) -> bytes:
    r"""
    ## The inventory of a site

    Of all modules, and of what they define. `uris` are the paths of their pages.
    """
    names: dict[str, tuple[str, str]] = {}
    for path, source in sources.items():
        module = source.module
        # The start of the site has a name, too.
        page = f"{folder(uris[path])}/".removeprefix("/") or "index.html"
        names[module] = "module", page
        classes = {one.name for one in source.definitions if one.kind == "class"}
        for one in source.definitions:
            if not one.in_function:
                is_method = one.kind == "function" and one.name.rpartition(".")[0] in classes
                kind = "method" if is_method else one.kind
                place = f"{page}#{quote(one.name)}"
                names.setdefault(f"{module}.{one.name}", (kind, place))
    return written(project, ((name, *told) for name, told in names.items()))


def documented(settings: Settings) -> Mapping[str, str]:
    r"""
    ## The names that other projects document

    Of those that the settings name. What can't be had is said on the terminal.
    """
    found: dict[str, str] = {}
    for name, address in settings.inventories.items():
        base = address.removesuffix(FILE).rstrip("/") + "/"
        try:
            found = read(_kept(settings, base), base) | found
        except (NoInventory, OSError, ValueError) as error:
            reason = str(error).rstrip(".")
            sys.stderr.write(f"names of {name} stay without links: {base}{FILE}: {reason}.\n")
    return found


def _kept(settings: Settings, base: str) -> bytes:
    kept = settings.root / settings.store / "inventories"
    file = kept / f"{sha256(base.encode()).hexdigest()[:16]}.inv"
    if file.is_file():
        return file.read_bytes()
    content = _fetched(base)
    # What can't be read isn't kept.
    read(content, base)
    kept.mkdir(parents=True, exist_ok=True)
    beside: Path = file.with_suffix(".part")
    beside.write_bytes(content)
    beside.replace(file)
    return content


def _fetched(base: str) -> bytes:
    if not base.startswith(("https://", "http://")):
        raise NoInventory("its address doesn't begin with https:")
    request = Request(base + FILE, headers={"User-Agent": "literate"})
    with urlopen(request, timeout=SECONDS) as answer:
        content = answer.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise NoInventory(f"it has more than {MOST_BYTES // 1_000_000} MB")
    return content
