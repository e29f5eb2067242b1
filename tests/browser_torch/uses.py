r"""What people type: the names of PyTorch that sources use, and how many of the uses run here.

`python -m tests.browser_torch.uses` reads the lessons, `FOLDER…` what else there is, such as clones
of PyTorch's tutorials and of other people's models: their Python, the cells of their notebooks, and
the blocks of Python in their Markdown. It prints for each folder how many uses there are and how
many of them the stand-in has, with the keywords that they give; then what is missing, by use.
`--record` writes the counts, with commit and day, to `uses.json`; the sources stay where they are.

A name below `torch` is known by its imports. A call of something else, `x.masked_fill(…)`, is taken
for that of a tensor, a module, an optimizer or a schedule if PyTorch has it there, unless Python's
own types have it as well; it runs if all of these classes that have it in PyTorch have it here.
"""

import argparse
import ast
import json
import pickle
import re
import subprocess
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.browser_torch.worlds import PYTORCH, ROOT, STAND_IN, run

RECORD = Path(__file__).with_name("uses.json")

CLASSES = (
    "torch.Tensor",
    "torch.nn.Module",
    "torch.optim.Optimizer",
    "torch.optim.lr_scheduler.LRScheduler",
)
OF_PYTHON = {name for one in (str, list, dict, set, int, float, bytes) for name in dir(one)}

# What is about other machines and other programs than Python in one tab: several computers or
# processes, processors of graphics, compilers, what follows a program, and what leaves Python.
ELSEWHERE = tuple(
    f"torch.{name}."
    for name in (
        "_C _check _dynamo _export _functorch _higher_order_ops _inductor _logging accelerator ao "
        "classes compiler cond cuda distributed export fx hub jit library mps mtia "
        "multiprocessing nn.parallel onnx ops package profiler quantization utils.benchmark "
        "utils.bottleneck utils.cpp_extension utils.data.distributed utils.mobile_optimizer "
        "utils.tensorboard version xpu autograd.profiler nn.DataParallel"
    ).split()
)

BLOCK = re.compile(r"^```\s*\{?\.?python[^\n]*\n(.*?)^```", re.M | re.S)
# A book for several libraries says whose a block is.
TAB = re.compile(r"^\s*(?:#@|%%)tab (.*)$", re.M)

# A name and the keywords of its call.
Use = tuple[str, tuple[str, ...]]


def files_of(folder: Path) -> list[Path]:
    r"""The sources in a folder, each once: Sphinx-Gallery writes a script and a notebook of each of
    its pages into `_downloads`."""
    return [
        path
        for suffix in ("py", "ipynb", "md")
        for path in sorted(folder.resolve().rglob(f"*.{suffix}"))
        if "_downloads" not in path.parts
    ]


def texts_of(path: Path) -> Iterator[str]:
    r"""The code of a file, in pieces that are Python each for itself."""
    text = path.read_text(errors="replace")
    if path.suffix == ".py":
        yield text
    elif path.suffix == ".ipynb":
        try:
            cells = json.loads(text).get("cells", ())
        except ValueError:
            return
        for cell in cells:
            if cell["cell_type"] == "code":
                yield "".join(cell["source"])
    else:
        for found in BLOCK.finditer(text):
            tab = TAB.search(found[1])
            if tab is None or re.search("pytorch|all", tab[1]):
                yield found[1]


def trees_of(path: Path) -> Iterator[ast.Module]:
    r"""The same as trees, without lines for a notebook's machine and what is no Python."""
    for text in texts_of(path):
        lines = [line for line in text.splitlines() if not line.lstrip().startswith(("%", "!"))]
        try:
            yield ast.parse("\n".join(lines))
        except SyntaxError:
            continue


def aliases_of(nodes: list[ast.AST]) -> dict[str, str]:
    r"""What each imported name stands for."""
    aliases: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for one in node.names:
                top = one.name.partition(".")[0]
                aliases[one.asname or top] = one.name if one.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for one in node.names:
                aliases[one.asname or one.name] = f"{node.module}.{one.name}"
    return aliases


def uses_of(path: Path) -> Iterator[Use]:
    r"""Each use of a name in a file; one that begins with a dot is a call on an unknown object."""
    nodes = [node for tree in trees_of(path) for node in ast.walk(tree)]
    aliases = aliases_of(nodes)
    if not any("torch" in name.split(".") for name in aliases.values()):
        return
    calls = {
        id(node.func): tuple(sorted(one.arg for one in node.keywords if one.arg))
        for node in nodes
        if isinstance(node, ast.Call)
    }
    inner = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    for node in nodes:
        if not isinstance(node, (ast.Attribute, ast.Name)) or isinstance(node.ctx, ast.Store):
            continue
        full = full_name(node, aliases)
        if full is not None:
            if full.startswith("torch.") and id(node) not in inner:
                yield full, calls.get(id(node), ())
        elif isinstance(node, ast.Attribute) and id(node) in calls and node.attr not in OF_PYTHON:
            yield f".{node.attr}", calls[id(node)]


def full_name(node: ast.expr, aliases: dict[str, str]) -> str | None:
    r"""`torch.nn.Linear` for `nn.Linear`; None if it doesn't begin with something imported."""
    if isinstance(node, ast.Name):
        return aliases.get(node.id)
    if isinstance(node, ast.Attribute):
        before = full_name(node.value, aliases)
        return f"{before}.{node.attr}" if before else None
    return None


def answers(world: str, uses: list[Use]) -> dict[Use, bool]:
    r"""Which uses a world has."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "uses"
        path.write_bytes(pickle.dumps(uses))
        return dict(zip(uses, run(world, "has", str(path)), strict=True))


def owners_of(use: Use) -> list[Use]:
    r"""The call of an unknown object's attribute, as one of each class that it may be of."""
    name, keywords = use
    return [(f"{cls}{name}", keywords) for cls in CLASSES] if name[0] == "." else [use]


def judged(uses: Counter[Use]) -> dict[Use, bool]:
    r"""The uses that are PyTorch's, and whether they run here."""
    single = sorted({one for use in uses for one in owners_of(use)})
    theirs = answers(PYTORCH, single)
    here = answers(STAND_IN, [one for one in single if theirs[one]])
    found = {}
    for use in uses:
        owners = [here[one] for one in owners_of(use) if theirs[one]]
        if owners:
            found[use] = all(owners)
    return found


def source_of(folder: Path) -> dict[str, str]:
    r"""Where a folder comes from: its name, commit and day."""
    told = subprocess.run(
        ["git", "-C", str(folder), "log", "-1", "--format=%H %cs"],
        capture_output=True,
        text=True,
        check=True,
    )
    commit, day = told.stdout.split()
    return {"source": folder.name.replace("+", "/"), "commit": commit, "day": day}


def counted(uses: Counter[Use], runs: dict[Use, bool]) -> dict[str, int]:
    r"""How many uses there are and how many run; and the same of what is no other machine's."""
    near = [use for use in runs if not f"{use[0]}.".startswith(ELSEWHERE)]
    return {
        "uses": sum(uses[use] for use in runs),
        "run": sum(uses[use] for use in runs if runs[use]),
        "here": sum(uses[use] for use in near),
        "here_run": sum(uses[use] for use in near if runs[use]),
    }


def told(name: str, row: dict[str, int]) -> str:
    r"""A row as a sentence."""
    shares = [row[one] / max(row[of], 1) for one, of in (("run", "uses"), ("here_run", "here"))]
    return (
        f"{name}: {row['run']} of {row['uses']} uses run, {shares[0]:.2%}; without what is about "
        f"other machines {row['here_run']} of {row['here']}, {shares[1]:.2%}"
    )


def main() -> None:
    r"""Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", type=Path, nargs="*", default=[ROOT / "labml_nn"])
    parser.add_argument("--most", type=int, default=40, help="so many missing names")
    parser.add_argument("--record", action="store_true", help=f"write {RECORD.name}")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    counts: dict[Path, Counter[Use]] = {}
    for folder in arguments.folders:
        counts[folder] = Counter(use for path in files_of(folder) for use in uses_of(path))
    total: Counter[Use] = sum(counts.values(), Counter())
    runs = judged(total)
    rows = []
    for folder, found in counts.items():
        row = counted(found, runs)
        print(told(folder.name, row))
        rows.append({**source_of(folder.resolve()), **row})
    print(told("all", counted(total, runs)))
    missing: Counter[str] = Counter()
    for (name, keywords), runs_here in runs.items():
        if not runs_here:
            given = ", ".join(f"{one}=" for one in keywords)
            missing[f"{name}({given})" if given else name] += total[name, keywords]
    for name, count in missing.most_common(arguments.most):
        print(f"{count:6}  {name}")
    if arguments.record:
        lines = ",\n".join(json.dumps(row) for row in rows)
        RECORD.write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
