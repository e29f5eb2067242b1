r"""The programs of the course: each runs alone, and each has the model of its lesson."""

import math
import os
import re
import subprocess
import sys
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from labml_nn.course.one_attention import MeanOfThePast, OneAttention
from labml_nn.course.steps import ThenNetwork
from labml_nn.training.counting import BackOff, count_pairs
from labml_nn.training.data import prepare, tiny_shakespeare
from labml_nn.training.loop import learning_rate
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from labml_nn.transformers.mha import MultiHeadAttention
from labml_nn.transformers.positional_encoding import PositionalEncoding
from labml_nn.transformers.rotary import RotaryPositions, inverse_frequencies
from labml_nn.transformers.swiglu import SwiGLU
from literate.page.programs import changed, difference

STEPS = range(1, 13)
# Long enough that counting pairs is better than guessing; a program trains on it for few steps.
LENGTH, TRAINED, SEQ_LEN = 30_000, 12, 64

# All of them in one process, as scripts, where only torch is: importing it takes longer than a run.
RUN = """
import contextlib, io, sys, torch
torch.set_num_threads(1)
sys.modules["labml_nn"] = sys.modules["literate"] = None
folder, text, steps, out = sys.argv[1:]
results = {}
for number in range(1, 13):
    sys.argv[1:] = [text, steps]
    path = f"{folder}/step_{number:02}.py"
    names, printed = {"__name__": "__main__", "__file__": path}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(open(path, encoding="utf-8").read(), path, "exec", dont_inherit=True), names)
    results[number] = printed.getvalue()
torch.save(results, out)
"""


def path_of(number: int, repository: Path) -> Path:
    return repository / f"docs/course/step_{number:02}.py"


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    r"""The file with the beginning of the plays."""
    file = tmp_path_factory.mktemp("text") / "short.txt"
    file.write_text(tiny_shakespeare()[:LENGTH], encoding="utf-8")
    return file


@cache
def run(number: int, text: Path, repository: Path) -> dict[str, Any]:
    r"""The names of a program after it has run in this process, without training."""
    path, names = path_of(number, repository), {"__name__": "__main__"}
    before, sys.argv = sys.argv, [str(path), str(text), "0"]
    try:
        exec(compile(path.read_text("utf-8"), path, "exec", dont_inherit=True), names)
    finally:
        sys.argv = before
    return names


@pytest.mark.parametrize("number", range(1, 13))
def test_without_a_text_a_program_says_how_it_is_called(
    number: int, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = path_of(number, repository)
    monkeypatch.setattr(sys, "argv", [str(path), "text.txt"])
    with pytest.raises(SystemExit, match=r"python step_NN\.py tiny_shakespeare\.txt NUMBER"):
        exec(compile(path.read_text("utf-8"), path, "exec", dont_inherit=True), {})


def loss_of(printed: str) -> float:
    return float(re.fullmatch(r"validation loss: (\d\.\d{3})", printed.split("\n")[0])[1])


def test_each_program_runs_alone_and_predicts_better_than_guessing(
    repository: Path, text: Path, tmp_path: Path
) -> None:
    out = tmp_path / "results.pt"
    command = [sys.executable, "-I", "-W", "error", "-c", RUN, str(repository / "docs/course")]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    child = subprocess.run(
        [*command, str(text), str(TRAINED), str(out)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment,
    )
    assert child.returncode == 0, child.stderr
    losses = {number: loss_of(printed) for number, printed in torch.load(out).items()}
    n_vocab = len(prepare(tiny_shakespeare()[:LENGTH], SEQ_LEN)[0])
    assert losses.pop(1) == pytest.approx(math.log(n_vocab), abs=1e-3)
    assert sorted(losses) == [*STEPS][1:]
    assert max(losses.values()) < math.log(n_vocab) - 0.2


@pytest.mark.parametrize("number", [10, 11, 12])
def test_a_schedule_has_a_rate_after_a_single_step(
    number: int, text: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = run(number, text, repository)
    monkeypatch.setitem(names, "STEPS", 1)
    assert [names["share"](step) for step in range(2)] == [1, 1]


def test_a_step_changes_at_most_40_lines(repository: Path) -> None:
    texts = [path_of(number, repository).read_text("utf-8") for number in STEPS]
    sizes = [sum(changed(difference(*pair))) for pair in zip(texts, texts[1:], strict=False)]
    assert {number: size for number, size in zip(STEPS[1:], sizes, strict=True) if size > 40} == {}
    # None is the same program again.
    assert min(sizes) > 3


def test_counting_gives_what_the_lesson_gives(repository: Path, text: Path) -> None:
    tokenizer, training, validation = prepare(text.read_text("utf-8"), SEQ_LEN)
    pairs = run(2, text, repository)
    assert_close(pairs["training"], training)
    expected = count_pairs(training, len(tokenizer))
    tokens = validation[:7, None]
    assert_close(pairs["model"](tokens), expected[tokens].log())


def test_the_side_road_counts_as_the_lesson_does(repository: Path, text: Path) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    path = repository / "docs/course/longer_contexts.py"
    before, sys.argv = sys.argv, [str(path), str(text)]
    try:
        exec(compile(path.read_text("utf-8"), path, "exec", dont_inherit=True), names)
    finally:
        sys.argv = before
    tokenizer, training, validation = prepare(text.read_text("utf-8"), SEQ_LEN)
    tokens = validation[:7, None]
    counted = BackOff(tokenizer.decode(training), 4, tokenizer.symbols)
    found = names["model"](tokens).exp()
    window = tokenizer.decode(validation[:7])
    for place in range(7):
        context = window[max(0, place - 3) : place + 1]
        p = [counted.probability(letter, context) for letter in tokenizer.symbols]
        assert_close(found[place, 0], torch.tensor(p), atol=1e-5, rtol=0)


def same_weights(program: nn.Module, lesson: nn.Module) -> None:
    r"""Gives a lesson's model the weights of a program, which has them in the same order."""
    theirs, ours = list(program.parameters()), list(lesson.parameters())
    assert [one.shape for one in theirs] == [one.shape for one in ours]
    with torch.no_grad():
        for one, other in zip(theirs, ours, strict=True):
            other.copy_(one)


def logits(model: nn.Module, n_vocab: int) -> Tensor:
    tokens = torch.randint(n_vocab, (11, 3), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        return model.eval()(tokens)


@pytest.mark.parametrize("number", [4, 5, 6, 7, 8])
def test_what_looks_back_once_is_that_of_the_lesson(
    number: int, repository: Path, text: Path
) -> None:
    names = run(number, text, repository)
    n_vocab = names["n_vocab"]
    heads = MultiHeadAttention(1 if number < 7 else 4, 128, 0.0)
    look_back = {4: MeanOfThePast(), 8: ThenNetwork(heads, 128)}.get(number, heads)
    positions = PositionalEncoding(128, 0.0, SEQ_LEN) if number >= 6 else nn.Identity()
    lesson = OneAttention(n_vocab, 128, positions, look_back)
    same_weights(names["model"], lesson)
    assert_close(logits(names["model"], n_vocab), logits(lesson, n_vocab), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("number", [9, 10, 11])
def test_the_stack_of_layers_is_that_of_the_lesson(
    number: int, repository: Path, text: Path
) -> None:
    names = run(number, text, repository)
    n_vocab = names["n_vocab"]
    lesson = AutoregressiveTransformer(n_vocab)
    same_weights(names["model"], lesson)
    assert_close(logits(names["model"], n_vocab), logits(lesson, n_vocab), atol=1e-4, rtol=1e-4)


def test_the_rate_is_that_of_the_lesson(repository: Path, text: Path) -> None:
    names = run(10, text, repository)
    names["STEPS"] = 40
    expected = [learning_rate(step, 40) for step in range(40)]
    assert [names["share"](step) for step in range(40)] == pytest.approx(expected)


@pytest.mark.parametrize("number", [11, 12])
def test_with_a_cache_a_model_predicts_as_without(
    number: int, repository: Path, text: Path
) -> None:
    names = run(number, text, repository)
    model, tokens = deepcopy(names["model"]), names["validation"][:13, None]
    with torch.no_grad():
        whole = model(tokens)
        empty = torch.zeros(0, 1, 4, 32)
        for layer in model.layers:
            layer.attention.cache = empty, empty
        pieces = [model(tokens[:5]), *(model(tokens[at : at + 1]) for at in range(5, 13))]
    assert_close(torch.cat(pieces), whole, atol=1e-4, rtol=1e-4)


def test_no_model_sees_a_later_letter(repository: Path, text: Path) -> None:
    # The table of step 3 has zeros before it is trained.
    for number in (2, *range(4, 13)):
        names = run(number, text, repository)
        tokens = names["validation"][:9, None].clone()
        with torch.no_grad():
            before = names["model"](tokens)
            tokens[-1] = (tokens[-1] + 1) % names["n_vocab"]
            after = names["model"](tokens)
        assert torch.equal(before[:-1], after[:-1]), number
        assert not torch.equal(before[-1], after[-1]), number


def test_modern_parts_are_those_of_the_lessons(repository: Path, text: Path) -> None:
    names = run(12, text, repository)
    x = torch.randn(7, 3, 4, 32, generator=torch.Generator().manual_seed(1))
    rotary = RotaryPositions(inverse_frequencies(32), 20)
    assert_close(names["rotate"](x, 5), rotary(x, 5), atol=1e-5, rtol=1e-5)

    # Without attention, what is left of a layer is the gated network.
    layer = deepcopy(names["model"].layers[0])
    nn.init.zeros_(layer.attention.output.weight)
    nn.init.zeros_(layer.attention.output.bias)
    for linear in (layer.gate_and_value, layer.output):
        nn.init.zeros_(linear.bias)
    gated = SwiGLU(128, 336)
    gate, value = layer.gate_and_value.weight.chunk(2)
    with torch.no_grad():
        gated.gate.weight.copy_(gate)
        gated.value.weight.copy_(value)
        gated.output.weight.copy_(layer.output.weight)
        x = x.flatten(2)
        assert_close(layer(x) - x, gated(layer.norm_network(x)), atol=1e-5, rtol=1e-5)
