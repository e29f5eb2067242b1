r"""The task asks for the last letter, and a layer with fixed weights treats all tokens alike."""

import torch
from torch import nn

from labml_nn.state_spaces import letters_experiment as page


def test_each_target_is_the_last_letter_so_far() -> None:
    tokens, targets = page.last_letters(3, seed=2, seq_len=211, batch_size=7)
    for column, answers in zip(tokens.t().tolist(), targets.t().tolist(), strict=True):
        last = None
        for token, answer in zip(column, answers, strict=True):
            last = token if token < 16 else last
            assert answer == last


def test_a_stream_is_that_of_its_seed_and_step_and_one_in_twenty_is_a_letter() -> None:
    tokens, _ = page.last_letters(3, 2)
    assert tokens.shape == (128, 32)
    generator = torch.Generator().manual_seed(2_000_003)
    letters = torch.randint(16, (128, 32), generator=generator)
    assert torch.equal(tokens, letters.where(tokens < 16, 16))
    many, _ = page.last_letters(0, 1, batch_size=997)
    assert (many[0] < 16).all()
    assert many.max() == 16
    assert 0.048 < (many[1:] < 16).float().mean() < 0.052


def test_fixed_weights_are_the_same_for_all_tokens_and_are_learned() -> None:
    layer = page.fixed_mamba(5, 7)
    chosen = layer.select(torch.randn(11, 3, 7))
    assert chosen.shape == (11, 3, 33)
    assert torch.equal(chosen, layer.select.numbers.expand_as(chosen))
    assert layer.skip.shape == (7,)
    assert isinstance(layer.select, page.Constants)
    assert layer.select.numbers.requires_grad


def test_the_layer_is_added_to_what_it_gets() -> None:
    model = page.Tagger(nn.Linear(5, 5), 5)
    x = model.embed(torch.arange(17))
    assert len(model.embed.weight) == 17
    assert torch.equal(model(torch.arange(17)), model.scores(x + model.layer(x)))
