r"""
---
title: Files of the Editor
summary: What a reader's browser fetches when a page is edited, and how large it is.
---

**In:** the modules whose pages are edited, and the package that stands in for torch, if they need
one. **Out:** files for the site, in two folders:

* What is the same for all pages, Python above all, lies under a name that changes with its content.
  So a browser can keep it for good, and never mixes the old with the new.
* The sources lie under the names that they have in their packages.

Libraries of others, such as “einops”, lie beside the sources, each with its licence. The kernels do
so, because a page that [runs](../build.py#PageModels) needs them, too.

To make the first folder takes some seconds. It is kept under a hash of all that it depends on.
"""

import ast
import gzip
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from os.path import relpath
from pathlib import Path

HERE = Path(__file__).parent
LIVEPAGE = HERE.parent

# Where the files go on the site.
PLACE = "assets/edit"

# What the stand-in calls its kernels.
KERNELS = "kernels.wasm"

# What runs in the browser, beside the stand-in and the sources themselves.
RUNS = (
    "__init__.py",
    "instrument.py",
    "values.py",
    "edit/__init__.py",
    "edit/drawing.py",
    "edit/failure.py",
    "edit/judging.py",
    "edit/printed.py",
    "edit/running.py",
    "edit/seen.py",
)

# What npm fetches for a project that has no parts of the editor itself: versions and hashes.
NPM = HERE / "npm"

# What a browser has beside Python's own modules: figures are drawn by ours.
DRAWN = "matplotlib"

# What a page doesn't fetch when it is edited.
ASIDE = ("assemble.js", "licences.txt", "paste.js", "shared.js", "train.js")

# Texts are sent packed by any host; archives are so already.
PACKED = (".zip",)


class EditError(Exception):
    r"""
    ## What the author has to do first
    """


@dataclass(frozen=True)
class Offer:
    r"""
    ## What a page says of its editor

    The `path` of its module, where the program and the sources are on the site, and how many
    `bytes` come over the wire, packed as hosts pack them. Some pages have a `form` as well, such as
    a field for the reader's own code; it may need other modules, so it has `form_bytes` of its own.
    `exercises` are those of the page, as they are told to its editor, and `paste` is the page with
    a field for the reader's own code, if there is one.
    """

    path: str
    program: str
    sources: str
    bytes: int
    form: Mapping[str, str] = field(default_factory=dict)
    form_bytes: int = 0
    exercises: str = ""
    paste: str = ""


@dataclass(frozen=True)
class Edit:
    r"""
    ## The pages that can be edited

    * `root` is the folder of the project, and `store` the one that keeps what was made
    * `node` is the program that runs JavaScript
    * `npm` is the folder with “node_modules”
    * `modules` are the files of the annotated packages, by their paths from the root, each with the
      folder that its package is imported from
    * `stand_in` is the package that takes the place of torch, if there is one: the command
      `python -m STAND_IN pack FOLDER` writes what the browser needs of it: its modules, and
      “kernels.wasm”
    * `data` are files of the packages that are no modules, and that pages read
    * `without` are pages that need what the stand-in lacks, so they have no editor
    * `forms` are what some pages have beside their editor: for each the script of the form, its
      target, which is the function that it calls, and the label of its button; a form may be
      beside definitions of the page, whose names are then its first choice
    * `left_out` tells which paths are no lessons
    * `libraries` are packages of others, pure Python, that a reader's own code may import: they are
      installed where the site is built, and a browser fetches their modules when they are imported
    """

    root: Path
    store: Path
    node: str
    npm: Path
    modules: Mapping[str, str]
    stand_in: str = ""
    data: Sequence[str] = ()
    without: Sequence[str] = ()
    forms: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    left_out: Callable[[str], bool] = lambda path: False
    libraries: Sequence[str] = ()

    @cached_property
    def of_others(self) -> dict[str, Path]:
        r"""
        ### The modules of the libraries, with their licences

        By their paths on the site. Their tests stay away.
        """
        found = {}
        for name in self.libraries:
            try:
                files = distribution(name).files or []
            except PackageNotFoundError:
                raise EditError(
                    f"`{name}` isn't installed, and readers may import it: pip install {name}"
                ) from None
            for one in files:
                is_own = one.parts[0] == name and "tests" not in one.parts
                is_module = is_own and one.suffix == ".py"
                is_licence = one.name.lower().startswith(("licence", "license", "copying"))
                if is_module:
                    found[one.as_posix()] = Path(str(one.locate()))
                elif is_licence and one.parts[0].endswith(".dist-info"):
                    found[f"{name}/{one.name}"] = Path(str(one.locate()))
        return found

    @cached_property
    def paths(self) -> dict[str, str]:
        r"""
        ### All modules, and the data

        By their paths from the folders that their packages are imported from: so they lie in the
        browser, in one folder.
        """
        inside = {relpath(path, folder or "."): path for path, folder in self.modules.items()}
        return {**inside, **{path: path for path in self.data}}

    def sources(self) -> dict[str, Path]:
        r"""
        ### The same, with their files
        """
        return {place: self.root / path for place, path in self.paths.items()}

    @property
    def packages(self) -> list[str]:
        r"""
        ### The names under which they are imported

        Those of packages, and of modules that lie in none.
        """
        return sorted(
            {
                path.partition("/")[0].removesuffix(".py")
                for path in self.paths
                if path.endswith(".py")
            }
        )

    @cached_property
    def python(self) -> frozenset[str]:
        r"""
        ### The modules among the sources
        """
        return frozenset(one for one in self.sources() if one.endswith(".py"))

    @cached_property
    def imports(self) -> dict[str, set[str]]:
        r"""
        ### What each module imports of the packages

        Inside of functions, too, and with the packages around it.
        """
        found = {}
        for path in self.python:
            name = module_name(path)
            names = [
                *parents(name),
                *(imported((self.root / self.paths[path]).read_bytes(), _around(path)) or ()),
            ]
            candidates = {one for name in names for one in files_of(name)}
            found[path] = (candidates & self.python) - {path}
        return found

    def closure(self, path: str) -> list[str]:
        r"""
        ### All that a page needs of the packages, itself included
        """
        found, waiting = {path}, [path]
        while waiting:
            new = self.imports.get(waiting.pop(), set()) - found
            found |= new
            waiting += new
        return sorted(found)

    def of_pages(self, pages: Collection[str]) -> "Edit":
        r"""
        ### The same, with the modules of pages and what they need alone

        `pages` are paths from the root.
        """
        needed = {
            self.paths[one]
            for place, path in self.paths.items()
            if path in pages and path in self.modules
            for one in self.closure(place)
        }
        modules = {path: one for path, one in self.modules.items() if path in needed}
        return replace(self, modules=modules)

    def foreign(self, path: str) -> set[str]:
        r"""
        ### What a page imports at once, and no browser has

        Packages of others, and files of its own that were left out, as those that git ignores, or
        that Python can't parse. What is imported only when a function is called may be missing.
        """
        found, waiting = {path}, [path]
        names: set[str] = set()
        left_out: set[str] = set()
        while waiting:
            module = waiting.pop()
            text = (self.root / self.paths[module]).read_bytes()
            at_once = imported(text, _around(module), at_once=True)
            if at_once is None:
                left_out.add(module_name(module))
                continue
            names |= {name.partition(".")[0] for name in at_once}
            folder = self.root / self.modules.get(self.paths[module], "")
            left_out |= {
                module_name(one)
                for name in at_once
                for one in files_of(name)
                if one not in self.paths and (folder / one).is_file()
            }
            needed = {one for name in at_once for one in files_of(name)} & self.python
            waiting += needed - found
            found |= needed
        known = {
            *self.packages,
            *sys.stdlib_module_names,
            *self.libraries,
            DRAWN,
            *(["torch"] * bool(self.stand_in)),
        }
        return names - known | left_out

    def index(self) -> str:
        r"""
        ### What there is, for the browser

        The names of the packages, all files, and for each page those that it needs first.
        """
        pages = [one for one in self.python if self.offers(one)]
        content = {
            "packages": [*self.packages],
            "files": [*self.sources(), *self.of_others],
            "first": {path: self.closure(path) for path in sorted(pages)},
        }
        return json.dumps(content, separators=(",", ":")) + "\n"

    def offers(self, path: str) -> bool:
        r"""
        ### Can this page be edited?

        One with a form can, if it is no lesson, too. One that imports what no browser has can't.
        """
        own = self.paths.get(path, path)
        if own in self.forms:
            return True
        is_lesson = path in self.python and not self.left_out(own)
        return is_lesson and own not in self.without and not self.foreign(path)

    def offer(self, path: str) -> Offer | None:
        r"""
        ### What a page says of its editor

        `path` is the one from the root. None, if it has none.
        """
        form = self.forms.get(path, {})
        path = relpath(path, self.modules.get(path) or ".")
        if not self.offers(path):
            return None
        places = f"{PLACE}/{self.made.name}", f"{PLACE}/sources"
        form_bytes = self.bytes_of(path_of(form["target"])) if form else 0
        fields = [page for page, one in self.forms.items() if one["script"] == "paste"]
        paste = fields[0] if fields else ""
        return Offer(path, *places, self.bytes_of(path), form, form_bytes, paste=paste)

    def bytes_of(self, path: str) -> int:
        r"""
        ### What is fetched for a module, packed
        """
        own = (
            packed_text((self.root / self.paths[one]).read_bytes()) for one in self.closure(path)
        )
        return self.weight + sum(own)

    @cached_property
    def weight(self) -> int:
        r"""
        ### What all pages fetch, packed

        Those that a form needs, and the licences, are not counted.
        """
        files = [one for one in self.made.iterdir() if one.name not in ASIDE]
        return sum(packed(one) for one in files)

    def files(self) -> Iterator[tuple[str, Path]]:
        r"""
        ### The files of the site, by their places
        """
        for one in sorted(self.made.iterdir()):
            if one.name == KERNELS:
                yield place_of_kernels(one.read_bytes()), one
            else:
                yield f"{PLACE}/{self.made.name}/{one.name}", one
        for path, file in {**self.sources(), **self.of_others}.items():
            yield f"{PLACE}/sources/{path}", file

    @cached_property
    def made(self) -> Path:
        r"""
        ### The folder that is the same for all pages

        Made anew if one of its sources has changed.
        """
        kept = self.store / self.key()
        if not kept.is_dir():
            self.store.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self.store) as beside:
                new = Path(beside) / "made"
                new.mkdir()
                self._make(new, Path(beside) / "stand_in")
                if not kept.is_dir():
                    new.rename(kept)
        return kept

    def key(self) -> str:
        r"""
        ### What the folder depends on
        """
        files = [
            self.npm / "package-lock.json",
            *(
                one
                for one in sorted(HERE.rglob("*"))
                if one.suffix in (".py", ".mjs", ".js", ".css")
            ),
            *(LIVEPAGE / name for name in (*RUNS, "assets/elements.js")),
            *self._of_stand_in(),
        ]
        digest = sha256(json.dumps(sorted(self.library())).encode())
        for file in files:
            if file.is_file():
                digest.update(sha256(file.read_bytes()).digest())
        return digest.hexdigest()[:12]

    def _of_stand_in(self) -> list[Path]:
        if not self.stand_in:
            return []
        spec = find_spec(self.stand_in)
        if spec is None or not spec.submodule_search_locations:
            raise EditError(f"there is no package `{self.stand_in}` that stands in for torch.")
        folder = Path(spec.submodule_search_locations[0])
        return [one for one in sorted(folder.rglob("*")) if "__pycache__" not in one.parts]

    def library(self) -> set[str]:
        r"""
        ### What the pages import of the standard library

        And all that they need: a lesson may call a program, which has no editor itself.
        """
        needed = {one for path in self.imports if self.offers(path) for one in self.closure(path)}
        theirs = [file for file in self.of_others.values() if file.suffix == ".py"]
        return standard([*(self.root / self.paths[path] for path in needed), *theirs])

    def _make(self, new: Path, stand_in: Path) -> None:
        modules = [(f"page_runner/{name}", str(LIVEPAGE / name)) for name in RUNS]
        kernels = ""
        if self.stand_in:
            command = [sys.executable, "-m", self.stand_in, "pack", str(stand_in)]
            run(command, self.root, f"`{self.stand_in}` can't be packed")
            kernels = place_of_kernels((stand_in / KERNELS).read_bytes())
        for file in sorted(stand_in.rglob("*")):
            if file.suffix == ".py":
                modules.append((file.relative_to(stand_in).as_posix(), str(file)))
            elif file.is_file():
                shutil.copyfile(file, new / file.name)
        request = {
            "root": str(self.npm.resolve()),
            "out": str(new),
            "scripts": str(HERE / "scripts"),
            "trim": str(HERE / "trim.py"),
            "wanted": sorted(self.library() | standard(Path(place) for _, place in modules)),
            "files": modules,
            "kernels": kernels and relpath(kernels, f"{PLACE}/HASH"),
        }
        command = [self.node, str(HERE / "build.mjs")]
        run(command, self.root, "the editor can't be built", json.dumps(request))


def place_of_kernels(content: bytes) -> str:
    r"""
    ## Where the kernels are on the site

    Once for all that run on them: what the editor has fetched, a page that runs finds in the
    browser's cache. The name changes with the content.
    """
    return f"assets/kernels-{sha256(content).hexdigest()[:12]}.wasm"


def run(command: Sequence[str], folder: Path, failed: str, asked: str = "") -> str:
    r"""
    ## Run a program of the build

    What it says last is the reason if it fails.
    """
    done = subprocess.run(
        command, cwd=folder, input=asked, capture_output=True, text=True, check=False
    )
    if done.returncode:
        lines = [one for one in done.stderr.splitlines() if one.strip()]
        reason = next((one for one in lines if "Error" in one), lines[-1] if lines else "")
        raise EditError(f"{failed}: {reason.strip()}")
    return done.stdout


def packed(file: Path) -> int:
    r"""
    ## The size of a file, as a host sends it
    """
    content = file.read_bytes()
    return len(content) if file.suffix in PACKED else packed_text(content)


@cache
def packed_text(content: bytes) -> int:
    r"""
    ## The size of a text, packed
    """
    return len(gzip.compress(content, 9))


def module_name(path: str) -> str:
    r"""
    ## The name of a module
    """
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def path_of(target: str) -> str:
    r"""
    ## The module of a function

    `package.module:function` is in `package/module.py`.
    """
    return target.partition(":")[0].replace(".", "/") + ".py"


def parents(name: str) -> Iterator[str]:
    r"""
    ## The packages around a module
    """
    parts = name.split(".")
    for end in range(1, len(parts)):
        yield ".".join(parts[:end])


def _around(path: str) -> str:
    r"""
    The package in which the names of a module are looked up.
    """
    name = module_name(path)
    return name if path.endswith("/__init__.py") else name.rpartition(".")[0]


@cache
def imported(module: bytes, package: str = "", at_once: bool = False) -> frozenset[str] | None:
    r"""
    ## What a module imports

    `from a import b` is both `a` and `a.b`: only the files tell which of them is a module. With
    `at_once`, what it can't be imported without. While a site is served, a module that is as it was
    isn't parsed again. None, if Python can't parse it.
    """
    found: set[str] = set()
    try:
        tree = ast.parse(module)
    # A byte of zero, or another encoding, is a ValueError.
    except (SyntaxError, ValueError):
        return None
    for node in tree.body if at_once else ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom):
            # `from .a import b` is meant from the package around the module.
            around = package.split(".")[: package.count(".") + 2 - node.level] if node.level else []
            name = ".".join([*around, *([node.module] if node.module else [])])
            found |= {name, *(f"{name}.{one.name}" for one in node.names)}
    return frozenset(found)


def standard(modules: Iterable[Path]) -> set[str]:
    r"""
    ## What modules import of the standard library
    """
    names = {name for one in modules for name in imported(one.read_bytes()) or ()}
    return {one for one in names if one.partition(".")[0] in sys.stdlib_module_names}


def files_of(name: str) -> Iterable[str]:
    r"""
    ## Where a module may lie, with the packages around it
    """
    for one in [*parents(name), name]:
        folder = one.replace(".", "/")
        yield f"{folder}.py"
        yield f"{folder}/__init__.py"
