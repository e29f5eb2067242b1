import cmath

import pytest
import torch

from labml_nn.transformers.rotary import RotaryPositions, angles, scores_at


@pytest.mark.parametrize("offset", [0, 3])
def test_features_are_complex_numbers_times_a_power_of_a_root(offset: int) -> None:
    d_k, base = 6, 50.0
    x = torch.randn(7, 2, 3, d_k, dtype=torch.float64)
    found = RotaryPositions(d_k, 11, base).double()(x, offset)
    for m in range(7):
        for i in range(3):
            factor = cmath.exp(1j * (m + offset) * base ** (-2 * i / d_k))
            for b in range(2):
                for h in range(3):
                    pair = complex(x[m, b, h, i], x[m, b, h, i + 3]) * factor
                    assert complex(found[m, b, h, i], found[m, b, h, i + 3]) == pytest.approx(
                        pair, rel=1e-6, abs=1e-6
                    )


def test_scores_see_distance_alone() -> None:
    expected = scores_at(0, 5)
    for offset in (1, 17, 1000):
        torch.testing.assert_close(scores_at(offset, 5), expected, rtol=1e-4, atol=1e-4)


def test_what_has_no_distance_is_not_turned() -> None:
    x = torch.randn(1, 3, 5, 8)
    assert RotaryPositions(8, 4)(x).equal(x)


def test_lengths_stay() -> None:
    x = torch.randn(11, 3, 5, 8)
    torch.testing.assert_close(RotaryPositions(8, 11)(x).norm(dim=-1), x.norm(dim=-1))


def test_the_end_of_a_sequence_is_turned_as_in_the_whole() -> None:
    turn, x = RotaryPositions(8, 11), torch.randn(11, 3, 5, 8)
    assert turn(x)[6:].equal(turn(x[6:], offset=6))


def test_late_angles_are_exact() -> None:
    assert angles(8, 100_001)[100_000, 1].item() == pytest.approx(100_000 * 10_000**-0.25)


def test_16_bits_stay_16_bits() -> None:
    assert RotaryPositions(8, 11)(torch.randn(7, 3, 5, 8).bfloat16()).dtype is torch.bfloat16


def test_nothing_is_learned_and_nothing_saved() -> None:
    turn = RotaryPositions(8, 11)
    assert list(turn.parameters()) == []
    assert turn.state_dict() == {}


def test_a_position_beyond_the_last_is_refused() -> None:
    with pytest.raises(ValueError, match="there are 11 positions, got one up to 12"):
        RotaryPositions(8, 11)(torch.randn(7, 3, 5, 8), offset=5)


def test_an_odd_number_of_features_is_refused() -> None:
    with pytest.raises(ValueError, match="d_k must be even to consist of pairs, got 7"):
        RotaryPositions(7, 11)
