r"""A project of another package gets the files of its live pages."""

import json
import shutil
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from page_runner.background import BackgroundExports, PageModelError
from page_runner.build import KERNELS, PageModels
from page_runner.edit.files import place_of_kernels

MODELS = """\
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n_vocab):
        super().__init__()
        self.d_model = self.window = 7
        self.embedding = nn.Embedding(n_vocab, self.d_model)
        self.register_buffer("table", torch.ones(64, 1, self.d_model))

    def forward(self, tokens):
        x = self.embedding(tokens)
        x = x + self.table[: len(x)]
        return x @ self.embedding.weight.T


class Loop(Model):
    def forward(self, tokens):
        return torch.stack([super(Loop, self).forward(row[None])[0] for row in tokens])


def make(name, n_vocab):
    return {"small": Model, "loop": Loop}[name](n_vocab)
"""
WEIGHTS = b"the weights"


def entry(**changes: Any) -> dict[str, Any]:
    return {
        "config": {"n_vocab": 5, "seq_len": 64},
        "file": "small.safetensors",
        "bytes": len(WEIGHTS),
        "sha256": sha256(WEIGHTS).hexdigest(),
        "loss": 1.5,
        "sources": {"tiny/models.py": "as it was"},
    } | changes


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("project")
    (root / "tiny").mkdir()
    (root / "tiny" / "__init__.py").touch()
    (root / "tiny" / "models.py").write_text(MODELS)
    (root / "weights").mkdir()
    (root / "weights" / "small.safetensors").write_bytes(WEIGHTS)
    models = {"small": entry(), "loop": entry(), "lost": entry(file="lost.safetensors")}
    models["changed"] = entry(sha256="another")
    record = {"values": {"symbols": "abcde", "models": models}}
    (root / "live.json").write_text(json.dumps(record))
    return root


def runs(
    project: Path,
    model: str = "small",
    fingerprint: str = "as it was",
    today: str = "as it was",
) -> PageModels:
    return PageModels(
        root=project,
        store=project / "store",
        sources={"tiny": "sub"},
        package="tiny",
        maker="tiny.models:make",
        record="live.json",
        weights="weights",
        models={model: ["tiny/models.py"]},
        fingerprint=lambda path: fingerprint,
        today=lambda known: dict.fromkeys(known, today),
    )


def test_a_page_gets_its_graph_its_constants_and_the_weights(project: Path) -> None:
    found = runs(project).files()
    assert found.keys() == {
        "sub/models/live.json",
        "sub/models/live.safetensors",
        place_of_kernels(KERNELS.read_bytes()),
        "assets/weights/small.safetensors",
    }
    graph = json.loads(found["sub/models/live.json"])
    assert graph["symbols"] == "abcde" and graph["loss"] == 1.5 and graph["stale"] == []
    assert [node["operation"] for node in graph["nodes"]][:3] == ["embedding", "slice", "add"]
    assert [step["bound"] for step in graph["steps"]] == ["x", "x", "return"]
    assert graph["axes"][graph["nodes"][0]["axes"]] == ["seq_len", "batch_size", "d_model"]
    assert found["assets/weights/small.safetensors"] == WEIGHTS


def test_longer_notes_move_the_lines_and_nothing_is_exported_again(
    project: Path, tmp_path: Path
) -> None:
    # A copy, whose source changes and whose store begins empty.
    kept = shutil.ignore_patterns("store")
    project = shutil.copytree(project, tmp_path / "copy", ignore=kept)
    reports: list[str] = []
    first = runs(project).files(reports.append)
    assert reports == ["exported small"]
    source = project / "tiny" / "models.py"
    longer = 'r"""Two\nmore.\n"""\n' + source.read_text()
    source.write_text(longer.replace("class ", "# A note.\nclass ", 1))
    again = runs(project).files(reports.append)
    assert reports == ["exported small"]
    before, after = (json.loads(found.pop("sub/models/live.json")) for found in (first, again))
    assert [step["line"] for step in after["steps"]] == [s["line"] + 4 for s in before["steps"]]
    for graph in (before, after):
        del graph["steps"], graph["stacks"]
    assert after == before and again == first


def test_other_code_is_exported_again_and_said(project: Path) -> None:
    reports: list[str] = []
    first = runs(project).files()
    again = runs(project, fingerprint="otherwise", today="otherwise").files(reports.append)
    assert reports == ["exported small"]
    # The name of a local variable stands in the graph, and changes nothing that was learned.
    renamed = runs(project, fingerprint="a new name").files(reports.append)
    assert reports == ["exported small"] * 2
    assert json.loads(renamed["sub/models/live.json"])["stale"] == []
    graph = json.loads(again.pop("sub/models/live.json"))
    assert graph["stale"] == ["tiny/models.py"]
    assert graph | {"stale": []} == json.loads(first.pop("sub/models/live.json"))
    assert again == first


def test_the_page_shows_its_data_flow_before_it_runs(project: Path) -> None:
    shown = runs(project).shown(["tiny/other.py", "tiny/models.py"])
    ((path, (size, drawing)),) = shown.items()
    assert path == "tiny/models.py" and size == len(WEIGHTS)
    assert drawing.startswith("<svg") and "seq_len × batch_size × d_model" in drawing


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ("unknown", "live.json has no model 'unknown': train it first."),
        ("lost", "weights/lost.safetensors isn't the file of live.json."),
        ("changed", "weights/small.safetensors isn't the file of live.json."),
        ("loop", "a model can't be exported: ValueError: another length has other operations"),
    ],
)
def test_what_stops_the_build_says_why(project: Path, model: str, sentence: str) -> None:
    with pytest.raises(PageModelError) as raised:
        runs(project, model).files()
    assert str(raised.value).startswith(sentence)


def test_exports_that_nobody_waits_for_come_later_and_are_announced(
    project: Path, tmp_path: Path
) -> None:
    stamp, told = tmp_path / "stamp", []
    background = BackgroundExports(stamp, told.append)
    first = stamp.stat().st_mtime_ns

    def waiting() -> PageModels:
        return replace(runs(project), store=tmp_path / "store", background=background)

    page = "tiny/models.py"
    assert waiting().shown([page]) == waiting().kept() == {}
    assert "sub/models/live.json" not in waiting().files()
    # Nothing begins before the pages are there; two starts are one export.
    assert background.running is None
    background.start()
    running = background.running
    background.start()
    assert background.running is running
    running.join()
    assert told == [] and stamp.stat().st_mtime_ns > first
    assert waiting().shown([page]) == runs(project).shown([page])
    assert waiting().kept().keys() == {page}
    assert waiting().files() == runs(project).files()


def test_an_export_that_fails_is_told_and_builds_nothing_again(tmp_path: Path) -> None:
    stamp, told = tmp_path / "stamp", []
    background = BackgroundExports(stamp, told.append)
    first = stamp.stat().st_mtime_ns

    def fails() -> None:
        raise PageModelError("a model can't be exported: no.")

    background.ask(fails)
    background.start()
    background.running.join()
    assert told == ["a model can't be exported: no."]
    assert stamp.stat().st_mtime_ns == first
