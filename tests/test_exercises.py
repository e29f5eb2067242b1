r"""Every exercise can be solved, does no harm unsolved, and its wrong lines are told by name."""

import json
import linecache
import os
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import nbformat
import pytest

from labml_nn.transformers import mistakes
from literate.reading.source import read
from literate.settings import load
from literate.takeaway import assembly
from literate.takeaway.exercises import Exercise, exercises, located, to_assemble, told
from page_runner.edit.running import Program

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = load(ROOT)
EXERCISES = (ROOT / "labml_nn/exercises.toml").read_text(encoding="utf-8")
HOLES = [
    (path, number)
    for path in tomllib.loads(EXERCISES)
    for number in range(len(exercises(SETTINGS, path)))
]
RIGHT = "Right: the same results as the lesson's, wherever one can look.\n"
UNSOLVED = "Nothing to judge yet: write your line in the cell above, and run both cells.\n"
STILL = "Not yet. The bug is still there.\n"

# The cells that were executed, as `linecache` keeps them. The page's own editor empties that.
CELLS: dict[str, tuple[int, None, list[str], str]] = {}


def execute(code: str, names: dict[str, object]) -> None:
    r"""Execute a cell as a kernel does, which knows the source of every function."""
    file = f"<cell {hash(code)}>"
    CELLS[file] = (len(code), None, code.splitlines(keepends=True), file)
    linecache.cache.update(CELLS)
    exec(compile(code, file, "exec", dont_inherit=True), names)


@cache
def cells(path: str) -> tuple[list[str], dict[str, object]]:
    r"""The cells of a page's exercises, and the names that those before them have left behind."""
    file = ROOT / "notebooks" / Path(path).relative_to("labml_nn").with_suffix(".ipynb")
    code = [one.source for one in nbformat.read(file, as_version=4).cells if "outputs" in one]
    first = next(at for at, one in enumerate(code) if re.search(r"^# `.*`, with a (hole|bug)", one))
    names: dict[str, object] = {}
    for one in code[:first]:
        execute(one, names)
    return code[first:], names


@cache
def exercise(path: str, number: int) -> Exercise:
    r"""An exercise with its lines, as the build finds them on the page."""
    return located((ROOT / path).read_text("utf-8"), exercises(SETTINGS, path)[number], path)


def judged(path: str, number: int, line: str, capsys: pytest.CaptureFixture[str]) -> str:
    r"""What the notebook of a page says about a line in the place of the one that is asked for."""
    code, names = cells(path)
    hole, judge = code[2 * number : 2 * number + 2]
    asked = exercise(path, number).asked
    assert hole.count(asked) == 1
    here = dict(names)
    execute(hole.replace(asked, line or asked), here)
    capsys.readouterr()
    execute(judge, here)
    return capsys.readouterr().out


@pytest.mark.parametrize(("path", "number"), HOLES)
def test_the_page_s_own_line_is_right_and_each_wrong_line_is_named(
    path: str, number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    one = exercise(path, number)
    names = [*one.wrong]
    bug = [names.pop(0)] if one.is_bug else []
    assert judged(path, number, "", capsys) == (STILL if bug else UNSOLVED)
    assert judged(path, number, one.right, capsys) == RIGHT
    said = {name: judged(path, number, one.wrong[name], capsys) for name in names}
    assert said == {name: f"Not yet. This is a known mistake: {name}.\n" for name in said}
    # Nothing is left of them.
    assert judged(path, number, one.right, capsys) == RIGHT


# Other right lines, some of which leave a result in another order of memory. With dropout on, each
# order would lose other elements.
SPELLINGS = [
    ("transformers/mha", 1, "attn = (scores - scores.logsumexp(dim=1, keepdim=True)).exp()"),
    ("transformers/mha", 1, "attn = scores.exp() / scores.exp().sum(1, keepdim=True)"),
    ("transformers/mha", 1, "attn = scores.permute(2, 3, 0, 1).softmax(-1).permute(2, 3, 0, 1)"),
    ("transformers/mha", 0, "scores = torch.einsum('ibhd,jbhd->ijbh', query, key) / self.d_k**0.5"),
    ("transformers/mha", 4, "return self.output(x.reshape(x.shape[0], x.shape[1], -1))"),
    (
        "transformers/feed_forward",
        0,
        "hidden = self.activation(F.linear(x, self.layer1.weight, self.layer1.bias))",
    ),
    (
        "transformers/positional_encoding",
        0,
        "return self.dropout(self.encodings[: x.shape[0]] + x)",
    ),
    ("transformers/models", 0, "x = self.dropout(z.mT.contiguous().mT) + x"),
    ("transformers/swiglu", 0, "hidden = self.value(x) * self.gate(x).sigmoid() * self.gate(x)"),
    (
        "transformers/rms_norm",
        0,
        "mean_square = torch.linalg.vector_norm(wide, dim=-1, keepdim=True) ** 2 / wide.shape[-1]",
    ),
    ("transformers/rms_norm", 1, "normalised = wide / (mean_square + eps).sqrt()"),
    ("transformers/rotary", 2, "a, b = x.unflatten(-1, (2, x.shape[-1] // 2)).unbind(-2)"),
    ("transformers/kv_cache", 0, "mask = self.mask[: len(tokens), : len(tokens)][n_read:]"),
    ("reinforcement/grpo", 0, "advantages = rewards - rewards.sum(1)[:, None] / rewards.shape[1]"),
    (
        "fine_tuning/lora",
        0,
        "return F.linear(x, self.base.weight, self.base.bias) + (few * self.scale) @ self.b.T",
    ),
    (
        "transformers/memory/sliding_window",
        0,
        "visible = torch.logical_and(visible, j > i - window)",
    ),
    ("inference/speculative", 0, "left = F.relu(p[i] - q[i])"),
    ("state_spaces/mamba", 0, "state = torch.addcmul(added, kept, state)"),
    (
        "fine_tuning/preferences",
        0,
        "margin = beta * (chosen - rejected - reference_chosen + reference_rejected)",
    ),
    (
        "transformers/ways/one_head_at_a_time",
        3,
        "answers = torch.stack([head(x) for head in self.heads], -2).flatten(-2)",
    ),
    ("translation/encoder_decoder", 0, "visible = source.ne(self.pad)[None]"),
]
# The same numbers where nothing is dropped, and others where something is.
OTHER_DROPOUT = [
    ("transformers/models", 0, "x = x + z"),
    ("transformers/models", 0, "x = x + 0.5 * self.dropout(2 * z)"),
]


@pytest.mark.parametrize(("page", "number", "line"), [*SPELLINGS, *OTHER_DROPOUT])
def test_another_right_line_is_right_unless_it_drops_something_else(
    page: str, number: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = judged(f"labml_nn/{page}.py", number, line, capsys)
    assert (said == RIGHT) == ((page, number, line) in SPELLINGS), said


@pytest.fixture
def program() -> Iterator[Program]:
    r"""What judges in the reader's browser, here with PyTorch."""
    before = {name: one for name, one in sys.modules.items() if name.startswith("labml_nn")}
    program = Program(str(ROOT), ["labml_nn"], print, print)
    yield program
    sys.meta_path.remove(program.sources)
    for name in [one for one in sys.modules if one.startswith("labml_nn")]:
        del sys.modules[name]
    sys.modules.update(before)


SAMPLE = ["labml_nn/transformers/mha.py", "labml_nn/transformers/rms_norm.py"]


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[] if path in SAMPLE else [pytest.mark.whole])
        for path in SETTINGS.lessons["practised"]
    ],
)
def test_the_page_judges_as_its_notebook_does(path: str, program: Program) -> None:
    source = read(ROOT / path, path)
    for asked in told(SETTINGS, source):

        def said(text: str, one: dict[str, object] = asked) -> str:
            answer = program.judge(path, json.dumps({path: text}), json.dumps(one))
            return json.loads(answer)["said"] + "\n"

        assert said(source.text) == RIGHT
        names = [*asked["wrong"]]
        if asked["kind"] == "mend":
            assert asked["text"] == asked["wrong"][names[0]]
            assert said(asked["wrong"][names.pop(0)]) == STILL
        assert [said(asked["wrong"][name]) for name in names] == [
            f"Not yet. This is a known mistake: {name}.\n" for name in names
        ]


ASSEMBLED = [path for path in tomllib.loads(EXERCISES) if to_assemble(SETTINGS, path)]


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[] if path in SAMPLE else [pytest.mark.whole]) for path in ASSEMBLED],
)
def test_lines_in_order_are_right_and_a_wrong_one_among_them_is_named(
    path: str, program: Program
) -> None:
    source = read(ROOT / path, path)
    for asked, one in zip(
        assembly.told(SETTINGS, source), assembly.assemblies(SETTINGS, source), strict=True
    ):

        def said(pieces: list[str], asked: dict[str, Any] = asked) -> str:
            text = "\n".join([*asked["before"], *pieces, *asked["after"]]) + "\n"
            answer = program.judge(path, json.dumps({path: text}), json.dumps(asked))
            return json.loads(answer)["said"] + "\n"

        assert said([*one.pieces]) == RIGHT
        shown = {line["wrong"]: line["text"] for line in asked["lines"] if line["wrong"]}
        assert shown and len(asked["lines"]) == len(one.pieces) + len(shown)
        for name in one.wrong:
            assert said(one.with_mistake(name)) == f"Not yet. This is a known mistake: {name}.\n"
        # The notes don't give the order away.
        assert not [line for line in asked["lines"] if "#" in line["text"]]


def test_the_pages_of_the_course_have_lines_to_assemble() -> None:
    course = (ROOT / "labml_nn/course/__init__.py").read_text("utf-8")
    steps = re.findall(r"\* \[ \] \*\*\d+\. \[[^]]*\]\(([^)#]*)", course)
    pages = {os.path.normpath(os.path.join("labml_nn/course", step)) for step in steps}
    assert len(pages) == 12
    assert pages == set(ASSEMBLED)


def test_what_the_museum_is_said_to_have_is_there() -> None:
    modules = [f"{mistakes.__name__}.{one.name}" for one in iter_modules(mistakes.__path__)]
    exhibits = {name for module in modules for name in vars(import_module(module))}
    named = set(re.findall(r"in the museum: (\w+)", EXERCISES))
    assert len(named) > 10
    assert named <= exhibits
