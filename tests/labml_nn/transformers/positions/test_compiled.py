r"""Compiled, each attention of these pages is one graph and gives the same."""

from collections.abc import Callable

import pytest

from labml_nn.transformers.mha import MultiHeadAttention
from labml_nn.transformers.positions.alibi import AlibiAttention
from labml_nn.transformers.positions.rotary_attention import RotaryAttention
from labml_nn.transformers.positions.shaw_relative import ShawAttention
from labml_nn.transformers.positions.transformer_xl import TransformerXLAttention
from labml_nn.transformers.rotary import RotaryPositions
from tests.labml_nn.transformers.positions.at_the_seam import D_K, D_MODEL, HEADS, check_compiled

MAKERS: dict[str, Callable[[], MultiHeadAttention]] = {
    "Shaw": lambda: ShawAttention(HEADS, D_MODEL, 0.0),
    "Transformer-XL": lambda: TransformerXLAttention(HEADS, D_MODEL, 0.0),
    "ALiBi": lambda: AlibiAttention(HEADS, D_MODEL, 0.0),
    "rotary": lambda: RotaryAttention(HEADS, D_MODEL, 0.0, turn=RotaryPositions(D_K, 7)),
}


@pytest.mark.parametrize("name", MAKERS)
def test_compiled_it_gives_the_same(name: str) -> None:
    check_compiled(MAKERS[name])
