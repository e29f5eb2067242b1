r"""Modules become graphs: what is in them, and what can't be in one."""

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from page_runner.exporter import LENGTHS, SEQUENCES, axis_name, common, export, spelled_out

# Lines of this file are those of the package.
HERE = Path(__file__).parent
D_MODEL, HEADS = 15, 3


def exported(module: nn.Module) -> tuple[dict[str, Any], dict[str, Tensor]]:
    names = {D_MODEL: "d_model", HEADS: "heads", D_MODEL // HEADS: "d_k"}
    return export(module, lambda n, b: (torch.zeros(n, b, D_MODEL),), HERE, names)


def operations(graph: dict[str, Any]) -> list[str]:
    return [node["operation"] for node in graph["nodes"]]


def positions_of(x: Tensor, table: Tensor) -> Tensor:
    return x + table[: len(x)].unsqueeze(1)  # here


class Small(nn.Module):
    r"""Buffers with equal contents, a length, dropout, a check, and a result that nobody reads."""

    def __init__(self) -> None:
        super().__init__()
        for name in ("first", "second"):
            self.register_buffer(name, torch.arange(64.0)[:, None].repeat(1, D_MODEL))
        self.linear = nn.Linear(D_MODEL, D_MODEL)
        self.unused = nn.Linear(D_MODEL, D_MODEL)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        if not torch.equal(x, x):
            raise ValueError("x is not x")
        self.kept = self.unused(x)
        x = positions_of(positions_of(x, self.first), self.second)
        x = self.dropout(self.linear(x)).detach()
        return x.unflatten(-1, (HEADS, -1)).contiguous()


@pytest.fixture(scope="module")
def small() -> tuple[dict[str, Any], dict[str, Tensor]]:
    return exported(Small())


def test_only_what_computes_the_result_is_in_the_graph_and_equal_constants_are_one(
    small: tuple,
) -> None:
    graph, constants = small
    table = ["slice", "unsqueeze", "add"]
    assert operations(graph) == [*table, *table, "linear", "view"]
    assert sorted(graph["parameters"].values()) == ["linear.bias", "linear.weight"]
    (name,) = constants
    assert [node["arguments"][0] for node in graph["nodes"] if node["operation"] == "slice"] == [
        f"%{name}"
    ] * 2


def test_lengths_are_functions_of_the_length_and_axes_have_names(small: tuple) -> None:
    graph, _ = small
    (sliced, *_, viewed) = graph["nodes"]
    assert sliced["arguments"][1:] == [0, 0, "@0+1"]
    assert viewed["arguments"][1] == ["@0+1", 1, HEADS, D_MODEL // HEADS]
    assert graph["inputs"] == [{"name": "x", "shape": ["@0+1", 1, D_MODEL]}]
    axes = [graph["axes"][node["axes"]] for node in graph["nodes"]]
    assert axes[:2] == [["seq_len", "d_model"], ["seq_len", "1", "d_model"]]
    assert axes[-1] == ["seq_len", "batch_size", "heads", "d_k"]


def test_a_node_has_the_lines_of_all_calls(small: tuple) -> None:
    graph, _ = small
    lines = Path(__file__).read_text("utf-8").splitlines()
    calls = [graph["stacks"][node["stack"]] for node in graph["nodes"]]
    assert graph["files"] == [f"{HERE.name}/{Path(__file__).name}"]
    for stack in calls[:6]:
        # The test itself is in this file, too, and comes before.
        (_, outer), (_, inner) = stack[-2:]
        assert "positions_of(positions_of" in lines[outer - 1]
        assert lines[inner - 1].endswith("# here")
    assert "self.linear(x)" in lines[calls[6][-1][1] - 1]
    assert graph["modules"][graph["nodes"][6]["module"]] == "linear"


def test_the_kernel_is_spelled_out() -> None:
    class Kernel(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return F.scaled_dot_product_attention(x, x, x, is_causal=True)

    assert "softmax" in operations(exported(Kernel())[0])
    # Only while a module was exported.
    assert "spelled_out" not in F.scaled_dot_product_attention.__name__


@pytest.mark.parametrize("causal", [False, True])
def test_spelled_out_attention_is_that_of_the_kernel(causal: bool) -> None:
    query, key, value = torch.randn(3, 2, 5, 7, 11)
    mask = None if causal else torch.ones(7, 7, dtype=torch.bool).tril(2)
    options = {"attn_mask": mask, "is_causal": causal, "scale": 0.3}
    expected = F.scaled_dot_product_attention(query, key, value, **options)
    torch.testing.assert_close(spelled_out(query, key, value, **options), expected)


def test_a_loop_over_positions_is_refused() -> None:
    class Loop(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            total = torch.zeros_like(x[0])
            for row in x:
                total = total + row
            return total

    with pytest.raises(ValueError, match="a loop over positions can't be live"):
        exported(Loop())


def grown(start: int, factor: int, sequences: bool = False) -> tuple[int, int]:
    r"""A number at the two lengths."""
    first, second = (start + factor * length for length in LENGTHS)
    return first * SEQUENCES[0], second * (SEQUENCES[1] if sequences else 1)


@pytest.mark.parametrize(
    ("pair", "rule"),
    [
        ((128, 128), 128),
        (grown(0, 1), "@0+1"),
        (grown(-1, 1), "@-1+1"),
        (grown(3, 2), "@3+2"),
        (grown(0, 1, sequences=True), "@0+1"),
        ((1, SEQUENCES[1]), 1),
        ((4, 4 * SEQUENCES[1]), 4),
        (([2, "%a"], [2, "%a"]), [2, "%a"]),
        (({"dim": 13}, {"dim": 44}), {"dim": "@0+1"}),
    ],
)
def test_two_numbers_have_one_rule(pair: tuple, rule: object) -> None:
    assert common(*pair) == rule


@pytest.mark.parametrize("pair", [(13, 45), (2.5, 3.5), ("%a", "%b"), ([1], [1, 2]), (1, 1.0)])
def test_what_has_no_rule_is_refused(pair: tuple) -> None:
    with pytest.raises(ValueError):
        common(*pair)


def test_axes_that_vary_are_named_by_how() -> None:
    names = {7: "heads"}
    assert axis_name(7, 7, names, "seq_len") == "heads"
    assert axis_name(5, 5, names, "seq_len") == "5"
    assert axis_name(*LENGTHS, names, "seq_len") == "seq_len"
    assert axis_name(*SEQUENCES, names, "seq_len") == "batch_size"
    assert axis_name(*grown(1, 1), names, "n_keys") == "n_keys …"
