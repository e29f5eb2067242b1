r"""The model against PyTorch's encoder, and against what its page claims."""

import math
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer, example
from labml_nn.transformers.fused_attention import FusedAttention
from labml_nn.transformers.mha import MultiHeadAttention
from labml_nn.transformers.positional_encoding import sinusoidal_positions

N_VOCAB, D_MODEL, HEADS, N_LAYERS, D_FF, SEQ_LEN = 13, 10, 5, 2, 17, 11


def make_model(**options: Any) -> AutoregressiveTransformer:
    torch.manual_seed(1)
    return AutoregressiveTransformer(N_VOCAB, D_MODEL, HEADS, N_LAYERS, D_FF, SEQ_LEN, **options)


def make_tokens(length: int, batch_size: int = 3) -> Tensor:
    return torch.randint(N_VOCAB, (length, batch_size), generator=torch.Generator().manual_seed(2))


def by_pytorch(model: AutoregressiveTransformer, tokens: Tensor) -> Tensor:
    r"""The same weights in PyTorch's own encoder."""
    layer = nn.TransformerEncoderLayer(
        D_MODEL, HEADS, D_FF, dropout=0.0, activation="gelu", norm_first=True
    )
    encoder = nn.TransformerEncoder(
        layer, N_LAYERS, norm=nn.LayerNorm(D_MODEL), enable_nested_tensor=False
    )
    encoder = encoder.to(next(model.parameters()).dtype)
    state = {}
    for index, ours in enumerate(model.encoder.layers):
        attention = ours.self_attn
        parts = (attention.query.linear, attention.key.linear, attention.value.linear)
        parameters = {
            "self_attn.in_proj_weight": torch.cat([part.weight for part in parts]),
            "self_attn.in_proj_bias": torch.cat([part.bias for part in parts]),
        }
        modules = {
            "self_attn.out_proj": attention.output,
            "linear1": ours.feed_forward.layer1,
            "linear2": ours.feed_forward.layer2,
            "norm1": ours.norm_self_attn,
            "norm2": ours.norm_ff,
        }
        for name, module in modules.items():
            parameters |= {f"{name}.{key}": value for key, value in module.state_dict().items()}
        state |= {f"layers.{index}.{name}": value for name, value in parameters.items()}
    state |= {f"norm.{key}": value for key, value in model.encoder.norm.state_dict().items()}
    encoder.load_state_dict(state)

    weights = model.embed.tokens.embedding.weight
    positions = sinusoidal_positions(D_MODEL, SEQ_LEN)[: len(tokens), None].to(weights.dtype)
    x = F.embedding(tokens, weights) * math.sqrt(D_MODEL) + positions
    mask = nn.Transformer.generate_square_subsequent_mask(len(tokens), dtype=weights.dtype)
    return model.generator.projection(encoder(x, mask=mask))


@pytest.mark.parametrize("length", [1, 7, SEQ_LEN])
def test_logits_are_those_of_pytorchs_encoder_with_the_same_weights(length: int) -> None:
    model = make_model().double()
    tokens = make_tokens(length)
    torch.testing.assert_close(model(tokens), by_pytorch(model, tokens), rtol=0, atol=1e-12)


@pytest.mark.parametrize("attention", [MultiHeadAttention, FusedAttention])
def test_no_logit_depends_on_a_later_token(attention: type[nn.Module]) -> None:
    model = make_model(attention=attention).double()
    tokens = make_tokens(SEQ_LEN)
    logits = model(tokens)
    for position in range(1, SEQ_LEN):
        changed = tokens.clone()
        changed[position:] = (tokens[position:] + 1) % N_VOCAB
        again = model(changed)
        torch.testing.assert_close(again[:position], logits[:position], rtol=0, atol=1e-12)
        assert not torch.allclose(again[position], logits[position])


def test_each_sequence_of_a_batch_is_on_its_own() -> None:
    model = make_model().double()
    tokens = make_tokens(7)
    logits = model(tokens)
    for column in range(3):
        alone = model(tokens[:, column : column + 1])[:, 0]
        torch.testing.assert_close(logits[:, column], alone, rtol=0, atol=1e-12)


def test_every_weight_gets_a_gradient() -> None:
    model = make_model()
    tokens = make_tokens(SEQ_LEN)
    F.cross_entropy(model(tokens[:-1]).flatten(0, 1), tokens[1:].flatten()).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        # What a bias of the keys adds to a row of scores is the same in each column.
        expected = "key.linear.bias" not in name
        assert bool(parameter.grad.abs().max() > 1e-6) == expected, name


def test_layers_start_differently() -> None:
    first, second = (dict(layer.named_parameters()) for layer in make_model().encoder.layers)
    for name in first:
        differ = not first[name].equal(second[name])
        assert differ == ("norm" not in name), name


def test_the_kernel_computes_the_same_model() -> None:
    plain, fused = make_model().double(), make_model(attention=FusedAttention).double()
    fused.load_state_dict(plain.state_dict())
    tokens = make_tokens(7)
    torch.testing.assert_close(fused(tokens), plain(tokens), rtol=0, atol=1e-12)


def test_the_recipe_has_as_many_parameters_as_its_page_says() -> None:
    assert sum(p.numel() for p in AutoregressiveTransformer(66).parameters()) == 810_306


def test_the_mask_is_not_saved() -> None:
    assert not [name for name in make_model().state_dict() if "mask" in name or "encodings" in name]


def test_dropout_acts_in_training_only() -> None:
    model, tokens = make_model(dropout_prob=0.5), make_tokens(7)
    assert not torch.equal(model(tokens), model(tokens))
    model.eval()
    assert torch.equal(model(tokens), model(tokens))


def test_the_example_gives_logits() -> None:
    assert example(2, 3, 5, 2, 7, 11).shape == (2, 3, 11)
