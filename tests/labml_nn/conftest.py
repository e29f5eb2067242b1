r"""What holds for every test of a page: none meets what another one has compiled."""

import sys

import pytest
import torch


@pytest.fixture(autouse=True)
def nothing_is_compiled_yet() -> None:
    r"""
    Forget what was compiled. Pages share the code of one class, and of one piece of code PyTorch
    compiles eight forms at most: without this, it depends on the tests before whether one more can
    be compiled.
    """
    # It takes a second to load, and most tests compile nothing.
    if "torch._dynamo" in sys.modules:
        torch.compiler.reset()
