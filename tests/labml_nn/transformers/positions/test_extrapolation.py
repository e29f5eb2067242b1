r"""Losses in longer windows against losses worked out apart, and the ways beside their pages."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.basic.autoregressive_experiment import (
    AutoregressiveTransformer,
    Config,
)
from labml_nn.transformers.basic.causal_attention import CausalSelfAttention
from labml_nn.transformers.positional_encoding import (
    LearnedPositionalEncoding,
    PositionalEncoding,
)
from labml_nn.transformers.positions import extrapolation
from labml_nn.transformers.positions.alibi import AlibiAttention
from labml_nn.transformers.positions.extrapolation import (
    losses_at,
    losses_by_position,
    make_model,
    use_table,
    ways,
)
from labml_nn.transformers.positions.rotary_attention import RotaryAttention
from labml_nn.transformers.positions.rotary_scaling import scaled
from labml_nn.transformers.positions.shaw_relative import ShawAttention
from labml_nn.transformers.positions.transformer_xl import TransformerXLAttention
from labml_nn.transformers.rotary import RotaryPositions

N_VOCAB, SEQ_LEN, MAX_LEN = 13, 5, 20
CONFIG = Config(seq_len=SEQ_LEN, d_model=8, heads=2, n_layers=2, d_ff=3)

PARTS = {
    "sines": (CausalSelfAttention, PositionalEncoding),
    "learned": (CausalSelfAttention, LearnedPositionalEncoding),
    "Shaw": (ShawAttention, nn.Identity),
    "Transformer-XL": (TransformerXLAttention, nn.Identity),
    "ALiBi": (AlibiAttention, nn.Identity),
    "rotary": (RotaryAttention, nn.Identity),
    "none": (CausalSelfAttention, nn.Identity),
}


def model(way: str) -> AutoregressiveTransformer:
    r"""One that isn't trained."""
    return make_model(way, N_VOCAB, CONFIG, MAX_LEN)


def tokens(length: int) -> Tensor:
    r"""Any text."""
    return torch.randint(N_VOCAB, (length,), generator=torch.Generator().manual_seed(1))


def loss_of(made: nn.Module, window: Tensor) -> float:
    r"""The sum of the losses in one window, worked out for itself."""
    with torch.no_grad():
        logits = made(window[:-1, None])[:, 0]
    return -logits.log_softmax(dim=-1).gather(1, window[1:, None]).sum().item()


def test_the_ways_are_these() -> None:
    assert list(ways(8, 2, 0.0, MAX_LEN)) == list(PARTS)


@pytest.mark.parametrize("way", PARTS)
def test_each_way_has_its_parts_in_all_layers(way: str) -> None:
    made, (attention, positions) = model(way), PARTS[way]
    assert type(made.embed.positions) is positions
    assert [type(layer.self_attn) for layer in made.encoder.layers] == [attention] * 2


def test_ways_drop_out_as_told() -> None:
    parts = ways(8, 2, 0.25, MAX_LEN)
    probabilities = [
        parts[way]["self_attn"]().dropout.p for way in ("Shaw", "Transformer-XL", "ALiBi", "rotary")
    ]
    assert probabilities == [0.25] * 4


def test_the_same_seed_makes_the_same_model() -> None:
    one, other = (model("Shaw").state_dict() for _ in range(2))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_layers_of_a_model_start_apart_and_share_a_table() -> None:
    first, second = (layer.self_attn for layer in model("rotary").encoder.layers)
    assert first.turn is second.turn
    assert first.turn.max_len == MAX_LEN
    assert not torch.equal(first.query.linear.weight, second.query.linear.weight)


@pytest.mark.parametrize("way", PARTS)
def test_losses_are_means_over_all_windows(way: str) -> None:
    made, text = model(way), tokens(3 * MAX_LEN + 1)
    found = losses_at(made, text, [SEQ_LEN, MAX_LEN])
    for length, loss in found.items():
        windows = [text[start : start + length + 1] for start in range(0, 3 * MAX_LEN, length)]
        expected = sum(loss_of(made, window) for window in windows) / (3 * MAX_LEN)
        assert loss == pytest.approx(expected, abs=1e-5)


def test_a_table_suits_each_length_and_is_given_back() -> None:
    made, text = model("rotary"), tokens(3 * MAX_LEN + 1)
    before = made.encoder.layers[0].self_attn.turn
    found = losses_at(made, text, [SEQ_LEN, MAX_LEN], "yarn", SEQ_LEN)
    assert [layer.self_attn.turn for layer in made.encoder.layers] == [before] * 2

    plain = losses_at(made, text, [SEQ_LEN, MAX_LEN])
    assert found[SEQ_LEN] == plain[SEQ_LEN]
    assert found[MAX_LEN] != plain[MAX_LEN]
    use_table(made, scaled(before, "yarn", MAX_LEN, SEQ_LEN))
    assert losses_at(made, text, [MAX_LEN])[MAX_LEN] == found[MAX_LEN]


def test_a_table_is_exchanged_in_all_layers() -> None:
    made, turn = model("rotary"), RotaryPositions(4, MAX_LEN)
    use_table(made, turn)
    assert [layer.self_attn.turn for layer in made.encoder.layers] == [turn] * 2


def test_without_rotary_positions_there_is_no_table_to_exchange() -> None:
    made = model("sines")
    use_table(made, RotaryPositions(4, MAX_LEN))
    assert not any(isinstance(module, RotaryPositions) for module in made.modules())


@pytest.mark.parametrize("rest", [0, 1, 7])
def test_losses_by_position_are_means_over_whole_windows(rest: int) -> None:
    made, text = model("ALiBi"), tokens(17 * MAX_LEN + 1 + rest)
    found = losses_by_position(made, text, MAX_LEN)
    inputs = text[: 17 * MAX_LEN].view(17, MAX_LEN)
    targets = text[1 : 17 * MAX_LEN + 1].view(17, MAX_LEN)
    with torch.no_grad():
        logits = torch.stack([made(one[:, None])[:, 0] for one in inputs])
    losses = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
    torch.testing.assert_close(found, losses.view(17, MAX_LEN).mean(dim=0))


def test_the_model_trains_on_afterwards() -> None:
    made = model("none")
    losses_by_position(made, tokens(2 * MAX_LEN), MAX_LEN)
    losses_at(made, tokens(2 * MAX_LEN), [SEQ_LEN])
    assert made.training


def test_the_example_measures_two_lengths() -> None:
    plain, longer, losses = extrapolation.example(7, 29)
    assert plain.keys() == longer.keys() == {7, 29}
    assert losses.shape == (29,)
