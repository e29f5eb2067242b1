from hashlib import sha256

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from labml_nn.training import data as page

UNKNOWN = "\N{REPLACEMENT CHARACTER}"


def test_the_text_in_the_package_is_tiny_shakespeare() -> None:
    content = page.tiny_shakespeare().encode()
    assert len(content) == 1_115_394
    checksum = "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed"
    assert sha256(content).hexdigest() == checksum
    # None of its characters is unknown.
    tokenizer, train, validation = page.prepare(page.tiny_shakespeare(), 64)
    assert (len(tokenizer), len(train), len(validation)) == (66, 1_003_854, 111_540)
    assert int(torch.cat([train, validation]).max()) == 64


def test_symbols_are_in_the_order_of_their_code_points_and_enough_to_encode_alike() -> None:
    text = "hello, wörld"
    tokenizer = page.CharTokenizer(text)
    assert tokenizer.symbols == f" ,dehlorwö{UNKNOWN}"
    # Those that are unknown become the last one.
    assert page.CharTokenizer("cab").encode("azbüc").tolist() == [0, 3, 1, 3, 2]
    assert page.CharTokenizer(tokenizer.symbols).encode(text).equal(tokenizer.encode(text))


def test_the_vocabulary_comes_from_the_training_part_alone() -> None:
    text = 18 * "ab" + "bazz"
    tokenizer, train, validation = page.prepare(text, seq_len=3)
    assert tokenizer.symbols == f"ab{UNKNOWN}"
    assert tokenizer.decode(train) == text[:36]
    assert tokenizer.decode(validation) == f"ba{UNKNOWN}{UNKNOWN}"


def test_a_text_without_a_window_or_a_prediction_is_refused() -> None:
    # 21 * 9 // 10 is 18: with a context of 17 the 18th character is the last target.
    page.prepare(21 * "a", seq_len=17)
    with pytest.raises(ValueError, match="21 characters are too few for a context of 18"):
        page.prepare(21 * "a", seq_len=18)
    page.prepare(11 * "a", seq_len=2)
    with pytest.raises(ValueError, match="10 characters are too few"):
        page.prepare(10 * "a", seq_len=2)


def test_targets_are_the_inputs_one_character_later() -> None:
    x, y = page.RandomWindows(torch.arange(101), 7, 5, seed=1).at(3)
    assert x.equal(x[0] + torch.arange(7).unsqueeze(1))
    assert x.shape == (7, 5)
    assert y.equal(x + 1)
    # Every start is drawn.
    x, _ = page.RandomWindows(torch.arange(11), 7, 1000, seed=1).at(0)
    assert set(x[0].tolist()) == {0, 1, 2, 3}


def test_seed_and_step_alone_decide_the_batch() -> None:
    tokens = torch.arange(997)
    batches = page.RandomWindows(tokens, 3, 5, seed=2)
    first, second = batches.at(0)[0], batches.at(1)[0]
    torch.manual_seed(99)
    assert page.RandomWindows(tokens, 3, 5, seed=2).at(0)[0].equal(first)
    assert not first.equal(second)
    assert not first.equal(page.RandomWindows(tokens, 3, 5, seed=3).at(0)[0])


@given(st.integers(2, 200), st.integers(1, 50))
def test_fixed_windows_are_those_of_a_loop(length: int, seq_len: int) -> None:
    text, found = list(range(length)), []
    for x, y in page.fixed_windows(torch.tensor(text), seq_len):
        found += zip(x.t().tolist(), y.t().tolist(), strict=True)
    starts = range(0, length - 1, seq_len)
    inputs = [text[:-1][start : start + seq_len] for start in starts]
    assert found == [(one, [token + 1 for token in one]) for one in inputs]
