import re
import sys

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from labml_nn.basics.byte_pairs import PIECES
from labml_nn.training.data import tiny_shakespeare
from labml_nn.training.engine.byte_pairs import BytePairTokenizer

TEXT = tiny_shakespeare()[:20_000]
TOKENIZER = BytePairTokenizer.trained([TEXT], 400)


@given(st.text())
@example("\x00\ufeff �\r\n\u2028 \u0301")
def test_any_text_comes_back(text: str) -> None:
    tokens = TOKENIZER.encode(text)
    assert tokens.dtype == torch.long
    assert TOKENIZER.decode(tokens) == text
    pieces = re.findall(PIECES, text)
    assert "".join(pieces) == text
    assert all(piece == "\n" or "\n" not in piece for piece in pieces)
    # Half a character is shown as unknown.
    assert TOKENIZER.decode(TOKENIZER.encode("🎉")[:3]) == "\N{REPLACEMENT CHARACTER}"


def test_tokens_are_the_text_in_fewer_numbers_and_a_learned_piece_is_one() -> None:
    assert len(TOKENIZER.encode(TEXT)) < 0.7 * len(TEXT)
    assert len(TOKENIZER.encode(" the")) == 1
    assert len(BytePairTokenizer.trained(["abcd"], 300)) == 256


@pytest.mark.parametrize("n_vocab", [0, 255, 32_769])
def test_a_vocabulary_that_cannot_be_is_refused_and_so_is_a_missing_package(
    n_vocab: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match=f"between 256, the bytes, and 32,768, got {n_vocab}$"):
        BytePairTokenizer.trained([TEXT], n_vocab)
    with pytest.raises(ValueError, match="not a tokenizer: "):
        BytePairTokenizer("{}")
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ValueError, match="byte pairs need the package tokenizers"):
        BytePairTokenizer.trained([TEXT], 300)
