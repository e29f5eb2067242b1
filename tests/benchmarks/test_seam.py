r"""The benchmark of the seam finds the attentions, and compares each with the kernel rightly."""

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from benchmarks import seam
from labml_nn.transformers.mha import MultiHeadAttention

SEQ_LEN = 7


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    r"""Two heads of three features."""
    monkeypatch.setattr(seam, "HEADS", 2)
    monkeypatch.setattr(seam, "D_MODEL", 6)
    torch.manual_seed(1)
    yield


def capped(self: MultiHeadAttention, query: Tensor, key: Tensor) -> Tensor:
    r"""Scores that no kernel has."""
    return MultiHeadAttention.get_scores(self, query, key).tanh()


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, "told that it is causal"),
        ({"prepare_mask": lambda self, mask, *more: mask.unsqueeze(-1)}, "told that it is causal"),
        ({"get_scores": capped}, None),
    ],
    ids=["plain", "any mask", "capped"],
)
def test_the_kernel_is_asked_for_the_same(changes: dict[str, object], expected: str | None) -> None:
    module = type("Variant", (MultiHeadAttention,), changes)(2, 6, 0.0)
    found = seam.reference(module, torch.randn(SEQ_LEN, 1, 6))
    assert (found and found[0]) == expected


def test_what_a_page_hides_is_hidden_by_a_mask() -> None:
    def hide_far(self: MultiHeadAttention, mask: Tensor, *shapes: torch.Size) -> Tensor:
        near = torch.ones(SEQ_LEN, SEQ_LEN, dtype=torch.bool).triu(-2)
        return (mask & near.unsqueeze(-1)).unsqueeze(-1)

    module = type("Variant", (MultiHeadAttention,), {"prepare_mask": hide_far})(2, 6, 0.0)
    name, attend = seam.reference(module, torch.randn(SEQ_LEN, 1, 6))
    assert name == "with a mask"
    x = torch.randn(SEQ_LEN, 1, 6)
    mask = torch.ones(SEQ_LEN, SEQ_LEN, dtype=torch.bool).tril().unsqueeze(-1)
    torch.testing.assert_close(attend(x), module(query=x, key=x, value=x, mask=mask))


def test_what_is_added_and_learned_is_more_than_the_kernel_can() -> None:
    r"""Numbers that were made beforehand give the same result, and leave a parameter unlearned."""

    def fixed(self: MultiHeadAttention, query: Tensor, key: Tensor) -> Tensor:
        return torch.arange(SEQ_LEN * SEQ_LEN).view(SEQ_LEN, SEQ_LEN, 1, 1) * self.rate

    module = type("Variant", (MultiHeadAttention,), {"get_bias": fixed})(2, 6, 0.0)
    module.rate = torch.tensor(0.01)
    x = torch.randn(SEQ_LEN, 1, 6)
    assert seam.reference(module, x)[0] == "with numbers that are added"
    module.rate = torch.nn.Parameter(torch.tensor(0.01))
    assert seam.reference(module, x) is None


def test_for_every_day_flash_attention_has_no_tiles_and_attention_many_heads() -> None:
    assert seam.attention_of("labml_nn.transformers.memory.flash", SEQ_LEN).size is None
    assert seam.attention_of("labml_nn.transformers.mha", SEQ_LEN).query.heads == 2


def test_pages_are_found_by_their_place_in_the_transformer() -> None:
    found = seam.pages()
    assert "labml_nn.transformers.mha" in found
    assert "labml_nn.transformers.feed_forward" in found
    assert seam.attention_of("labml_nn.transformers.feed_forward", SEQ_LEN) is None
    assert seam.attention_of("labml_nn.transformers.rms_norm", SEQ_LEN) is None
    assert "labml_nn.transformers.stacked_linear" not in found


def test_a_page_needs_as_much_memory_as_the_kernel_with_its_projections() -> None:
    _, ours, theirs = seam.pair("labml_nn.transformers.mha", 64)
    assert seam.extra_bytes(ours, 64) <= 1.3 * seam.extra_bytes(theirs, 64)
    ratio, seconds = seam.ratio_of_times(ours, theirs, 64, 0.0, iter(range(999)).__next__)
    assert (ratio, seconds) == (1.0, 1.0)


def test_why_a_page_has_no_numbers() -> None:
    assert "to be read" in seam.without_numbers("labml_nn.transformers.ways.folded_heads")
    assert "not able" in seam.without_numbers("labml_nn.transformers.positions.transformer_xl")


def test_more_rounds_are_made_where_the_bar_is_within_the_noise() -> None:
    noisy = [0.98, 1.0, 1.02, 1.04, 1.06, 1.08, 1.1]
    assert seam.is_open(noisy)
    assert not seam.is_open([one - 0.2 for one in noisy])
    assert not seam.is_open([one + 0.2 for one in noisy])
    assert seam.is_open(noisy * 8)
    assert not seam.is_open(noisy * 9)
