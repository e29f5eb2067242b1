r"""The bytes of a model are those of what is saved."""

import json
import sys
from unittest.mock import Mock

import pytest
import torch
from torch import nn

from labml_nn.quantisation import quantisation_experiment as page
from labml_nn.quantisation.groups import to_four_bits
from labml_nn.quantisation.quantisation_experiment import n_bytes
from tests.literate.projects import ROOT


def test_weights_whole_numbers_and_scales_are_counted() -> None:
    model = nn.Sequential(nn.Embedding(3, 64), nn.Linear(64, 11))
    assert n_bytes(model) == 4 * (3 * 64 + 64 * 11 + 11)
    to_four_bits(model)
    assert n_bytes(model) == 4 * 3 * 64 + 64 * 11 // 2 + 2 * 2 * 11 + 4 * 11


def test_buffers_that_are_not_saved_are_not_counted() -> None:
    model = nn.Linear(3, 5)
    model.register_buffer("mask", torch.ones(7), persistent=False)
    assert n_bytes(model) == page.example()[0] == 80


def test_the_curve_of_an_evaluation_that_was_stopped_is_as_long_as_it_got(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plt = Mock()
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", plt)
    monkeypatch.setitem(sys.modules, "matplotlib", Mock(pyplot=plt))
    text = (ROOT / "notebooks/quantisation/quantisation_experiment.ipynb").read_text("utf-8")
    cells = ["".join(one["source"]) for one in json.loads(text)["cells"]]
    (draws,) = (one for one in cells if "plt.plot(bits" in one)
    exec(draws, {"bits": (8, 4, 3, 2), "losses": {"rows": [1.0, 2.0, 3.0, 4.0], "GPTQ": [1.0]}})
    assert [[*map(len, one.args)] for one in plt.plot.call_args_list] == [[4, 4], [1, 1]]
