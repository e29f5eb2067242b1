import cmath

import pytest
import torch
from torch import Tensor, nn
from transformers.models.xlm.modeling_xlm import create_sinusoidal_embeddings

from labml_nn.transformers import positional_encoding as page
from labml_nn.transformers.mha import MultiHeadAttention
from tests.labml_nn.transformers.seam import attend, equals, shapes
from tests.oracles.compare import largest

SEQ_LEN, MAX_LEN, BATCH_SIZE, D_MODEL = 5, 11, 3, 14


def sequence(dtype: torch.dtype = torch.float32) -> Tensor:
    generator = torch.Generator().manual_seed(2)
    return torch.randn(SEQ_LEN, BATCH_SIZE, D_MODEL, generator=generator).to(dtype)


def fixed(dropout_prob: float = 0.0) -> page.PositionalEncoding:
    return page.PositionalEncoding(D_MODEL, dropout_prob, MAX_LEN)


def learned() -> page.LearnedPositionalEncoding:
    return page.LearnedPositionalEncoding(D_MODEL, MAX_LEN)


def distance_to_xlm() -> float:
    r"""From the positions of XLM, which are computed with 64 bits and kept with 32."""
    theirs = create_sinusoidal_embeddings(1009, D_MODEL, torch.empty(1009, D_MODEL))
    return largest([page.sinusoidal_positions(D_MODEL, 1009)], [theirs])


ORACLES = {"Hugging Face XLM": distance_to_xlm}
test_it_is_what_others_compute = equals(ORACLES)


@pytest.mark.parametrize("d_model", [2, 14])
def test_sines_and_cosines_are_the_parts_of_turning_complex_numbers(d_model: int) -> None:
    encodings = page.sinusoidal_positions(d_model, 13)
    assert encodings.shape == (13, d_model)
    for position in range(13):
        for feature in range(d_model):
            pair = feature // 2
            turned = cmath.exp(1j * position / 10_000 ** (2 * pair / d_model))
            expected = (turned.imag, turned.real)[feature % 2]
            assert encodings[position, feature].item() == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("offset", [0, 1, 4, -3])
def test_encodings_of_later_positions_are_the_earlier_ones_turned(offset: int) -> None:
    encodings = page.sinusoidal_positions(D_MODEL, 30)
    earlier, later = encodings[10:20], encodings[10 + offset : 20 + offset]
    torch.testing.assert_close(page.shift_positions(earlier, offset), later, rtol=0, atol=1e-6)


def test_without_positions_attention_does_not_know_the_order() -> None:
    attention = MultiHeadAttention(2, D_MODEL, dropout_prob=0.0)
    x, order = sequence(), [3, 0, 4, 1, 2]
    torch.testing.assert_close(attend(attention, x[order]), attend(attention, x)[order])
    placed, elsewhere = (attend(attention, fixed()(one)) for one in (x, x[order]))
    assert (elsewhere - placed[order]).abs().max() > 0.01


def test_encodings_are_added_to_each_sequence() -> None:
    x, trained = sequence(), learned()
    rows = {fixed(): page.sinusoidal_positions(D_MODEL, SEQ_LEN), trained: trained.encodings[:5, 0]}
    for module, expected in rows.items():
        added = (module(x) - x).transpose(0, 1)
        torch.testing.assert_close(added, expected.expand_as(added), rtol=0, atol=1e-6)


def test_learned_encodings_start_with_variance_one() -> None:
    torch.manual_seed(4)
    encodings = page.LearnedPositionalEncoding(256, 999).encodings
    assert encodings.mean().item() == pytest.approx(0, abs=0.01)
    assert encodings.var().item() == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("make", [fixed, learned])
def test_the_longest_sequence_fits_and_a_longer_one_is_refused(make: type[nn.Module]) -> None:
    longest, longer = (torch.zeros(n, BATCH_SIZE, D_MODEL) for n in (MAX_LEN, MAX_LEN + 1))
    assert make()(longest).shape == longest.shape
    with pytest.raises(RuntimeError, match="12.*11"):
        make()(longer)


def test_an_odd_width_is_refused_and_there_are_five_thousand_positions_as_a_rule() -> None:
    assert len(page.PositionalEncoding(2, 0.0).encodings) == 5000
    with pytest.raises(ValueError, match="even.*got 7"):
        page.PositionalEncoding(7, 0.0)


def test_fixed_encodings_are_not_saved_and_learned_ones_are() -> None:
    assert not fixed().state_dict()
    assert not list(fixed().parameters())
    assert shapes(learned()) == {"encodings": (MAX_LEN, 1, D_MODEL)}
    # Both have the type of the model.
    halves = sequence(torch.float16)
    assert all(make().half()(halves).dtype is torch.float16 for make in (fixed, learned))


def test_dropout_acts_on_the_sum_in_training_only() -> None:
    x = sequence()
    assert torch.equal(fixed(dropout_prob=1.0)(x), torch.zeros_like(x))
    assert torch.equal(fixed(dropout_prob=1.0).eval()(x), fixed()(x))


def test_the_slow_pairs_of_64_positions_need_few_directions() -> None:
    slow = 2 * torch.pi / page.frequencies(128) > 64
    encodings = page.sinusoidal_positions(128, 64).double().unflatten(1, (64, 2))

    def directions(pairs: Tensor) -> int:
        r"""How many hold all but a hundred-thousandth of the squares."""
        squares = torch.linalg.svdvals(encodings[:, pairs].flatten(start_dim=1)).square()
        return int((squares.cumsum(dim=0) < (1 - 1e-5) * squares.sum()).sum()) + 1

    assert slow.sum() == 47 and directions(slow) == 5 and directions(~slow) > 20
    assert directions(slow | ~slow) < 25
