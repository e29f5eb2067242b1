r"""What a text needs is there, and what isn't there fails when it is called."""

import inspect
import math

import pytest
import torch
from torch import Tensor, nn

from wrongline.configurations import Config
from wrongline.pasted import run_pasted
from wrongline.run_pasted import Missing, run_text


def test_what_most_texts_import_is_there_and_errors_know_the_lines() -> None:
    names = run_text("seen = torch, nn, F, math, Tensor\n\ndef f():\n    return 3\n")
    assert names["seen"] == (torch, nn, nn.functional, math, Tensor)
    assert inspect.getsourcelines(names["f"]) == (["def f():\n", "    return 3\n"], 3)
    names = run_text("import math as m, torch.nn\nfrom torch.nn import Linear as L, functional")
    assert (names["m"], names["L"]) == (math, nn.Linear)
    assert (names["torch"], names["functional"]) == (torch, nn.functional)


def test_no_flags_of_the_page_hold_for_the_text() -> None:
    # Annotations are evaluated, as they are in a file of one's own.
    assert run_text("def f(x: Tensor): pass")["f"].__annotations__ == {"x": Tensor}


@pytest.mark.parametrize(
    ("line", "call", "name"),
    [
        ("import nowhere", "nowhere()", "nowhere"),
        ("import nowhere as n", "n.linalg.norm(1)", "nowhere.linalg.norm"),
        ("import nowhere.within", "nowhere.other()", "nowhere.within.other"),
        ("from nowhere import cut", "cut(1, to=2)", "nowhere.cut"),
        ("from torch.nowhere import cut as c", "c()", "torch.nowhere.cut"),
        ("from .nowhere import cut", "cut()", "nowhere.cut"),
        ("from . import cut", "cut()", "cut"),
        ("from torch.nn import Linear, nowhere", "nowhere(Linear)", "torch.nn.nowhere"),
        ("import math as m, nowhere", "nowhere(m.pi)", "nowhere"),
    ],
)
def test_what_can_not_be_imported_fails_when_it_is_called(line: str, call: str, name: str) -> None:
    run_text(f"{line}\nclass A(nn.Module):\n    pass\n")
    with pytest.raises(ImportError, match=f"^{name.replace('.', '[.]')} is not here") as caught:
        run_text(f"x = 1\n{line}\ny = {call}")
    # Lines are where they were.
    assert caught.traceback[-2].lineno == 2


def test_an_import_with_another_way_out_takes_it() -> None:
    text = "try:\n    import nowhere\nexcept ImportError:\n    nowhere = 3\n"
    assert run_text(text)["nowhere"] == 3


def test_python_finds_none_of_its_own_names_in_what_is_missing() -> None:
    with pytest.raises(AttributeError, match="__wrapped__"):
        _ = Missing("nowhere").__wrapped__


SIBLING = """
from __future__ import annotations
import lightning as pl
from .config import ModelConfig
from .layers import ColumnParallelLinear, say, checked
from dataclasses import dataclass

@dataclass
class Sizes:
    width: Unknown = 4

@checked
class Model(pl.LightningModule):
    def __init__(self, config: ModelConfig):
        super().__init__(config)
        say("made")
        self.layer = ColumnParallelLinear(config.width, 3, bias=False, gather_output=False)

    def forward(self, x: Float[Tensor, "b d"]):
        return self.layer(x.cuda()) + torch.zeros(3, device="cuda")
"""


def test_bases_configurations_decorators_and_what_is_said_may_be_missing() -> None:
    names, left_out = run_pasted(SIBLING, {})
    assert left_out == {}
    model = names["Model"](Config(width=names["Sizes"]().width))
    assert model(torch.zeros(2, 4)).shape == (2, 3)
    # What gives a value is needed.
    text = SIBLING.replace('say("made")', 'self.said = say("made")')
    names, _ = run_pasted(text, {})
    with pytest.raises(ImportError, match="layers.say is not here: paste its code above"):
        names["Model"](Config(width=4))


def test_an_import_of_what_stands_above_is_left_out_unless_it_is_of_a_library() -> None:
    text = "class Rotary:\n    pass\n\ndef sqrt(x):\n    return 0\n\n"
    text += "from labml_nn.transformers.rotary import Rotary\nfrom math import sqrt\n"
    names, _ = run_pasted(text, {})
    assert names["Rotary"].__module__ == "pasted"
    assert names["sqrt"](4) == 2
    # Above it, an import is replaced as in any file.
    names, _ = run_pasted("from math import sqrt\n" + text.partition("from")[0], {})
    assert names["sqrt"](4) == 0


FILES = """
class Linear(nn.Linear):
    pass

from layers import Linear as Mine, missing
from names import *
import layers as own
import fancy_einsum
from transformers.modeling_outputs import CausalLMOutputWithPast
from transformers.activations import ACT2FN

class Model(nn.Module):
    def __init__(self, config: Unknown):
        super().__init__()
        self.layer, self.other = Mine(3, 3), own.Linear(3, 3)

    def forward(self, x: Int[Tensor, "b n d"] | None) -> Unknown | None:
        y = fancy_einsum.einsum("batch place wide, batch other wide -> batch place other", x, x)
        return CausalLMOutputWithPast(loss=y, logits=ACT2FN["silu"](self.other(self.layer(x))))
"""


def test_files_one_below_the_other_find_each_other_and_no_type_is_needed() -> None:
    for one in ("transformers.modeling_outputs", "transformers.activations"):
        assert one in FILES
    text = FILES.replace("from transformers.", "from transformers_that_is_not_here.")
    names, left_out = run_pasted(text, {})
    assert left_out == {}
    model = names["Model"](None)
    assert type(model.layer) is type(model.other) is names["Linear"]
    x = torch.randn(2, 5, 3)
    result = model(x)
    assert result.loss.equal(x @ x.mT)
    torch.testing.assert_close(result.logits, nn.functional.silu(model.other(model.layer(x))))
