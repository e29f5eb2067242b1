import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from labml_nn.training.data import RandomWindows
from labml_nn.transformers.modern import model as modern
from labml_nn.transformers.modern.ablation import CHANGES, fit_changed
from labml_nn.transformers.modern.experiment import fit
from labml_nn.transformers.modern.model import ModernTransformer
from labml_nn.transformers.rms_norm import rms_norm

MODERN, SEQ_LEN, N_VOCAB = "the modern recipe", 7, 13
TEXT = torch.randint(N_VOCAB, (500,), generator=torch.Generator().manual_seed(3))


def make() -> ModernTransformer:
    r"""Two layers in which nothing is zero."""
    torch.manual_seed(1)
    model = ModernTransformer(N_VOCAB, 20, 5, 2, 10, SEQ_LEN).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.5 * torch.randn(parameter.shape))
    return model


def tokens() -> Tensor:
    return TEXT[: 3 * SEQ_LEN].view(SEQ_LEN, 3)


def losses(name: str, steps: int = 40) -> list[float]:
    torch.manual_seed(1)
    model = ModernTransformer(N_VOCAB, 20, 5, 2, 10, SEQ_LEN)
    batches = RandomWindows(TEXT, SEQ_LEN, 3, seed=1)
    return fit_changed(name, model, batches, steps).tolist()


def test_the_first_row_is_the_modern_recipe_to_the_last_bit() -> None:
    torch.manual_seed(1)
    model = ModernTransformer(N_VOCAB, 20, 5, 2, 10, SEQ_LEN)
    expected: list[float] = []
    fit(model, TEXT, 40, SEQ_LEN, 3, 1, lambda step, loss: expected.append(loss.item()))
    assert losses(MODERN) == expected


def test_each_change_gives_another_run() -> None:
    found = {name: losses(name, steps=8)[-1] for name in CHANGES}
    assert len(set(found.values())) == len(CHANGES)


@pytest.mark.parametrize("name", CHANGES)
def test_the_future_is_not_seen(name: str) -> None:
    model, batch = make(), tokens().clone()
    CHANGES[name](model)
    expected = model.double()(batch)
    batch[-1] = (batch[-1] + 1) % N_VOCAB
    found = model(batch)
    torch.testing.assert_close(found[:-1], expected[:-1], rtol=0, atol=1e-12)
    assert not found[-1].equal(expected[-1])


@pytest.mark.parametrize(
    "name", [name for name in CHANGES if name != "random numbers at the start, no zeros"]
)
def test_no_change_takes_away_the_zeros_at_the_start(name: str) -> None:
    model = ModernTransformer(N_VOCAB, 20, 5, 2, 10, SEQ_LEN)
    CHANGES[name](model)
    assert model(tokens()).equal(torch.zeros(SEQ_LEN, 3, N_VOCAB))


def test_layer_normalisation_takes_the_place_of_all_rms_norms_of_the_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = make()
    CHANGES["layer normalisation, no RMSNorm"](model)
    with monkeypatch.context() as patch:
        patch.setattr(modern, "rms_norm", lambda x: F.layer_norm(x, x.shape[-1:]))
        expected = make()(tokens())
    torch.testing.assert_close(model(tokens()), expected, rtol=1e-3, atol=1e-3)
    assert not torch.allclose(make()(tokens()), expected, rtol=0.1, atol=0.1)


def test_queries_are_rotated_and_not_normalised() -> None:
    model, x = make(), torch.randn(SEQ_LEN, 3, 20, dtype=torch.float64)
    normal = model.layers[0].attention.query(x)
    CHANGES["queries and keys not normalised"](model)
    found = model.layers[0].attention.query(x)
    torch.testing.assert_close(rms_norm(found), normal)
    assert not torch.allclose(found, normal)


def test_the_plain_network_has_as_many_weights() -> None:
    model = make()
    before = sum(p.numel() for p in model.parameters())
    CHANGES["a network with GELU, no SwiGLU"](model)
    assert sum(p.numel() for p in model.parameters()) == before


def test_own_values_are_those_of_a_layer_that_gets_no_others() -> None:
    model, x = make(), torch.randn(SEQ_LEN, 3, 20, dtype=torch.float64)
    CHANGES["no values of the first layer"](model)
    layer, others = model.layers[1], torch.randn(SEQ_LEN, 3, 5, 4, dtype=torch.float64)
    for found, expected in zip(layer(x, others), layer(x, None), strict=True):
        torch.testing.assert_close(found, expected)
