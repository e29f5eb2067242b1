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
from tests.labml_nn.models import sees_only_the_past
from tests.oracles.hugging_face import randomise

SEQ_LEN, N_VOCAB = 7, 13
TEXT = torch.randint(N_VOCAB, (500,), generator=torch.Generator().manual_seed(3))


def make() -> ModernTransformer:
    r"""Two layers in which nothing is zero."""
    return randomise(start())


def tokens() -> Tensor:
    return TEXT[: 3 * SEQ_LEN].view(SEQ_LEN, 3)


def start() -> ModernTransformer:
    torch.manual_seed(1)
    return ModernTransformer(N_VOCAB, 20, 5, 2, 10, SEQ_LEN)


def losses(name: str, steps: int = 40) -> list[float]:
    batches = RandomWindows(TEXT, SEQ_LEN, 3, seed=1)
    return fit_changed(name, start(), batches, steps).tolist()


def test_the_first_row_is_the_modern_recipe_to_the_last_bit() -> None:
    expected: list[float] = []
    fit(start(), TEXT, 40, SEQ_LEN, 3, 1, lambda step, loss: expected.append(loss.item()))
    assert losses("the modern recipe") == expected


def test_each_change_gives_another_run() -> None:
    found = {name: losses(name, steps=8)[-1] for name in CHANGES}
    assert len(set(found.values())) == len(CHANGES)


@pytest.mark.parametrize("name", CHANGES)
def test_the_future_is_not_seen(name: str) -> None:
    model = make()
    CHANGES[name](model)
    sees_only_the_past(model.double(), tokens(), lambda token: (token + 1) % N_VOCAB)


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
    CHANGES["a network with GELU, no SwiGLU"](model)
    sizes = [sum(p.numel() for p in one.parameters()) for one in (model, make())]
    assert sizes[0] == sizes[1]


def test_own_values_are_those_of_a_layer_that_gets_no_others() -> None:
    model, x = make(), torch.randn(SEQ_LEN, 3, 20, dtype=torch.float64)
    CHANGES["no values of the first layer"](model)
    layer, others = model.layers[1], torch.randn(SEQ_LEN, 3, 5, 4, dtype=torch.float64)
    for found, expected in zip(layer(x, others), layer(x, None), strict=True):
        torch.testing.assert_close(found, expected)
