import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from labml_nn.training.sampling import generate
from labml_nn.training.strategies import Sampling
from labml_nn.transformers.modern.model import ModernTransformer

N_VOCAB, SEQ_LEN, BATCH_SIZE = 17, 13, 3


def make_model() -> ModernTransformer:
    r"""No weight is zero, so that no part can be forgotten."""
    torch.manual_seed(1)
    model = ModernTransformer(N_VOCAB, 20, 5, 3, 23, SEQ_LEN, 0.1).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.4)
    return model


def tokens_of(length: int) -> Tensor:
    generator = torch.Generator().manual_seed(2)
    return torch.randint(N_VOCAB, (length, BATCH_SIZE), generator=generator)


@given(st.lists(st.integers(1, SEQ_LEN), min_size=1, max_size=SEQ_LEN))
def test_logits_are_those_of_the_whole_window_however_the_text_is_cut(lengths: list[int]) -> None:
    ends = torch.tensor(lengths).cumsum(0).tolist()
    lengths = [length for length, end in zip(lengths, ends, strict=True) if end <= SEQ_LEN]
    model, tokens = make_model(), tokens_of(sum(lengths))
    with torch.no_grad():
        found = torch.cat([*map(model.decoder(BATCH_SIZE), tokens.split(lengths))])
        torch.testing.assert_close(found, model(tokens), rtol=0, atol=1e-10)


def test_one_token_at_a_time_gives_the_same_logits() -> None:
    model, tokens = make_model(), tokens_of(SEQ_LEN)
    with torch.no_grad():
        found = torch.cat([*map(model.decoder(BATCH_SIZE), tokens.split(1))])
        torch.testing.assert_close(found, model(tokens), rtol=0, atol=1e-10)


def test_one_seed_gives_one_text_with_the_cache_and_without() -> None:
    model, prompts, sampling = make_model(), tokens_of(2), Sampling(0.8, repetition=1.2)
    one, other = (
        generate(model, prompts, SEQ_LEN - 2, SEQ_LEN, sampling, generator, cached)
        for generator, cached in (
            (torch.Generator().manual_seed(5), True),
            (torch.Generator().manual_seed(5), False),
        )
    )
    assert one.equal(other)


def test_a_window_that_is_read_again_begins_without_a_token_before_it() -> None:
    model, tokens = make_model(), tokens_of(SEQ_LEN)
    decoder = model.decoder(BATCH_SIZE)
    with torch.no_grad():
        decoder(tokens)
        decoder.cache.clear()
        torch.testing.assert_close(decoder(tokens[-6:]), model(tokens[-6:]), rtol=0, atol=1e-10)


def test_more_than_the_context_is_refused() -> None:
    decoder = make_model().decoder(BATCH_SIZE)
    with pytest.raises(ValueError, match="room for 13 positions"):
        decoder(tokens_of(14))
