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

from literate.python.statements import take_apart
from literate.reading.source import Source, nodes

ADDRESS = "https://docs.pytorch.org/docs/stable/"

# Names below `torch.`, and where they are documented. The first pattern that fits counts.
_RULES = [
    (re.compile(pattern), ADDRESS + page)
    for pattern, page in (
        (r"Tensor", r"tensors.html#torch.\g<0>"),
        (r"Size", r"size.html#torch.\g<0>"),
        (r"device|dtype", r"tensor_attributes.html#torch.\g<0>"),
        (
            r"bool|int|long|short|half|float|double|(u?int|b?float|complex)\d+",
            "tensor_attributes.html#torch.dtype",
        ),
        (r"finfo|iinfo", r"type_info.html#torch.\g<0>"),
        (r"amp\.GradScaler|autocast", r"amp.html#torch.\g<0>"),
        (r"backends\.mps\.is_available", r"backends.html#torch.\g<0>"),
        (r"optim\.Optimizer", r"optim.html#torch.\g<0>"),
        (r"(nn\.init)\.\w+", r"\1.html#torch.\g<0>"),
        (r"utils\.(data)\.\w+", r"\1.html#torch.\g<0>"),
        (r"amp|backends|cpu|cuda|fft|linalg|mps|nn|nn\.functional|optim", r"\g<0>.html"),
        (r"nn\.(Parameter)", r"generated/torch.nn.parameter.\1.html"),
        (r"inference_mode|set_grad_enabled", r"generated/torch.autograd.grad_mode.\g<0>.html"),
        # Modules and constants of one lower-case word have no such page.
        (
            r"(?!(?:accelerator|ao|autograd|channels_last|classes|compiler|contrib|cpp|distributed|distributions|e"
            r"|export|func|functional|futures|fx|hub|inf|jit|library|masked|monitor|mtia"
            r"|multiprocessing|nan|nativert|nested|numa|onnx|ops|overrides|package|pi|profiler|quantization"
            r"|quasirandom|random|return_types|serialization|signal|sparse|special|storage|strided"
            r"|testing|torch|torch_version|types|utils|version|windows|xpu)$)"
            r"(?:(?:Tensor\.|nn\.functional\.|nn\.utils\.|cuda\.|linalg\.|fft\.)?[a-z][a-z_0-9]*"
            r"|Generator|Stream|Event|(?:nn|optim|optim\.lr_scheduler)\.[A-Z]\w*)",
            r"generated/torch.\g<0>.html",
        ),
    )
]


def address(name: str) -> str | None:
    r"""
    ## Where a name is documented

    `name` is the full one, `torch.nn.Linear`. None if that is not known.
    """
    if name == "torch":
        return f"{ADDRESS}torch.html"
    rest = name.removeprefix("torch.")
    matches = ((pattern.fullmatch(rest), page) for pattern, page in _RULES if rest != name)
    return next((match.expand(page) for match, page in matches if match), None)


def addresses(source: Source) -> list[tuple[int, int, str]]:
    r"""
    ## The names of PyTorch in a source

    The line and the column, in bytes, of the last part of each, and where it is documented. Of
    `torch.float.itemsize`, `torch.float` is known and the rest is not.
    """
    module = source.once(take_apart)
    # A name that is bound otherwise too stands for different things at different times.
    means = {
        name: imports[0].means
        for name, imports in module.imports.items()
        if len({statement.means for statement in imports}) == 1 and name not in module.defined
    }
    taken = {(use.line, use.column) for use in module.uses if use.name in means}
    links: dict[tuple[int, int], tuple[int, int, str]] = {}
    # Of `nn.functional.gelu`, which holds `nn.functional`, the longest is walked first.
    for node in source.once(nodes):
        last, attributes = node, []
        while isinstance(last, ast.Attribute):
            attributes.append(last.attr)
            last = last.value
        place = getattr(last, "lineno", 0), getattr(last, "col_offset", 0)
        if isinstance(last, ast.Name) and place in taken:
            known = address(".".join([means[last.id], *reversed(attributes)]))
            if known and isinstance(node, ast.Attribute | ast.Name):
                last_name = attributes[0] if attributes else last.id
                end = (node.end_col_offset or 0) - len(last_name.encode())
                links.setdefault(place, (node.end_lineno or 0, end, known))
    return list(links.values())
