r"""Names of PyTorch lead to its documentation."""

from types import ModuleType

import pytest
import torch

from literate.python.pytorch import ADDRESS, address, addresses
from literate.reading.source import parse


@pytest.mark.parametrize(
    ("name", "page"),
    [
        # Read off the sources of PyTorch's documentation, docs/source/*.md and *.rst.
        ("torch", "torch.html"),
        ("torch.einsum", "generated/torch.einsum.html"),
        ("torch.nn.Linear", "generated/torch.nn.Linear.html"),
        ("torch.nn.Parameter", "generated/torch.nn.parameter.Parameter.html"),
        ("torch.nn.functional.softmax", "generated/torch.nn.functional.softmax.html"),
        ("torch.nn.init.normal_", "nn.init.html#torch.nn.init.normal_"),
        ("torch.optim.lr_scheduler.StepLR", "generated/torch.optim.lr_scheduler.StepLR.html"),
        ("torch.Tensor", "tensors.html#torch.Tensor"),
        ("torch.Tensor.view", "generated/torch.Tensor.view.html"),
        ("torch.bfloat16", "tensor_attributes.html#torch.dtype"),
        ("torch.float", "tensor_attributes.html#torch.dtype"),
        ("torch.utils.data.DataLoader", "data.html#torch.utils.data.DataLoader"),
        ("torch.inference_mode", "generated/torch.autograd.grad_mode.inference_mode.html"),
    ],
)
def test_a_name_has_the_address_of_its_documentation(name: str, page: str) -> None:
    assert address(name) == ADDRESS + page


@pytest.mark.parametrize("name", ["torch._C", "torch.version", "torch.inf", "vision.x"])
def test_what_is_not_known_has_no_address(name: str) -> None:
    assert address(name) is None


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        # The last part of a name is the link, and the longest part that is known.
        (
            "import torch\nfrom torch import nn as l\n\nx = l.functional.gelu(torch.ones(1))\n",
            ["4:17 generated/torch.nn.functional.gelu.html", "4:28 generated/torch.ones.html"],
        ),
        ("import torch\nx = torch.float.itemsize\n", ["2:10 tensor_attributes.html#torch.dtype"]),
        # A name of the function, or bound twice, is left alone.
        ("import torch\n\n\ndef f(torch):\n    return torch.ones(1)\n", []),
        ("import torch\nimport other as torch\nx = torch.ones(1)\n", []),
        ("from torch import ones\nones = 1\nx = ones\n", []),
        ("from mine import torch\nx = torch.ones(1)\n", []),
    ],
)
def test_names_in_code_are_linked(code: str, expected: list[str]) -> None:
    found = sorted(addresses(parse(code, "pkg/a.py")))
    assert [f"{line}:{at} {link.removeprefix(ADDRESS)}" for line, at, link in found] == expected


def test_no_module_of_pytorch_is_taken_for_a_function() -> None:
    modules = [name for name in dir(torch) if isinstance(getattr(torch, name), ModuleType)]
    own = [name for name in modules if getattr(torch, name).__name__.startswith("torch")]
    assert len(own) > 40
    assert [name for name in own if "generated/" in (address(f"torch.{name}") or "")] == []
