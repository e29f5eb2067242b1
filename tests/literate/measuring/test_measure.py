r"""Measuring, from a source to its measurement, in a real child process.

Starting it costs seconds, so most tests look at one measurement of many small pages. What they
expect is written by hand.
"""

import json
import os
import socket
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from literate.measuring.measure import TOOLS, Measurement, Tensor, measure
from literate.measuring.store import Store
from literate.problems import LiterateError
from literate.reading.source import Source, read

ROOT = Path(__file__).resolve().parents[3]

PAGES = {
    "package/attention.py": """\
        import torch
        from torch import nn

        TABLE = torch.zeros(4, 3)


        class Attention(nn.Module):
            def __init__(self, heads, d_model):
                super().__init__()
                self.register_buffer("scale", torch.ones(heads))
                self.bias = nn.Parameter(torch.zeros(d_model))
                self.heads, self.attn = heads, None

            def forward(self, *, query, key, mask=None):
                query, key = (
                    self.split(x)
                    for x in (query, key)
                )
                scores = torch.einsum("ibhd,jbhd->ijbh", query, key)
                if mask is not None:
                    scores = scores.masked_fill(mask.unsqueeze(-1), -1)
                self.attn = attn = scores.softmax(dim=1)
                return attn * self.scale

            @torch.no_grad()
            def split(self, x):
                return x.unflatten(-1, (self.heads, -1))


        def example(seq_len=7, batch_size=3, *, heads=5, d_k=2):
            d_model = heads * d_k
            attention = Attention(heads, d_model)
            x = torch.randn(seq_len, batch_size, d_model)
            attention(query=x, key=x)
            mask = torch.ones(seq_len, seq_len, 1, dtype=torch.bool)
            return attention(query=x, key=x, mask=mask)
        """,
    "package/names.py": """\
        import torch


        def example(n=5, m=3, k=2):
            p = n * m
            two = 2
            a = torch.ones(n * k, p), torch.ones(n + m, 2 * n - 1, n // 2, two)
            b = torch.ones(m, 0, 3)
            c = torch.ones(n * n + 1)
            _hidden = n - 3
            d = torch.ones(n - 3, m * m * k)
            nothing, flag = 0, True
            if n == 5:
                in_the_first_run_only = 7
        """,
    "package/loops.py": """\
        import torch


        def grow(x):
            for step in range(len(x)):
                x = torch.cat([x, x[:1]])
            return x


        def example(n=7, m=3):
            for x in (torch.ones(n), torch.ones(m), torch.ones(n)):
                y = x.double()
            for step in range(n):
                z = torch.full((m,), float(step))
            for w in (torch.ones(2, m), torch.ones(6 // m, m), torch.ones(1, m)):
                v = w
            grow(torch.ones(n, m))
            pieces = torch.ones(n).split(1)
        """,
    "package/numbers.py": """\
        import random

        import torch


        def example(n=3):
            a = torch.arange(n + 1.0)
            b = torch.tensor([1 / 3, -2 / 3])
            c = torch.tensor([1.0, float("nan")])
            d = torch.zeros(0)
            e = torch.tensor([True, False])
            f = torch.tensor([1j])
            g = torch.tensor([-12345678, 12345678, 1])
            h = torch.arange(2, dtype=torch.bfloat16)
            i = torch.rand(n)
            j = torch.empty(1, device="meta")
            k = torch.empty(n)
            l = torch.full((1,), random.random())
        """,
    "package/containers.py": """\
        from dataclasses import dataclass
        from typing import NamedTuple

        import torch


        class Pair(NamedTuple):
            left: torch.Tensor
            right: int


        @dataclass
        class State:
            mean: torch.Tensor
            rest: tuple


        def both(x, *others, **named):
            return x, {"a": x[:1], 3: x[:2], None: x}


        def example(n=5, m=3):
            x, ones = torch.ones(n), [torch.ones(m)] * 20
            both(x, x[1:], last=x[2:])
            pair = Pair(x, 3)
            state = State(x, (x[1:], [x]))
            return [(x, x), pair]
        """,
    "package/unusual.py": """\
        import os
        import sys

        import torch


        class Mine(torch.Tensor):
            @classmethod
            def __torch_function__(cls, function, types, args=(), kwargs=None):
                result = super().__torch_function__(function, types, args, kwargs or {})
                return result


        def rows(x):
            for row in x:
                yield row


        def inside(x):
            y = x * 2
            return y


        print("{}")
        sys.stdout.write("no line")
        os.write(1, b"not this either\\n")


        def example(n=5, m=3):
            print("{}", file=sys.stderr)
            total = sum(rows(torch.ones(n, m)))
            mine = torch.ones(n).as_subclass(Mine) + 1
            many = torch.vmap(inside)(torch.ones(n, m))
            nested = torch.nested.nested_tensor([torch.ones(n), torch.ones(m)])
            try:
                failed = torch.ones(n) @ torch.ones(m)
            except RuntimeError:
                read = torch.ones(1 + len(sys.stdin.read()))
            return mine
        """,
    "package/imported.py": """\
        import torch


        def make(n):
            x = torch.ones(n)
            return x


        TABLE = make(4)


        def example(n=3):
            make(n)
        """,
    "package/machine.py": """\
        import os
        from pathlib import Path

        import torch
        from this import MINE


        def example(n=3):
            accelerators = torch.zeros(len(os.environ["CUDA_VISIBLE_DEVICES"]))
            here = torch.zeros(1 + Path("package/machine.py").exists())
            mine = torch.zeros(MINE)
            hashed = torch.tensor([float(hash("one") % 1000)])
        """,
    "package/selfish.py": """\
        import torch

        from package.shared import CALLS


        def example(n=3):
            CALLS.append(n)
            calls = torch.ones(len(CALLS))
            torch.set_default_dtype(torch.float64)
            torch.set_grad_enabled(False)
            torch.set_num_threads(2)
            torch.manual_seed(5)
            random = torch.rand(1)
            torch.set_default_device("meta")
        """,
    "package/shared.py": "CALLS = []\n",
    # Python has a module of this name, too.
    "this.py": "MINE = 5\n",
    "package/sub/__init__.py": """\
        import sys

        import torch

        from package.attention import Attention
        from package.shared import CALLS


        def example(n=3, m=2):
            calls = torch.ones(len(CALLS), n)
            defaults = torch.ones(torch.get_num_threads(), 2 + torch.is_grad_enabled())
            plain = torch.ones(1 + hasattr(sys.modules["package.attention"], "__literate__"))
            scale = Attention(n, m).scale
        """,
    "package/never.py": """\
        from pathlib import Path

        Path(__file__).with_suffix(".ran").write_text("")


        class Holder:
            def example(self):
                pass
        """,
}


def write(root: Path, pages: dict[str, str]) -> list[Source]:
    for path, text in pages.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(textwrap.dedent(text), encoding="utf-8")
    return [read(root / path, path) for path in pages]


def problems(root: Path, pages: dict[str, str], seconds: float = 60) -> list[str]:
    sources = write(root, pages)
    with pytest.raises(LiterateError) as caught:
        measure(sources, root, root / "store", seconds=seconds)
    return [str(problem) for problem in caught.value.problems]


def no_child(*_: object, **__: object) -> None:
    raise AssertionError("a process was started")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def reports() -> list[str]:
    return []


@pytest.fixture(scope="module")
def measured(root: Path, reports: list[str]) -> dict[str, Measurement]:
    sources = write(root, PAGES)
    # Two pages are there twice, at the end of it all.
    again = {f"package/{name}2.py": PAGES[f"package/{name}.py"] for name in ("numbers", "selfish")}
    sources += write(root, again)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        return measure(sources, root, root / "store", report=reports.append)


def seen(tensors: Iterable[Tensor]) -> list[str]:
    return [f"{one.name}: {', '.join(one.axes)}" for one in tensors]


def numbers(measurement: Measurement) -> dict[str, tuple[float | None, ...]]:
    tensors = (one for line in measurement.lines.values() for one in line)
    return {one.name: (one.low, one.mean, one.high) for one in tensors}


def test_each_line_has_its_tensors(measured: dict[str, Measurement]) -> None:
    lines = measured["package/attention.py"].lines
    assert list(lines) == sorted(lines)
    x = "seq_len, batch_size, d_model"
    heads = "seq_len, batch_size, heads, d_k"
    scores = "seq_len, seq_len, batch_size, heads"
    assert {line: seen(tensors) for line, tensors in lines.items()} == {
        4: ["TABLE: 4, 3"],
        10: ["self.scale: heads"],
        11: ["self.bias: d_model"],
        14: [f"query: {x}", f"key: {x}", "mask: seq_len, seq_len, 1"],
        15: [f"query: {heads}", f"key: {heads}"],
        19: [f"scores: {scores}"],
        21: [f"scores: {scores}"],
        22: [f"self.attn: {scores}", f"attn: {scores}"],
        23: [f"return: {scores}"],
        26: [f"x: {x}"],
        27: [f"return: {heads}"],
        33: [f"x: {x}"],
        35: ["mask: seq_len, seq_len, 1"],
        36: [f"return: {scores}"],
    }


def test_functions_have_arguments_and_results_and_classes_what_they_hold(
    measured: dict[str, Measurement],
) -> None:
    functions = measured["package/attention.py"].functions
    x = "seq_len, batch_size, d_model"
    scores = "seq_len, seq_len, batch_size, heads"
    assert {name: seen(tensors) for name, tensors in functions.items()} == {
        "Attention": ["self.scale: heads", "self.bias: d_model", f"self.attn: {scores}"],
        "Attention.split": [f"x: {x}", "return: seq_len, batch_size, heads, d_k"],
        "Attention.forward": [
            *(f"query: {x}", f"key: {x}", f"return: {scores}", "mask: seq_len, seq_len, 1")
        ],
        "example": [f"return: {scores}"],
    }


def test_sizes_are_those_of_all_runs(measured: dict[str, Measurement]) -> None:
    measurement = measured["package/attention.py"]
    axes = measurement.axes
    assert {name: sizes[0] for name, sizes in axes.items()} == {
        **{"seq_len": 7, "batch_size": 3, "heads": 5, "d_k": 2, "d_model": 10}
    }
    assert list(axes) == ["seq_len", "batch_size", "heads", "d_k", "d_model"]
    heads_and_features = zip(axes["heads"], axes["d_k"], strict=True)
    assert axes["d_model"] == tuple(heads * d_k for heads, d_k in heads_and_features)
    (x,) = measurement.lines[33]
    named = [axes[name] for name in ("seq_len", "batch_size", "d_model")]
    assert x.sizes == tuple(zip(*named, strict=True))
    assert len(x.sizes) == 4 and x.sizes[0] == (7, 3, 10)
    assert x.dtype == "float32"
    assert measurement.lines[35][0].dtype == "bool"


def test_axes_are_named_from_all_runs(measured: dict[str, Measurement]) -> None:
    measurement = measured["package/names.py"]
    assert list(measurement.axes) == ["n", "m", "k", "p", "two"]
    assert measurement.axes["two"] == (2,) * 4
    assert {line: seen(tensors) for line, tensors in measurement.lines.items()} == {
        7: ["a[0]: n*k, p", "a[1]: n+m, 2*n-1, n//2, 2"],
        8: ["b: m, 0, 3"],
        # Without a name they have the number of the first run.
        9: ["c: 26"],
        11: ["d: 2, m*m*k"],
    }


def test_a_coincidence_of_three_runs_is_no_name(tmp_path: Path) -> None:
    page = """\
        import torch


        def example(seq_len=11, batch_size=3, d_k=2):
            for tile in torch.ones(seq_len, batch_size).split(5):
                x = tile
        """
    (source,) = write(tmp_path, {"page.py": page})
    measurement = measure([source], tmp_path, tmp_path / "store")["page.py"]
    whole, last = measurement.lines[6]
    # In all runs but one, the last tile is as long as the difference of two axes.
    axes = measurement.axes
    differences = [b - d for b, d in zip(axes["batch_size"], axes["d_k"], strict=True)]
    assert [shape[0] for shape in last.sizes[:3]] == differences[:3]
    assert last.sizes[3][0] != differences[3]
    assert [whole.axes, last.axes] == [("5", "batch_size"), ("1", "batch_size")]


def test_passes_of_a_loop_are_told_once_for_each_shape(measured: dict[str, Measurement]) -> None:
    measurement = measured["package/loops.py"]
    assert {line: seen(tensors) for line, tensors in measurement.lines.items()} == {
        4: ["x: n, m"],
        # It has n shapes, of which the first and the last are there in both runs.
        6: ["x: n+1, m", "x: 2*n, m"],
        7: ["return: 2*n, m"],
        11: ["x: n", "x: m"],
        12: ["y: n", "y: m"],
        14: ["z: m"],
        # The second one looks like the first in the first run only.
        15: ["w: 2, m", "w: 2, m", "w: 1, m"],
        16: ["v: 2, m", "v: 2, m", "v: 1, m"],
        # The second run has more of them, and both have more than are looked at.
        18: [f"pieces[{index}]: 1" for index in range(7)],
    }


def test_numbers_are_those_of_the_first_run_with_four_digits(
    measured: dict[str, Measurement],
) -> None:
    found = numbers(measured["package/numbers.py"])
    nothing = (None, None, None)
    assert found.pop("l") == pytest.approx((0.8444,) * 3)
    assert found.pop("i") == pytest.approx((0.0885, 0.451, 0.7682), abs=1e-3)
    assert found == {
        **{"a": (0.0, 1.5, 3.0), "b": (-0.6667, -0.1667, 0.3333), "c": nothing, "d": nothing},
        **{"e": (0.0, 0.5, 1.0), "f": nothing, "g": (-12350000.0, 0.0, 12350000.0)},
        **{"h": (0.0, 0.5, 1.0), "j": nothing, "k": nothing},
    }
    types = {
        one.name: one.dtype
        for line in measured["package/numbers.py"].lines.values()
        for one in line
    }
    assert [types[name] for name in "aefgh"] == [
        "float32",
        "bool",
        "complex64",
        "int64",
        "bfloat16",
    ]


def test_random_numbers_depend_neither_on_the_place_nor_on_the_pages_before(
    measured: dict[str, Measurement],
) -> None:
    assert measured["package/numbers.py"] == measured["package/numbers2.py"]
    assert measured["package/selfish.py"] == measured["package/selfish2.py"]


def test_what_one_page_does_to_its_modules_and_to_torch_ends_with_it(
    measured: dict[str, Measurement],
) -> None:
    lines = measured["package/sub/__init__.py"].lines
    assert [seen(lines[10]), seen(lines[11])] == [["calls: 0, n"], ["defaults: 1, 3"]]
    assert (lines[11][0].dtype, lines[11][0].low) == ("float32", 1.0)


def test_what_a_page_imports_is_neither_changed_nor_recorded(
    measured: dict[str, Measurement],
) -> None:
    measurement = measured["package/sub/__init__.py"]
    assert seen(measurement.lines[12]) == ["plain: 1"]
    assert list(measurement.lines) == [10, 11, 12, 13]
    assert measurement.functions == {}


def test_what_runs_during_the_import_was_there_in_both_runs(
    measured: dict[str, Measurement],
) -> None:
    measurement = measured["package/imported.py"]
    assert {line: seen(tensors) for line, tensors in measurement.lines.items()} == {
        5: ["x: 4", "x: n"],
        6: ["return: 4", "return: n"],
        9: ["TABLE: 4"],
    }


def test_tensors_in_containers_have_the_names_that_reach_them(
    measured: dict[str, Measurement],
) -> None:
    measurement = measured["package/containers.py"]
    assert {line: seen(tensors) for line, tensors in measurement.lines.items()} == {
        18: ["x: n", "others[0]: n-1", "named['last']: n-2"],
        19: ["return[0]: n", "return[1]['a']: 1", "return[1][3]: 2"],
        23: ["x: n", *(f"ones[{index}]: m" for index in range(8))],
        25: ["pair.left: n"],
        26: ["state.mean: n", "state.rest[0]: n-1"],
        27: ["return[0][0]: n", "return[0][1]: n", "return[1].left: n"],
    }


def test_unusual_code_is_measured_like_any_other(measured: dict[str, Measurement]) -> None:
    measurement = measured["package/unusual.py"]
    assert {line: seen(tensors) for line, tensors in measurement.lines.items()} == {
        # What the recorder does with the tensor goes through this method too, unrecorded.
        9: ["args[0]: n"],
        10: ["result: n"],
        11: ["return: n"],
        14: ["x: n, m"],
        15: ["row: m"],
        16: ["yield: m"],
        19: ["x: m"],
        20: ["y: m"],
        21: ["return: m"],
        31: ["total: m"],
        32: ["mine: n"],
        33: ["many: n, m"],
        # What failed was not bound, and nothing could be read.
        38: ["read: 1"],
        39: ["return: n"],
    }
    assert numbers(measurement)["y"] == (None, None, None)


def test_the_machine_does_not_show(measured: dict[str, Measurement]) -> None:
    lines = measured["package/machine.py"].lines
    tensors = [one for line in lines.values() for one in line]
    assert {one.name: one.sizes[0] for one in tensors} == {
        **{"accelerators": (0,), "here": (2,), "mine": (5,), "hashed": (1,)}
    }
    command = [sys.executable, "-c", "print(hash('one') % 1000)"]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    expected = subprocess.run(command, env=environment, capture_output=True, check=True).stdout
    assert tensors[-1].mean == float(expected)


def test_a_page_without_an_example_never_runs(measured: dict[str, Measurement], root: Path) -> None:
    assert "package/never.py" not in measured
    assert "package/shared.py" not in measured
    assert list(root.rglob("*.ran")) == []


def test_nothing_is_written_but_the_store(measured: dict[str, Measurement], root: Path) -> None:
    written = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    modules = {path.removesuffix(".py").replace("/", ".") for path in measured}
    expected = {f"store/{module.removesuffix('.__init__')}.json" for module in modules}
    assert {path for path in written if not path.endswith(".py")} == expected


def test_every_page_that_ran_is_reported(
    measured: dict[str, Measurement], reports: list[str]
) -> None:
    told = [report.rpartition(", ")[0] for report in reports]
    assert told[0] == "measured package/attention.py: 18 tensors on 14 lines"
    assert len(told) == len(measured)
    assert all(report.endswith(" s") for report in reports)


def test_an_unchanged_page_is_not_run_again(
    measured: dict[str, Measurement], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "Popen", no_child)
    reports: list[str] = []
    sources = [read(root / path, path) for path in measured]
    assert measure(sources, root, root / "store", report=reports.append) == measured
    assert reports == []


def test_a_changed_page_is_run_again(
    measured: dict[str, Measurement], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "Popen", no_child)
    path = "package/names.py"
    text = (root / path).read_text(encoding="utf-8")
    (root / "package/changed.py").write_text(text + "\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="a process was started"):
        measure([read(root / "package/changed.py", path)], root, root / "store")


@pytest.mark.parametrize("kept", ["[]", '{"axes": 3}', '{"axes": {}, "lines": {"a": []}}'])
def test_a_store_that_makes_no_sense_is_not_believed(
    kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (source,) = write(tmp_path, {"page.py": "def example(): ...\n"})
    store = Store(tmp_path / "store", tmp_path, TOOLS)
    store.save("page", store.key("page", source.text), json.loads(kept))
    monkeypatch.setattr(subprocess, "Popen", no_child)
    with pytest.raises(AssertionError, match="a process was started"):
        measure([source], tmp_path, tmp_path / "store")


def test_errors_have_their_place_and_one_sentence(tmp_path: Path) -> None:
    pages = {
        "a_raises.py": """\
            def inner(x):
                y = x
                raise ValueError(f"{y} is too many")


            def example(n=3):
                return inner(
                    n
                )
            """,
        "b_second.py": """\
            def example(n=3, m=2):
                if n > 3:
                    raise ValueError("too\\nlong.")
            """,
        "c_import.py": "x = 1\nfrom no_such_module import y\ndef example(n=3): ...\n",
        # The tool has a module of this name, which is not for pages.
        "c_strange.py": "import instrument\ndef example(n=3): ...\n",
        "d_leaves.py": "import sys\ndef example(n=3):\n    sys.exit(2)\n",
        "e_nothing_said.py": "def example(n=3):\n    assert n == 4\n",
        "f_broken.py": "import f_syntax\ndef example(n=3): ...\n",
        "g_elsewhere.py": "import g_other\n\n\ndef example(n=3):\n    g_other.fail()\n",
        "g_other.py": "\n\n\n\ndef fail():\n    [][1]\n",
        "h_deleted.py": "def example(n=3): ...\ndel example\n",
        "i_prime.py": "def example(n=4): ...\n",
        "j_branch.py": """\
            import torch


            def example(n=3, m=2):
                if n == 3:
                    x = torch.ones(n)
            """,
        "j_branch2.py": """\
            import torch


            def example(n=3):
                if n > 3:
                    x = torch.ones(n)
            """,
        "k_rank.py": """\
            import torch


            def example(n=3, m=2):
                x = torch.ones((n,) * (n // 2))
            """,
        "l_dtype.py": """\
            import torch


            def example(n=3):
                x = torch.ones(n, dtype=torch.int64 if n == 3 else torch.int32)
            """,
        "m_memory.py": """\
            import torch


            def example(n=3):
                x = torch.empty(12 * 2**30, dtype=torch.uint8)
            """,
        "z_fine.py": "def example(n=3): ...\n",
    }
    sources = write(tmp_path, pages)
    (tmp_path / "f_syntax.py").write_text("x = = 1\n", encoding="utf-8")
    with pytest.raises(LiterateError) as caught:
        measure(sources, tmp_path, tmp_path / "store")
    *told, memory = [str(problem) for problem in caught.value.problems]
    steps = "the steps of an example can't depend on its sizes."
    assert told == [
        "a_raises.py:3: example(n=3) raises ValueError: 3 is too many.",
        "b_second.py:3: example(n=7, m=5) raises ValueError: too.",
        "c_import.py:2: can't be imported: ModuleNotFoundError: No module named 'no_such_module'.",
        "c_strange.py:1: can't be imported: ModuleNotFoundError: No module named 'instrument'.",
        "d_leaves.py:3: example(n=3) raises SystemExit: 2.",
        "e_nothing_said.py:2: example(n=3) raises AssertionError.",
        "f_broken.py:1: can't be imported: SyntaxError: invalid syntax (f_syntax.py, line 1).",
        "g_elsewhere.py:5: example(n=3) raises IndexError: list index out of range.",
        "h_deleted.py:1: example(n=3) raises AttributeError: module 'h_deleted' has no attribute "
        "'example'.",
        "i_prime.py:1: `n` of example() has the default 4; give it a prime.",
        "j_branch.py:6: `x` is [3] float32 in example(n=3, m=2), but not there in "
        f"example(n=7, m=5); {steps}",
        "j_branch2.py:6: `x` is not there in example(n=3), but [5] float32 in example(n=5); "
        f"{steps}",
        "k_rank.py:5: `x` is [3] float32 in example(n=3, m=2), but [7, 7, 7] float32 in "
        f"example(n=7, m=5); {steps}",
        f"l_dtype.py:5: `x` is [3] int64 in example(n=3), but [5] int32 in example(n=5); {steps}",
    ]
    assert memory.startswith("m_memory.py:5: example(n=3) raises RuntimeError: ")
    assert "can't allocate memory" in memory
    assert (tmp_path / "store/z_fine.json").exists()


def test_a_page_that_ends_the_process_doesn_t_take_the_others_along(tmp_path: Path) -> None:
    found = problems(
        tmp_path,
        {
            "a_killed.py": "import os\ndef example(n=3):\n    os.kill(os.getpid(), 9)\n",
            "b_fine.py": "def example(n=3): ...\n",
            "c_exits.py": "import os\n\ndef example(n=3):\n    os._exit(3)\n",
            "d_fine.py": "def example(n=3): ...\n",
        },
    )
    assert found == [
        "a_killed.py:2: running the page ends the process with SIGKILL.",
        "c_exits.py:3: running the page ends the process with status 3.",
    ]
    kept = {path.name for path in (tmp_path / "store").iterdir()}
    assert kept == {"b_fine.json", "d_fine.json"}


def test_a_page_that_never_ends_is_stopped_and_so_is_what_it_started(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        port = server.getsockname()[1]
        connect = f"import socket, time; c = socket.create_connection(('127.0.0.1', {port})); "
        found = problems(
            tmp_path,
            {
                "a_hangs.py": f"""\
                    import subprocess
                    import sys


                    def example(n=3):
                        subprocess.Popen([sys.executable, "-c", {connect + "time.sleep(600)"!r}])
                        while True:
                            pass
                    """,
                "b_fine.py": "def example(n=3): ...\n",
            },
            seconds=4,
        )
        connection, _ = server.accept()
        with connection:
            connection.settimeout(60)
            assert connection.recv(1) == b""
    assert found == ["a_hangs.py:5: running the page takes longer than 4 s."]
    assert (tmp_path / "store/b_fine.json").exists()


def test_a_python_without_torch_is_one_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "blocked"
    blocked.mkdir()
    (blocked / "torch.py").write_text("raise ImportError\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(blocked))
    pages = {"a.py": "\ndef example(n=3): ...\n", "b.py": "def example(n=3): ...\n"}
    assert problems(tmp_path, pages) == [
        "a.py:2: can't be measured: see what `python -c 'import torch'` says."
    ]


def test_a_file_outside_the_root_is_a_problem(tmp_path: Path) -> None:
    (source,) = write(tmp_path, {"a.py": "def example(n=3): ...\n"})
    inside = tmp_path / "inside"
    inside.mkdir()
    outside = replace(source, path="../a.py")
    with pytest.raises(LiterateError) as caught:
        measure([outside], inside, tmp_path / "store")
    assert str(caught.value) == (
        f"../a.py:1: can't be imported, because the file is not in {inside.resolve()}."
    )


def test_the_parent_never_imports_torch(tmp_path: Path) -> None:
    write(tmp_path, {"page.py": "import torch\ndef example(n=3):\n    x = torch.ones(n)\n"})
    program = """
        import sys
        from pathlib import Path
        from literate.measuring import claims
        from literate.measuring.measure import measure
        from literate.reading.source import read

        found = measure([read(Path("page.py"))], Path("."), Path("store"))
        assert found["page.py"].lines[3][0].axes == ("n",)
        assert "torch" not in sys.modules
        """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        encoding="utf-8",
    )
    assert ran.stderr == ""
    assert ran.returncode == 0
