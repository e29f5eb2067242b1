import hashlib
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from labml_nn.basics.byte_pairs import PIECES
from labml_nn.training.data import prepare, tiny_shakespeare
from labml_nn.training.engine.errors import InputError
from labml_nn.training.engine.text import (
    BytePairTokenizer,
    chunks,
    prepare_text,
    python_sources,
    read_text,
)
from tests.labml_nn.training.engine.models import TEXT


def test_a_file_is_read_as_it_is_and_refused_if_it_is_empty_or_missing(tmp_path: Path) -> None:
    path = tmp_path / "text"
    # A mark of the order of bytes is no character.
    path.write_bytes("\ufeffa\r\nä🎉\n".encode())
    assert read_text(path) == "a\r\nä🎉\n"
    path.write_text("")
    with pytest.raises(InputError, match="is empty"):
        read_text(path)
    with pytest.raises(InputError, match=r"cannot read .*: No such file"):
        read_text(tmp_path / "missing")


@given(st.text(alphabet="aé🎉\n", max_size=50), st.integers(1, 9))
def test_chunks_are_the_text_however_it_is_cut(text: str, size: int) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "text"
        path.write_bytes(text.encode())
        assert "".join(chunks(path, size)) == text


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_a_byte_that_is_not_utf_8_is_named_with_its_position(tmp_path: Path, size: int) -> None:
    # The second is a character that is cut between two chunks, and then is none.
    contents = {"0xff at position 10": "aé🎉é\n".encode() + b"\xffabc"}
    contents["0xc3 at position 7"] = b"abcdefg\xc3("
    for place, content in contents.items():
        (tmp_path / "text").write_bytes(content)
        with pytest.raises(InputError, match=f"not UTF-8: byte {place} is .*; "):
            list(chunks(tmp_path / "text", size))


def test_characters_are_those_of_the_lesson() -> None:
    found = prepare_text(TEXT, 7)
    _, train, validation = prepare(TEXT, 7)
    assert found.train.equal(train)
    assert found.validation.equal(validation)
    assert found.n_characters == len(validation)
    assert found.checksum == hashlib.sha256(TEXT.encode()).hexdigest()
    assert str(found) == "2,200 characters, 29 in the vocabulary"
    with pytest.raises(InputError, match="1,980 tokens to train on and 220 to measure are too few"):
        found.check_length(1980)


def test_byte_pairs_are_learned_from_the_training_part_alone() -> None:
    text = TEXT + "£" * 200
    found = prepare_text(text, 7, n_vocab=270)
    parts = [found.tokenizer.decode(part) for part in (found.train, found.validation)]
    assert "".join(parts) == text
    assert found.n_characters == len(parts[1]) == len(prepare(text, 7)[2])
    # The pair of bytes that makes a pound is frequent, but in the validation part.
    assert len(found.tokenizer.encode("£")) == 2

    text = python_sources(100_000)
    assert len(text) == 100_000
    assert python_sources(200_000).startswith(text)


VERSES = tiny_shakespeare()[:20_000]
TOKENIZER = BytePairTokenizer.trained([VERSES], 400)


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
    assert len(TOKENIZER.encode(VERSES)) < 0.7 * len(VERSES)
    assert len(TOKENIZER.encode(" the")) == 1
    assert len(BytePairTokenizer.trained(["abcd"], 300)) == 256


@pytest.mark.parametrize("n_vocab", [0, 255, 32_769])
def test_a_vocabulary_that_cannot_be_is_refused_and_so_is_a_missing_package(
    n_vocab: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ValueError, match=f"between 256, the bytes, and 32,768, got {n_vocab}$"):
        BytePairTokenizer.trained([VERSES], n_vocab)
    with pytest.raises(ValueError, match="not a tokenizer: "):
        BytePairTokenizer("{}")
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ValueError, match="byte pairs need the package tokenizers"):
        BytePairTokenizer.trained([VERSES], 300)
