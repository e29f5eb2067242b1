r"""Layers and models against PyTorch's, and against what their page claims."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers import models as page
from labml_nn.transformers.feed_forward import FeedForward
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.positional_encoding import LearnedPositionalEncoding
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.seam import BATCH_SIZE, D_MODEL, HEADS, SEQ_LEN_K, text
from tests.oracles import hugging_face
from tests.oracles.compare import difference, largest

D_FF, N_VOCAB = 13, 17
MASK = causal_mask(SEQ_LEN_K)


def layer(
    activation: type[nn.Module] = nn.ReLU, dropout_prob: float = 0.0
) -> page.TransformerLayer:
    attention = MultiHeadAttention(HEADS, D_MODEL, dropout_prob=0.0)
    network = FeedForward(D_MODEL, D_FF, dropout_prob=0.0, activation=activation)
    given = {"d_model": D_MODEL, "dropout_prob": dropout_prob, "self_attn": attention}
    return seam.randomised(page.TransformerLayer(feed_forward=network, **given))


def encoder(n_layers: int) -> page.Encoder:
    return seam.randomised(page.Encoder((layer() for _ in range(n_layers)), D_MODEL))


def tokens() -> Tensor:
    generator = torch.Generator().manual_seed(3)
    return torch.randint(N_VOCAB, (SEQ_LEN_K, BATCH_SIZE), generator=generator)


def by_torch(module: page.TransformerLayer) -> nn.TransformerEncoderLayer:
    other = nn.TransformerEncoderLayer(D_MODEL, HEADS, D_FF, dropout=0.0, norm_first=True)
    return seam.torch_layer(module, other)


def distance_to_torch() -> float:
    module, x = encoder(3), text()
    others, found = [by_torch(one) for one in module.layers], []
    for mask in (MASK, None):
        expected = x
        for one in others:
            expected = one(expected, src_mask=None if mask is None else ~mask[..., 0])
        expected = F.layer_norm(expected, (D_MODEL,), module.norm.weight, module.norm.bias)
        mine = [x, module.layers[1].feed_forward.layer1.weight, module.layers[1].norm_ff.weight]
        theirs = [x, others[1].linear1.weight, others[1].norm2.weight]
        found.append(difference(module(x, mask), expected, mine, theirs))
    return max(found)


def distance_to_gpt2() -> float:
    r"""From a layer of GPT-2, which has linear layers with transposed weights, and GELU."""
    theirs = hugging_face.gpt2_layer(HEADS, D_MODEL, D_FF)
    module, x = layer(lambda: nn.GELU("tanh")), text()
    hugging_face.attention_from_gpt2(theirs.attn, module.self_attn)
    module.feed_forward.layer1.load_state_dict(hugging_face.transposed(theirs.mlp.c_fc))
    module.feed_forward.layer2.load_state_dict(hugging_face.transposed(theirs.mlp.c_proj))
    seam.copied(theirs, module, {"ln_1": "norm_self_attn", "ln_2": "norm_ff"})
    batch_first = x.transpose(0, 1).contiguous()
    found = theirs(batch_first, attention_mask=hugging_face.added_mask(MASK))
    found = (found[0] if isinstance(found, tuple) else found).transpose(0, 1)
    mine = [x, module.norm_self_attn.weight, module.feed_forward.layer1.bias]
    return difference(
        module(x=x, mask=MASK), found, mine, [x, theirs.ln_1.weight, theirs.mlp.c_fc.bias]
    )


ORACLES = {
    "torch.nn.TransformerEncoderLayer": distance_to_torch,
    "Hugging Face GPT-2": distance_to_gpt2,
}
test_it_is_what_others_compute = seam.equals(ORACLES)


def test_rows_of_tokens_times_the_root_of_the_width_are_added_to_positions() -> None:
    positions = LearnedPositionalEncoding(D_MODEL, SEQ_LEN_K)
    module = page.Embeddings(N_VOCAB, D_MODEL, positions)
    rows = module.tokens.embedding.weight[tokens()] * math.sqrt(D_MODEL)
    torch.testing.assert_close(module(tokens()), rows + positions.encodings)


@pytest.mark.parametrize("d_model", [16, 256])
def test_embedded_tokens_start_with_variance_one(d_model: int) -> None:
    torch.manual_seed(4)
    features = page.TokenEmbedding(20_000 // d_model * 16, d_model)(torch.arange(1000))
    assert features.mean().item() == pytest.approx(0, abs=0.02)
    assert features.var().item() == pytest.approx(1, abs=0.05)


def test_layer_drops_features_of_both_sublayers_in_training_only() -> None:
    dropping, x = layer(dropout_prob=1.0), text()
    assert largest([dropping(x=x)], [by_torch(dropping)(x)]) < 1e-12
    assert torch.equal(dropping.train()(x=x), x)


def test_generator_gives_logits_not_probabilities() -> None:
    module, x = page.Generator(N_VOCAB, D_MODEL).double(), text()
    expected = F.linear(x, **dict(module.projection.named_parameters()))
    assert largest([module(x)], [expected]) < 1e-12
