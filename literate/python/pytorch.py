r"""
---
title: PyTorch
summary: The names of PyTorch lead to its documentation.
---

`nn.Linear` in the code of a page is a link to the page about `torch.nn.Linear`. What a name stands
for is read from the imports; where its documentation stands follows from the rules by which
PyTorch's own site is built. PyTorch itself is neither imported nor asked, so a name is only linked
where these rules are known to hold.
"""

import ast
import re
from collections.abc import Iterator

from literate.python.statements import take_apart, uses_by_statement
from literate.reading.source import Source

ADDRESS = "https://docs.pytorch.org/docs/stable/"

# What has a page of its own, made from the lists in the sources of PyTorch's documentation.
_PAGE = re.compile(
    r"""torch\.
    (?: [a-z_0-9]+                                # torch.einsum, and not torch._C
    |   (?:Generator|Stream|Event)
    |   Tensor\.[a-z_0-9]+
    |   nn\.[A-Z]\w*
    |   nn\.(?:functional|utils)\.[a-z_0-9]+
    |   optim\.[A-Z]\w*
    |   optim\.lr_scheduler\.[A-Z]\w*
    |   cuda\.[a-z_0-9]+
    |   (?:linalg|fft)\.[a-z_0-9]+
    )""",
    re.VERBOSE,
)
# What stands on a page with others, or on a page of another name.
_ELSEWHERE = {
    "torch.Size": "size.html#torch.Size",
    "torch.Tensor": "tensors.html#torch.Tensor",
    "torch.amp.GradScaler": "amp.html#torch.amp.GradScaler",
    "torch.autocast": "amp.html#torch.autocast",
    "torch.backends.mps.is_available": "backends.html#torch.backends.mps.is_available",
    "torch.device": "tensor_attributes.html#torch.device",
    "torch.dtype": "tensor_attributes.html#torch.dtype",
    "torch.finfo": "type_info.html#torch.finfo",
    "torch.iinfo": "type_info.html#torch.iinfo",
    "torch.inference_mode": "generated/torch.autograd.grad_mode.inference_mode.html",
    "torch.nn.Parameter": "generated/torch.nn.parameter.Parameter.html",
    "torch.optim.Optimizer": "optim.html#torch.optim.Optimizer",
    "torch.set_grad_enabled": "generated/torch.autograd.grad_mode.set_grad_enabled.html",
}
_MODULES = {
    "torch": "torch.html",
    "torch.amp": "amp.html",
    "torch.backends": "backends.html",
    "torch.cpu": "cpu.html",
    "torch.cuda": "cuda.html",
    "torch.fft": "fft.html",
    "torch.linalg": "linalg.html",
    "torch.mps": "mps.html",
    "torch.nn": "nn.html",
    "torch.nn.functional": "nn.functional.html",
    "torch.optim": "optim.html",
}
# Further modules, and constants: lower-case names that have no page of their own.
_WITHOUT_PAGE = set(
    "accelerator autograd compiler contrib distributed distributions e export func functional "
    "futures hub inf jit mtia multiprocessing nan onnx overrides package pi profiler quantization "
    "random return_types serialization signal sparse special storage strided testing types utils "
    "version xpu".split()
)
_ON_THE_PAGE_OF_THEIR_MODULE = re.compile(r"torch\.(nn\.init|utils\.data)\.\w+")
_DTYPE = re.compile(r"torch\.(bool|int|long|short|half|float|double|(u?int|b?float|complex)\d+)")


def address(name: str) -> str | None:
    r"""
    ## Where a name is documented

    `name` is the full one, `torch.nn.Linear`. None if that is not known.
    """
    if name in _MODULES:
        return ADDRESS + _MODULES[name]
    if name in _ELSEWHERE:
        return ADDRESS + _ELSEWHERE[name]
    if _DTYPE.fullmatch(name):
        return ADDRESS + _ELSEWHERE["torch.dtype"]
    if found := _ON_THE_PAGE_OF_THEIR_MODULE.fullmatch(name):
        page = found[1].removeprefix("utils.")
        return f"{ADDRESS}{page}.html#{name}"
    listed = _PAGE.fullmatch(name) and name.removeprefix("torch.") not in _WITHOUT_PAGE
    return f"{ADDRESS}generated/{name}.html" if listed else None


def addresses(source: Source) -> list[tuple[int, int, str]]:
    r"""
    ## The names of PyTorch in a source

    The line and the column, in bytes, of the last part of each, and where it is documented.
    """
    module = source.once(take_apart)
    # A name that is bound otherwise too stands for different things at different times.
    means = {
        name: imports[0].means
        for name, imports in module.imports.items()
        if len({one.means for one in imports}) == 1 and name not in module.defined
    }
    taken_by = source.once(uses_by_statement)
    found: list[tuple[int, int, str]] = []
    for statement in source.tree.body:
        taken = {(use.line, use.column) for use in taken_by[statement] if use.name in means}
        inner = set()
        for node in ast.walk(statement) if taken else ():
            parts = _parts(node)
            if not parts or (parts[0].lineno, parts[0].col_offset) not in taken:
                continue
            # Of `nn.functional.gelu`, which holds `nn.functional`, the longest is walked first.
            if node in inner:
                continue
            inner.update(parts)
            found += _longest(parts, means)
    return found


def _longest(parts: list[ast.expr], means: dict[str, str]) -> Iterator[tuple[int, int, str]]:
    r"""
    In `torch.float.itemsize`, `torch.float` is known and the rest is not.
    """
    while parts:
        attributes = [one.attr for one in parts if isinstance(one, ast.Attribute)]
        first = parts[0]
        assert isinstance(first, ast.Name)
        known = address(".".join([means[first.id], *attributes]))
        if known:
            last = parts[-1]
            width = len((attributes[-1] if attributes else first.id).encode())
            yield last.end_lineno or 0, (last.end_col_offset or 0) - width, known
            return
        parts = parts[:-1]


def _parts(node: ast.AST) -> list[ast.expr]:
    r"""
    The nodes of `nn.functional.gelu`, from `nn` to the whole.
    """
    parts: list[ast.expr] = []
    while isinstance(node, ast.Attribute):
        parts.append(node)
        node = node.value
    return [node, *reversed(parts)] if isinstance(node, ast.Name) else []
