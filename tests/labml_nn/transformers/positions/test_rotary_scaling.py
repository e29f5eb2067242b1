from unittest.mock import patch

import pytest
import torch
from torch import Tensor
from transformers import LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from labml_nn.transformers.positions import rotary_scaling as page
from labml_nn.transformers.rotary import inverse_frequencies
from tests.labml_nn.transformers.seam import equals

# Features, length of training, base and stretch: as in Llama, in a small model, and with another
# base; in one the line would begin before the first pair, in one end behind the last feature.
MODELS = [(128, 4096, 10_000.0, 8.0), (32, 64, 10_000.0, 8.0), (22, 997, 500.0, 3.7)]
# In the last, pair 21 makes 32 turns and no more.
MODELS += [(22, 997, 10.0, 3.7), (128, 4130, 10_000.0, 8.0)]


def hugging_face(
    kind: str, d_k: int, trained_len: int, base: float, seq_len: int | None = None, **more: float
) -> tuple[Tensor, float]:
    r"""Their frequencies, and what queries and keys are multiplied by.

    They compute in single precision. For as long as they do, double precision has its name.
    """
    more |= {"rope_theta": base, "original_max_position_embeddings": trained_len}
    config = LlamaConfig(
        hidden_size=2 * d_k,
        num_attention_heads=2,
        max_position_embeddings=trained_len,
        rope_parameters={"rope_type": kind, **more},
    )
    double = torch.float64
    with patch.multiple(torch, float=double, float32=double):
        return ROPE_INIT_FUNCTIONS[kind](config, "cpu", seq_len)


def relative(found: Tensor, expected: Tensor) -> float:
    assert expected.dtype is torch.float64
    return (found / expected - 1).abs().max().item()


def linear(d_k: int, trained_len: int, base: float, stretch: float) -> float:
    r"""Interpolation has this name there."""
    theirs, _ = hugging_face("linear", d_k, trained_len, base, factor=stretch)
    return relative(page.interpolated_frequencies(d_k, stretch, base), theirs)


def dynamic(d_k: int, trained_len: int, base: float, stretch: float) -> float:
    r"""It is NTK-aware scaling, by the length of the text that is there."""
    seq_len = round(stretch * trained_len)
    theirs, _ = hugging_face("dynamic", d_k, trained_len, base, seq_len, factor=1.0)
    return relative(page.ntk_frequencies(d_k, seq_len / trained_len, base), theirs)


def yarn(d_k: int, trained_len: int, base: float, stretch: float) -> float:
    theirs, scale = hugging_face("yarn", d_k, trained_len, base, factor=stretch)
    assert page.yarn_scale(stretch) == pytest.approx(scale, rel=1e-12)
    return relative(page.yarn_frequencies(d_k, stretch, trained_len, base), theirs)


ORACLES = {
    "Hugging Face linear scaling": lambda: max(linear(*model) for model in MODELS),
    "Hugging Face dynamic NTK": lambda: max(dynamic(*model) for model in MODELS),
    "Hugging Face YaRN": lambda: max(yarn(*model) for model in MODELS),
}
test_it_equals_what_others_compute = equals(ORACLES)


def test_the_line_may_be_a_step() -> None:
    r"""After a training so short that no pair gets around, all but the first are interpolated."""
    ratio = inverse_frequencies(8) / page.yarn_frequencies(8, 4.0, 2)
    assert ratio.tolist() == pytest.approx([1, 4, 4, 4])


KINDS = {
    "interpolation": (inverse_frequencies(22) / 2.5, 1.0),
    "ntk": (page.ntk_frequencies(22, 2.5, 10_000.0), 1.0),
    "yarn": (page.yarn_frequencies(22, 2.5, 64, 10_000.0), page.yarn_scale(2.5)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_for_longer_texts_has_the_angles_of_its_kind(kind: str) -> None:
    frequencies, scale = KINDS[kind]
    rotary, angles = page.scaled_rotary(kind, 22, 160, 64), torch.arange(160)[:, None] * frequencies
    torch.testing.assert_close(rotary.cos, (angles.cos() * scale).float())
    torch.testing.assert_close(rotary.sin, (angles.sin() * scale).float())
