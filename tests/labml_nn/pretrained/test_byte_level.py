r"""The tokens are those of the library transformers, from the same two files."""

import json
import random
import unicodedata
from pathlib import Path

import pytest
import torch
from transformers import GPT2Tokenizer

from labml_nn.basics.byte_pairs import learn_merges, letters_of_bytes
from labml_nn.pretrained import byte_level as page
from labml_nn.training.data import tiny_shakespeare

MERGES = learn_merges(tiny_shakespeare()[:20_000], 200)
TOKENS = [*sorted(letters_of_bytes()), *map("".join, MERGES), "<|endoftext|>"]
NUMBERS = {token: number for number, token in enumerate(TOKENS)}
# Contractions, white space of all kinds, numbers that aren't digits, accents, many scripts.
SIGNS = [*"'sStTmdreRvl  \n\t\r\x0b\x1c\x85\xa0\u2003½²ⅷ١éß\u0301Ж中一ªǅ_-,.!0179🙂", "'re", "'ll"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vocabulary")
    lines = ["#version: 0.2", *map(" ".join, MERGES), ""]
    (folder / "vocab.json").write_text(json.dumps(NUMBERS), encoding="utf-8")
    (folder / "merges.txt").write_text("\n".join(lines), encoding="utf-8")
    return folder


def test_random_texts_have_the_tokens_of_transformers_and_come_back(folder: Path) -> None:
    theirs = GPT2Tokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
    ours, chance = page.read_tokenizer(folder), random.Random(1)
    texts = ["".join(chance.choices(SIGNS, k=chance.randrange(60))) for _ in range(200)]
    for text in [*texts, tiny_shakespeare()[30_000:32_000], "don't  I'LL we'll\n\n"]:
        found = ours.encode(text)
        assert found.tolist() == theirs(text)["input_ids"]
        assert found.dtype == torch.long
        assert ours.decode(found) == text


def test_every_character_is_cut_as_by_transformers_if_python_knows_it(folder: Path) -> None:
    theirs = GPT2Tokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
    cut = theirs.backend_tokenizer.pre_tokenizer.pre_tokenize_str
    for number in range(0, 0x30000, 7):
        character = chr(number)
        if unicodedata.category(character) not in ("Cn", "Cs"):
            text = f"a{character}1 {character}b "
            assert page.pieces(text) == [text[slice(*place)] for _, place in cut(text)]


def test_bytes_that_are_no_text_become_a_sign_for_that(folder: Path) -> None:
    ours = page.read_tokenizer(folder)
    assert ours.decode(ours.encode("é")[:1]) == "\N{REPLACEMENT CHARACTER}"
    assert ours.decode(torch.tensor([len(ours) - 1])) == "<|endoftext|>"
    assert len(ours) == len(TOKENS)


def without(token: str, **more: int) -> dict[str, int]:
    return {name: number for name, number in NUMBERS.items() if name != token} | more


@pytest.mark.parametrize(
    ("numbers", "sentence"),
    [
        (without("".join(MERGES[7])), f"missing are \\['{''.join(MERGES[7])}'\\]"),
        (without("A", new=NUMBERS["A"]), "missing are \\['A'\\]"),
        (without("<|endoftext|>", new=999), f"should number its {len(NUMBERS)} tokens from 0"),
    ],
)
def test_a_vocabulary_with_gaps_is_refused(numbers: dict[str, int], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        page.ByteLevelTokenizer(numbers, MERGES)
