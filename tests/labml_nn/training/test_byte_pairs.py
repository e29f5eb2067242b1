import hashlib
import json
import math
import re
import sys
from collections import Counter
from pathlib import Path

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from labml_nn.training.__main__ import main
from labml_nn.training.byte_pairs import (
    PIECES,
    BytePairTokenizer,
    learn_merges,
    letters_of_bytes,
    prepare_pairs,
)
from labml_nn.training.corpora import python_sources
from labml_nn.training.data import InputError

TEXT = python_sources(60_000)
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


def test_half_a_character_is_shown_as_unknown() -> None:
    tokens = TOKENIZER.encode("🎉")
    assert len(tokens) == 4
    assert TOKENIZER.decode(tokens[:3]) == "\N{REPLACEMENT CHARACTER}"


def test_the_letters_are_those_of_gpt_2() -> None:
    letters = letters_of_bytes()
    assert len(set(letters)) == 256
    assert (letters[ord("a")], letters[ord(" ")], letters[ord("\n")]) == ("a", "Ġ", "Ċ")
    assert (letters[0], letters[0xAD]) == ("Ā", "Ń")


@given(st.text())
def test_the_pieces_are_the_whole_text_and_a_line_ends_one(text: str) -> None:
    pieces = re.findall(PIECES, text)
    assert "".join(pieces) == text
    assert all(piece == "\n" or "\n" not in piece for piece in pieces)


def test_pairs_that_occur_once_are_not_merged() -> None:
    assert learn_merges("abc abd", 10) == [("a", "b")]
    assert len(BytePairTokenizer.trained(["abcd"], 300)) == 256


def test_tokens_are_the_text_in_fewer_numbers() -> None:
    tokens = TOKENIZER.encode(TEXT)
    assert len(tokens) < 0.7 * len(TEXT)
    # A piece that was learned is one token.
    (self,) = TOKENIZER.encode(" self").tolist()
    assert Counter(tokens.tolist())[self] > 50


def test_the_merges_come_from_the_training_part_alone() -> None:
    text = "aaab\n" * 900 + "xyz\n" * 125
    prepared = prepare_pairs(text, 7, 300)
    assert merges_of(prepared.tokenizer) == merges_of(BytePairTokenizer.trained([text[:4500]], 300))
    assert prepared.n_characters == 500
    assert prepared.tokenizer.decode(prepared.validation) == text[4500:]


@pytest.mark.parametrize("n_vocab", [0, 255, 32_769])
def test_a_vocabulary_that_cannot_be_is_refused(n_vocab: int) -> None:
    with pytest.raises(InputError, match=f"between 256, the bytes, and 32,768, got {n_vocab}$"):
        BytePairTokenizer.trained([TEXT], n_vocab)


def test_what_is_no_tokenizer_is_refused() -> None:
    with pytest.raises(InputError, match="not a tokenizer: "):
        BytePairTokenizer("{}")


def test_without_the_package_one_sentence_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(InputError, match="byte pairs need the package tokenizers"):
        BytePairTokenizer.trained([TEXT], 300)


SMALL = [
    "--preset=classic", "--steps=4", "--save-every=2", "--device=cpu", "--precision=float32",
    "--d-model=8", "--heads=2", "--n-layers=1", "--d-ff=8", "--seq-len=8", "--sample-length=5",
    "--json",
]  # fmt: skip


def test_a_run_of_byte_pairs_keeps_its_tokenizer_and_tells_its_loss_per_character(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text").write_text(TEXT)
    source = [f"--text={tmp_path / 'text'}", "--tokenizer=byte-pairs", "--n-vocab=300"]
    assert main([*SMALL, *source, f"--runs={tmp_path}"]) == 0
    out = capsys.readouterr().out
    result = json.loads(out.splitlines()[-1])
    run = Path(result["run"])
    document = (run / "tokenizer.json").read_text()
    assert document == prepare_pairs(TEXT, 8, 300).tokenizer.document

    # As many nats as all tokens have, over as many characters.
    n_tokens = len(BytePairTokenizer(document).encode(TEXT[54_000:]))
    per_character = result["val_loss"] * n_tokens / 6_000
    assert result["val_loss_per_character"] == pytest.approx(per_character)
    assert result["bits_per_character"] == pytest.approx(per_character / math.log(2))
    assert f"{result['val_loss']:.4f} nats a token" in out
    assert f"{per_character:.4f} nats or {per_character / math.log(2):.4f} bits a char" in out

    # It knows its tokens when it goes on.
    assert main([f"--resume={run}", "--json"]) == 0
    again = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert again["val_loss"] == result["val_loss"]
    digest = hashlib.sha256(document.encode()).hexdigest()
    assert json.loads((run / "run.json").read_text())["symbols"] == f"byte pairs {digest}"


def test_a_number_of_characters_is_no_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*SMALL, "--corpus=python", "--n-vocab=300", f"--runs={tmp_path}"]) == 2
    assert "--n-vocab is for --tokenizer byte-pairs" in capsys.readouterr().err
