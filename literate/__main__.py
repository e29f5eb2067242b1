r"""
---
title: Command line
summary: New, check, measure, count, reasons, write, zensical, notebooks, script, snippet.
---

```
python -m literate check
```

Each command reads the [settings](settings.py) of the project it runs in. Problems go to the error
stream, one per line, and the exit status is 1 if there are any, 2 if the command itself was wrong.
"""

import gc
import inspect
import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from literate import settings, site
from literate.engines import navigation, new, zensical
from literate.problems import Findings, LiterateError, Problem, needs
from literate.python.statements import by_module
from literate.reading.count import table
from literate.reading.reasons import listing
from literate.reading.source import Source
from literate.site import Site
from literate.takeaway import judged, notebooks
from literate.takeaway.addresses import Addresses, of_site
from literate.takeaway.alone import copied, installed, to_pip
from literate.takeaway.licence import of_project
from literate.takeaway.notebook import script
from literate.takeaway.notebook_cells import has_notebook, no_png
from literate.takeaway.rasters import Rasters
from literate.takeaway.repository import BRANCH, address, notebooks_branch
from literate.takeaway.snippet import snippets

PATHS = click.argument("paths", nargs=-1, metavar="[PATH]...")
FOLDER = click.Path(path_type=Path)
_say = partial(click.echo, err=True)


def main(arguments: Sequence[str] | None = None) -> int:
    r"""
    ## Run a command

    Returns the exit status.
    """
    try:
        _commands.main(arguments, "python -m literate", standalone_mode=False)
    except LiterateError as error:
        _say(error)
        return 1
    except click.UsageError as error:
        error.show()
        return error.exit_code
    except OSError as error:
        where, what = error.filename or "literate", error.strerror or error
        _say(Problem(str(where), 1, f"can't be read or written: {what}."))
        return 1
    except click.Abort:
        return 130
    return 0


@click.group(
    help="Annotated Python modules become pages, notebooks and snippets. "
    "Where files or folders can be named, none means all pages.",
    epilog="The settings are the table [tool.literate] of pyproject.toml.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
def _commands() -> None:
    pass


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
        matching = {
            key: loaded.sources[key]
            for key in loaded.sources
            if name in (key, ".") or key.startswith(name + "/")
        }
        if not matching:
            packages = ", ".join(loaded.settings.sources)
            sentence = f"is no page; pages are the files of {packages} that have a text."
            raise LiterateError([Problem(path, 1, sentence)])
        chosen.update(matching)
    return list(chosen.values())


@_commands.command("new", help="Write a new page that builds, to be changed.")
@click.argument("page")
def _new(page: str) -> None:
    loaded = settings.load(Path.cwd())
    files, uri = new.plan(loaded, page)
    new.write(loaded.root, files)
    for path in files:
        print(f"wrote {path}")
    for step in new.next_steps(loaded, files, uri):
        print(step)


@_commands.command("check", help="Name every problem of the pages, and write nothing.")
@PATHS
def _check(paths: Sequence[str]) -> None:
    known = settings.load(Path.cwd())
    loaded = site.on_demand(known) if paths else site.load(known)
    sources = _choose(loaded, paths)
    measured, unmeasured = site.measurements(loaded, sources, _say)
    problems = [*navigation.problems(known.root, [loaded.uris[source.path] for source in sources])]
    count = len(sources)
    if paths:
        problems += site.problems(loaded, sources, measured, unmeasured)
    else:
        pages = [*site.pages(loaded, sources, measured, unmeasured=unmeasured)]
        # What two pages say of the same term, only the list of all terms can tell.
        pages += [*site.documents(loaded), *site.made_pages(loaded)]
        problems += [problem for page in pages for problem in page.problems]
        problems += site.of_all(loaded)
        count = len(pages)
    problems += judged.problems(known, sources, _say)
    for sentence in site.unedited(known, sources):
        _say(sentence)
    if known.strict and problems:
        raise LiterateError(problems)
    if any(problem.kind not in site.REMARKS for problem in problems):
        raise Findings(problems)
    if problems:
        _say(Findings(problems))
    print(f"{count} pages checked, no {'other ' if problems else ''}problems.")


@_commands.command("measure", help="Run the examples and print the measured shapes.")
@PATHS
def _measure(paths: Sequence[str]) -> None:
    loaded = site.load(settings.load(Path.cwd()))
    sources = _choose(loaded, paths)
    measured, unmeasured = site.measurements(loaded, sources, _say)
    for path, measurement in measured.items():
        axes = measurement.axes.items()
        print(
            f"{path}: " + ", ".join(f"{name}={'|'.join(map(str, sizes))}" for name, sizes in axes)
        )
        for line, tensors in sorted(measurement.lines.items()):
            for tensor in tensors:
                shape = f"[{', '.join(tensor.axes)}] {tensor.dtype} {list(tensor.sizes[0])}"
                print(f"  {line:>4}  {tensor.name}: {shape}")
    for problem in (one for problems in unmeasured.values() for one in problems):
        _say(problem)
    if not measured and not unmeasured:
        print("None of these pages has an example() that `examples` in tool.literate names.")


@_commands.command(
    "count",
    short_help="Print how long the pages are, and how much of them is explained.",
    # What stands below such a mark is not filled.
    help="\b\n" + (inspect.getdoc(table) or "").partition("```\n")[2].replace("```\n", ""),
)
@PATHS
def _count(paths: Sequence[str]) -> None:
    loaded = site.load(settings.load(Path.cwd()))
    for line in table(_choose(loaded, paths), loaded.settings.limits):
        print(line)


@_commands.command("reasons", help="Print the sentences that give a reason, for somebody to check.")
@PATHS
def _reasons(paths: Sequence[str]) -> None:
    loaded = site.load(settings.load(Path.cwd()))
    for line in listing(_choose(loaded, paths)):
        print(line)


@_commands.command("write", help="Write the pages as Markdown to a folder, for any engine.")
@click.argument("folder", type=FOLDER)
def _write(folder: Path) -> None:
    written = site.write(site.load(settings.load(Path.cwd())), folder, _say)
    print(f"{len(written)} files written to {folder}.")


@_commands.command("zensical", help="Build the site with Zensical, not MkDocs.")
@click.option("--site-dir", type=FOLDER, help="The folder to build; site/ if not given.")
def _zensical(site_dir: Path | None) -> None:
    loaded = site.load(settings.load(Path.cwd()))
    zensical.build(loaded, site_dir or loaded.settings.root / "site", _say)


@_commands.command("notebooks", help="Write the notebooks.")
@PATHS
@click.option("--out", type=FOLDER, help="The folder to write to; notebooks/ if not given.")
@click.option("--check", is_flag=True, help="Write nothing; fail if a notebook is out of date.")
@click.option("--scripts", is_flag=True, help="Keep beside each notebook its script of jupytext.")
@click.option("--run", is_flag=True, help="Run those whose outputs aren't there; needs --out.")
def _notebooks(
    paths: Sequence[str], out: Path | None, check: bool, scripts: bool, run: bool
) -> None:
    with needs("notebooks", "pyproject.toml", "notebooks"):
        from literate.takeaway.executed import execute, is_bare, with_outputs

    loaded = site.load(settings.load(Path.cwd()))
    known = loaded.settings
    sources = by_module(loaded.sources.values())
    modules = [source.module for source in _choose(loaded, paths)] if paths else None
    committed = known.root / known.notebooks
    png = Rasters(loaded.results, committed).of

    # Those of the repository are the same on every machine: without addresses and outputs.
    elsewhere = out is not None and out.resolve() != committed.resolve()
    if run and (check or not elsewhere):
        raise click.UsageError("--run needs --out, a folder of its own, and writes: no --check.")
    here = {
        "site": os.environ.get("SITE_URL", ""),
        "repository": address(known.root),
        "branch": notebooks_branch(),
    }
    given = here if elsewhere else {}

    def addresses(path: Path) -> Addresses:
        told = notebooks.told_by(path) if check else given
        branch = told.get("branch") or BRANCH
        return of_site(known, loaded.uris, told.get("site") or "", told.get("repository"), branch)

    out = out or Path(os.path.relpath(committed))
    built = notebooks.build_all(
        sources, out, known, modules, _say, addresses, loaded.results, no_png if check else png
    )
    if elsewhere:
        built = {path: with_outputs(text, path) for path, text in built.items()}
    failed: list[Problem] = []
    if run:
        fresh, failed = execute({path: text for path, text in built.items() if is_bare(text)}, _say)
        built |= fresh
    if not built:
        _say("None of these pages has an example() or a notebook() to run; no notebook was made.")
    if check:
        problems = notebooks.stale(built, out if modules is None else None)
        if problems:
            raise LiterateError(problems)
        print(f"The notebooks in {out} are what the sources give.")
        return
    if scripts:
        built = notebooks.with_scripts(built, sources, out, known)
    written = notebooks.write(built)
    for path in written:
        print(f"wrote {path}")
    if len(written) < len(built):
        print(f"{len(built) - len(written)} are as they were")
    if failed:
        raise LiterateError(failed)


@_commands.command("script", help="Print the notebook of FILE as a script of jupytext.")
@click.argument("file", metavar="FILE")
def _script(file: str) -> None:
    loaded = site.load(settings.load(Path.cwd()))
    sources = _choose(loaded, [file])
    if len(sources) != 1 or not has_notebook(sources[0], loaded.settings):
        sentence = (
            "has no notebook: it needs a function `example` or `notebook`, and `examples` in "
            "`tool.literate` must name it."
        )
        raise LiterateError([Problem(file, 1, sentence)])
    package = by_module(loaded.sources.values())
    module = sources[0].module
    print(script(package, module, settings=loaded.settings, results=loaded.results), end="")


@_commands.command("snippet", help="Print a definition of FILE with all that it needs.")
@click.argument("target", metavar="FILE[:NAME]")
@click.option("--no-notes", is_flag=True, help="Without docstrings and comments.")
def _snippet(target: str, no_notes: bool) -> None:
    loaded = site.load(settings.load(Path.cwd()))
    path, _, name = target.partition(":")
    sources = _choose(loaded, [path])
    if len(sources) != 1:
        raise LiterateError([Problem(path, 1, "is a folder; a snippet comes from one file.")])
    known = installed(loaded.settings, address(loaded.settings.root))
    own = to_pip(sources[0].path.partition("/")[0], known)
    if own:
        sentence = f'is of a package that is installed, not copied: pip install "{own}"'
        raise LiterateError([Problem(path, 1, sentence)])
    package = copied(loaded.sources.values(), known)
    licence = of_project(loaded.settings.root)
    noted, bare = snippets(package, sources[0].module, name or None, licence, known)
    print(bare if no_notes else noted, end="")


if __name__ == "__main__":
    # A command ends soon. To look for garbage among the syntax trees of all sources, again and
    # again, would be a fifth of its work.
    gc.disable()
    sys.exit(main())
