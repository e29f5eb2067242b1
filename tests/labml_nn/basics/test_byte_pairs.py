import json

from hypothesis import example, given, settings
from hypothesis import strategies as st
from transformers.convert_slow_tokenizer import bytes_to_unicode

from labml_nn.basics.byte_pairs import encode, learn_merges, letters_of_bytes
from labml_nn.training.data import tiny_shakespeare
from labml_nn.training.engine.text import BytePairTokenizer
from tests.labml_nn.transformers.seam import equals

TEXT = tiny_shakespeare()[:20_000]
TOKENIZER = BytePairTokenizer.trained([TEXT], 400)

# Letters that come up again and again, so that there are pairs.
FEW = st.text(alphabet="ab \n1.é🎉", max_size=60)


def merges_of(tokenizer: BytePairTokenizer) -> list[tuple[str, str]]:
    return [tuple(pair) for pair in json.loads(tokenizer.document)["model"]["merges"]]


def from_tokenizers() -> float:
    r"""How many merges of the text, and how many of its tokens, are not those of the library."""
    assert len(TOKENIZER) == 400
    merges, theirs = learn_merges(TEXT, 144), merges_of(TOKENIZER)
    tokens, others = encode(TEXT, theirs), TOKENIZER.tokenizer.encode(TEXT).tokens
    pairs = [*zip(merges, theirs, strict=True), *zip(tokens, others, strict=True)]
    return float(sum(one != other for one, other in pairs))


ORACLES = {"Hugging Face tokenizers": from_tokenizers}
test_the_library_finds_the_merges_of_the_page = equals(ORACLES)


@settings(max_examples=60)
@given(FEW)
@example("aaaa aaaa aaa")
@example("abab abab baba")
def test_also_in_texts_of_few_letters_where_many_pairs_are_equally_frequent(text: str) -> None:
    tokenizer = BytePairTokenizer.trained([text], 290)
    assert merges_of(tokenizer) == learn_merges(text, len(merges_of(tokenizer)))


@given(st.text())
@example("aaa the low lower\n lowest 1234 élan")
def test_the_library_makes_the_same_tokens(text: str) -> None:
    found = encode(text, merges_of(TOKENIZER))
    assert found == TOKENIZER.tokenizer.encode(text).tokens
    number = {letter: byte for byte, letter in enumerate(letters_of_bytes())}
    assert bytes(number[letter] for letter in "".join(found)).decode() == text


def test_the_letters_are_those_of_gpt_2() -> None:
    letters = bytes_to_unicode()
    assert letters_of_bytes() == [letters[byte] for byte in range(256)]


def test_frequent_pairs_are_merged_and_those_that_occur_once_are_not() -> None:
    assert learn_merges("abc abd", 10) == [("a", "b")]
    assert learn_merges("", 10) == learn_merges("a", 10) == []
    assert learn_merges("low lower lowest", 10)[:2] == [("l", "o"), ("lo", "w")]
