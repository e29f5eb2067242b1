r"""The numbers of the table of all attentions, against formulas that know no module."""

import json
from pathlib import Path

import pytest

from benchmarks import compare
from benchmarks.compare import D_K, D_MODEL, ENTRIES, FOLDER, HEADS, SEQ_LEN

FLOAT = 4
# A projection with a bias, and the FLOPs of one such product for all positions.
LAYER = D_MODEL * D_MODEL + D_MODEL
PRODUCT = 2 * SEQ_LEN * D_MODEL * D_MODEL
# All scores, or the weighted mean of all values.
SCORES = 2 * SEQ_LEN * SEQ_LEN * D_MODEL
PLAIN = {
    "parameters": 4 * LAYER,
    "token": 2 * D_MODEL * FLOAT,
    "kept": SEQ_LEN * 2 * D_MODEL * FLOAT,
    "flops": 4 * PRODUCT + 2 * SCORES,
}
DISTANCES = 2 * 16 + 1
# What each page says of itself, where it is not as in multi-head attention.
OTHERWISE = {
    # Two tables of a vector for each distance; a product with each of them for each query and head.
    "positions/shaw_relative": {
        "parameters": 4 * LAYER + DISTANCES * D_K,
        "flops": 4 * PRODUCT + 2 * SCORES + SCORES,
    },
    # One projection more and two biases; each distance is projected, and meets the queries.
    "positions/transformer_xl": {
        "parameters": 4 * LAYER + D_MODEL * D_MODEL + 2 * D_MODEL,
        "flops": 4 * PRODUCT + 3 * SCORES + SEQ_LEN * PRODUCT,
    },
    # Of four tiles one is in the future.
    "memory/flash": {"flops": 4 * PRODUCT + 2 * SCORES * 3 // 4},
    "memory/flash_backward": {"flops": 4 * PRODUCT + 2 * SCORES * 3 // 4},
    "memory/grouped_query": {
        "parameters": 2 * LAYER + 2 * (D_MODEL * D_K + D_K),
        "token": 2 * 1 * D_K * FLOAT,
        "kept": SEQ_LEN * 2 * D_K * FLOAT,
        "flops": 2 * PRODUCT + 2 * PRODUCT // HEADS + 2 * SCORES,
    },
    "memory/sliding_window": {"token": 0, "kept": 16 * 2 * D_MODEL * FLOAT},
    "memory/attention_sinks": {"token": 0, "kept": (16 + 1) * 2 * D_MODEL * FLOAT},
    "memory/learned_sink": {"parameters": 4 * LAYER + HEADS},
    "memory/latent_attention": {
        # Queries with eight features more in each head, latents, keys and values of these, output;
        # without biases, and the scale of the normalisation.
        "parameters": D_MODEL * (D_MODEL + 8 * HEADS) + D_MODEL * (16 + 8) + 2 * 16 * D_MODEL
        + D_MODEL * D_MODEL + 16,
        "token": (16 + 8) * FLOAT,
        "kept": SEQ_LEN * (16 + 8) * FLOAT,
        "flops": 2 * SEQ_LEN
        * (D_MODEL * (D_MODEL + 8 * HEADS) + D_MODEL * (16 + 8) + 2 * 16 * D_MODEL + D_MODEL**2)
        + 2 * SCORES + 2 * SEQ_LEN * SEQ_LEN * 8 * HEADS,
    },
    # A scale for each feature of a head, for queries and for keys.
    "variants/query_key_norm": {"parameters": 4 * LAYER + 2 * D_K},
    "variants/gated_attention": {"parameters": 5 * LAYER, "flops": 5 * PRODUCT + 2 * SCORES},
    # Four vectors of half a head, of which there are two.
    "variants/differential_attention": {"parameters": 4 * LAYER + 4 * D_MODEL // 4},
    # A matrix for each head, and the sum of its keys.
    "variants/linear_attention": {"token": 0, "kept": HEADS * (D_K * D_K + D_K) * FLOAT},
    # The decay and the share of each head.
    "variants/delta_rule": {
        "parameters": 4 * LAYER + 2 * (D_MODEL * HEADS + HEADS),
        "token": 0,
        "kept": HEADS * D_K * D_K * FLOAT,
    },
    "variants/cross_attention": {"token": 0},
    "modern/attention": {"parameters": 4 * D_MODEL * D_MODEL},
}  # fmt: skip
OTHERWISE["memory/absorbed_attention"] = OTHERWISE["memory/latent_attention"]
# How the chunked rule counts its products is the page's own affair.
UNKNOWN = {"variants/delta_rule": {"flops"}}

MEASURED = [entry for entry in ENTRIES if entry.make is not None]


@pytest.mark.parametrize("entry", MEASURED, ids=lambda entry: entry.page)
def test_the_numbers_are_those_of_a_formula(entry: compare.Entry) -> None:
    found = compare.measured(entry)
    expected = PLAIN | OTHERWISE.get(entry.page, {})
    for name in UNKNOWN.get(entry.page, ()):
        assert found.pop(name) > expected.pop(name)
    assert found == expected


def recorded(repository: Path) -> dict:
    return json.loads((repository / "results/compare.json").read_text())


def test_the_recorded_numbers_are_those_of_the_modules(repository: Path) -> None:
    rows = recorded(repository)["tables"]["attentions"]["rows"]
    names = ("parameters", "token", "kept", "flops")
    found = {row["page"]: {name: row[name] for name in names} for row in rows}
    assert found == {f"{FOLDER}/{one.page}.py": compare.measured(one) for one in ENTRIES}


def test_every_page_about_attention_has_a_row(repository: Path) -> None:
    folder = repository / FOLDER
    folders = [folder / name for name in ("ways", "positions", "memory", "variants")]
    pages = [path for one in folders for path in one.glob("*.py") if path.stem != "__init__"]
    named = {path.relative_to(folder).with_suffix("").as_posix() for path in pages}
    assert {"mha", "fused_attention", "kv_cache", "modern/attention"} | named == {
        entry.page for entry in ENTRIES
    }


def test_the_losses_are_those_of_the_two_other_results(repository: Path) -> None:
    rows = recorded(repository)["tables"]["attentions"]["rows"]
    found = {row["page"].removeprefix(f"{FOLDER}/"): row for row in rows}
    variants = compare.losses("families", "attention", "loss")
    positions = compare.losses("extrapolation", "positions", "at64")
    assert found["mha.py"]["variants"] == variants["multi-head attention"]
    assert found["memory/grouped_query.py"]["variants"] == variants["one head of keys"]
    assert found["variants/delta_rule.py"]["variants"] == variants["gated delta rule"]
    assert found["mha.py"]["positions"] == positions["sines"]
    assert found["positions/alibi.py"]["positions"] == positions["ALiBi"]


def test_each_curve_is_a_line_of_its_figure(repository: Path) -> None:
    for row in recorded(repository)["tables"]["curves"]["rows"]:
        figures = json.loads((repository / f"results/{row['run']}.json").read_text())["figures"]
        assert row["line"] in [line["name"] for line in figures[row["figure"]]["lines"]]
