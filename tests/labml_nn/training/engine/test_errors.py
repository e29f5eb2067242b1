import pytest
import torch

from labml_nn.training.engine.errors import InputError, checking_input
from labml_nn.transformers.mha import MultiHeadAttention


def test_a_sentence_of_a_lesson_becomes_an_error_of_the_user() -> None:
    with (
        pytest.raises(InputError, match="heads must divide d_model, got heads=3, d_model=8"),
        checking_input(),
    ):
        MultiHeadAttention(heads=3, d_model=8)


def test_a_mistake_in_the_program_stays_one() -> None:
    # Python's own error, inside of a lesson.
    wrong: dict[str, object] = {"__name__": "labml_nn.lesson"}
    exec("def number(text):\n    return int(text)\ndef pair(x):\n    a, b = x", wrong)
    for call in (
        lambda: wrong["number"]("x"),
        lambda: wrong["pair"]([1, 2, 3]),
        # One that PyTorch raises, and one of another program.
        lambda: torch.nn.EmbeddingBag(3, 2)(torch.zeros(1, 1, 1).long()),
        lambda: "of a test".index("lesson"),
        # Another kind of error.
        MultiHeadAttention,
    ):
        with pytest.raises((ValueError, TypeError)), checking_input():
            call()
