r"""The modern encoder."""

import torch
from torch import nn
from transformers import ModernBertForMaskedLM

from labml_nn.encoders.masked_model import MaskedModel
from labml_nn.encoders.modern_encoder import GeGLU, ModernEncoder, local_mask
from labml_nn.transformers.fused_attention import FusedAttention
from tests.labml_nn.encoders.oracles import (
    DISTANCE,
    SIZES,
    doubled,
    into_modern,
    modern,
    modern_encoder,
    text,
    visible,
)
from tests.labml_nn.models import drops_out_in_training_only
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import gradients, largest
from tests.oracles.hugging_face import copied, randomise


def modern_bert() -> float:
    ours = randomise(MaskedModel(modern_encoder(), bias=False))
    theirs = modern(ModernBertForMaskedLM)
    into_modern(ours.encoder, theirs.model)
    copied(ours, theirs, {"dense": "head.dense", "norm": "head.norm"})
    theirs.decoder.bias.data.copy_(ours.bias)
    with doubled():
        found = ours(text(), visible()[None])
        expected = theirs(text().T, attention_mask=visible().T).logits.transpose(0, 1)
    # What a padded position without visible neighbours computes is nobody's business.
    found, expected = found[visible()], expected[visible()]
    of_ours = gradients(found, [ours.encoder.tokens.weight])[0]
    of_theirs = gradients(expected, [theirs.model.embeddings.tok_embeddings.weight])[0]
    return largest([found, of_ours[:-1]], [expected, of_theirs[:-1]])


test_it_is_what_others_compute = equals({"Hugging Face ModernBERT": modern_bert})


def test_local_attention_sees_both_sides_as_far_as_the_distance() -> None:
    found = local_mask(7, 2)[..., 0]
    assert [[abs(i - j) <= 2 for j in range(7)] for i in range(7)] == found.tolist()


def test_only_every_third_layer_sees_far() -> None:
    encoder = modern_encoder()
    assert encoder.sees_all == [True, False, False, True]
    encoder.sees_all = [False] * 4
    before, other = encoder(text()), text()
    other[0] = 3
    apart = (encoder(other) - before).abs().amax(dim=2)[:, 1]
    assert (apart[: 4 * DISTANCE + 1] > 1e-9).all() and apart[4 * DISTANCE + 1 :].max() < 1e-12
    encoder.sees_all = [True, False, False, False]
    assert (encoder(other) - encoder(text())).abs().amax(dim=2)[:, 1].min() > 1e-9


def test_padding_changes_no_letter() -> None:
    encoder = modern_encoder()
    whole = encoder(text(), visible()[None])
    assert largest([whole[:7, :1]], [encoder(text()[:7, :1])]) < 1e-12


def test_a_text_three_positions_later_has_the_same_features() -> None:
    encoder = modern_encoder()
    later, mask = torch.cat([text()[:3], text()[:7]]), torch.arange(10)[None, :, None] > 2
    assert largest([encoder(later, mask)[3:]], [encoder(text()[:7])]) < 1e-10


def test_the_scores_of_the_exercise() -> None:
    assert local_mask(64, 8).sum() == 1_016


def test_dropout_normalisation_and_attention() -> None:
    encoder = ModernEncoder(*SIZES, distance=1, dropout_prob=0.5, attention=FusedAttention)
    drops_out_in_training_only(encoder.double(), text())
    assert ModernEncoder(*SIZES, distance=1).dropout.p == 0.0
    calls = []
    encoder.dropout.register_forward_hook(lambda *given: calls.append(given))
    encoder(text())
    assert len(calls) == 1
    assert "near" not in encoder.state_dict()
    norms = [type(layer.norm_self_attn) for layer in encoder.layers]
    assert norms == [nn.Identity] + [nn.LayerNorm] * 3
    for layer in encoder.layers:
        parts = (layer, layer.self_attn, layer.feed_forward)
        assert [one.dropout.p for one in parts] == [0.5] * 3
        assert type(layer.self_attn) is FusedAttention
    drops_out_in_training_only(GeGLU(11, 13, 0.5), torch.randn(5, 11))
    assert not [name for name, _ in encoder.named_parameters() if name.endswith("bias")]
    assert 0.012 < encoder.tokens.weight.std() < 0.028


def test_bases_of_local_and_of_global_layers() -> None:
    encoder = modern_encoder()
    rotations = [layer.self_attn.key[1] for layer in encoder.layers]
    assert rotations[0] is rotations[3] and rotations[1] is rotations[2]
    assert [layer.self_attn.query[1] for layer in encoder.layers] == rotations
