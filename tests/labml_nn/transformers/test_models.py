r"""Layers and models against PyTorch's, and against what their page claims."""

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers import models
from labml_nn.transformers.feed_forward import FeedForward
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.models import (
    Embeddings,
    Encoder,
    Generator,
    TokenEmbedding,
    TransformerLayer,
)
from labml_nn.transformers.positional_encoding import (
    LearnedPositionalEncoding,
    PositionalEncoding,
    sinusoidal_positions,
)
from tests.labml_nn.transformers.seam import equals
from tests.oracles import hugging_face
from tests.oracles.compare import gradients, largest

SEQ_LEN, BATCH_SIZE, HEADS, D_K, D_FF, N_VOCAB = 7, 3, 2, 5, 13, 17
D_MODEL = HEADS * D_K


def layer(dropout_prob: float = 0.0) -> TransformerLayer:
    r"""A layer in which all parameters differ from what they start as."""
    made = TransformerLayer(
        d_model=D_MODEL,
        self_attn=MultiHeadAttention(HEADS, D_MODEL, dropout_prob=0.0),
        feed_forward=FeedForward(D_MODEL, D_FF, dropout_prob=0.0),
        dropout_prob=dropout_prob,
    ).double()
    for parameter in made.parameters():
        nn.init.normal_(parameter, std=0.5)
    return made


def encoder(n_layers: int) -> Encoder:
    r"""An encoder whose final norm does something, too."""
    torch.manual_seed(1)
    made = Encoder((layer() for _ in range(n_layers)), D_MODEL).double()
    nn.init.normal_(made.norm.weight)
    nn.init.normal_(made.norm.bias)
    return made


def sequence() -> Tensor:
    r"""A sequence with gradients."""
    torch.manual_seed(2)
    return torch.randn(SEQ_LEN, BATCH_SIZE, D_MODEL, dtype=torch.float64, requires_grad=True)


def tokens() -> Tensor:
    r"""Tokens with repetitions."""
    torch.manual_seed(3)
    return torch.randint(N_VOCAB, (SEQ_LEN, BATCH_SIZE))


def norm_by_formula(norm: nn.LayerNorm, x: Tensor) -> Tensor:
    r"""Layer normalisation, written out."""
    deviation = x - x.mean(dim=-1, keepdim=True)
    variance = deviation.square().mean(dim=-1, keepdim=True)
    return deviation / torch.sqrt(variance + 1e-5) * norm.weight + norm.bias


def layer_by_formula(module: TransformerLayer, x: Tensor, mask: Tensor) -> Tensor:
    r"""The layer with the functions of `torch.nn.functional` only, batch and heads first."""
    attention, network = module.self_attn, module.feed_forward
    z = norm_by_formula(module.norm_self_attn, x).transpose(0, 1)
    q, k, v = (
        F.linear(z, p.linear.weight, p.linear.bias)
        .reshape(BATCH_SIZE, SEQ_LEN, HEADS, D_K)
        .transpose(1, 2)
        for p in (attention.query, attention.key, attention.value)
    )
    mean = F.scaled_dot_product_attention(q, k, v, attn_mask=mask.permute(2, 0, 1).unsqueeze(1))
    mean = mean.transpose(1, 2).reshape(BATCH_SIZE, SEQ_LEN, D_MODEL)
    x = x + F.linear(mean, attention.output.weight, attention.output.bias).transpose(0, 1)

    z = norm_by_formula(module.norm_ff, x)
    z = F.relu(F.linear(z, network.layer1.weight, network.layer1.bias))
    return x + F.linear(z, network.layer2.weight, network.layer2.bias)


def torch_layer(module: TransformerLayer) -> nn.TransformerEncoderLayer:
    r"""PyTorch's layer with the same weights."""
    attention, network = module.self_attn, module.feed_forward
    parts = [attention.query.linear, attention.key.linear, attention.value.linear]
    other = nn.TransformerEncoderLayer(D_MODEL, HEADS, D_FF, dropout=0.0, norm_first=True).double()
    other.load_state_dict(
        {
            "self_attn.in_proj_weight": torch.cat([part.weight for part in parts]),
            "self_attn.in_proj_bias": torch.cat([part.bias for part in parts]),
            "self_attn.out_proj.weight": attention.output.weight,
            "self_attn.out_proj.bias": attention.output.bias,
            "linear1.weight": network.layer1.weight,
            "linear1.bias": network.layer1.bias,
            "linear2.weight": network.layer2.weight,
            "linear2.bias": network.layer2.bias,
            "norm1.weight": module.norm_self_attn.weight,
            "norm1.bias": module.norm_self_attn.bias,
            "norm2.weight": module.norm_ff.weight,
            "norm2.bias": module.norm_ff.bias,
        }
    )
    return other


def assert_same(actual: Tensor, expected: Tensor) -> None:
    r"""The numbers agree to rounding in double precision."""
    torch.testing.assert_close(actual, expected, rtol=1e-12, atol=1e-12)


def test_embedding_is_the_row_of_the_token_times_the_root_of_the_width() -> None:
    embedding, given_tokens = TokenEmbedding(N_VOCAB, D_MODEL), tokens()
    result = embedding(given_tokens)
    assert result.shape == (SEQ_LEN, BATCH_SIZE, D_MODEL)
    for position in range(SEQ_LEN):
        for b in range(BATCH_SIZE):
            row = embedding.embedding.weight[given_tokens[position, b]]
            torch.testing.assert_close(result[position, b], row * math.sqrt(D_MODEL))


@pytest.mark.parametrize("d_model", [16, 256])
def test_embedded_tokens_start_with_variance_one(d_model: int) -> None:
    torch.manual_seed(4)
    features = TokenEmbedding(20_000 // d_model * 16, d_model)(torch.arange(1000))
    assert features.mean().item() == pytest.approx(0, abs=0.02)
    assert features.var().item() == pytest.approx(1, abs=0.05)


def test_tokens_start_about_as_large_as_positions_and_would_drown_them_otherwise() -> None:
    torch.manual_seed(5)
    embedding = TokenEmbedding(1000, 128)
    positions = sinusoidal_positions(128, 1000)
    assert (embedding(torch.arange(1000)).std() / positions.square().mean().sqrt()).item() == (
        pytest.approx(math.sqrt(2), rel=0.02)
    )
    embedding.embedding.reset_parameters()
    assert (embedding(torch.arange(1000)).std() / positions.square().mean().sqrt()).item() == (
        pytest.approx(16, rel=0.02)
    )


@pytest.mark.parametrize(
    "positions",
    [PositionalEncoding(D_MODEL, 0.0, SEQ_LEN), LearnedPositionalEncoding(D_MODEL, SEQ_LEN)],
    ids=["fixed", "learned"],
)
def test_positions_are_added_to_tokens(positions: nn.Module) -> None:
    module, given_tokens = Embeddings(N_VOCAB, D_MODEL, positions), tokens()
    expected = module.tokens(given_tokens) + positions.encodings
    torch.testing.assert_close(module(given_tokens), expected)


def test_layer_equals_its_formula() -> None:
    module, x = encoder(1).layers[0], sequence()
    mask = causal_mask(SEQ_LEN).repeat(1, 1, BATCH_SIZE)
    mask[:, 2, 1] = False
    assert_same(module(x=x, mask=mask), layer_by_formula(module, x, mask))


@pytest.mark.parametrize("masked", [True, False])
def test_layer_equals_that_of_pytorch_with_its_gradients(masked: bool) -> None:
    module, x = encoder(1).layers[0], sequence()
    other = torch_layer(module)
    mask = {True: causal_mask(SEQ_LEN), False: torch.ones(SEQ_LEN, SEQ_LEN, 1).bool()}[masked]
    mine, theirs = module(x=x, mask=mask), other(x, src_mask=~mask[..., 0])
    assert_same(mine, theirs)

    weights = torch.randn_like(mine)
    mine_x, *my_gradients = torch.autograd.grad(
        (mine * weights).sum(), [x, module.feed_forward.layer1.weight, module.norm_ff.weight]
    )
    theirs_x, *their_gradients = torch.autograd.grad(
        (theirs * weights).sum(), [x, other.linear1.weight, other.norm2.weight]
    )
    for one, its in zip([mine_x, *my_gradients], [theirs_x, *their_gradients], strict=True):
        assert_same(one, its)


def test_layer_without_a_mask_lets_all_positions_see_all() -> None:
    module, x = encoder(1).layers[0], sequence()
    everything = torch.ones(1, SEQ_LEN, 1, dtype=torch.bool)
    assert_same(module(x=x), module(x=x, mask=everything))


def test_layer_drops_features_of_both_sublayers_in_training_only() -> None:
    x = sequence()
    dropping = layer(dropout_prob=1.0)
    assert torch.equal(dropping(x=x), x)

    dropping.eval()
    assert_same(dropping(x=x), layer_by_formula(dropping, x, torch.ones(1, SEQ_LEN, 1).bool()))
    nn.init.zeros_(dropping.self_attn.output.weight)
    nn.init.zeros_(dropping.self_attn.output.bias)
    assert not torch.equal(dropping(x=x), x)
    assert torch.equal(dropping.train()(x=x), x)


def test_encoder_is_its_layers_in_order_and_a_norm() -> None:
    module, x = encoder(3), sequence()
    mask = causal_mask(SEQ_LEN)
    expected = x
    for one in module.layers:
        expected = layer_by_formula(one, expected, mask.expand(-1, -1, BATCH_SIZE))
    assert_same(module(x, mask), norm_by_formula(module.norm, expected))


def test_encoder_with_a_causal_mask_never_looks_ahead() -> None:
    module, x = encoder(3), sequence()
    output = module(x, causal_mask(SEQ_LEN))
    for position in range(SEQ_LEN):
        (gradient,) = torch.autograd.grad(output[position].square().sum(), x, retain_graph=True)
        depends = gradient.abs().sum(dim=(1, 2)) > 0
        assert depends.tolist() == [other <= position for other in range(SEQ_LEN)]


def test_sequences_of_a_batch_do_not_see_one_another() -> None:
    module, x = encoder(2), sequence()
    together = module(x)
    for b in range(BATCH_SIZE):
        assert_same(module(x[:, b : b + 1]), together[:, b : b + 1])


def test_the_parameters_are_these() -> None:
    made = nn.ModuleDict(
        {
            "embed": Embeddings(N_VOCAB, D_MODEL, LearnedPositionalEncoding(D_MODEL, 11)),
            "encoder": encoder(1),
            "generator": Generator(N_VOCAB, D_MODEL),
        }
    )
    attention = "encoder.layers.0.self_attn."
    network = "encoder.layers.0.feed_forward."
    assert {name: tuple(p.shape) for name, p in made.state_dict().items()} == {
        "embed.tokens.embedding.weight": (17, 10),
        "embed.positions.encodings": (11, 1, 10),
        f"{attention}query.linear.weight": (10, 10),
        f"{attention}query.linear.bias": (10,),
        f"{attention}key.linear.weight": (10, 10),
        f"{attention}key.linear.bias": (10,),
        f"{attention}value.linear.weight": (10, 10),
        f"{attention}value.linear.bias": (10,),
        f"{attention}output.weight": (10, 10),
        f"{attention}output.bias": (10,),
        f"{network}layer1.weight": (13, 10),
        f"{network}layer1.bias": (13,),
        f"{network}layer2.weight": (10, 13),
        f"{network}layer2.bias": (10,),
        "encoder.layers.0.norm_self_attn.weight": (10,),
        "encoder.layers.0.norm_self_attn.bias": (10,),
        "encoder.layers.0.norm_ff.weight": (10,),
        "encoder.layers.0.norm_ff.bias": (10,),
        "encoder.norm.weight": (10,),
        "encoder.norm.bias": (10,),
        "generator.projection.weight": (17, 10),
        "generator.projection.bias": (17,),
    }


def test_generator_gives_logits_not_probabilities() -> None:
    module, x = Generator(N_VOCAB, D_MODEL).double(), sequence()
    logits = module(x)
    assert logits.shape == (SEQ_LEN, BATCH_SIZE, N_VOCAB)
    assert_same(logits, x @ module.projection.weight.T + module.projection.bias)
    assert logits.logsumexp(dim=-1).abs().min() > 1


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_results_have_the_type_of_the_model(dtype: torch.dtype) -> None:
    embed = Embeddings(N_VOCAB, D_MODEL, PositionalEncoding(D_MODEL, 0.0)).to(dtype)
    output = Generator(N_VOCAB, D_MODEL).to(dtype)(encoder(2).to(dtype)(embed(tokens())))
    assert output.dtype == dtype


def test_the_example_is_a_language_model() -> None:
    assert models.example(2, 3, 5, 7, 11, 13).shape == (2, 3, 13)


def distance_to_gpt2() -> float:
    r"""From a layer of GPT-2, which has linear layers with transposed weights, and GELU."""
    theirs = hugging_face.gpt2_layer(HEADS, D_MODEL, D_FF)
    module = TransformerLayer(
        d_model=D_MODEL,
        self_attn=MultiHeadAttention(HEADS, D_MODEL, dropout_prob=0.0),
        feed_forward=FeedForward(D_MODEL, D_FF, 0.0, lambda: nn.GELU("tanh")),
        dropout_prob=0.0,
    ).double()
    weights = theirs.attn.c_attn.weight.T.split(D_MODEL)
    biases = theirs.attn.c_attn.bias.split(D_MODEL)
    state = {
        "norm_self_attn.weight": theirs.ln_1.weight,
        "norm_self_attn.bias": theirs.ln_1.bias,
        "norm_ff.weight": theirs.ln_2.weight,
        "norm_ff.bias": theirs.ln_2.bias,
        "self_attn.output.weight": theirs.attn.c_proj.weight.T,
        "self_attn.output.bias": theirs.attn.c_proj.bias,
        "feed_forward.layer1.weight": theirs.mlp.c_fc.weight.T,
        "feed_forward.layer1.bias": theirs.mlp.c_fc.bias,
        "feed_forward.layer2.weight": theirs.mlp.c_proj.weight.T,
        "feed_forward.layer2.bias": theirs.mlp.c_proj.bias,
    }
    for name, weight, bias in zip(("query", "key", "value"), weights, biases, strict=True):
        state[f"self_attn.{name}.linear.weight"] = weight
        state[f"self_attn.{name}.linear.bias"] = bias
    module.load_state_dict(state)

    x, mask = sequence(), causal_mask(SEQ_LEN)
    mine = module(x=x, mask=mask)
    batch_first = x.transpose(0, 1).contiguous()
    found = theirs(batch_first, attention_mask=hugging_face.added_mask(mask))
    found = (found[0] if isinstance(found, tuple) else found).transpose(0, 1)
    mine_ = gradients(mine, [x, module.norm_self_attn.weight, module.feed_forward.layer1.bias])
    theirs_ = gradients(found, [x, theirs.ln_1.weight, theirs.mlp.c_fc.bias])
    return largest([mine, *mine_], [found, *theirs_])


ORACLES: dict[str, Callable[[], float]] = {"Hugging Face GPT-2": distance_to_gpt2}


test_it_is_what_others_compute = equals(ORACLES)
