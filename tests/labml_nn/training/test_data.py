from collections import Counter
from math import log

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from labml_nn.training.data import (
    UNKNOWN,
    CharTokenizer,
    InputError,
    entropy,
    fixed_windows,
    prepare,
    random_batch,
    split,
)


@given(st.text(min_size=1))
def test_decoding_undoes_encoding(text: str) -> None:
    tokenizer = CharTokenizer(text)
    tokens = tokenizer.encode(text)
    assert tokenizer.decode(tokens) == text
    assert len(tokenizer) == len(set(text) | {UNKNOWN})
    assert int(tokens.max()) < len(tokenizer)


def test_symbols_are_in_the_order_of_their_code_points() -> None:
    assert CharTokenizer("hello, wörld").symbols == " ,dehlorwö\N{REPLACEMENT CHARACTER}"
    assert CharTokenizer("cab").encode("abc").tolist() == [0, 1, 2]


def test_a_tokenizer_made_from_the_symbols_encodes_alike() -> None:
    text = "to be, or not to be"
    tokenizer = CharTokenizer(text)
    again = CharTokenizer(tokenizer.symbols)
    assert again.encode(text).equal(tokenizer.encode(text))


def test_an_unknown_character_is_named_with_its_position() -> None:
    with pytest.raises(InputError, match=r"'z' at position 2 is not among the 3 characters"):
        CharTokenizer("abc").encode("abzaz")


def test_all_unknown_characters_are_named() -> None:
    with pytest.raises(InputError, match="'x' at position 4, 'z' at position 2 are not among"):
        CharTokenizer("abc").encode("abzaxz")


def test_an_unknown_character_has_a_place_of_its_own() -> None:
    tokenizer = CharTokenizer("abc")
    tokens = tokenizer.encode("azbüc", unknown=True)
    assert tokens.tolist() == [0, 3, 1, 3, 2]
    assert tokenizer.decode(tokens) == f"a{UNKNOWN}b{UNKNOWN}c"


def test_the_vocabulary_comes_from_the_training_part_alone() -> None:
    text = 18 * "ab" + "bazz"
    tokenizer, train, validation = prepare(text, seq_len=3)
    assert tokenizer.symbols == f"ab{UNKNOWN}"
    assert tokenizer.decode(train) == text[:36]
    assert tokenizer.decode(validation) == f"ba{UNKNOWN}{UNKNOWN}"


@given(st.integers(20, 5000))
def test_nine_tenths_are_for_training_and_the_order_stays(length: int) -> None:
    tokens = torch.arange(length)
    train, validation = split(tokens, seq_len=3)
    assert torch.cat([train, validation]).equal(tokens)
    assert 10 * len(train) <= 9 * length < 10 * (len(train) + 1)


def test_the_shortest_text_is_one_whose_training_part_has_a_window_and_a_target() -> None:
    # 21 * 9 // 10 is 18: with a context of 17 the 18th character is the last target.
    train, _ = split(torch.arange(21), seq_len=17)
    assert len(train) == 18
    with pytest.raises(InputError, match=r"text of 21 .*\(18\) must be longer than .* of 18"):
        split(torch.arange(21), seq_len=18)


def test_a_validation_part_of_one_character_is_refused() -> None:
    with pytest.raises(InputError, match="at least 2"):
        split(torch.arange(10), seq_len=2)
    split(torch.arange(11), seq_len=2)


def test_targets_are_the_inputs_one_character_later() -> None:
    tokens = torch.arange(101)
    x, y = random_batch(tokens, 7, 5, torch.Generator().manual_seed(1))
    assert x.shape == y.shape == (7, 5)
    for column in range(5):
        start = int(x[0, column])
        assert x[:, column].tolist() == list(range(start, start + 7))
        assert y[:, column].tolist() == list(range(start + 1, start + 8))


def test_every_start_is_drawn_and_no_target_is_beyond_the_end() -> None:
    x, y = random_batch(torch.arange(11), 7, 1000, torch.Generator().manual_seed(1))
    assert set(x[0].tolist()) == {0, 1, 2, 3}
    assert int(y.max()) == 10


def test_the_generator_alone_decides_the_batch() -> None:
    tokens = torch.arange(997)
    generator = torch.Generator().manual_seed(2)
    first, _ = random_batch(tokens, 3, 5, generator)
    second, _ = random_batch(tokens, 3, 5, generator)
    torch.manual_seed(99)
    again, _ = random_batch(tokens, 3, 5, torch.Generator().manual_seed(2))
    assert first.equal(again)
    assert not first.equal(second)


@given(st.integers(2, 200), st.integers(1, 50))
def test_fixed_windows_are_those_of_a_loop(length: int, seq_len: int) -> None:
    text = list(range(length))
    expected = []
    for start in range(0, length - 1, seq_len):
        end = min(start + seq_len, length - 1)
        expected.append((text[start:end], text[start + 1 : end + 1]))

    found = []
    for x, y in fixed_windows(torch.tensor(text), seq_len):
        found += list(zip(x.t().tolist(), y.t().tolist(), strict=True))
    assert found == expected


@given(st.integers(2, 200), st.integers(1, 50))
def test_every_character_but_the_first_is_predicted_once(length: int, seq_len: int) -> None:
    targets = [y.t().flatten() for _, y in fixed_windows(torch.arange(length), seq_len)]
    assert torch.cat(targets).tolist() == list(range(1, length))


def test_entropy_is_that_of_the_counts() -> None:
    tokens = [5, 1, 1, 2, 5, 5, 5, 0]
    shares = [count / len(tokens) for count in Counter(tokens).values()]
    expected = sum(share * log(1 / share) for share in shares)
    assert entropy(torch.tensor(tokens)) == pytest.approx(expected, rel=1e-6)
