r"""The model against PyTorch's encoder, and against what its page claims."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from labml_nn.transformers.fused_attention import FusedAttention
from labml_nn.transformers.mha import MultiHeadAttention
from labml_nn.transformers.positional_encoding import sinusoidal_positions
from tests.labml_nn.models import drops_out_in_training_only
from tests.labml_nn.transformers.seam import copied, equals, torch_layer
from tests.oracles.compare import difference

N_VOCAB, D_MODEL, HEADS, N_LAYERS, D_FF, SEQ_LEN = 13, 10, 5, 2, 17, 11


def make_model(**options: object) -> AutoregressiveTransformer:
    torch.manual_seed(1)
    return AutoregressiveTransformer(N_VOCAB, D_MODEL, HEADS, N_LAYERS, D_FF, SEQ_LEN, **options)


def make_tokens(length: int = SEQ_LEN) -> Tensor:
    return torch.randint(N_VOCAB, (length, 3), generator=torch.Generator().manual_seed(2))


def by_pytorch(model: AutoregressiveTransformer, tokens: Tensor) -> Tensor:
    options = {"dropout": 0.0, "activation": "gelu", "norm_first": True}
    layer = nn.TransformerEncoderLayer(D_MODEL, HEADS, D_FF, **options)
    norm = nn.LayerNorm(D_MODEL)
    encoder = nn.TransformerEncoder(layer, N_LAYERS, norm, enable_nested_tensor=False).double()
    for mine, theirs in zip(model.encoder.layers, encoder.layers, strict=True):
        torch_layer(mine, theirs)
    copied(model.encoder, encoder, {"norm": "norm"})
    weights = model.embed.tokens.embedding.weight
    positions = sinusoidal_positions(D_MODEL, SEQ_LEN)[: len(tokens), None]
    x = F.embedding(tokens, weights) * math.sqrt(D_MODEL) + positions
    mask = nn.Transformer.generate_square_subsequent_mask(len(tokens), dtype=weights.dtype)
    return model.generator.projection(encoder(x, mask=mask))


def from_pytorch(attention: type[nn.Module]) -> float:
    r"""How far the logits, and their gradients, are from those of PyTorch's encoder."""
    model, furthest = make_model(attention=attention).double(), 0.0
    weights = [model.embed.tokens.embedding.weight]
    for length in (1, 7, SEQ_LEN):
        tokens = make_tokens(length)
        mine, theirs = model(tokens), by_pytorch(model, tokens)
        furthest = max(furthest, difference(mine, theirs, weights, weights))
    return furthest


ORACLES = {
    "torch.nn.TransformerEncoder": lambda: from_pytorch(MultiHeadAttention),
    "torch.nn.TransformerEncoder, fused attention": lambda: from_pytorch(FusedAttention),
}
test_logits_are_those_of_pytorchs_encoder_with_the_same_weights = equals(ORACLES, 1e-12)


def test_layers_start_differently() -> None:
    first, second = (dict(layer.named_parameters()) for layer in make_model().encoder.layers)
    for name in first:
        differ = not first[name].equal(second[name])
        assert differ == ("norm" not in name), name


def test_the_mask_is_not_saved() -> None:
    assert not [name for name in make_model().state_dict() if "mask" in name or "encodings" in name]


def test_dropout_acts_in_training_only() -> None:
    drops_out_in_training_only(make_model(dropout_prob=0.5), make_tokens(7))


def test_the_recipe_has_as_many_parameters_as_its_page_says() -> None:
    recipe = AutoregressiveTransformer(66)
    assert sum(p.numel() for p in recipe.parameters()) == 810_306
    assert len(recipe.embed.positions.encodings) == 64
    assert len(make_model().embed.positions.encodings) == SEQ_LEN


def test_random_logits_cost_half_of_their_variance() -> None:
    tokens = torch.randint(66, (64, 32))
    logits = AutoregressiveTransformer(66)(tokens)
    loss = F.cross_entropy(logits.flatten(0, 1), torch.randint(66, (64 * 32,)))
    assert logits.var().item() == pytest.approx(1 / 3, abs=0.03)
    assert loss.item() == pytest.approx(4.36, abs=0.03)
