import hashlib
from pathlib import Path

import pytest

from labml_nn.training.data import prepare
from labml_nn.training.engine.errors import InputError
from labml_nn.training.engine.text import prepare_text, python_sources, read_text
from tests.labml_nn.training.engine.models import TEXT


def test_a_file_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes("\ufeffa\r\nä🎉\n".encode())
    assert read_text(path) == "a\r\nä🎉\n"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "is empty"),
        (b"abc\xffd", "is not UTF-8: byte 0xff at position 3 is invalid there; save the file as"),
        (None, "cannot read .*: No such file"),
    ],
)
def test_a_file_that_is_no_text_is_refused(
    tmp_path: Path, content: bytes | None, sentence: str
) -> None:
    if content is not None:
        (tmp_path / "text").write_bytes(content)
    with pytest.raises(InputError, match=sentence):
        read_text(tmp_path / "text")


def test_pythons_sources_are_cut_at_a_length() -> None:
    text = python_sources(100_000)
    assert len(text) == 100_000
    assert python_sources(200_000).startswith(text)


def test_characters_are_those_of_the_lesson() -> None:
    found = prepare_text(TEXT, 7)
    _, train, validation = prepare(TEXT, 7)
    assert found.train.equal(train)
    assert found.validation.equal(validation)
    assert found.n_characters == len(validation)
    assert found.checksum == hashlib.sha256(TEXT.encode()).hexdigest()
    assert str(found) == "2,200 characters, 29 in the vocabulary"


def test_byte_pairs_are_learned_from_the_training_part_alone() -> None:
    found = prepare_text(TEXT + "£" * 200, 7, n_vocab=270)
    decode = found.tokenizer.decode
    n_characters = len(prepare(TEXT + "£" * 200, 7)[2])
    assert decode(found.train) == (TEXT + "£" * 200)[:-n_characters]
    assert decode(found.validation) == (TEXT + "£" * 200)[-n_characters:]
    assert found.n_characters == n_characters
    # The pair of bytes that makes a pound is frequent, but in the validation part.
    assert len(found.tokenizer.encode("£")) == 2


def test_too_few_tokens_are_refused() -> None:
    with pytest.raises(InputError, match="1,980 tokens to train on and 220 to measure are too few"):
        prepare_text(TEXT, 7).check_length(1980)
