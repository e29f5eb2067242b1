r"""Each test of an attention alone: what it lets pass, what it finds, and what it says."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from labml_nn.transformers.mistakes import single_tests
from labml_nn.transformers.mistakes.comparison import roughen
from labml_nn.transformers.mistakes.right_attention import RightAttention
from labml_nn.transformers.mistakes.single_tests import (
    ATTENTION_TESTS,
    Subject,
    alone,
    comparison,
    decoding,
    equal_tokens,
    evaluation,
    future,
    gradients,
    numbers,
    padding,
    prefix,
)

BATCH_SIZE, SEQ_LEN, HEADS, D_MODEL = 3, 5, 2, 8

Change = Callable[[Tensor], Tensor]


def subject(change: Change = lambda y: y, **options: Any) -> Subject:
    r"""The right attention, and what is done to its output."""
    attention = roughen(RightAttention(D_MODEL, HEADS, 0.5)).eval()
    x = torch.randn(BATCH_SIZE, SEQ_LEN, D_MODEL, generator=torch.Generator().manual_seed(1))
    return Subject(attention, x, HEADS, lambda module, x: change(module(x)), **options)


def test_the_right_one_passes_all() -> None:
    right = subject(masked=RightAttention.forward, decode=RightAttention.__call__)
    assert [test(right) for test in ATTENTION_TESTS] == [""] * 10


def test_chance_is_found_and_nan_is_not_chance() -> None:
    assert "dropout is on" in evaluation(subject(lambda y: nn.functional.dropout(y, 0.5)))
    assert evaluation(subject(lambda y: y * torch.nan)) == ""


def test_another_function_is_found_by_the_comparison_if_there_is_one() -> None:
    assert "differs" in comparison(subject(lambda y: 1.01 * y))
    assert comparison(subject(lambda y: 1.01 * y, weights=None)) == ""


def test_the_future_is_found_in_evaluation_and_in_training() -> None:
    ahead = subject(lambda y: y + y.roll(-1, dims=1))
    assert "in training, the output at position 0" in future(ahead)
    assert prefix(ahead).startswith("the first 1 outputs change")
    assert "the output at position 0 depends" in future(subject(lambda y: y * torch.nan))

    class Evaluated(RightAttention):
        def allowed(self, seq_len: int) -> Tensor:
            return super().allowed(seq_len) | (not self.training)

    attention = roughen(Evaluated(D_MODEL, HEADS)).eval()
    assert "in evaluation, the output" in future(
        Subject(attention, ahead.x, HEADS, nn.Module.__call__)
    )


def test_what_is_a_little_ahead_of_the_last_but_one_is_found_too() -> None:
    def last(y: Tensor) -> Tensor:
        return torch.cat([y[:, :-2], y[:, -2:-1] + y[:, -1:], y[:, -1:]], dim=1)

    assert f"at position {SEQ_LEN - 2} depends" in future(subject(last))


def test_the_length_counts_in_a_prefix_only() -> None:
    longer = subject(lambda y: y * y.shape[1])
    assert future(longer) == ""
    assert "the length of the sequence is used" in prefix(longer)


def test_the_batch_counts_in_any_row() -> None:
    place = torch.arange(BATCH_SIZE).view(-1, 1, 1)
    assert alone(subject(lambda y: y * (1 + place[: len(y)]))).startswith("sequence 1 gets")
    assert alone(subject(lambda y: y + y.mean(0))).startswith("sequence 0 gets")


def test_a_matrix_without_gradient_is_named() -> None:
    one = subject()
    one.attention.extra = nn.Parameter(torch.ones(2, 2))
    one.attention.key.weight.requires_grad_(False)
    assert gradients(one) == "no gradient comes to extra, key.weight: it is never used"


def test_equal_inputs_have_equal_outputs() -> None:
    place = 1 + torch.arange(SEQ_LEN).view(1, -1, 1)
    assert "don't sum to one" in equal_tokens(subject(lambda y: y * place))


@pytest.mark.parametrize(("inputs", "large"), [("any", 0.0), ("large", 30.0)], ids=["any", "large"])
def test_what_is_not_finite_is_found(inputs: str, large: float) -> None:
    spoiled = subject(lambda y: y.masked_fill(y.abs() > large, torch.inf))
    assert "there are NaN or infinite numbers" in numbers(spoiled)


def test_a_gradient_that_is_not_finite_is_found_and_so_is_a_single_position() -> None:
    assert "NaN" in numbers(subject(lambda y: y + (y - y.detach()).abs().sqrt()))
    assert "1 positions" in numbers(subject(lambda y: y / float(y.shape[1] > 1 or "nan")))


def masked(change: Callable[[Tensor], Tensor]) -> str:
    return padding(subject(masked=lambda module, x, mask: module(x, change(mask))))


def test_a_mask_that_hides_something_else_is_found() -> None:
    assert masked(lambda mask: mask) == ""
    assert "hidden inputs change" in masked(torch.ones_like)
    assert "hidden inputs change" in masked(torch.logical_not)
    assert "hidden inputs change" in masked(lambda mask: mask.roll(1, dims=0))


def test_padding_that_gives_nan_is_found() -> None:
    spoiled = subject(masked=lambda module, x, mask: module(x, mask) / mask.any(-1, True).float())
    assert "nothing but padding gives NaN" in padding(spoiled)


def test_decoding_is_compared_position_by_position() -> None:
    def late(module: nn.Module, x: Tensor) -> Tensor:
        return torch.cat([module(x[:, :3]), module(x)[:, :-3]], dim=1)

    assert "position 3 comes out otherwise" in decoding(subject(decode=late))
    assert decoding(subject()) == padding(subject()) == ""


def test_the_example_passes() -> None:
    assert set(single_tests.example().values()) == {""}
