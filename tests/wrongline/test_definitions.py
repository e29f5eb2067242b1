import linecache
from pathlib import Path
from typing import Any

import pytest

from wrongline.command import main
from wrongline.definitions import example, run_definitions, trains
from wrongline.loading import load
from wrongline.pasted import run_pasted

SCRIPT = """
from dataclasses import dataclass
try:
    import no_such_speedup
except ImportError:
    no_such_speedup = None
import no_such_library
from torch import nn

width, depth = 4 * 2, len("ab")
rate = float("0.1")
steps = count_all()
needs = steps + 1

@dataclass
class Config:
    width: int = width

class Model(nn.Linear):
    def __init__(self, config: Config):
        super().__init__(config.width, config.width)

class Odd(steps):
    pass

raise SystemExit("it trains")
model = Model(Config())
if __name__ == "__main__":
    inside = 1
"""


def test_definitions_are_run_and_nothing_else() -> None:
    names: dict[str, Any] = {"__name__": "train"}
    left_out = run_definitions(SCRIPT, "train.py", names)
    assert (names["width"], names["depth"], names["rate"]) == (8, 2, 0.1)
    assert names["no_such_speedup"] is None
    assert names["Model"](names["Config"]()).in_features == 8
    part = "it stands in a part that isn't run"
    assert left_out["steps"] == left_out["model"] == left_out["inside"] == part
    assert left_out["needs"] == "line 13: NameError: name 'steps' is not defined"
    assert left_out["Odd"].startswith("line 23: ")
    assert not left_out.keys() & names.keys()


def test_the_command_finds_the_class_and_says_why_it_can_not(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    # As a whole it can't be imported.
    with pytest.raises(ModuleNotFoundError, match="no_such_library"):
        load(f"{path}:Model")
    kind = load(f"{path}:Model", definitions=True)
    # Its lines are those of the file.
    code = kind.__init__.__code__
    assert "def __init__" in linecache.getline(code.co_filename, code.co_firstlineno)
    with pytest.raises(ValueError, match="model isn't a definition of .*: it stands in a part"):
        load(f"{path}:model", definitions=True)


def test_the_example_trains_nothing() -> None:
    defined, left_out = example()
    assert {"n_layers", "Model", "plot"} <= set(defined)
    assert list(left_out) == ["model"]


TRAINS = """
import torch
from torch import nn

block_size = 8
chars = sorted(set(open("no_such_text.txt").read()))
vocab_size = len(chars)
k = len(chars)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(vocab_size, vocab_size)

    def forward(self, tokens):
        return self.table(tokens)

model = Model()
for step in range(10**9):
    loss = model(batch()).logsumexp(-1).mean()
    loss.backward()
"""


def test_of_a_script_that_trains_only_definitions_are_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "lecture.py"
    path.write_text(TRAINS)
    assert main([f"{path}:Model"]) == 0
    said = capsys.readouterr().out
    # A letter says too little to be guessed.
    assert said.startswith("only the definitions of lecture.py are run; vocab_size=19\nModel()\n")
    assert "- right: model_prefix" in said


@pytest.mark.parametrize(
    ("text", "does"),
    [
        ("loss.backward()", True),
        ("with scaled:\n    for x in y:\n        scaler.scale(loss(x)).backward()", True),
        ("def step():\n    loss.backward()", False),
        ("class Trainer:\n    def fit(self):\n        loss.backward()", False),
        ("if __name__ == '__main__':\n    loss.backward()", False),
        ("backward(loss)", False),
    ],
)
def test_a_script_trains_where_its_outermost_level_goes_backward(text: str, does: bool) -> None:
    assert trains(text) == does


PASTED = """
B, T = 4, 2 * 4
mask = torch.tril(torch.ones(T, T))
n_embd = 384
width = n_embd // 2

class Model(nn.Linear):
    pass

def train():
    raise SystemExit

model = Model(3, 3)
log = train()
for step in range(3):
    later = 3
if torch.cuda.is_available():
    place = "there"
else:
    place = "here"
if __name__ == "__main__":
    n_segments = 2
    train()
"""


def test_of_a_pasted_text_values_are_computed_and_no_model_is_made() -> None:
    names, left_out = run_pasted(PASTED, {"n_embd": 24})
    # What is said of a size holds for what is computed from it.
    assert (names["n_embd"], names["width"]) == (24, 12)
    assert names["mask"].shape == (8, 8)
    assert (names["place"], names["n_segments"]) == ("here", 2)
    assert {*left_out} == {"model", "log", "step", "later"}
