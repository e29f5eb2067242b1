r"""One letter for each axis: which one, and never the same for two."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from literate.page.letters import letters, short


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("seq_len_q seq_len_k batch_size heads d_k", "i j b h d"),
        ("seq_len batch_size d_model n_vocab", "i b m v"),
        # A name of one letter keeps it, and so does one that has a usual letter.
        ("batch_size b", "s b"),
        ("d_model depth d_k", "m e d"),
        # The second of two that are usually the same.
        ("seq_len_q seq_len", "i s"),
        # First letters of words, other letters, any letter.
        ("n_layers n_levels nn", "n l a"),
        ("X __ éé", "X a b"),
        ("", ""),
    ],
)
def test_names_get_the_letters_that_people_write(names: str, expected: str) -> None:
    found = letters(names.split())
    assert list(found) == names.split()
    assert list(found.values()) == expected.split()


@given(st.lists(st.from_regex(r"[a-z_]{1,9}", fullmatch=True), max_size=40, unique=True))
def test_no_two_names_have_one_letter(names: list[str]) -> None:
    found = letters(names)
    assert len(set(found.values())) == len(found)
    # The alphabet may be used up; only then is a name longer than a letter.
    alphabet = set(string.ascii_lowercase)
    assert alphabet <= set(found.values()) or all(len(one) == 1 for one in found.values())


@pytest.mark.parametrize(
    ("axes", "shape"),
    [
        (["seq_len", "heads", "3"], "i h 3"),
        (["heads*d_k", "2*heads*d_k", "seq_len-1"], "hd 2hd i-1"),
        (["(d_k+1)//2", "seq_len+heads"], "(d+1)//2 i+h"),
        ([], "scalar"),
    ],
)
def test_a_shape_in_letters(axes: list[str], shape: str) -> None:
    assert short(axes, {"seq_len": "i", "heads": "h", "d_k": "d"}) == shape
