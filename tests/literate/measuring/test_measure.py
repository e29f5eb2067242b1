r"""Measuring, from a source to its measurement, in a real child process.

Starting it costs seconds, so most tests look at one measurement of many small pages. In these pages
a comment beside a line says which tensors are expected there, with their axes.
"""

import operator
import re
import select
import socket
import subprocess
import textwrap
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from literate.measuring import child
from literate.measuring.measure import Measurement, Tensor, measure
from literate.problems import LiterateError
from literate.reading.source import Source, read
from tests.literate.projects import write

# Each begins with `import torch`.
PAGES = {
    "package/attention.py": """\
        from torch import nn

        TABLE = torch.zeros(4, 3)  # TABLE: 4, 3

        class Attention(nn.Module):
            def __init__(self, heads, d_model):
                super().__init__()
                self.register_buffer("scale", torch.ones(heads))  # self.scale: heads
                self.bias = nn.Parameter(torch.zeros(d_model))  # self.bias: d_model
                self.heads, self.attn = heads, None

            def forward(
                self,
                query,  # query: n, batch, d_model
                key,  # key: n, batch, d_model
                mask=None,  # mask: n, n, 1
            ):
                query, other = (  # query: n, batch, heads, d_k; other: n, batch, heads, d_k
                    self.split(x)
                    for x in (query, key)
                )
                scores = torch.einsum("ibhd,jbhd->ijbh", query, other)  # scores: n, n, batch, heads
                if mask is not None:
                    scores += mask.unsqueeze(-1)  # scores: n, n, batch, heads
                self.attn = scores.softmax(dim=1)  # self.attn: n, n, batch, heads
                return self.attn * self.scale  # return: n, n, batch, heads

            @torch.no_grad()
            def split(self, x):  # x: n, batch, d_model
                return x.unflatten(-1, (self.heads, -1))  # return: n, batch, heads, d_k

        def example(n=7, batch=3, *, heads=5, d_k=2):
            d_model = heads * d_k
            attention = Attention(heads, d_model)
            x = torch.randn(n, batch, d_model)  # x: n, batch, d_model
            attention(query=x, key=x)
            mask = torch.ones(n, n, 1, dtype=torch.bool)  # mask: n, n, 1
            return attention(query=x, key=x, mask=mask)  # return: n, n, batch, heads
        """,
    "package/names.py": """\
        def make(n):
            x = torch.ones(n)  # x: n; x: 4
            return x  # return: n; return: 4

        TABLE = make(4)  # TABLE: 4

        def example(n=5, m=3, k=2):
            make(n)
            p = n * m
            two = 2
            x = torch.ones(n + m, 2 * n - 1, n // 2, two)  # x: n+m, 2*n-1, n//2, 2
            a = torch.ones(n * k, p)  # a: n*k, p
            b = torch.ones(m, 0, 3)  # b: m, 0, 3
            # Without a name they have the number of the first run.
            c = torch.ones(n * n + 1)  # c: 26
            _hidden = n - 3
            d = torch.ones(n - 3, m * m * k)  # d: 2, m*m*k
            nothing, flag = 0, True
            if n == 5:
                in_the_first_run_only = 7
        """,
    "package/loops.py": """\
        from dataclasses import dataclass
        from typing import NamedTuple

        class Pair(NamedTuple):
            left: torch.Tensor
            right: int

        @dataclass
        class State:
            mean: torch.Tensor
            rest: tuple

        def grow(x):  # x: n, m
            for step in range(len(x)):
                # It has n shapes, of which the first and the last are there in all runs.
                x = torch.cat([x, x[:1]])  # x: n+1, m; x: 2*n, m
            return x  # return: 2*n, m

        def both(x, *others, **named):  # x: n; others[0]: n-1; named['z']: n-2
            more = {"a": x[:1], 3: x[:2], None: x}  # more['a']: 1; more[3]: 2
            return x, more  # return[0]: n; return[1]['a']: 1; return[1][3]: 2

        def example(n=7, m=3):
            for x in (torch.ones(n), torch.ones(m), torch.ones(n)):  # x: n; x: m
                y = x.double()  # y: n; y: m
            for _step in range(n):
                z = torch.full((m,), float(_step))  # z: m
            # The second one looks like the first in the first run only.
            for w in (torch.ones(2), torch.ones(6 // m), torch.ones(1)):  # w: 2; w: 1
                v = w  # v: 2; v: 1
            grow(torch.ones(n, m))
            # Other runs have more of them, and all have more than are looked at.
            p = torch.ones(n - 4, m).split(1)  # p[0]: 1, m; p[1]: 1, m; p[2]: 1, m
            # Eight elements are looked at.
            y = 20 * [x]  # y[0]: n; y[1]: n; y[2]: n; y[3]: n; y[4]: n; y[5]: n; y[6]: n; y[7]: n
            both(x, x[1:], z=x[2:])
            pair = Pair(x, 3)  # pair.left: n
            state = State(x, (x[1:], [x]))  # state.mean: n; state.rest[0]: n-1
            kind = State
            return [(x, x), pair]  # return[0][0]: n; return[0][1]: n; return[1].left: n
        """,
    "package/numbers.py": """\
        import random

        from package.shared import CALLS

        def example(n=3):
            a = torch.arange(n + 1.0)
            b = torch.tensor([1j])
            c = torch.tensor([-12345678, 12345678, 1])
            d = torch.rand(n)
            e = torch.empty(n)
            f = torch.full((1,), random.random())
            # None of this is left for the next page.
            CALLS.append(n)
            torch.set_default_dtype(torch.float64)
            torch.set_grad_enabled(False)
            torch.set_num_threads(2)
            torch.manual_seed(5)
            torch.set_default_device("meta")
        """,
    "package/by_hand.py": """\
        import math

        def answer(keys):
            scores = [key[2] for key in keys]
            total = sum(math.exp(score) for score in scores)
            weights = [math.exp(score) / total for score in scores]
            return weights, keys

        def example(n=3):
            keys = [[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]
            # Whole numbers, long lists and uneven rows are something else.
            tokens, long, uneven = [1, 2], [0.5] * 65, [[1.0], [2.0, 3.0]]
            nothing, empty, mixed = [], [[]], [1.0, "a"]
            answer(keys)
        """,
    "package/unusual.py": """\
        import os
        import sys

        from torch.utils._python_dispatch import TorchDispatchMode

        class Mine(torch.Tensor):
            # What the recorder does with the tensor doesn't come here.
            @classmethod
            def __torch_function__(cls, f, types, args=(), kwargs=None):  # args[0]: n
                found = super().__torch_function__(f, types, args, kwargs or {})  # found: n
                return found  # return: n

        class Sees(TorchDispatchMode):
            calls = 0

            # Nor here.
            def __torch_dispatch__(self, f, types, args=(), kwargs=None):  # args[0]: n
                self.calls += 1
                return f(*args, **(kwargs or {}))  # return: n

        def rows(x):  # x: n, m
            for row in x:  # row: m
                yield row  # yield: m

        def inside(x):  # x: m
            y = x * 2  # y: m
            return y  # return: m

        print("{}")
        sys.stdout.write("no line")
        os.write(1, b"not this either\\n")

        def example(n=5, m=3):
            print("{}", file=sys.stderr)
            total = sum(rows(torch.ones(n, m)))  # total: m
            mine = torch.ones(n).as_subclass(Mine) + 1  # mine: n
            one = torch.ones(n)  # one: n
            with Sees() as sees:
                two = one.exp()  # two: n
            calls = torch.ones(sees.calls)  # calls: 1
            many = torch.vmap(inside)(torch.ones(n, m))  # many: n, m
            nested = torch.nested.nested_tensor([torch.ones(n), torch.ones(m)])
            try:
                failed = torch.ones(n) @ torch.ones(m)
            except RuntimeError:
                read = torch.ones(1 + len(sys.stdin.read()))  # read: 1
            return mine  # return: n
        """,
    "package/shared.py": "CALLS = []\n",
    # Python has a module of this name, too.
    "this.py": "MINE = 5\n",
    "package/sub/__init__.py": """\
        import os
        import sys
        from pathlib import Path

        from package.attention import Attention
        from package.shared import CALLS
        from this import MINE

        def example(n=3, m=2):
            calls = torch.ones(len(CALLS), n)  # calls: 0, n
            defaults = torch.ones(torch.get_num_threads())  # defaults: 1
            # What a page imports is neither changed nor recorded.
            changed = hasattr(sys.modules["package.attention"], "__literate__")
            plain = torch.ones(1 + changed, requires_grad=True)  # plain: 1
            grad = torch.ones(1 + (2 * plain).requires_grad)  # grad: 2
            scale = Attention(n, m).scale  # scale: n
            accelerators = torch.zeros(len(os.environ["CUDA_VISIBLE_DEVICES"]))  # accelerators: 0
            here = torch.zeros(1 + Path("package/sub").exists())  # here: 2
            mine = torch.zeros(MINE)  # mine: 5
            # Sets have the same order every time.
            hashed = torch.zeros(int(os.environ["PYTHONHASHSEED"]))  # hashed: 0
        """,
    "package/never.py": """\
        from pathlib import Path

        Path(__file__).with_suffix(".ran").write_text("")

        class Holder:
            def example(self):
                pass
        """,
}
PAGES = {path: "import torch\n" + textwrap.dedent(text) for path, text in PAGES.items()}

MARKED = re.compile(r"  # (?=\S+: )(.*)$", re.MULTILINE)


def sources_of(root: Path, pages: dict[str, str]) -> list[Source]:
    r"""The sources of these pages, once they are written."""
    write(root, pages)
    return [read(root / path, path) for path in pages]


def problems_of(sources: list[Source], root: Path, **options: int) -> list[str]:
    r"""What is wrong with pages that can't be measured."""
    with pytest.raises(LiterateError) as caught:
        measure(sources, root, root / "store", **options)
    return [str(problem) for problem in caught.value.problems]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def measured(root: Path) -> dict[str, Measurement]:
    # One page is there twice, at the end of it all.
    sources = sources_of(root, PAGES | {"package/numbers2.py": PAGES["package/numbers.py"]})
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        return measure(sources, root, root / "store")


def seen(tensors: Iterable[Tensor]) -> list[str]:
    return [f"{one.name}: {', '.join(one.axes)}" for one in tensors]


@pytest.mark.parametrize("path", [path for path, text in PAGES.items() if MARKED.search(text)])
def test_each_line_has_its_tensors(path: str, measured: dict[str, Measurement]) -> None:
    lines = enumerate(PAGES[path].splitlines(), 1)
    expected = {
        line: found[1].split("; ") for line, text in lines if (found := MARKED.search(text))
    }
    found = measured[path].lines
    assert {line: seen(tensors) for line, tensors in found.items()} == expected
    assert list(found) == sorted(found)


def test_functions_have_arguments_and_results_and_classes_what_they_hold(
    measured: dict[str, Measurement],
) -> None:
    functions = measured["package/attention.py"].functions
    x = "n, batch, d_model"
    scores = "n, n, batch, heads"
    assert {name: seen(tensors) for name, tensors in functions.items()} == {
        "Attention": ["self.scale: heads", "self.bias: d_model", f"self.attn: {scores}"],
        "Attention.split": [f"x: {x}", "return: n, batch, heads, d_k"],
        "Attention.forward": [*(f"query: {x}", f"key: {x}", f"return: {scores}", "mask: n, n, 1")],
        "example": [f"return: {scores}"],
    }
    # A page is not told what the pages that it imports do.
    assert measured["package/sub/__init__.py"].functions == {}


def test_sizes_are_those_of_all_runs(measured: dict[str, Measurement]) -> None:
    measurement = measured["package/attention.py"]
    axes = measurement.axes
    first = {name: sizes[0] for name, sizes in axes.items()}
    assert first == {"n": 7, "batch": 3, "heads": 5, "d_k": 2, "d_model": 10}
    assert axes["d_model"] == tuple(map(operator.mul, axes["heads"], axes["d_k"]))
    x = measurement.functions["Attention.split"][0]
    named = [axes[name] for name in ("n", "batch", "d_model")]
    assert len(x.sizes) == 4 and x.sizes == tuple(zip(*named, strict=True))
    names = measured["package/names.py"].axes
    assert list(names) == ["n", "m", "k", "p", "two"] and names["two"] == (2,) * 4


def test_numbers_are_those_of_the_first_run_with_four_digits(
    measured: dict[str, Measurement],
) -> None:
    measurement = measured["package/numbers.py"]
    tensors = [one for line in measurement.lines.values() for one in line]
    recorded = {one.name: measurement.record["tensors"][one.index] for one in tensors}
    # Lowest, mean and highest, and the first ones as a text.
    found = {name: (*told[4:7], told[-1]) for name, told in recorded.items()}
    assert found.pop("d")[:3] == pytest.approx((0.0885, 0.451, 0.7682), abs=1e-3)
    assert found.pop("f")[:3] == pytest.approx((0.8444,) * 3)
    assert found == {
        "a": (0.0, 1.5, 3.0, "0 1 2 3"),
        "b": (None, None, None, ""),
        "c": (-12350000.0, 0.0, 12350000.0, "-12345678 12345678 1"),
        "e": (None, None, None, "nan nan nan"),
    }
    assert [one.dtype for one in tensors[:3]] == ["float32", "complex64", "int64"]


def test_the_first_run_is_recorded_in_the_order_of_execution(
    measured: dict[str, Measurement],
) -> None:
    lines = PAGES["package/attention.py"].splitlines()
    record = measured["package/attention.py"].record
    # Neither arguments nor a parameter of the constructor; a result where it is made.
    split = ["return x.unflatten", "return x.unflatten", "query, other = ("]
    attend = ["scores = torch", "self.attn =", "return self.attn *"]
    masked = [attend[0], "scores += mask", *attend[1:]]
    expected = ["TABLE", "self.register_buffer", "x = torch.randn", *split, *attend]
    expected += ["mask = torch.ones", *split, *masked]
    found = [lines[line - 1].strip() for line, *_ in record["steps"]]
    assert [text[: len(start)] for text, start in zip(found, expected, strict=True)] == expected
    query, other = record["steps"][5][1]
    assert query[:2] == ("query", ("n", "batch", "heads", "d_k")) and other[0] == "other"
    assert 0 < len(measured["package/loops.py"].record["steps"]) <= 100
    # Each step says which call or pass it belongs to. A reader begins in the first function.
    told = [passed for _, _, passed in record["steps"]]
    calls = [n for n, text in enumerate(lines, 1) if "attention(query=x" in text]
    passes = ["pass 1 of 2", "pass 2 of 2"]
    first, second = (f"call {at} of 2, from line {line}" for at, line in enumerate(calls, 1))
    assert told == [*[""] * 3, *passes, *[first] * 4, "", *passes, *[second] * 5]
    assert record["start"] == 3


def test_lists_of_numbers_are_recorded_but_are_no_tensors(
    measured: dict[str, Measurement],
) -> None:
    measurement = measured["package/by_hand.py"]
    assert measurement.lines == {} and measurement.functions == {}
    record = measurement.record
    steps = [(parts[0][:2], record["tensors"][parts[0][2]]) for _, parts, _ in record["steps"]]
    assert [(name, axes, tensor[-1]) for (name, axes), tensor in steps] == [
        ("keys", ("2", "3"), "1 0 2 0 3 0"),
        ("scores", ("2",), "2 0"),
        # Weights are known for what they are.
        ("weights", ("2",), ".881 .119"),
    ]
    assert [tensor[3] for _, tensor in steps] == [None, None, 0]
    assert record["start"] == 1


def test_what_a_page_does_ends_with_it(measured: dict[str, Measurement]) -> None:
    assert measured["package/numbers.py"] == measured["package/numbers2.py"]
    sub = measured["package/sub/__init__.py"]
    (defaults,) = (one for line in sub.lines.values() for one in line if one.name == "defaults")
    assert defaults.dtype == "float32"
    assert sub.record["tensors"][defaults.index][4:7] == (1.0, 1.0, 1.0)


def test_pages_with_an_example_run_and_nothing_is_written_but_the_store(
    measured: dict[str, Measurement], root: Path
) -> None:
    assert not {"package/never.py", "package/shared.py"} & set(measured)
    written = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    modules = {path.removesuffix(".py").replace("/", ".") for path in measured}
    expected = {f"store/{module.removesuffix('.__init__')}.json" for module in modules}
    assert {path for path in written if not path.endswith(".py")} == expected


def test_a_page_is_run_again_when_it_has_changed(
    measured: dict[str, Measurement], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subprocess, "Popen", None)
    sources = [read(root / path, path) for path in measured]
    assert measure(sources, root, root / "store") == measured
    changed = replace(sources[0], text=sources[0].text + "\n")
    with pytest.raises(TypeError, match="'NoneType' object is not callable"):
        measure([changed], root, root / "store")


RAISES = "2: example(n=3) raises "
ENDS = "2: running the page ends the process with "
STEPS = "; the steps of an example can't depend on its sizes."

# Pages that can't be measured, each with what is told. They begin with `import os, sys, torch`.
BROKEN = {
    "raises": (
        "def inner(x):\n    raise ValueError(f'{x} is\\ntoo many')\n"
        "def example(n=3):\n    if n > 3:\n        return inner(\n            n)\n",
        "3: example(n=5) raises ValueError: 5 is.",
    ),
    # The tool has a module of this name, which is not for pages.
    "strange": (
        "import instrument\ndef example(n=3): ...",
        "2: can't be imported: ModuleNotFoundError: No module named 'instrument'.",
    ),
    "broken": (
        "import syntax\ndef example(n=3): ...",
        "2: can't be imported: SyntaxError: invalid syntax (syntax.py, line 1).",
    ),
    "elsewhere": (
        "import other\ndef example(n=3, m=2):\n    other.fail()",
        "4: example(n=3, m=2) raises IndexError: list index out of range.",
    ),
    "deleted": (
        "def example(n=3): ...\ndel example",
        RAISES + "AttributeError: module 'deleted' has no attribute 'example'.",
    ),
    "leaves": ("def example(n=3): sys.exit(2)", RAISES + "SystemExit: 2."),
    "silent": ("def example(n=3): assert n == 4", RAISES + "AssertionError."),
    "memory": ("def example(n=3): torch.empty(2**34, dtype=torch.uint8)", RAISES + "no memory."),
    "killed": ("def example(n=3): os.kill(os.getpid(), 9)", ENDS + "SIGKILL."),
    "exits": ("def example(n=3): os._exit(3)", ENDS + "status 3."),
    "prime": ("def example(n=4): ...", "2: `n` of example() has the default 4; give it a prime."),
    "first_only": (
        "def example(n=3, m=2):\n    if n == 3:\n        x = torch.ones(n)",
        "4: `x` is [3] float32 in example(n=3, m=2), but not there in example(n=7, m=5)" + STEPS,
    ),
    "not_first": (
        "def example(n=3):\n    if n > 3:\n        x = torch.ones(n)",
        "4: `x` is not there in example(n=3), but [5] float32 in example(n=5)" + STEPS,
    ),
    "rank": (
        "def example(n=3): x = torch.ones((n,) * (1 + (n > 3)))",
        "2: `x` is [3] float32 in example(n=3), but [5, 5] float32 in example(n=5)" + STEPS,
    ),
    "dtype": (
        "def example(n=3): x = torch.ones(n).to(torch.int64 if n == 3 else torch.int32)",
        "2: `x` is [3] int64 in example(n=3), but [5] int32 in example(n=5)" + STEPS,
    ),
}


def test_errors_have_their_place_and_one_sentence_and_don_t_take_other_pages_along(
    tmp_path: Path,
) -> None:
    pages = {f"{name}.py": f"import os, sys, torch\n{one}" for name, (one, _) in BROKEN.items()}
    others = {"other.py": "\n\ndef fail():\n    [][1]\n", "z_fine.py": "def example(n=3): ...\n"}
    sources = sources_of(tmp_path, pages | others)
    (tmp_path / "syntax.py").write_text("x = = 1\n", encoding="utf-8")
    told = problems_of(sources, tmp_path)
    told = [re.sub(r"RuntimeError: .*can't allocate memory.*", "no memory.", one) for one in told]
    assert told == sorted(f"{name}.py:{sentence}" for name, (_, sentence) in BROKEN.items())
    assert [path.name for path in (tmp_path / "store").iterdir()] == ["z_fine.json"]


def test_only_time_in_which_a_page_computes_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "PATIENCE", 300)
    pages = {
        "computes.py": "def example(n=3):\n    while True: pass\n",
        "waits.py": "import time\ndef example(n=3): time.sleep(1.2 if n == 3 else 0)\n",
    }
    assert problems_of(sources_of(tmp_path, pages), tmp_path, seconds=1) == [
        "computes.py:1: running the page takes more than 1 s of CPU time."
    ]


def test_a_page_that_waits_too_long_is_ended_with_the_processes_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        # The page starts a process, which holds a connection; once it does, the time is over.
        connect = f"import socket; c = socket.create_connection({server.getsockname()!r}); "
        page = (
            "import subprocess, sys\n\n\ndef example(n=3):\n"
            f"    subprocess.run([sys.executable, '-c', {connect + 'c.recv(1)'!r}])\n"
        )
        sources = sources_of(tmp_path, {"hangs.py": page})
        connections = []

        def late(read: list, write: list, other: list, seconds: float) -> tuple[list, list, list]:
            assert seconds == 45
            connections.append(server.accept()[0])
            return [], [], []

        # It is waited for twice: when it starts, and for the page.
        waits = iter([select.select, late])
        again = SimpleNamespace(select=lambda *asked: next(waits)(*asked))
        monkeypatch.setattr(child, "select", again)
        assert problems_of(sources, tmp_path, seconds=9) == [
            "hangs.py:4: running the page takes longer than 45 s."
        ]
        with connections[0]:
            assert connections[0].recv(1) == b""


def test_a_python_without_torch_is_one_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"blocked/torch.py": "raise ImportError\n"})
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "blocked"))
    pages = {"a.py": "\ndef example(n=3): ...\n", "b.py": "def example(n=3): ...\n"}
    assert problems_of(sources_of(tmp_path, pages), tmp_path) == [
        "a.py:2: can't be measured: see what `python -c 'import torch'` says."
    ]
    monkeypatch.setattr("literate.measuring.measure._HAS_TORCH", False)
    page = {"c.py": "import torch\ndef example(n=3): ...\n"}
    assert problems_of(sources_of(tmp_path, page), tmp_path) == [
        "c.py:2: can't be measured, because PyTorch is missing: `pip install torch`."
    ]


def test_a_file_outside_the_root_is_a_problem(tmp_path: Path) -> None:
    (source,) = sources_of(tmp_path, {"a.py": "def example(n=3): ...\n"})
    assert problems_of([replace(source, path="../a.py")], tmp_path) == [
        f"../a.py:1: can't be imported, because the file is not in {tmp_path.resolve()}."
    ]
