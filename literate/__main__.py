r"""
---
title: Command line
summary: New, check, measure, count, write, zensical, notebooks, snippet.
---

```
python -m literate check
```

Each command reads the [settings](settings.py) of the project it runs in. Problems go to the error
stream, one per line, and the exit status is 1 if there are any, 2 if the command itself was wrong.
"""

import argparse
import inspect
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from literate import settings, site
from literate.engines import new, zensical
from literate.measuring.measure import Measurement
from literate.problems import LiterateError, Problem
from literate.python.statements import by_module, module_name
from literate.reading.count import table
from literate.reading.source import Source
from literate.site import Site
from literate.takeaway import notebooks
from literate.takeaway.snippet import snippets


def main(arguments: Sequence[str] | None = None) -> int:
    r"""
    ## Run a command

    Returns the exit status.
    """
    chosen = _parser().parse_args(arguments)
    try:
        return chosen.run(chosen)
    except LiterateError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m literate",
        description="Annotated Python modules become pages, notebooks and snippets.",
        epilog="The settings are the table [tool.literate] of pyproject.toml.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    page = commands.add_parser("new", help="write a new page that builds, to be changed")
    page.add_argument(
        "page", metavar="PAGE", help="its path: transformers/my_idea, or with the package in front"
    )
    page.set_defaults(run=_new)

    check = commands.add_parser("check", help="name every problem of the pages, and write nothing")
    check.set_defaults(run=_check)
    shapes = commands.add_parser("measure", help="run the examples and print the measured shapes")
    shapes.set_defaults(run=_measure)
    size = commands.add_parser(
        "count",
        help="print how long the pages are, and how much of them is explained",
        description=inspect.getdoc(table).partition("\n\n")[2].replace("```\n", ""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    size.set_defaults(run=_count)
    for command in (check, shapes, size):
        _add_paths(command)

    write = commands.add_parser("write", help="write the pages as Markdown, for any engine")
    write.add_argument("folder", metavar="DEST", type=Path, help="the folder to write to")
    write.set_defaults(run=_write)

    other = commands.add_parser("zensical", help="build the site with Zensical, not MkDocs")
    other.add_argument(
        "--site-dir", type=Path, metavar="DIR", help="the folder to build; site/ if not given"
    )
    other.set_defaults(run=_zensical)

    books = commands.add_parser("notebooks", help="write the notebooks")
    _add_paths(books)
    books.add_argument(
        "--out", type=Path, metavar="DIR", help="the folder to write to; notebooks/ if not given"
    )
    books.add_argument(
        "--check", action="store_true", help="write nothing; fail if a notebook is out of date"
    )
    books.set_defaults(run=_notebooks)

    take = commands.add_parser("snippet", help="print a definition with all that it needs")
    take.add_argument(
        "target", metavar="FILE[:NAME]", help="labml_nn/transformers/mha.py:MultiHeadAttention"
    )
    take.add_argument("--no-notes", action="store_true", help="without docstrings and comments")
    take.set_defaults(run=_snippet)
    return parser


def _add_paths(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "paths", nargs="*", metavar="PATH", help="files or folders; all pages if none is named"
    )


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def _choose(loaded: Site, paths: Sequence[str]) -> list[Source]:
    r"""
    The sources that the paths name, a folder naming all below it.
    """
    if not paths:
        return list(loaded.sources.values())
    root = loaded.settings.root
    chosen: dict[str, Source] = {}
    for path in paths:
        full = Path(path).resolve()
        name = full.relative_to(root).as_posix() if full.is_relative_to(root) else path
        found = {
            key: source
            for key, source in loaded.sources.items()
            if name in (key, ".") or key.startswith(name + "/")
        }
        if not found:
            packages = ", ".join(loaded.settings.sources)
            sentence = f"is no page; pages are the files of {packages}."
            raise LiterateError([Problem(path, 1, sentence)])
        chosen.update(found)
    return list(chosen.values())


def _new(chosen: argparse.Namespace) -> int:
    loaded = settings.load(Path.cwd())
    files, uri = new.plan(loaded, chosen.page)
    new.write(loaded.root, files)
    for path in files:
        print(f"wrote {path}")
    print(f"TO DO: add the line `- {uri}` to `nav` in mkdocs.yml, at its place")
    address = uri.removesuffix(".md")
    print(f"It builds as it is: `make serve` shows it at http://127.0.0.1:8000/{address}/")
    print("Next: change it to yours, and ask `python -m literate check` as often as you like.")
    return 0


def _check(chosen: argparse.Namespace) -> int:
    loaded = site.load(settings.load(Path.cwd()))
    sources = _choose(loaded, chosen.paths)
    measured = site.measurements(loaded, sources, _say)
    pages = [*site.pages(loaded, sources, measured)]
    pages += [] if chosen.paths else site.documents(loaded)
    problems = [one for page in pages for one in page.problems]
    if problems:
        raise LiterateError(problems)
    print(f"{len(pages)} pages checked, no problems.")
    return 0


def _measure(chosen: argparse.Namespace) -> int:
    loaded = site.load(settings.load(Path.cwd()))
    sources = _choose(loaded, chosen.paths)
    measured = site.measurements(loaded, sources, _say)
    for path, measurement in measured.items():
        _print_measurement(path, measurement)
    if not measured:
        print("None of these pages has an example() to measure.")
    return 0


def _print_measurement(path: str, measurement: Measurement) -> None:
    axes = measurement.axes.items()
    print(f"{path}: " + ", ".join(f"{name}={'|'.join(map(str, sizes))}" for name, sizes in axes))
    for line, tensors in sorted(measurement.lines.items()):
        for tensor in tensors:
            axes = ", ".join(tensor.axes)
            print(f"  {line:>4}  {tensor.name}: [{axes}] {tensor.dtype} {list(tensor.sizes[0])}")


def _count(chosen: argparse.Namespace) -> int:
    loaded = site.load(settings.load(Path.cwd()))
    for line in table(_choose(loaded, chosen.paths), loaded.settings.limits):
        print(line)
    return 0


def _write(chosen: argparse.Namespace) -> int:
    written = site.write(site.load(settings.load(Path.cwd())), chosen.folder, _say)
    print(f"{len(written)} files written to {chosen.folder}.")
    return 0


def _zensical(chosen: argparse.Namespace) -> int:
    loaded = site.load(settings.load(Path.cwd()))
    zensical.build(loaded, chosen.site_dir or loaded.settings.root / "site", _say)
    return 0


def _notebooks(chosen: argparse.Namespace) -> int:
    loaded = site.load(settings.load(Path.cwd()))
    known = loaded.settings
    sources = by_module(loaded.sources.values())
    paths = _choose(loaded, chosen.paths) if chosen.paths else None
    modules = None if paths is None else [module_name(one.path) for one in paths]
    out = chosen.out or Path(os.path.relpath(known.root / known.notebooks))
    built = notebooks.build_all(sources, out, known.sequels, modules, known.machinery)
    if chosen.check:
        problems = notebooks.stale(built, out if modules is None else None)
        if problems:
            raise LiterateError(problems)
        print(f"The notebooks in {out} are what the sources give.")
        return 0
    notebooks.write(built)
    for path in built:
        print(f"wrote {path}")
    return 0


def _snippet(chosen: argparse.Namespace) -> int:
    loaded = site.load(settings.load(Path.cwd()))
    path, _, name = chosen.target.partition(":")
    sources = _choose(loaded, [path])
    if len(sources) != 1:
        raise LiterateError([Problem(path, 1, "is a folder; a snippet comes from one file.")])
    package = by_module(loaded.sources.values())
    noted, bare = snippets(package, module_name(sources[0].path), name or None)
    print(bare if chosen.no_notes else noted, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
