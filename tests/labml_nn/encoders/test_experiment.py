r"""What the notebook on filling gaps runs."""

import math

import pytest
import torch
from torch import Tensor, nn

from labml_nn.encoders import experiment as page
from labml_nn.encoders.masked_tokens import IGNORED, MaskTokenizer, corrupt
from labml_nn.encoders.modern_encoder import local_mask
from labml_nn.training.data import CharTokenizer, RandomWindows
from labml_nn.transformers.fused_attention import FusedAttention

TOKENIZER = MaskTokenizer(CharTokenizer("abcdefghijkl"))
TEXT = torch.arange(4037) % 13


class Sure(nn.Module):
    r"""Marks are the likeliest, then come the letters 3, 12 and 0."""

    def forward(self, tokens: Tensor) -> Tensor:
        logits = torch.zeros(*tokens.shape, len(TOKENIZER))
        logits[..., 3], logits[..., 12], logits[..., 0], logits[..., 13:] = 12, 11, 10, 13
        return logits


def test_the_encoder_has_local_layers_and_as_many_weights_as_the_page_says() -> None:
    encoder = page.small_encoder(68)
    assert encoder.sees_all == [True, False, False]
    assert torch.equal(encoder.near, local_mask(64, 8))
    assert {type(layer.self_attn) for layer in encoder.layers} == {FusedAttention}
    assert 150_000 < sum(p.numel() for p in encoder.parameters()) < 155_000


def test_batches_have_a_mark_first_and_gaps_in_the_windows_of_other_lessons() -> None:
    batch_at = page.masked_batches(TEXT, TOKENIZER, seed=5, rate=0.5)
    windows = RandomWindows(TEXT, 63, 16, 5).at(3)[0]
    tokens = torch.cat([torch.full((1, 16), TOKENIZER.first), windows])
    generator = torch.Generator().manual_seed(5_000_018)
    expected = corrupt(tokens, TOKENIZER, generator, rate=0.5)
    inputs, targets = batch_at(3)
    assert torch.equal(inputs, expected[0]) and torch.equal(targets, expected[1])


def test_held_out_gaps_are_in_windows_side_by_side_and_hide_all_chosen_letters() -> None:
    tokens, inputs, targets = page.held_out_gaps(TEXT, TOKENIZER)
    assert torch.equal(tokens[1:].T.flatten(), TEXT[: 64 * 63])
    assert (tokens[0] == TOKENIZER.first).all()
    generator = torch.Generator().manual_seed(1)
    expected = corrupt(tokens, TOKENIZER, generator, masked=1.0, replaced=0.0)
    assert all(map(torch.equal, (inputs, targets), expected))


def test_the_loss_is_the_mean_over_gaps_alone_and_without_dropout() -> None:
    targets = torch.tensor([[3, IGNORED], [12, 0]])
    model = Sure().train()
    logits = model(targets)[0, 0]
    expected = logits.logsumexp(0) - torch.tensor([12.0, 11.0, 10.0]).mean()
    found = page.loss_in_gaps(model, targets.clamp(min=0), targets)
    assert found == pytest.approx(expected.item(), abs=1e-5)
    assert not model.training


def test_guesses_are_the_three_likeliest_letters_of_each_gap() -> None:
    model = Sure().train()
    found = page.guesses(model, TOKENIZER, "a_b_")
    total = sum(math.exp(x) for x in (12, 11, 10, 13, 13, 13)) + 10
    p = [math.exp(x) / total for x in (12, 11, 10)]
    assert found == [f"'d' {p[0]:.2f}, '\N{REPLACEMENT CHARACTER}' {p[1]:.2f}, 'a' {p[2]:.2f}"] * 2
    assert not model.training
