r"""
---
title: Run a Pasted Text
summary: A text becomes classes, though half of what it imports is not there.
---

Somebody pastes a class, with or without the first lines of its file. Without them, `nn` and `torch`
are unknown. With them, a library may be imported that isn't here, which most often the class
doesn't even use. Neither is a mistake of the attention. Others paste a notebook with its prompts,
its prose and what it has printed: [another page](code_in.py) finds the code in it.

**In:** a text. **Out:** the names that it defines. The [next page](pasted_text.py) looks for the
classes among them.
"""

import ast
import copy
import linecache
import math
import re
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from wrongline.configurations import Config

# What the text is called in error messages.
FILE = "pasted.py"


class Missing:
    r"""
    ## What can't be imported here

    Most texts import more than they need. So it fails when it is called, and not before.
    """

    def __init__(self, name: str) -> None:
        r"""
        * `name` is what the error will call it
        """
        # A path, such as `numpy.linalg`.
        self.name = name

    def __getattr__(self, name: str) -> Any:
        r"""
        A part of it is missing as well, unless that file was pasted, too.
        """
        # Python itself asks for names with underscores, to see whether they are there.
        if name.startswith("__"):
            raise AttributeError(name)
        module = sys.modules.get("pasted")
        pasted = vars(module).get(name) if module else None
        if getattr(pasted, "__module__", "") == "pasted":
            return pasted
        return stand_in(f"{self.name}.{name}")

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        r"""
        As the base of a class, it is a plain module: most libraries add nothing to `forward`.
        """
        # What is mixed in adds no `forward` either.
        if re.search(r"Mixin$|Protocol$|Enum$", self.name):
            return ()
        own = any(isinstance(one, type) and issubclass(one, nn.Module) for one in bases)
        return () if own else (Base,)

    def __getitem__(self, item: Any) -> "Missing":
        r"""
        In an annotation, such as “Float[Tensor, "b n d"]”.
        """
        return self

    def __or__(self, other: Any) -> "Missing":
        r"""
        And as “Float[Tensor, "b n d"] | None”.
        """
        return self

    __ror__ = __or__

    def __call__(self, *inputs: Any, **others: Any) -> Any:
        r"""
        It raises an error that says what is here.
        """
        # The reader can then add it, or write it with what is here.
        raise ImportError(
            f"{self.name} is not here: paste its code above, if it is from another file of yours. "
            "Of libraries there are Python’s, einops, and what lessons use of PyTorch"
        )


class Base(nn.Module):
    r"""
    ## What stands for a base class that isn't here

    That of a library that trains, or loads what was trained. It takes what theirs takes.
    """

    def __init__(self, *inputs: Any, **others: Any) -> None:
        r"""
        * `inputs` may begin with a configuration, which theirs keep
        """
        super().__init__()
        if inputs:
            self.config = inputs[0]

    def post_init(self) -> None:
        r"""
        Theirs set the first weights here.
        """

    def save_hyperparameters(self, *names: Any, **others: Any) -> None:
        r"""
        Theirs keep the arguments.
        """


# A class of configurations that isn't here: anything that holds values will do.
HOLDS = r"(?i)(config|cfgnode|cfg|namespace)$"


def linear(goes_in: int, comes_out: int, bias: bool = True, **others: Any) -> nn.Linear:
    r"""
    ## A layer that would be spread over GPUs
    """
    return nn.Linear(goes_in, comes_out, bias)


def embedding(rows: int, width: int, padding_idx: int | None = None, **others: Any) -> nn.Embedding:
    r"""
    ## A table that would be
    """
    return nn.Embedding(rows, width, padding_idx)


def einsum_by_words(pattern: str, *tensors: Tensor) -> Tensor:
    r"""
    ## An `einsum` whose axes are words
    """
    words = [*dict.fromkeys(re.findall(r"\w+", pattern))]
    letters = {word: chr(ord("a") + at) for at, word in enumerate(words)}
    short = re.sub(r"\w+", lambda word: letters[word[0]], pattern)
    return torch.einsum(short, *tensors)


# Activations by the names that configurations have for them.
ACTIVATIONS = {
    "gelu": nn.GELU(),
    "gelu_new": nn.GELU("tanh"),
    "gelu_pytorch_tanh": nn.GELU("tanh"),
    "relu": nn.ReLU(),
    "sigmoid": nn.Sigmoid(),
    "silu": nn.SiLU(),
    "swish": nn.SiLU(),
    "tanh": nn.Tanh(),
}


# What stands for such parts, by the end of their names. With a single process, there is one.
SPREAD = (
    (r"fancy_einsum\.einsum$", einsum_by_words),
    (r"ACT2FN$", ACTIVATIONS),
    # What holds a result: its fields are read.
    (r"Output(With\w+)?$", Config),
    (r"ParallelLinear$", linear),
    (r"ParallelEmbedding$", embedding),
    (r"get_(tensor_)?(model_parallel_)?world_size$", lambda *given, **named: 1),
    (r"get_(tensor_)?(model_parallel_)?rank$", lambda *given, **named: 0),
)


def stand_in(full: str) -> Any:
    r"""
    ## What stands for something that isn't here
    """
    if re.search(HOLDS, full):
        return Config
    # A constant of another file.
    if re.search(r"(?i)dtype$", full):
        return torch.float32
    if re.search(r"(?i)device$", full):
        return "cpu"
    return next((one for end, one in SPREAD if re.search(end, full)), Missing(full))


def without_calls(tree: ast.Module, missing: Mapping[str, Any]) -> None:
    r"""
    ## Leave out what is said and drawn

    A call that stands alone gives nothing to what follows. If it isn't here, nobody misses it.
    """
    for node in ast.walk(tree):
        for field in ("body", "orelse"):
            found = getattr(node, field, None)
            body: list[Any] = found if isinstance(found, list) else []
            for at, one in enumerate(body):
                is_call = isinstance(one, ast.Expr) and isinstance(one.value, ast.Call)
                if is_call and re.split(r"\W", ast.unparse(one))[0] in missing:
                    body[at] = ast.copy_location(ast.Pass(), one)


def without_decorators(node: ast.AST, missing: Mapping[str, Any]) -> None:
    r"""
    ## Leave out decorators that aren't here

    They check types, or write documents. The function is the same without them.
    """
    for one in ast.walk(node):
        if isinstance(one, ast.FunctionDef | ast.ClassDef):
            one.decorator_list = [
                decorator
                for decorator in one.decorator_list
                if re.split(r"\W", ast.unparse(decorator))[0] not in missing
            ]


class OnTheCPU(ast.NodeTransformer):
    r"""
    ## What is put on a GPU stays where it is

    No browser has one that Python can use.
    """

    def visit_Call(self, node: ast.Call) -> ast.AST:
        r"""
        As `x.cuda()`, `x.to("cuda")` or `torch.zeros(3, device="cuda")`.
        """
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "cuda":
            return node.func.value if not node.keywords else node
        is_place = isinstance(node.func, ast.Attribute) and node.func.attr in ("to", "device")
        named = [one.value for one in node.keywords if one.arg == "device"]
        for one in [*(node.args if is_place else []), *named]:
            if isinstance(one, ast.Constant) and str(one.value).startswith("cuda"):
                one.value = "cpu"
        return node


# Of these, nobody pastes the code.
LIBRARIES = sys.stdlib_module_names | {"torch", "einops", "numpy"}


def is_a_library(node: ast.Import | ast.ImportFrom) -> bool:
    r"""
    ## Is something imported from a library?

    Else it is from a file that may have been pasted as well.
    """
    if isinstance(node, ast.Import):
        return True
    return not node.level and (node.module or "").partition(".")[0] in LIBRARIES


def is_here(node: ast.stmt) -> bool:
    r"""
    ## Can it be imported?
    """
    # The statement is tried, with names of its own. A dot at its beginning would stand for the
    # folder of a file, and here is none.
    try:
        exec(compile(ast.Module([node], []), FILE, "exec"), {"__package__": ""})
    # Whatever else goes wrong in it is an error of that library.
    except ImportError:
        return False
    return True


def without_missing(text: str) -> tuple[ast.Module, dict[str, Any]]:
    r"""
    ## Leave out what can't be imported

    The text, read by Python, and what stands for the rest, by its names.
    """
    # A text that can't be read is an error of its own.
    tree = ast.parse(text, FILE)
    body: list[ast.stmt] = []
    missing: dict[str, Any] = {}

    # Imports of the outermost level only: others may have a `try` around them.
    defined: set[str] = set()
    for node in tree.body:
        # A class, a number or a docstring stays as it is.
        if not isinstance(node, ast.Import | ast.ImportFrom):
            body.append(node)
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                defined.add(node.name)
            continue

        # Each name of the line by itself.
        for one in node.names:
            # Two files one below the other: the second imports what the first defines.
            if one.name in defined and not is_a_library(node):
                if one.asname and one.asname != one.name:
                    other = ast.parse(f"{one.asname} = {one.name}").body[0]
                    body.append(ast.copy_location(other, node))
                continue
            # A copy keeps its line, so that errors are told at theirs.
            alone = copy.copy(node)
            alone.names = [one]
            if is_here(alone):
                body.append(alone)
                continue
            # What isn't here gets a stand-in. `import a.b` makes the name `a` alone.
            origin = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            name = one.asname or one.name.partition(".")[0]
            full = ".".join([*origin, one.name]).strip(".")
            missing[name] = stand_in(full)

    # The text as it was, without some of its imports.
    tree.body = body
    without_decorators(tree, missing)
    OnTheCPU().visit(tree)
    without_calls(tree, {name: one for name, one in missing.items() if isinstance(one, Missing)})
    return tree, missing


def usual_names(text: str) -> dict[str, Any]:
    r"""
    ## What is there before the text runs

    Most people copy a class without the first lines of its file. So what most such code imports is
    there already.
    """
    # Tests copy the module, and errors show its lines: both look here for the text.
    linecache.cache[FILE] = len(text), None, text.splitlines(keepends=True), FILE

    # The classes that it defines are those of a module, where Python looks up annotations.
    module = sys.modules["pasted"] = ModuleType("pasted")
    names = vars(module)
    # Some write `nn.functional`, some `F`.
    names |= {"torch": torch, "nn": nn, "F": nn.functional, "math": math, "Tensor": Tensor}
    return names


def run_text(text: str) -> dict[str, Any]:
    r"""
    ## Run what was pasted

    All of it, as if it were imported. ([Only what defines something](definitions.py) is run of a
    text that somebody pastes to have it tested.)
    """
    # What isn't here has a name as well, and fails when it is called.
    names = usual_names(text)
    tree, missing = without_missing(text)
    names |= missing
    # All that the text defines comes to the names.
    exec(compile(tree, FILE, "exec"), names)
    return names


def example(batch_size: int = 3, seq_len: int = 7, d_model: int = 5) -> tuple[Tensor, str]:
    r"""
    ## Example

    A class whose file imports what isn't here, called; and what is said where that is needed.

    ### Exercises

    ??? question "Why is a missing import no error at once?"
        Most files import more than the pasted class needs: a plot, a progress bar, a data set.

    ??? question "Why are imports within `try` left alone?"
        Their author has said what to do without them.

    ??? question "Why are the lines left where they are?"
        An error, and a likely mistake, are told with their line.
    """
    # Neither library exists.
    names = run_text(
        "import torch_plots as plots\nfrom torch_cuts import cut\n"
        "class Twice(nn.Module):\n    def forward(self, x):\n        return x + x\n"
    )
    # One that needs nothing of them.
    output = names["Twice"]()(torch.randn(batch_size, seq_len, d_model))

    # One is needed after all.
    try:
        names["cut"](output)
    except ImportError as error:
        # It says which one.
        said = str(error)
    return output, said
