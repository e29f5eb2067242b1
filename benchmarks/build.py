r"""
What does a build of the site cost, and how does it grow?

The sites are made of copies of this project's own modules, under new names, with 66 and with 264
pages. Each is built by `mkdocs build` from nothing, but with everything measured already, and
beside it the same text as plain Markdown with fenced code, by Material and its search. What is
counted is the time of the processor for the whole process and all that it starts; the builds take
turns, so that a busy machine is as hard on one as on the other.

`build.py --project DIR` writes such a project to a folder instead, to look at. With
`--package 1000` a package of so many modules, with docstrings and the settings that README.md
gives, is built from nothing, and again, over that site, after one file has changed, as often as
`--rounds` says.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from literate.python import names_in_notes
from literate.reading.rows import rows
from literate.reading.source import parse
from literate.settings import load

ROOT = Path(__file__).resolve().parents[1]

SMALL, LARGE = 66, 264
# How much may each ratio be?
PLAIN_BAR, GROWTH_BAR, BYTES_BAR = 2.0, 4.2, 1.1

PLAIN = """\
site_name: Plain
site_url: ""
theme:
  name: material
  font: false
  features: [navigation.tabs, navigation.footer, navigation.top, navigation.prune, toc.follow]
plugins: [search]
markdown_extensions:
  - footnotes
  - tables
  - toc: {permalink: true}
  - pymdownx.highlight
  - pymdownx.superfences
"""


FUNCTION = '''

def mean_NUMBER(values: list[float], weights: list[float] | None = None) -> float:
    """Computes the weighted mean.

    Args:
        values: the numbers.
        weights: one for each of them; all the same, if none are given.

    Returns:
        The mean.

    >>> mean_NUMBER([1.0, 3.0])
    2.0
    """
    if weights is None:
        # All count the same.
        weights = [1.0] * len(values)
    total = sum(value * weight for value, weight in zip(values, weights))
    return total / sum(weights)
'''


@dataclass(frozen=True)
class Module:
    r"""A file of a project: its place there, the page that it becomes, and its text."""

    path: str
    uri: str
    text: str


def modules(count: int) -> list[Module]:
    r"""So many modules: the project's own, again and again, in parts of SMALL."""
    made: list[Module] = []
    copy = 0
    while len(made) < count:
        copy += 1
        # Each part begins anew, so that a site of four parts is four times the site of one.
        room = SMALL - len(made) % SMALL
        part = f"part{len(made) // SMALL + 1}"
        made += _copy(copy, part, min(room, count - len(made)))
    return made


def _copy(number: int, part: str, most: int) -> list[Module]:
    texts: dict[str, str] = {}
    pages: dict[str, str] = {}
    for package, prefix in load(ROOT).sources.items():
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            inside = path.relative_to(ROOT / package).as_posix().replace("__init__", "index")
            texts[name] = path.read_text(encoding="utf-8")
            pages[name] = "/".join(filter(None, [part, f"copy{number}", prefix, inside]))
    texts = _part(texts, most)
    packages = "|".join(load(ROOT).sources)

    def renamed(text: str) -> str:
        return re.sub(rf"\b({packages})\b(?!\")", rf"\1_{number}", text)

    return [
        Module(renamed(name), pages[name].removesuffix(".py") + ".md", renamed(text))
        for name, text in texts.items()
    ]


def _part(texts: dict[str, str], most: int) -> dict[str, str]:
    r"""So many modules, as a site by themselves.

    Their notes link neither to results nor to what is left out, and name nothing that is in it.
    """
    kept = _closed(texts, most)
    pages = {name: _unlinked(name, texts[name], kept) for name in kept}
    sources = [parse(text, name) for name, text in pages.items()]
    names = names_in_notes.names(sources, Path("a folder without files"))
    for source in sources:
        lines = source.text.split("\n")
        for problem in names_in_notes.problems(source, names):
            lines[problem.line - 1] = re.sub(r"`([^`]+)`", r"\1", lines[problem.line - 1])
        pages[source.path] = "\n".join(lines)
    return pages


def _closed(texts: dict[str, str], most: int) -> list[str]:
    r"""At most so many modules, with all that each imports; of all packages, in a fixed shuffle."""
    kept: set[str] = set()
    for name in sorted(texts, key=lambda name: sha256(name.encode()).digest()):
        found: set[str] = set()
        waiting = [name]
        while waiting:
            one = waiting.pop()
            if one not in kept | found:
                found.add(one)
                waiting += _needed(texts[one], texts)
        if len(kept | found) <= most:
            kept |= found
    return sorted(kept)


def _needed(text: str, texts: dict[str, str]) -> list[str]:
    found = []
    for module in re.findall(r"^ *(?:from|import) ([\w.]+)", text, re.M):
        path = module.replace(".", "/")
        found += [f"{path}.py", f"{path}/__init__.py"]
        found += [f"{path}/{one}.py" for one in _imported(text, module)]
    return [one for one in found if one in texts]


def _unlinked(name: str, text: str, kept: list[str]) -> str:
    def stays(link: re.Match[str]) -> str:
        target = os.path.normpath(os.path.join(os.path.dirname(name), link[2]))
        return link[0] if target in kept else link[1]

    return re.sub(r"\[([^]]+)\]\(([\w./]+\.(?:py|md|json))[^)]*\)", stays, text)


def _imported(text: str, module: str) -> list[str]:
    lines = re.findall(rf"^ *from {re.escape(module)} import (\([^)]*\)|.*)", text, re.M)
    return re.findall(r"\w+", " ".join(lines))


def write_project(folder: Path, made: Iterable[Module]) -> None:
    r"""A project of these modules, with the settings of this one."""
    folder.mkdir(parents=True, exist_ok=True)
    made = list(made)
    sources = {}
    for one in made:
        path = folder / one.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(one.text, encoding="utf-8")
        package, _, inside = one.path.partition("/")
        page = inside.replace("__init__", "index").removesuffix(".py") + ".md"
        sources[package] = one.uri.removesuffix(page).rstrip("/")
    table = ", ".join(f'{package} = "{prefix}"' for package, prefix in sources.items())
    # Copies explain the same terms twice, which would stop a strict build.
    settings = f'[tool.literate]\nstrict = false\nexamples = ["*"]\nsources = {{ {table} }}\n'
    (folder / "pyproject.toml").write_text(settings)
    settings, _, _ = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")
    nav = json.dumps(_nav(one.uri for one in made), indent=2)
    (folder / "mkdocs.yml").write_text(f"{settings}\nnav: {nav}\n", encoding="utf-8")
    (folder / "docs").mkdir()
    (folder / "docs" / "index.md").write_text("# Home\n\nMany pages.\n")
    (folder / "node_modules").symlink_to(ROOT / "node_modules")


def write_plain(folder: Path, made: Iterable[Module]) -> None:
    r"""The same text as Markdown: notes, and code in fences."""
    made = list(made)
    for one in made:
        path = folder / "docs" / one.uri
        path.parent.mkdir(parents=True, exist_ok=True)
        parts = []
        for row in rows(parse(one.text, one.path)):
            if row.note:
                parts.append("\n".join(row.note.texts).strip("\n"))
            if row.code:
                code = "".join(line.text for line in row.code)
                parts.append(f"````python\n{code.rstrip()}\n````")
        text = re.sub(r"(\]\([\w./]*)\.py(?:#[\w.]*)?\)", r"\1.md)", "\n\n".join(parts))
        path.write_text(text.replace("__init__.md", "index.md") + "\n", encoding="utf-8")
    (folder / "docs" / "index.md").write_text("# Home\n\nMany pages.\n")
    nav = json.dumps(_nav(one.uri for one in made), indent=2)
    (folder / "mkdocs.yml").write_text(f"{PLAIN}nav: {nav}\n", encoding="utf-8")


def _nav(uris: Iterable[str]) -> list[object]:
    r"""A tab for each part, and in it a section for each folder."""
    tree: dict[str, object] = {}
    for uri in uris:
        *folders, _ = uri.split("/")
        inside = tree
        for name in folders:
            inside = inside.setdefault(name, {})
        inside[uri] = None
    return [{"Home": "index.md"}, *_entries(tree)]


def _entries(tree: dict[str, object]) -> list[object]:
    return [name if inside is None else {name: _entries(inside)} for name, inside in tree.items()]


def write_package(folder: Path, count: int) -> None:
    r"""A package of functions with docstrings in Google's style, 25 modules in each folder."""
    for number in range(count):
        path = folder / f"package/part{number // 25}/module{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        functions = (FUNCTION.replace("NUMBER", f"{number}_{one}") for one in range(3))
        path.write_text(f'"""Module {number}."""\n' + "".join(functions), encoding="utf-8")
    (folder / "docs").mkdir()
    settings = '[tool.literate]\nsources = { package = "" }\nstrict = false\n'
    (folder / "pyproject.toml").write_text(settings)
    site = "site_name: A package\ntheme: { name: material, font: false }\nplugins: [literate]\n"
    (folder / "mkdocs.yml").write_text(site)
    (folder / "node_modules").symlink_to(ROOT / "node_modules")
    with (folder / "pyproject.toml").open("a") as file:
        file.write('katex = "node_modules/katex"\n')


def report_package(count: int, rounds: int) -> None:
    r"""What the site of such a package takes, and builds after one file has changed."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_package(folder, count)
        first = build(folder)
        site = [path for path in (folder / "site").rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in site)
        pages = [path.stat().st_size for path in site if path.name == "index.html"]
        changed = folder / "package/part0/module0.py"
        text = changed.read_text()
        again = []
        for number in range(rounds):
            changed.write_text(text.replace("Module 0", f"Text {number}"))
            again.append(build(folder, anew=False))
    print(f"{len(pages)} pages: {size / 1e6:.1f} MB, HTML of {statistics.mean(pages):,.0f} B each")
    cpu = statistics.median(cost.cpu for cost in again)
    wall = statistics.median(cost.wall for cost in again)
    median = f"the median of {rounds} after one change"
    for name, cost in (("one from nothing", first), (median, Cost(cpu, wall))):
        print(f"builds, {name}: {cost.cpu:.1f} s of the processor, {cost.wall:.1f} s")


@dataclass(frozen=True)
class Cost:
    r"""Seconds of the processor, and of the clock."""

    cpu: float
    wall: float


def build(folder: Path, anew: bool = True) -> Cost:
    r"""Build a site in a process of its own, from nothing or over the one that is there."""
    if anew:
        shutil.rmtree(folder / "site", ignore_errors=True)
    # With `--quiet` nobody knows what MkDocs would say of a page, so its HTML isn't kept.
    command = [sys.executable, "-m", "mkdocs", "build"]
    started = time.perf_counter()
    with subprocess.Popen(command, cwd=folder, env=environment(), stderr=subprocess.PIPE) as run:
        said = run.stderr.read().decode()
        _, status, usage = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
    if run.returncode:
        sys.exit(f"build.py: the build of {folder} fails:\n{said}")
    return Cost(usage.ru_utime + usage.ru_stime, time.perf_counter() - started)


def environment() -> dict[str, str]:
    r"""The tool of this checkout, whatever is installed."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1", "SITE_URL": ""}


def bytes_per_page(folder: Path) -> float:
    r"""Of the pages of modules, as they are served."""
    sizes = [path.stat().st_size for path in (folder / "site").glob("part*/**/index.html")]
    return statistics.mean(sizes)


def main() -> int:
    r"""Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="builds of each (%(default)s)")
    parser.add_argument("--project", type=Path, metavar="DIR", help="write a project, and stop")
    parser.add_argument("--modules", type=int, default=LARGE, help="its size (%(default)s)")
    parser.add_argument("--package", type=int, metavar="COUNT", help="a package of so many modules")
    arguments = parser.parse_args()
    if arguments.package:
        report_package(arguments.package, arguments.rounds)
        return 0
    if arguments.project:
        write_project(arguments.project, modules(arguments.modules))
        return 0

    with tempfile.TemporaryDirectory() as temporary:
        folders: dict[tuple[str, int], Path] = {}
        for size in (SMALL, LARGE):
            folders["ours", size] = Path(temporary, f"ours-{size}")
            folders["plain Material", size] = Path(temporary, f"plain-{size}")
            write_project(folders["ours", size], modules(size))
            write_plain(folders["plain Material", size], modules(size))
            print(f"{size} modules: measuring …", file=sys.stderr)
            build(folders["ours", size])
        costs: dict[tuple[str, int], list[Cost]] = {key: [] for key in folders}
        for number in range(arguments.rounds):
            print(f"round {number + 1} of {arguments.rounds} …", file=sys.stderr)
            for key, folder in folders.items():
                costs[key].append(build(folder))
        page = {key: bytes_per_page(folder) for key, folder in folders.items()}
    cpu = {key: statistics.median(one.cpu for one in each) for key, each in costs.items()}
    wall = {key: statistics.median(one.wall for one in each) for key, each in costs.items()}

    print(f"A build from nothing, everything measured before; medians of {arguments.rounds}\n")
    print(f"{'':16}{'modules':>8}{'processor':>12}{'clock':>10}{'HTML per page':>16}")
    for key in folders:
        print(f"{key[0]:16}{key[1]:>8}{cpu[key]:>10.2f} s{wall[key]:>8.2f} s{page[key]:>14,.0f} B")
    print(f"\n{'ratio':56}{'measured':>9}{'bar':>6}")
    ratios = {
        f"processor, ours to plain Material, {SMALL} modules": (
            cpu["ours", SMALL] / cpu["plain Material", SMALL],
            PLAIN_BAR,
        ),
        f"processor, ours, {LARGE} modules to {SMALL}": (
            cpu["ours", LARGE] / cpu["ours", SMALL],
            GROWTH_BAR,
        ),
        f"HTML per page, ours, {LARGE} modules to {SMALL}": (
            page["ours", LARGE] / page["ours", SMALL],
            BYTES_BAR,
        ),
    }
    for name, (ratio, bar) in ratios.items():
        print(f"{name:56}{ratio:>9.2f}{bar:>6.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
