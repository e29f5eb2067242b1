r"""Llama's rule for slow pairs is that of the library transformers."""

import math
from unittest.mock import patch

import pytest
import torch
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from labml_nn.pretrained import llama_frequencies as page
from labml_nn.transformers.rotary import inverse_frequencies
from tests.labml_nn.pretrained.folders import LLAMA, SCALED
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import largest

# As in Llama 3.1; and settings that all differ from it and from each other.
LLAMA_3_1 = {
    "rope_theta": 500_000.0, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}  # fmt: skip
OTHER = {
    "rope_theta": 997.0, "factor": 3.7, "low_freq_factor": 1.3, "high_freq_factor": 5.9,
    "original_max_position_embeddings": 211,
}  # fmt: skip


def from_transformers(d_k: int, scaling: dict[str, float]) -> float:
    r"""How far the frequencies are from theirs, as a share of them.

    They compute in single precision. For as long as they do, double precision has its name.
    """
    rope = {"rope_type": "llama3", **scaling}
    config = LlamaConfig(hidden_size=3 * d_k, num_attention_heads=3, rope_parameters=rope)
    double = torch.float64
    with patch.multiple(torch, float=double, float32=double):
        theirs, _ = ROPE_INIT_FUNCTIONS["llama3"](config, "cpu")
    plain = inverse_frequencies(d_k, scaling["rope_theta"])
    ours = page.scaled_frequencies(plain, scaling)
    assert ours.dtype is theirs.dtype is double
    # Pairs of all three kinds: kept, slower by the whole factor, and between.
    slower = plain / ours
    whole = torch.isclose(slower, torch.tensor(scaling["factor"], dtype=double))
    assert (slower == 1).any() and whole.any() and ((slower > 1) & ~whole).any()
    return largest([ours / theirs], [torch.ones_like(theirs)])


ORACLES = {
    "Hugging Face Llama 3.1": lambda: from_transformers(128, LLAMA_3_1),
    "Hugging Face, other settings": lambda: from_transformers(34, OTHER),
}
test_it_equals_what_others_compute = equals(ORACLES)


def test_old_files_have_the_base_beside_the_scaling() -> None:
    new = page.rotary_of(LLAMA | {"rope_parameters": SCALED})
    scaling = {name: value for name, value in SCALED.items() if name != "rope_theta"}
    old = page.rotary_of(LLAMA | {"rope_theta": SCALED["rope_theta"], "rope_scaling": scaling})
    assert torch.equal(new.cos, old.cos) and torch.equal(new.sin, old.sin)
    # Heads of 24 / 6 features, so two pairs; the angles of position 1 are the frequencies.
    angles = torch.atan2(new.sin[1], new.cos[1])
    expected = page.scaled_frequencies(inverse_frequencies(4, 100.0), SCALED)
    assert angles.tolist() == pytest.approx(expected.tolist(), abs=1e-6)
    assert new.max_len == 29


def test_without_a_scaling_nothing_is_scaled_and_a_head_may_have_a_width_of_its_own() -> None:
    found = page.rotary_of(LLAMA | {"rope_theta": 100.0, "rope_scaling": None, "head_dim": 10})
    angles = torch.atan2(found.sin[1], found.cos[1])
    assert angles.tolist() == pytest.approx(inverse_frequencies(10, 100.0).tolist(), abs=1e-6)


@pytest.mark.parametrize(
    "rope", [{"rope_type": "default", "partial_factor": 0.5}, {"rope_type": "unheard"}]
)
def test_another_scaling_is_refused(rope: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="rotary positions of the kind .* are not here"):
        page.rotary_of(LLAMA | {"rope_parameters": rope | {"rope_theta": 1e4}})


def test_a_rotation_of_some_features_only_is_refused() -> None:
    part = {"partial_rotary_factor": 0.5}
    for config in (
        LLAMA | {"rope_parameters": SCALED} | part,
        LLAMA | {"rope_parameters": SCALED | part},
        LLAMA | {"rope_theta": 100.0} | part,
    ):
        with pytest.raises(ValueError, match=r"'partial_rotary_factor': 0.5\} are not here"):
            page.rotary_of(config)
    # All of them is no part.
    page.rotary_of(LLAMA | {"rope_parameters": SCALED, "partial_rotary_factor": 1.0})


def test_the_slow_pairs_of_llama_3_1_are_those_of_the_page() -> None:
    plain = inverse_frequencies(128, 500_000.0)
    slower = plain / page.scaled_frequencies(plain, LLAMA_3_1)
    assert [round(slower[i].item(), 1) for i in (0, 28, 32, 35, 63)] == [1, 1, 2.7, 8, 8]
    assert (slower > 7.999).nonzero().flatten().tolist() == [*range(35, 64)]


def test_without_the_scaling_angles_of_llama_3_1_are_hardly_off_in_a_short_text() -> None:
    plain = inverse_frequencies(128, 500_000.0)
    off = plain - page.scaled_frequencies(plain, LLAMA_3_1)
    assert 0.05 < 64 * off.max() < 0.06
    # Half a turn is the most: a whole one leads back.
    turns = torch.arange(8193)[:, None] * off / (2 * math.pi)
    half = (turns >= 0.5).any(dim=1).nonzero()
    assert half[0] == 3533 and int((turns[-1] >= 0.5).sum()) == 9
    # The small Llama, of 16 features to a head.
    small = inverse_frequencies(16, 500_000.0)
    slower = small / page.scaled_frequencies(
        small, LLAMA_3_1 | {"original_max_position_embeddings": 16}
    )
    assert [round(one, 1) for one in slower.tolist()] == [1.7] + [8.0] * 7
