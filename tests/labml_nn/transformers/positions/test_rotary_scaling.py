r"""Scaled speeds against those of Hugging Face, and against what the page claims."""

import math
from collections.abc import Callable
from unittest.mock import patch

import pytest
import torch
from torch import Tensor
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from labml_nn.transformers.positions import rotary_scaling
from labml_nn.transformers.positions.rotary_scaling import (
    interpolated_speeds,
    new_angles,
    ntk_speeds,
    pair_that_turns,
    scaled,
    yarn_scale,
    yarn_speeds,
)
from labml_nn.transformers.rotary import RotaryPositions, pair_speeds

# Features, length of training, base and stretch: as in Llama, in a small model, and with another
# base; in one the ramp would begin before the first pair, in one end behind the last feature.
MODELS = [(128, 4096, 10_000.0, 8.0), (32, 64, 10_000.0, 8.0), (22, 997, 500.0, 3.7)]
MODELS += [(22, 997, 10.0, 3.7)]


def hugging_face(
    kind: str, d_k: int, trained_len: int, base: float, seq_len: int | None = None, **more: float
) -> tuple[Tensor, float]:
    r"""Their speeds, and what queries and keys are multiplied by.

    They compute in single precision. For as long as they do, double precision has its name.
    """
    config = LlamaConfig(
        hidden_size=2 * d_k,
        num_attention_heads=2,
        max_position_embeddings=trained_len,
        rope_parameters={
            "rope_type": kind,
            "rope_theta": base,
            "original_max_position_embeddings": trained_len,
            **more,
        },
    )
    double = torch.float64
    with patch.multiple(torch, float=double, float32=double):
        return ROPE_INIT_FUNCTIONS[kind](config, "cpu", seq_len)


def relative(found: Tensor, expected: Tensor) -> float:
    r"""The largest difference, as a share."""
    assert expected.dtype is torch.float64
    return (found / expected - 1).abs().max().item()


def linear(d_k: int, trained_len: int, base: float, stretch: float) -> float:
    r"""Interpolation has this name there."""
    theirs, _ = hugging_face("linear", d_k, trained_len, base, factor=stretch)
    return relative(interpolated_speeds(d_k, stretch, base), theirs)


def dynamic(d_k: int, trained_len: int, base: float, stretch: float) -> float:
    r"""It is NTK-aware scaling, by the length of the text that is there."""
    seq_len = round(stretch * trained_len)
    theirs, _ = hugging_face("dynamic", d_k, trained_len, base, seq_len, factor=1.0)
    return relative(ntk_speeds(d_k, seq_len / trained_len, base), theirs)


def yarn(d_k: int, trained_len: int, base: float, stretch: float) -> float:
    r"""The speeds, and the scale."""
    theirs, scale = hugging_face("yarn", d_k, trained_len, base, factor=stretch)
    assert yarn_scale(stretch) == pytest.approx(scale, rel=1e-12)
    return relative(yarn_speeds(d_k, stretch, trained_len, base), theirs)


def yarn_with_a_ramp_of_its_own(d_k: int, trained_len: int, base: float, stretch: float) -> float:
    r"""Other numbers of turns than the paper's."""
    more = {"factor": stretch, "beta_fast": 9.0, "beta_slow": 2.0}
    theirs, _ = hugging_face("yarn", d_k, trained_len, base, **more)
    return relative(yarn_speeds(d_k, stretch, trained_len, base, fast=9.0, slow=2.0), theirs)


ORACLES: dict[str, Callable[[], float]] = {
    "Hugging Face linear scaling": lambda: max(linear(*model) for model in MODELS),
    "Hugging Face dynamic NTK": lambda: max(dynamic(*model) for model in MODELS),
    "Hugging Face YaRN": lambda: max(yarn(*model) for model in MODELS),
    "Hugging Face YaRN, another ramp": lambda: max(
        yarn_with_a_ramp_of_its_own(*model) for model in MODELS
    ),
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals_what_others_compute(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


@pytest.mark.parametrize("kind", [interpolated_speeds, ntk_speeds])
def test_without_stretching_nothing_changes(kind: Callable[[int, float], Tensor]) -> None:
    assert kind(22, 1.0).tolist() == pytest.approx(pair_speeds(22).tolist(), rel=1e-14)
    assert yarn_speeds(22, 1.0, 64).tolist() == pytest.approx(pair_speeds(22).tolist(), rel=1e-14)
    assert yarn_scale(1.0) == 1.0


def test_ntk_leaves_the_first_pair_and_slows_down_the_last() -> None:
    ratio = pair_speeds(22) / ntk_speeds(22, 5.0)
    assert ratio[0] == 1
    assert ratio[-1].item() == pytest.approx(5)
    assert (ratio[1:] > ratio[:-1]).all()


def test_yarn_leaves_fast_pairs_and_interpolates_slow_ones() -> None:
    ratio = pair_speeds(128) / yarn_speeds(128, 8.0, 4096)
    turns = 4096 * pair_speeds(128) / (2 * math.pi)
    assert (ratio[turns > 35] == 1).all()
    assert ratio[turns < 0.85].tolist() == pytest.approx([8.0] * int((turns < 0.85).sum()))
    between = ratio[(turns < 32) & (turns > 1)]
    assert ((1 < between) & (between < 8)).all()
    assert (between[1:] > between[:-1]).all()


def test_the_pair_that_turns_so_often_does() -> None:
    for times in (1.0, 3.5):
        i = pair_that_turns(times, 22, 997, 500.0)
        assert 997 * 500 ** (-2 * i / 22) == pytest.approx(2 * math.pi * times)


def test_the_ramp_may_be_a_step() -> None:
    r"""With a training so short that nothing ever gets around, all pairs but one are slowed."""
    ratio = pair_speeds(8) / yarn_speeds(8, 4.0, 2)
    assert ratio.tolist() == pytest.approx([1, 4, 4, 4])


@pytest.mark.parametrize("kind", ["interpolation", "ntk", "yarn"])
def test_the_slowest_pair_meets_no_new_angle(kind: str) -> None:
    turn = scaled(RotaryPositions(32, 64), kind, 512, 64)
    shares = new_angles(torch.tensor(turn.speeds, dtype=torch.float64), 64, 512, 32)
    assert shares[-1] == 0


def test_interpolation_meets_no_new_angle_and_without_scaling_most_are_new() -> None:
    plain = new_angles(pair_speeds(32), 64, 512, 32)
    around = 64 * pair_speeds(32) >= 2 * math.pi
    assert around[0]
    assert not plain[around].any()
    # From position 65 on, where 64 positions were seen and one after them makes no difference.
    assert plain[~around].tolist() == [447 / 512] * int((~around).sum())
    assert not new_angles(interpolated_speeds(32, 8.0), 64, 512, 32).any()


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("d_k", [22, 25])
def test_a_scaled_table_has_what_the_one_before_it_had(interleaved: bool, d_k: int) -> None:
    before = RotaryPositions(d_k, 64, speeds=pair_speeds(22), interleaved=interleaved)
    speeds = {
        "interpolation": interpolated_speeds(22, 2.5),
        "ntk": ntk_speeds(22, 2.5),
        "yarn": yarn_speeds(22, 2.5, 64),
    }
    for kind, expected in speeds.items():
        turn = scaled(before, kind, 160, 64)
        assert turn.speeds == expected.tolist()
        assert (turn.d_k, turn.max_len, turn.interleaved) == (d_k, 160, interleaved)
        assert turn.scale == (yarn_scale(2.5) if kind == "yarn" else 1.0)


def test_a_scaled_table_is_where_the_one_before_it_was() -> None:
    before = RotaryPositions(22, 64).to("meta")
    assert scaled(before, "ntk", 160, 64).cos.device.type == "meta"


def test_a_scaled_table_keeps_the_base() -> None:
    before = RotaryPositions(22, 64, 500.0)
    assert scaled(before, "ntk", 160, 64, 500.0).speeds == ntk_speeds(22, 2.5, 500.0).tolist()
    found = scaled(before, "interpolation", 160, 64, 500.0).speeds
    assert found == interpolated_speeds(22, 2.5, 500.0).tolist()
    found = scaled(before, "yarn", 160, 64, 500.0).speeds
    assert found == yarn_speeds(22, 2.5, 64, 500.0).tolist()


def test_a_shorter_text_is_not_stretched() -> None:
    turn = scaled(RotaryPositions(22, 64), "ntk", 32, 64)
    assert turn.speeds == pair_speeds(22).tolist()


def test_scores_grow_by_the_square_of_the_scale() -> None:
    x = torch.randn(5, 2, 3, 22, dtype=torch.float64)
    before = RotaryPositions(22, 64)
    plain = RotaryPositions(22, 512, speeds=yarn_speeds(22, 8.0, 64))
    sharp = scaled(before, "yarn", 512, 64)
    one, other = (torch.einsum("ibhd,jbhd->ijbh", t(x), t(x)) for t in (plain, sharp))
    torch.testing.assert_close(other, one * (0.1 * math.log(8) + 1) ** 2)


@pytest.mark.parametrize("stretch", [0.5, 0.0, -2.0, math.inf, math.nan])
def test_a_stretch_that_is_none_is_refused(stretch: float) -> None:
    for make in (
        lambda: interpolated_speeds(22, stretch),
        lambda: ntk_speeds(22, stretch),
        lambda: yarn_speeds(22, stretch, 64),
        lambda: yarn_scale(stretch),
    ):
        with pytest.raises(ValueError, match=f"stretch must be at least 1, got {stretch}"):
            make()


def test_a_single_pair_can_not_be_first_and_last() -> None:
    assert len(ntk_speeds(4, 2.0)) == 2
    with pytest.raises(ValueError, match="d_k must be at least 4, which is two pairs, got 2"):
        ntk_speeds(2, 2.0)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown kind 'YaRN': there are interpolation, ntk, yarn"):
        scaled(RotaryPositions(22, 64), "YaRN", 160, 64)


def test_the_example_has_all_kinds() -> None:
    *turned, shares = rotary_scaling.example(3, 5, 2, 7, 29)
    assert [tuple(t.shape) for t in turned] == [(29, 3, 5, 4)] * 3
    assert shares.shape == (2,)
