r"""
---
title: Files of the Site
summary: Graphs, constants, weights and the interpreter, for every page that runs.
---

**In:** a table that names the model of each page, and the record of the training. **Out:** the
files, by their places on the site.

An export takes a second or two. So its result is kept under a hash of all that it depends on, the
notes of its sources excepted, and the pages of one model share it. For each page only the
[steps](steps.py) are its own.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import Any

from page_runner.background import BackgroundExports, PageModelError
from page_runner.dataflow import drawing
from page_runner.edit.files import place_of_kernels
from page_runner.places import to_lines
from page_runner.steps import steps

HERE = Path(__file__).parent
# Scripts and styles.
ASSETS = HERE / "assets"
# The loops of all operations, which the editor's stand-in for torch has as well.
KERNELS = HERE.parent / "browser_torch" / "kernels" / "kernels.wasm"
# The scripts that are fetched as such; all others are parts of these. “model.js” is there for
# programs that measure.
MODULES = (
    "go_on.js",
    "model.js",
    "own_text.js",
    "panel.js",
    "predict.js",
    "worker.js",
    "writing.js",
)
# When one of these changes, everything is exported again.
TOOLS = [HERE / f"{name}.py" for name in ("child", "exporter", "places", "weights")]


@dataclass(frozen=True)
class PageModels:
    r"""
    ## What runs

    * `root` is the folder of the project, and `store` the one that keeps exports
    * `sources` maps each package to the folder of the site that its pages go to
    * `package` is the annotated package, `my_package`, and `maker` the function that makes a model,
      `my_package.models:make`
    * `record` is the file that the training has written, and `weights` the folder beside it
    * `models` maps the name of a model to the paths of its pages
    * `graphs` has further graphs, by their places on the site: for each a `maker` of its own, and
      the `model` whose weights it has
    * `text` is what stands in the field for the reader's own at first
    * `fingerprint` tells whether the code of a file is still the same as when the model was
      exported, and `today` gives the sources of a training as they are now
    * `background` exports while nobody waits; without it the answers wait for the exports
    """

    root: Path
    store: Path
    sources: Mapping[str, str]
    package: str
    maker: str
    record: str
    weights: str
    models: Mapping[str, Sequence[str]]
    text: str = ""
    graphs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    fingerprint: Callable[[Path], str] = lambda path: sha256(path.read_bytes()).hexdigest()
    today: Callable[[Mapping[str, str]], Mapping[str, str]] = dict
    background: BackgroundExports | None = None
    exported: dict[tuple[str, str], Any] = field(default_factory=dict)
    prints: dict[str, str | None] = field(default_factory=dict)

    @property
    def pages(self) -> dict[str, str]:
        r"""
        ### The model of each page
        """
        return {page: name for name, pages in self.models.items() for page in pages}

    def place(self, page: str) -> str:
        r"""
        ### Where the graph of a page is on the site

        Without its ending: `transformers/mha/live`.
        """
        path = PurePosixPath(page)
        inside = path.relative_to(path.parts[0]).with_suffix("")
        folder = inside.parent if inside.name == "__init__" else inside
        return (PurePosixPath(self.sources[path.parts[0]]) / folder / "live").as_posix()

    def wanted(self) -> list[tuple[str, str]]:
        r"""
        ### What is exported

        Makers, each with the name of the model that it makes.
        """
        pages = {(self.maker, name) for name in self.pages.values()}
        return sorted(pages | {(one["maker"], one["model"]) for one in self.graphs.values()})

    def recorded(self) -> dict[str, Any]:
        r"""
        ### The record

        A file of weights that isn't the recorded one stops the build: the losses on the site would
        be those of another model.
        """
        values = json.loads((self.root / self.record).read_bytes())["values"]
        for name in sorted({name for _, name in self.wanted()}):
            if name not in values["models"]:
                raise PageModelError(f"{self.record} has no model {name!r}: train it first.")
            entry = values["models"][name]
            path = self.root / self.weights / entry["file"]
            if not path.is_file() or sha256(path.read_bytes()).hexdigest() != entry["sha256"]:
                raise PageModelError(
                    f"{self.weights}/{entry['file']} isn't the file of {self.record}."
                )
        return values

    def stale(self, entry: Mapping[str, Any]) -> list[str]:
        r"""
        ### The sources that have changed since the training
        """
        today = self.today(entry["sources"])
        return [path for path, known in entry["sources"].items() if today.get(path) != known]

    def print_of(self, path: str) -> str | None:
        r"""
        ### The fingerprint of a source

        None if it is gone.
        """
        if path not in self.prints:
            file = self.root / path
            self.prints[path] = self.fingerprint(file) if file.is_file() else None
        return self.prints[path]

    def key(self, maker: str, name: str, entry: Mapping[str, Any]) -> str:
        r"""
        ### What an export depends on
        """
        sources = {*entry["sources"], maker.partition(":")[0].replace(".", "/") + ".py"}
        parts = [version("torch"), maker, name]
        parts += [sha256(path.read_bytes()).hexdigest() for path in TOOLS]
        parts += [f"{path} {self.print_of(path)}" for path in sorted(sources)]
        return sha256("\n".join(parts).encode()).hexdigest()[:32]

    def export(
        self,
        models: Mapping[str, Any],
        wanted: Iterable[tuple[str, str]],
        report: Callable[[str], None] = lambda line: None,
    ) -> None:
        r"""
        ### The graphs of models

        Those that aren't kept are made, by two processes. What is made later is missing until then.
        """
        self.store.mkdir(parents=True, exist_ok=True)
        requests, places = [], {}
        for maker, name in sorted(wanted):
            entry = models[name]
            graph, constants = places[maker, name] = self.places_of(maker, name, entry)
            if not graph.is_file():
                requests.append({
                    "maker": maker,
                    "name": name,
                    "n_vocab": entry["config"]["n_vocab"],
                    "config": entry["config"],
                    "package": str(self.root / self.package),
                    "graph": str(graph),
                    "constants": str(constants),
                })  # fmt: skip
                report(f"exported {name}")
        halves = [*filter(None, (requests[::2], requests[1::2]))]
        if halves and self.background:
            self.background.ask(partial(self.run_children, halves))
        else:
            self.run_children(halves)
        for key, (graph, constants) in places.items():
            if graph.is_file():
                self.exported[key] = (
                    self.of_today(json.loads(graph.read_bytes())),
                    constants.read_bytes(),
                )

    def places_of(self, maker: str, name: str, entry: Mapping[str, Any]) -> tuple[Path, Path]:
        r"""
        ### Where a graph is kept, and its constants
        """
        stem = f"{Path(entry['file']).stem}-{self.key(maker, name, entry)}"
        return self.store / f"{stem}.json", self.store / f"{stem}.safetensors"

    def kept(self) -> dict[str, str]:
        r"""
        ### The graph of each page that has one already
        """
        models = self.recorded()["models"]
        graphs = {
            path: self.places_of(self.maker, name, models[name])[0]
            for path, name in self.pages.items()
        }
        return {path: graph.name for path, graph in graphs.items() if graph.is_file()}

    def of_today(self, graph: dict[str, Any]) -> dict[str, Any]:
        r"""
        ### A kept graph with the lines of the sources as they are now
        """
        files = graph["files"]
        sources = {file: (self.root / file).read_text(encoding="utf-8") for file in files}
        return graph | {"stacks": to_lines(graph["stacks"], files, sources)}

    def run_children(self, requests: Sequence[Sequence[Mapping[str, Any]]]) -> None:
        r"""
        ### Export in processes of their own
        """
        # The project's own modules come first. This package must be found wherever it lies.
        paths = [str(HERE.parent), os.environ.get("PYTHONPATH", "")]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
        command = [sys.executable, "-m", "page_runner.child"]
        children = [
            subprocess.Popen(
                command,
                cwd=self.root,
                env=environment,
                stdin=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in requests
        ]
        for child, chosen in zip(children, requests, strict=True):
            assert child.stdin is not None
            child.stdin.write(json.dumps(chosen))
            child.stdin.close()
        failed: list[str] = []
        for child in children:
            assert child.stderr is not None
            with child:
                said = child.stderr.read().strip()
            if child.returncode:
                # One that is killed says nothing.
                last = said.splitlines()[-1:] or [f"its process ended with {child.returncode}"]
                failed += last
        if failed:
            raise PageModelError(f"a model can't be exported: {failed[0]}")

    def shown(self, paths: Iterable[str]) -> dict[str, tuple[int, str]]:
        r"""
        ### What some pages show before they run

        How many bytes of weights they fetch, and the [drawing](dataflow.py) of their data flow.
        """
        paths = [path for path in paths if path in self.pages]
        if not paths:
            return {}
        values = self.recorded()
        self.export(values["models"], {(self.maker, self.pages[path]) for path in paths})
        found = {}
        for path in paths:
            if (self.maker, self.pages[path]) not in self.exported:
                continue
            graph, source = self.page(path, values)
            found[path] = graph["bytes"], drawing(graph, source)
        return found

    def page(self, path: str, values: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        r"""
        ### The graph of a page with its steps, and the page's source
        """
        source = (self.root / path).read_text(encoding="utf-8")
        graph = {"page": path, **self.graph(self.maker, self.pages[path], values)}
        return graph | {"steps": steps(graph, path, source)}, source

    def graph(self, maker: str, name: str, values: Mapping[str, Any]) -> dict[str, Any]:
        r"""
        ### A graph with what there is to say about its model
        """
        entry = values["models"][name]
        return {
            "symbols": values["symbols"],
            "seq_len": entry["config"]["seq_len"],
            "kernels": PurePosixPath(place_of_kernels(KERNELS.read_bytes())).name,
            "weights": entry["file"],
            "bytes": entry["bytes"],
            "text": self.text,
            "loss": entry["loss"],
            "stale": self.stale(entry),
            **self.exported[maker, name][0],
        }

    def files(self, report: Callable[[str], None] = lambda line: None) -> dict[str, bytes]:
        r"""
        ### All files

        `report` gets a line for each model that is really exported.
        """
        values = self.recorded()
        self.export(values["models"], self.wanted(), report)
        kernels = KERNELS.read_bytes()
        found = {place_of_kernels(kernels): kernels}
        graphs = {place: (one["maker"], one["model"]) for place, one in self.graphs.items()}
        graphs = {place: key for place, key in graphs.items() if key in self.exported}
        contents = {place: self.graph(*key, values) for place, key in graphs.items()}
        for path, name in self.pages.items():
            if (self.maker, name) not in self.exported:
                continue
            at = self.place(path)
            graphs[at] = self.maker, name
            contents[at], _ = self.page(path, values)
        for at, key in graphs.items():
            content = json.dumps(contents[at], separators=(",", ":"), ensure_ascii=False)
            found[f"{at}.json"] = content.encode()
            found[f"{at}.safetensors"] = self.exported[key][1]
            file = values["models"][key[1]]["file"]
            found[f"assets/weights/{file}"] = (self.root / self.weights / file).read_bytes()
        return found
