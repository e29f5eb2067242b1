r"""How letters are hidden."""

from inspect import signature

import pytest
import torch
import torch.nn.functional as F

from labml_nn.encoders import masked_tokens as page
from labml_nn.training.data import CharTokenizer, prepare, tiny_shakespeare
from tests.oracles.compare import largest

TOKENIZER = page.MaskTokenizer(CharTokenizer("".join(map(chr, range(97, 97 + 12)))))
LETTERS = torch.randint(13, (97, 101), generator=torch.Generator().manual_seed(1))


def hidden(**shares: float) -> tuple[torch.Tensor, torch.Tensor]:
    return page.corrupt(LETTERS, TOKENIZER, torch.Generator().manual_seed(2), **shares)


def test_the_shares_of_hidden_replaced_and_kept_letters_are_those_that_were_asked_for() -> None:
    inputs, targets = hidden()
    assert largest(hidden(), (inputs, targets)) == 0
    chosen = targets != page.IGNORED
    assert torch.equal(targets[chosen], LETTERS[chosen])
    assert torch.equal(inputs[~chosen], LETTERS[~chosen])
    assert chosen.double().mean().item() == pytest.approx(0.15, abs=0.01)
    masked = inputs[chosen] == TOKENIZER.mask
    assert masked.double().mean().item() == pytest.approx(0.8, abs=0.03)
    # A random letter is the right one in one of 13 cases.
    changed = ~masked & (inputs[chosen] != targets[chosen])
    assert changed.double().mean().item() == pytest.approx(0.1 * 12 / 13, abs=0.02)
    assert set(inputs[chosen][changed].tolist()) == set(range(13))
    assert torch.equal(hidden(rate=1.0, masked=0.0, replaced=0.0)[0], LETTERS)


def test_marks_are_never_chosen() -> None:
    marks = torch.tensor([[TOKENIZER.first, TOKENIZER.pad, TOKENIZER.mask]])
    inputs, targets = page.corrupt(marks, TOKENIZER, torch.Generator(), rate=1.0)
    assert torch.equal(inputs, marks) and (targets == page.IGNORED).all()
    # The number that the loss leaves out.
    assert signature(F.cross_entropy).parameters["ignore_index"].default == page.IGNORED


def test_the_tokenizer_has_three_marks_after_the_letters_and_leaves_gaps() -> None:
    assert (TOKENIZER.mask, TOKENIZER.first, TOKENIZER.pad, len(TOKENIZER)) == (13, 14, 15, 16)
    assert TOKENIZER.encode("cab").tolist() == [14, 2, 0, 1]
    assert TOKENIZER.encode("c_b", gap="_").tolist() == [14, 2, 13, 1]
    assert TOKENIZER.encode("c_").tolist() == [14, 2, 12]


def test_by_the_counts_alone_a_frequent_letter_that_is_seen_was_kept() -> None:
    letters, training, _ = prepare(tiny_shakespeare(), 64)
    share = torch.bincount(training, minlength=len(letters)).double() / len(training)
    hidden = -share.xlogy(share).sum()
    # Of the chosen letters that are seen, half were kept and half are random.
    pairs = 0.5 * torch.diag(share) + 0.5 * share[:, None] / len(letters)
    believed = pairs / pairs.sum(dim=0)
    seen = -pairs.xlogy(believed).sum()
    assert hidden.item() == pytest.approx(3.31, abs=0.005)
    assert (0.8 * hidden + 0.2 * seen).item() == pytest.approx(3.07, abs=0.005)
    assert believed.diagonal()[letters.index["e"]] > 0.85
