from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from labml_nn.training.sampling import generate
from labml_nn.training.strategies import Sampling
from labml_nn.transformers.basic.autoregressive_experiment import AutoregressiveTransformer
from labml_nn.transformers.basic.decoder import Affine, Decoder, greatest_difference
from labml_nn.transformers.feed_forward import FeedForward
from labml_nn.transformers.mha import MultiHeadAttention
from labml_nn.transformers.models import EmbeddingsWithLearnedPositionalEncoding
from labml_nn.transformers.positional_encoding import LearnedPositionalEncoding

N_VOCAB, D_MODEL, HEADS, SEQ_LEN, BATCH_SIZE = 17, 10, 5, 13, 3
STRATEGIES = {
    "plain": Sampling(),
    "greedy": Sampling(temperature=0.0),
    "everything": Sampling(0.8, 11, 0.9, 0.02, 1.3),
}


def make_model(seed: int = 1) -> AutoregressiveTransformer:
    r"""Weights and biases of all kinds, so that none can be forgotten or taken for another."""
    torch.manual_seed(seed)
    model = AutoregressiveTransformer(N_VOCAB, D_MODEL, HEADS, 3, 23, SEQ_LEN, 0.1).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5)
    return model


def tokens_of(length: int, batch_size: int = BATCH_SIZE) -> Tensor:
    return torch.randint(N_VOCAB, (length, batch_size), generator=torch.Generator().manual_seed(2))


def logits_of(model: nn.Module, tokens: Tensor) -> Tensor:
    with torch.no_grad():
        return model(tokens)


@given(st.lists(st.integers(1, SEQ_LEN), min_size=1, max_size=SEQ_LEN))
def test_logits_are_those_of_the_whole_window_however_the_text_is_cut(lengths: list[int]) -> None:
    ends = torch.tensor(lengths).cumsum(0)
    lengths = [length for length, end in zip(lengths, ends.tolist(), strict=True) if end <= SEQ_LEN]
    model = make_model()
    tokens = tokens_of(sum(lengths))
    with torch.no_grad():
        decoder = model.decoder(BATCH_SIZE)
        found = torch.cat([decoder(piece) for piece in tokens.split(lengths)])
    torch.testing.assert_close(found, logits_of(model, tokens), rtol=0, atol=1e-10)


def test_one_token_at_a_time_gives_the_same_logits_at_each_position() -> None:
    model, tokens = make_model(), tokens_of(SEQ_LEN)
    whole = logits_of(model, tokens)
    with torch.no_grad():
        decoder = model.decoder(BATCH_SIZE)
        assert greatest_difference(whole, decoder, tokens, [1] * SEQ_LEN) < 1e-10
        assert greatest_difference(whole + 1, decoder, tokens, [SEQ_LEN]) > 0.9


@pytest.mark.parametrize("sampling", STRATEGIES.values(), ids=STRATEGIES.keys())
def test_one_seed_gives_one_text_with_the_cache_and_without(sampling: Sampling) -> None:
    model, prompts = make_model(), tokens_of(2)
    with_cache, without = (
        generate(
            model,
            prompts,
            SEQ_LEN - 1,
            SEQ_LEN,
            sampling,
            torch.Generator().manual_seed(5),
            cached=cached,
        )
        for cached in (True, False)
    )
    assert with_cache.equal(without)


def test_past_the_context_the_later_half_of_the_window_is_read_again() -> None:
    model, half = make_model(), SEQ_LEN // 2
    text = generate(
        model, tokens_of(1), 3 * SEQ_LEN, SEQ_LEN, Sampling(temperature=0.0), cached=True
    )
    # The window begins anew at these places, and each token is the likeliest after its own.
    first = 0
    for position in range(1, len(text)):
        full = position - first > SEQ_LEN
        first = (position - half) * full + first * (not full)
        expected = logits_of(model, text[first:position])[-1].argmax(dim=-1)
        assert text[position].equal(expected)
    assert first > SEQ_LEN


def test_learned_positions_are_known_as_well() -> None:
    model = make_model()
    model.embed = EmbeddingsWithLearnedPositionalEncoding(D_MODEL, N_VOCAB, SEQ_LEN).double()
    tokens = tokens_of(SEQ_LEN)
    with torch.no_grad():
        found = torch.cat([piece for piece in map(model.decoder(BATCH_SIZE), tokens.split(4))])
    torch.testing.assert_close(found, logits_of(model, tokens), rtol=0, atol=1e-10)


class Other(nn.Module):
    r"""Some part that the decoder has never seen."""


CHANGES: dict[str, Callable[[AutoregressiveTransformer], None]] = {
    "attention": lambda model: setattr(model.encoder.layers[1], "self_attn", Other()),
    "a kind of attention": lambda model: setattr(
        model.encoder.layers[1],
        "self_attn",
        type("Kind", (MultiHeadAttention,), {})(HEADS, D_MODEL),
    ),
    "another number of heads": lambda model: setattr(
        model.encoder.layers[1], "self_attn", MultiHeadAttention(1, D_MODEL)
    ),
    "network": lambda model: setattr(model.encoder.layers[0], "feed_forward", Other()),
    "normalisation": lambda model: setattr(model.encoder.layers[2], "norm_ff", Other()),
    "first normalisation": lambda model: setattr(
        model.encoder.layers[2], "norm_self_attn", Other()
    ),
    "last normalisation": lambda model: setattr(model.encoder, "norm", Other()),
    "positions": lambda model: setattr(model.embed, "positions", Other()),
    "embedding": lambda model: setattr(model, "embed", Other()),
    "generator": lambda model: setattr(model, "generator", Other()),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_model_with_another_part_has_no_decoder(
    change: Callable[[AutoregressiveTransformer], None],
) -> None:
    model = make_model()
    change(model)
    assert model.decoder(BATCH_SIZE) is None


def test_a_model_with_another_known_part_has_one() -> None:
    model = make_model()
    model.embed.positions = LearnedPositionalEncoding(D_MODEL, SEQ_LEN).double()
    model.encoder.layers[0].feed_forward = FeedForward(D_MODEL, 7).double().eval()
    for layer in model.encoder.layers:
        layer.self_attn = MultiHeadAttention(1, D_MODEL, bias=False).double().eval()
    tokens = tokens_of(SEQ_LEN)
    with torch.no_grad():
        found = model.decoder(BATCH_SIZE)(tokens)
    torch.testing.assert_close(found, logits_of(model, tokens), rtol=0, atol=1e-10)


def test_layers_side_by_side_are_one_product() -> None:
    layers = [nn.Linear(5, size) for size in (2, 3, 7)]
    x = torch.randn(11, 5)
    expected = torch.cat([layer(x) for layer in layers], dim=-1)
    torch.testing.assert_close(Affine(*layers)(x), expected)


def test_another_number_of_texts_is_refused() -> None:
    with pytest.raises(ValueError, match="tokens of 2 texts, the cache is for 3"):
        make_model().decoder(BATCH_SIZE)(tokens_of(4, batch_size=2))


def test_a_text_longer_than_the_context_is_refused() -> None:
    with pytest.raises(ValueError, match="room for 13 positions, of which 0 are filled: 14 more"):
        make_model().decoder(BATCH_SIZE)(tokens_of(14))


def test_a_cache_longer_than_the_context_is_refused() -> None:
    model = make_model()
    with pytest.raises(ValueError, match="max_len is 14, but the model has 13 positions"):
        Decoder(model.embed, model.encoder, model.generator, BATCH_SIZE, SEQ_LEN + 1)


def test_what_the_model_learned_later_needs_a_new_decoder() -> None:
    model, tokens = make_model(), tokens_of(SEQ_LEN)
    old = model.decoder(BATCH_SIZE)
    with torch.no_grad():
        model.embed.tokens.embedding.weight.mul_(2)
        expected = model(tokens)
        assert not torch.allclose(old(tokens), expected)
        torch.testing.assert_close(model.decoder(BATCH_SIZE)(tokens), expected, rtol=0, atol=1e-10)
