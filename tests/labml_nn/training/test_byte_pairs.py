import json
import re
import sys

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from labml_nn.training.byte_pairs import PIECES, BytePairTokenizer, learn_merges, letters_of_bytes
from labml_nn.training.data import tiny_shakespeare

TEXT = tiny_shakespeare()[:20_000]
TOKENIZER = BytePairTokenizer.trained([TEXT], 400)

# Letters that come up again and again, so that there are pairs.
FEW = st.text(alphabet="ab \n1.é🎉", max_size=60)


def merges_of(tokenizer: BytePairTokenizer) -> list[tuple[str, str]]:
    return [tuple(pair) for pair in json.loads(tokenizer.document)["model"]["merges"]]


def test_the_library_finds_the_merges_of_the_page() -> None:
    assert len(TOKENIZER) == 400
    assert merges_of(TOKENIZER) == learn_merges(TEXT, 144)


@settings(max_examples=60)
@given(FEW)
@example("aaaa aaaa aaa")
@example("abab abab baba")
def test_also_in_texts_of_few_letters_where_many_pairs_are_equally_frequent(text: str) -> None:
    tokenizer = BytePairTokenizer.trained([text], 290)
    assert merges_of(tokenizer) == learn_merges(text, len(merges_of(tokenizer)))


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


def test_the_letters_are_those_of_gpt_2() -> None:
    letters = letters_of_bytes()
    assert len(set(letters)) == 256
    assert (letters[ord("a")], letters[ord(" ")], letters[ord("\n")]) == ("a", "Ġ", "Ċ")
    assert (letters[0], letters[0xAD]) == ("Ā", "Ń")


def test_frequent_pairs_are_merged_and_those_that_occur_once_are_not() -> None:
    assert learn_merges("abc abd", 10) == [("a", "b")]
    assert learn_merges("low lower lowest", 10)[:2] == [("l", "o"), ("lo", "w")]
    assert len(BytePairTokenizer.trained(["abcd"], 300)) == 256


def test_tokens_are_the_text_in_fewer_numbers_and_a_learned_piece_is_one() -> None:
    assert len(TOKENIZER.encode(TEXT)) < 0.7 * len(TEXT)
    assert len(TOKENIZER.encode(" the")) == 1


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
