r"""Layers and models against PyTorch's, and against what their page claims."""

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

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
)
from tests.labml_nn.transformers.seam import copied, equals, joined, shapes
from tests.oracles import hugging_face
from tests.oracles.compare import difference, largest

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


def torch_layer(module: TransformerLayer) -> nn.TransformerEncoderLayer:
    r"""PyTorch's layer with the same weights."""
    other = nn.TransformerEncoderLayer(D_MODEL, HEADS, D_FF, dropout=0.0, norm_first=True).double()
    joined(module.self_attn, other.self_attn)
    copied(
        module,
        other,
        {
            "norm_self_attn": "norm1",
            "norm_ff": "norm2",
            "feed_forward.layer1": "linear1",
            "feed_forward.layer2": "linear2",
        },
    )
    return other


def distance_to_torch() -> float:
    r"""Of three layers and a norm from PyTorch's, with a mask and without."""
    module, x = encoder(3), sequence()
    others, found = [torch_layer(one) for one in module.layers], []
    for mask in (causal_mask(SEQ_LEN), None):
        expected = x
        for one in others:
            expected = one(expected, src_mask=None if mask is None else ~mask[..., 0])
        expected = F.layer_norm(expected, (D_MODEL,), module.norm.weight, module.norm.bias)
        mine = [x, module.layers[1].feed_forward.layer1.weight, module.layers[1].norm_ff.weight]
        theirs = [x, others[1].linear1.weight, others[1].norm2.weight]
        found.append(difference(module(x, mask), expected, mine, theirs))
    return max(found)


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


@pytest.mark.parametrize(
    "positions",
    [PositionalEncoding(D_MODEL, 0.0, SEQ_LEN), LearnedPositionalEncoding(D_MODEL, SEQ_LEN)],
    ids=["fixed", "learned"],
)
def test_positions_are_added_to_tokens(positions: nn.Module) -> None:
    module, given_tokens = Embeddings(N_VOCAB, D_MODEL, positions), tokens()
    expected = module.tokens(given_tokens) + positions.encodings
    torch.testing.assert_close(module(given_tokens), expected)


def test_layer_drops_features_of_both_sublayers_in_training_only() -> None:
    x = sequence()
    dropping = layer(dropout_prob=1.0)
    assert torch.equal(dropping(x=x), x)

    dropping.eval()
    assert largest([dropping(x=x)], [torch_layer(dropping)(x)]) < 1e-12
    nn.init.zeros_(dropping.self_attn.output.weight)
    nn.init.zeros_(dropping.self_attn.output.bias)
    assert not torch.equal(dropping(x=x), x)
    assert torch.equal(dropping.train()(x=x), x)


def test_the_parameters_are_these() -> None:
    made = nn.ModuleDict(
        {
            "embed": Embeddings(N_VOCAB, D_MODEL, LearnedPositionalEncoding(D_MODEL, 11)),
            "encoder": encoder(1),
            "generator": Generator(N_VOCAB, D_MODEL),
        }
    )
    norms = ("encoder.layers.0.norm_self_attn", "encoder.layers.0.norm_ff", "encoder.norm")
    expected = {f"{norm}.{kind}": (10,) for norm in norms for kind in ("weight", "bias")}
    for name, part in {
        "self_attn": MultiHeadAttention(HEADS, D_MODEL),
        "feed_forward": FeedForward(D_MODEL, D_FF),
    }.items():
        expected |= {f"encoder.layers.0.{name}.{key}": of for key, of in shapes(part).items()}
    assert shapes(made) == expected | {
        "embed.tokens.embedding.weight": (17, 10),
        "embed.positions.encodings": (11, 1, 10),
        "generator.projection.weight": (17, 10),
        "generator.projection.bias": (17,),
    }


def test_generator_gives_logits_not_probabilities() -> None:
    module, x = Generator(N_VOCAB, D_MODEL).double(), sequence()
    logits = module(x)
    assert logits.shape == (SEQ_LEN, BATCH_SIZE, N_VOCAB)
    assert largest([logits], [F.linear(x, **dict(module.projection.named_parameters()))]) < 1e-12
    assert logits.logsumexp(dim=-1).abs().min() > 1


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_results_have_the_type_of_the_model(dtype: torch.dtype) -> None:
    embed = Embeddings(N_VOCAB, D_MODEL, PositionalEncoding(D_MODEL, 0.0)).to(dtype)
    output = Generator(N_VOCAB, D_MODEL).to(dtype)(encoder(2).to(dtype)(embed(tokens())))
    assert output.dtype == dtype


def distance_to_gpt2() -> float:
    r"""From a layer of GPT-2, which has linear layers with transposed weights, and GELU."""
    theirs = hugging_face.gpt2_layer(HEADS, D_MODEL, D_FF)
    module = TransformerLayer(
        d_model=D_MODEL,
        self_attn=MultiHeadAttention(HEADS, D_MODEL, dropout_prob=0.0),
        feed_forward=FeedForward(D_MODEL, D_FF, 0.0, lambda: nn.GELU("tanh")),
        dropout_prob=0.0,
    ).double()
    hugging_face.attention_from_gpt2(theirs.attn, module.self_attn)
    module.feed_forward.layer1.load_state_dict(hugging_face.transposed(theirs.mlp.c_fc))
    module.feed_forward.layer2.load_state_dict(hugging_face.transposed(theirs.mlp.c_proj))
    copied(theirs, module, {"ln_1": "norm_self_attn", "ln_2": "norm_ff"})

    x, mask = sequence(), causal_mask(SEQ_LEN)
    mine = module(x=x, mask=mask)
    batch_first = x.transpose(0, 1).contiguous()
    found = theirs(batch_first, attention_mask=hugging_face.added_mask(mask))
    found = (found[0] if isinstance(found, tuple) else found).transpose(0, 1)
    variables = [x, module.norm_self_attn.weight, module.feed_forward.layer1.bias]
    return difference(mine, found, variables, [x, theirs.ln_1.weight, theirs.mlp.c_fc.bias])


ORACLES: dict[str, Callable[[], float]] = {
    "torch.nn.TransformerEncoderLayer": distance_to_torch,
    "Hugging Face GPT-2": distance_to_gpt2,
}
test_it_is_what_others_compute = equals(ORACLES)
