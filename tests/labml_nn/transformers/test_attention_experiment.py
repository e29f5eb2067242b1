import math

import matplotlib.pyplot as plt
import pytest
import torch

from labml_nn.transformers import attention_experiment as page

WORDS = "to be or not to be that is".split()


def test_equal_words_have_equal_vectors_and_others_differ() -> None:
    x = page.as_vectors(WORDS, 7)
    assert x.shape == (8, 1, 7)
    equal = [[torch.equal(one, other) for other in x] for one in x]
    assert equal == [[one == other for other in WORDS] for one in WORDS]


def test_a_word_asks_for_itself() -> None:
    torch.manual_seed(1)
    x = page.as_vectors(WORDS, 64)
    attention = page.that_asks_for_itself(1, 64)
    attention(query=x, key=x, value=x)
    weights = attention.attn[:, :, 0, 0]
    for row, word in zip(weights, WORDS, strict=True):
        best = row.topk(WORDS.count(word)).indices.tolist()
        assert {WORDS[at] for at in best} == {word}


@pytest.mark.parametrize(("heads", "masked"), [(1, True), (4, False)])
def test_the_pictures_are_those_of_the_class(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], heads: int, masked: bool
) -> None:
    drawn = []
    monkeypatch.setattr(page, "draw_squares", lambda pictures, words: drawn.append(pictures))
    page.notebook(" ".join(WORDS), heads, masked)
    first, all_heads = drawn
    assert list(all_heads) == [f"head {at + 1}" for at in range(heads)]
    above = torch.ones(8, 8).triu(1).bool()
    assert bool(first["after the mask"][above].isinf().all()) is masked
    assert first["weights"].sum(dim=1).tolist() == pytest.approx([1.0] * 8, abs=1e-5)
    assert f"query [8, 1, {heads}, {64 // heads}]" in capsys.readouterr().out


def test_each_number_stands_in_its_square_and_infinity_is_white(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plt, "show", lambda: None)
    page.draw_squares({"one": torch.tensor([[1.0, -math.inf], [-0.25, 2.0]])}, ["a", "b"])
    axes = plt.gca()
    texts = [(one.get_position(), one.get_text(), one.get_color()) for one in axes.texts]
    assert texts == [
        ((0, 0), "1.0", "black"),
        ((1, 0), "−∞", "black"),
        ((0, 1), "−0.2", "black"),
        ((1, 1), "2.0", "white"),
    ]
    plt.close("all")
