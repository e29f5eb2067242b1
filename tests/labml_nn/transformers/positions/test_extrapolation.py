import pytest
import torch
from torch import Tensor, nn

from labml_nn.transformers.basic.autoregressive_experiment import AutoregressiveTransformer
from labml_nn.transformers.mha import MultiHeadAttention
from labml_nn.transformers.positional_encoding import LearnedPositionalEncoding, PositionalEncoding
from labml_nn.transformers.positions import extrapolation as page
from labml_nn.transformers.positions.alibi import AlibiAttention
from labml_nn.transformers.positions.rotary_attention import RotaryAttention
from labml_nn.transformers.positions.rotary_scaling import scaled_rotary
from labml_nn.transformers.positions.shaw_relative import ShawAttention
from labml_nn.transformers.positions.transformer_xl import TransformerXLAttention
from tests.labml_nn.transformers.seam import equals

N_VOCAB, SEQ_LEN, MAX_LEN = 13, 5, 20

PARTS = {
    "sines": (MultiHeadAttention, PositionalEncoding),
    "learned": (MultiHeadAttention, LearnedPositionalEncoding),
    "Shaw": (ShawAttention, nn.Identity),
    "Transformer-XL": (TransformerXLAttention, nn.Identity),
    "ALiBi": (AlibiAttention, nn.Identity),
    "rotary": (RotaryAttention, nn.Identity),
    "none": (MultiHeadAttention, nn.Identity),
}


def model(kind: str = "rotary") -> AutoregressiveTransformer:
    torch.manual_seed(1)
    return page.make_model(kind, N_VOCAB, MAX_LEN, d_model=8, heads=2, n_layers=2)


def tokens(length: int) -> Tensor:
    return torch.randint(N_VOCAB, (length,), generator=torch.Generator().manual_seed(1))


def losses_of(made: nn.Module, window: Tensor) -> Tensor:
    r"""The losses along one window, worked out for itself."""
    with torch.no_grad():
        logits = made(window[:-1, None])[:, 0]
    return -logits.log_softmax(dim=-1).gather(1, window[1:, None])[:, 0]


def by_length(seq_len: int) -> float:
    r"""The mean over all windows of a length, the rest at the end too."""
    made, text = model().double(), tokens(48)
    windows = [text[start : start + seq_len + 1] for start in range(0, 47, seq_len)]
    expected = torch.cat([losses_of(made, window) for window in windows]).mean().item()
    return abs(page.losses_at(made, text, [seq_len])[seq_len] - expected)


def by_position() -> float:
    r"""The mean over all whole windows, for each position."""
    made, text = model().double(), tokens(2 * MAX_LEN + 8)
    windows = [text[:21], text[20:41]]
    expected = torch.stack([losses_of(made, window) for window in windows]).mean(dim=0)
    return (page.losses_by_position(made, text, MAX_LEN) - expected).abs().max().item()


ORACLES = {
    "one window after the other": lambda: max(by_length(SEQ_LEN), by_length(MAX_LEN)),
    "one window after the other, by position": by_position,
}
test_losses_are_those_of_each_window = equals(ORACLES)


@pytest.mark.parametrize("kind", page.KINDS)
def test_each_kind_has_its_parts_in_all_layers_and_takes_long_texts(kind: str) -> None:
    made, (attention, positions) = model(kind), PARTS[kind]
    assert type(made.embed.positions) is positions
    assert [type(layer.self_attn) for layer in made.encoder.layers] == [attention, attention]
    assert made(tokens(MAX_LEN)[:, None]).shape == (MAX_LEN, 1, N_VOCAB)


def test_parameters_for_positions_are_those_that_the_page_counts() -> None:
    def count(kind: str) -> int:
        return sum(one.numel() for one in model(kind).parameters())

    more = {kind: count(kind) - count("none") for kind in page.KINDS}
    # 20 positions of 8 features; in two layers 33 distances of 4 features, or a projection and two
    # biases.
    assert more == {
        "sines": 0, "learned": 20 * 8, "Shaw": 2 * 33 * 4, "Transformer-XL": 2 * (8 * 8 + 2 * 8),
        "ALiBi": 0, "rotary": 0, "none": 0,
    }  # fmt: skip


def test_sizes_reach_the_parts_and_have_defaults() -> None:
    assert list(page.KINDS) == list(PARTS)
    assert model().encoder.layers[0].self_attn.rotary.cos.shape == (MAX_LEN, 2)
    assert len(model("sines").embed.positions.encodings) == MAX_LEN
    usual = page.make_model("none", N_VOCAB, MAX_LEN)
    found = [(layer.self_attn.heads, layer.self_attn.d_k) for layer in usual.encoder.layers]
    assert found == [(4, 16)] * 3


def test_training_on_short_windows_lowers_the_loss() -> None:
    made, text = model(), torch.arange(200) % 5
    before = page.losses_at(made, text, [SEQ_LEN])[SEQ_LEN]
    page.train_short(made, text, SEQ_LEN, steps=30, seed=1)
    assert page.losses_at(made, text, [SEQ_LEN])[SEQ_LEN] < before - 1


def test_other_rotations_get_to_all_layers_and_change_the_losses() -> None:
    made, text = model(), tokens(48)
    before = page.losses_at(made, text, [MAX_LEN])
    rotary = scaled_rotary("interpolation", 4, MAX_LEN, SEQ_LEN)
    page.use_rotary(made, rotary)
    assert all(layer.self_attn.rotary is rotary for layer in made.encoder.layers)
    assert page.losses_at(made, text, [MAX_LEN]) != before
