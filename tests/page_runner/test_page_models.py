r"""The pages that run, as the site has them: their graphs in Node, compared with torch.

Files are made and compared once for all processes.
"""

import gzip
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch
from filelock import FileLock

from benchmarks.page_models import BEGINNING, MODELS
from labml_nn.page_models.models import make
from labml_nn.training.data import prepare, tiny_shakespeare
from labml_nn.training.loop import evaluate
from labml_nn.training.trained import load
from literate import settings, site
from literate.page.katex import program
from literate.reading.python_files import uri as uri_of
from page_runner.build import ASSETS, PageModels

ROOT = Path(__file__).resolve().parents[2]
# One character, two, some, and as many as there are positions.
LENGTHS = (1, 2, 23, 64)
CLOSE = 1e-5
PAGE_MODELS = settings.load(ROOT).page_models
PAGES = {page: model for model, pages in PAGE_MODELS["models"].items() for page in pages}
RECORD = json.loads((ROOT / PAGE_MODELS["record"]).read_text("utf-8"))["values"]["models"]


def place(page: str) -> str:
    r"""Where the graph of a page is on the site, without its ending."""
    address = uri_of(page.partition("/")[2], settings.load(ROOT).sources["labml_nn"])
    return f"{address.removesuffix('.md')}/live"


def trained(name: str) -> torch.nn.Module:
    r"""The model with the weights that are shipped."""
    model = make(name, RECORD[name]["config"]["n_vocab"])
    load(model, (ROOT / PAGE_MODELS["weights"] / RECORD[name]["file"]).read_bytes())
    return model.eval()


@torch.no_grad()
def compare(folder: Path) -> None:
    r"""Writes the files of the site, and what Node finds about them."""
    for uri, content in site.page_models(settings.load(ROOT), PageModels.files).items():
        path = folder / uri
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    for path in ASSETS.glob("*.js"):
        (folder / "assets" / path.name).write_bytes(path.read_bytes())
    ids = prepare(tiny_shakespeare(), 64)[2][:64]
    logits, rounding = {}, {}
    for name, pages in PAGE_MODELS["models"].items():
        model, precise = trained(name), trained(name).double()
        at = place(pages[0])
        logits[at], rounding[at] = {}, {}
        for n in LENGTHS:
            found, exact = model(ids[:n, None]), precise(ids[:n, None])
            logits[at][n] = found.flatten().tolist()
            rounding[at][n] = ((found - exact).abs().max() / exact.abs().max()).item()
    writing = {"step": "assets/live/write", "whole": place(PAGE_MODELS["models"]["classic"][0])}
    expected = {"ids": ids.tolist(), "logits": logits, "writing": writing}
    (folder / "expected.json").write_text(json.dumps(expected))
    (folder / "rounding.json").write_text(json.dumps(rounding))
    script = Path(__file__).with_name("compare.mjs")
    command = [program("node"), "--no-warnings", script, folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (folder / "found.json").write_text(done.stdout)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    r"""The files, and `found.json`."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    # The lock of the site: what one of the two has exported, the other finds.
    with FileLock(shared / "built.lock"):
        if not (shared / "live" / "found.json").exists():
            compare(shared / "live")
    return shared / "live"


@pytest.fixture(scope="session")
def found(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "found.json").read_text())


@pytest.fixture(scope="session")
def graphs(folder: Path) -> dict[str, dict[str, Any]]:
    return {page: json.loads((folder / f"{place(page)}.json").read_bytes()) for page in PAGES}


def test_each_model_agrees_with_torch_at_each_length(folder: Path, found: dict[str, Any]) -> None:
    assert len(found["lengths"]) == len(PAGE_MODELS["models"])
    rounding = json.loads((folder / "rounding.json").read_text())
    far = {
        (page, length): difference
        for page, differences in found["lengths"].items()
        for length, difference in differences.items()
        # PyTorch itself is off by more in linear attention, where sums of tiny weights are divided
        # by: as far as its 32 bits are from its 64.
        if not difference <= max(CLOSE, 3 * rounding[page][length])
    }
    assert far == {}
    # That is one page.
    loose = {page for page, one in rounding.items() if max(one.values()) > CLOSE / 3}
    assert loose == {"transformers/variants/linear_attention/live"}


def test_the_pages_of_a_model_run_one_graph(graphs: dict[str, dict[str, Any]]) -> None:
    for pages in PAGE_MODELS["models"].values():
        first, *others = (graphs[page] for page in pages)
        assert all(other["nodes"] == first["nodes"] for other in others)


def test_a_wrong_result_of_any_operation_is_noticed(
    found: dict[str, Any], graphs: dict[str, dict[str, Any]]
) -> None:
    used = {node["operation"] for graph in graphs.values() for node in graph["nodes"]}
    assert found["wrong"].keys() == used
    # Far more than the one page that is off differs by.
    assert [name for name, difference in found["wrong"].items() if difference <= 0.01] == []


def test_with_a_cache_the_logits_are_those_without(found: dict[str, Any]) -> None:
    assert found["cached"] <= CLOSE / 10


def test_the_softmax_is_a_line_of_the_page(graphs: dict[str, dict[str, Any]]) -> None:
    ways = ["batch_first", "folded_heads", "one_head_at_a_time"]
    for page in ["mha", *(f"ways/{one}" for one in ways), "modern/attention"]:
        path = f"labml_nn/transformers/{page}.py"
        graph = graphs[path]
        softmax = [node for node in graph["nodes"] if node["operation"] == "softmax"]
        assert {graph["files"][graph["stacks"][node["stack"]][-1][0]] for node in softmax} == {path}


def test_each_page_has_steps_in_order_with_what_they_bind(
    graphs: dict[str, dict[str, Any]],
) -> None:
    for page, graph in graphs.items():
        assert all(graph["stacks"][node["stack"]] for node in graph["nodes"]), page
        n_lines = (ROOT / page).read_text("utf-8").count("\n")
        nodes = [index for step in graph["steps"] for index in step["nodes"]]
        assert nodes and nodes == sorted(set(nodes)), page
        for step in graph["steps"]:
            assert 1 <= step["line"] <= n_lines, page
            assert step["shown"] and set(step["shown"]) <= set(step["nodes"]), page


def test_the_models_of_the_site_are_those_that_were_trained() -> None:
    assert set(PAGE_MODELS["models"]) == set(MODELS) == set(RECORD)


@pytest.mark.parametrize(
    ("key", "most"),
    [("beginning", BEGINNING), pytest.param("loss", None, marks=pytest.mark.whole)],
)
@pytest.mark.parametrize("name", MODELS)
def test_the_shipped_weights_have_the_recorded_loss(name: str, key: str, most: int | None) -> None:
    loss = evaluate(trained(name), prepare(tiny_shakespeare(), 64)[2][:most], 64)
    assert loss == pytest.approx(RECORD[name][key], rel=1e-4)


def test_eight_bits_predict_the_same_next_character() -> None:
    assert {name: one["same"] for name, one in RECORD.items() if one["same"] < 0.99} == {}


def test_a_page_fetches_no_more_than_it_says(folder: Path) -> None:
    scripts = sum(
        len(gzip.compress((folder / "assets" / f"{name}.js").read_bytes()))
        for name in ("interpreter", "kernels", "operations", "tensors")
    )
    (kernels,) = (folder / "assets").glob("kernels-*.wasm")
    assert len(gzip.compress(kernels.read_bytes())) <= 40_000
    for page, model in PAGES.items():
        graph = len(gzip.compress((folder / f"{place(page)}.json").read_bytes()))
        assert scripts + graph <= 20_000, page
        assert RECORD[model]["bytes"] <= 900_000, page
