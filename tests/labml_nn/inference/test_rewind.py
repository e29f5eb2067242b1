import pytest
import torch
from torch import Tensor

from labml_nn.inference.rewind import RewindingTransformer, example
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from tests.labml_nn.transformers import seam
from tests.oracles.compare import largest

N_VOCAB, CONTEXT, BATCH_SIZE = 13, 11, 3
SIZES = (N_VOCAB, 10, 5, 2, 7, CONTEXT)


def pair() -> tuple[AutoregressiveTransformer, RewindingTransformer]:
    model = seam.randomised(AutoregressiveTransformer(*SIZES))
    rewinding = RewindingTransformer(*SIZES).double()
    rewinding.load_state_dict(model.state_dict())
    return model, rewinding


def tokens(seed: int = 1, batch_size: int = BATCH_SIZE) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(N_VOCAB, (CONTEXT, batch_size), generator=generator)


def changed(at: int, column: int = 1) -> Tensor:
    r"""The text with a single token replaced; those after it are the same again."""
    other = tokens()
    other[at, column] = (other[at, column] + 1) % N_VOCAB
    return other


@pytest.mark.parametrize(
    ("other", "n_new"),
    [
        *((changed(at), CONTEXT - at) for at in range(9)),
        (tokens(), 2),
        (changed(9), 2),
        (tokens()[:9], 1),
        (tokens()[:4], 1),
        (changed(2)[:5], 3),
        (tokens(2), CONTEXT),
        (tokens(3, 7), CONTEXT),
        (tokens(3, 1), CONTEXT),
    ],
)
def test_it_computes_what_is_new_and_gives_the_logits_of_a_model_without_a_cache(
    other: Tensor, n_new: int
) -> None:
    model, rewinding = pair()
    rewinding(tokens()[:9])
    found = rewinding(other)
    assert len(found) == n_new
    assert largest([found], [model(other)[-n_new:]]) < 1e-10


def test_texts_that_go_back_and_forth_never_leave_a_key_behind() -> None:
    model, rewinding = pair()
    generator = torch.Generator().manual_seed(5)
    for _ in range(20):
        at, length, seed = (int(torch.randint(1, 10, (), generator=generator)) for _ in range(3))
        text = torch.cat([tokens()[:at], tokens(seed)[at:]])[:length]
        found = rewinding(text)
        assert largest([found], [model(text)[-len(found) :]]) < 1e-10
        caches = {
            len(cache)
            for layer in rewinding.encoder.layers
            for cache in (layer.self_attn.key.cache, layer.self_attn.value.cache)
        }
        assert caches == {length} == {len(rewinding.read)}


def test_it_can_be_rewound_before_it_has_read_anything() -> None:
    model, rewinding = pair()
    rewinding.rewind(3)
    assert largest([rewinding(tokens())], [model(tokens())]) < 1e-10


def test_the_example_computes_the_new_end_and_keeps_all_keys() -> None:
    logits, keys = example()
    assert (len(logits), len(keys)) == (3, 8)
