r"""The modern encoder."""

import torch
from torch import nn
from transformers import ModernBertForMaskedLM

from labml_nn.encoders.masked_model import MaskedModel
from labml_nn.encoders.modern_encoder import GeGLU, ModernEncoder, local_mask
from labml_nn.transformers.fused_attention import FusedAttention
from tests.labml_nn.encoders import oracles
from tests.labml_nn.models import drops_out_in_training_only
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import gradients, largest
from tests.oracles.hugging_face import copied, randomise


def modern_bert() -> float:
    ours, visible = randomise(MaskedModel(oracles.modern_encoder(), bias=False)), oracles.visible()
    theirs = oracles.modern(ModernBertForMaskedLM)
    oracles.into_modern(ours.encoder, theirs.model)
    copied(ours, theirs, {"dense": "head.dense", "norm": "head.norm"})
    theirs.decoder.bias.data.copy_(ours.bias)
    with oracles.doubled():
        found = ours(oracles.text(), visible[None])
        expected = theirs(oracles.text().T, attention_mask=visible.T).logits.transpose(0, 1)
    # What a padded position without visible neighbours computes is nobody's business.
    found, expected = found[visible], expected[visible]
    of_ours = gradients(found, [ours.encoder.tokens.weight])[0]
    of_theirs = gradients(expected, [theirs.model.embeddings.tok_embeddings.weight])[0]
    return largest([found, of_ours[:-1]], [expected, of_theirs[:-1]])


ORACLES = {"Hugging Face ModernBERT": modern_bert}
test_it_is_what_others_compute = equals(ORACLES)


def test_padding_changes_no_letter() -> None:
    encoder = oracles.modern_encoder()
    whole = encoder(oracles.text(), oracles.visible()[None])
    assert largest([whole[:7, :1]], [encoder(oracles.text()[:7, :1])]) < 1e-12


def test_hidden_positions_before_a_text_change_nothing_here_and_everything_in_bert() -> None:
    tokens = oracles.text()[:5]
    shifted = torch.cat([tokens[:3], tokens])
    seen = (torch.arange(8) >= 3)[None, :, None]
    ours, theirs = oracles.modern_encoder(), oracles.bert_encoder()
    assert largest([ours(shifted, seen)[3:]], [ours(tokens)]) < 1e-9
    change = (theirs(shifted, seen)[3:] - theirs(tokens)).abs().amax(dim=-1)
    assert change.min() > 0.01


def test_dropout_normalisation_and_attention() -> None:
    encoder = ModernEncoder(*oracles.SIZES, distance=1, dropout_prob=0.5, attention=FusedAttention)
    drops_out_in_training_only(encoder.double(), oracles.text())
    assert ModernEncoder(*oracles.SIZES, distance=1).dropout.p == 0.0
    calls = []
    encoder.dropout.register_forward_hook(lambda *given: calls.append(given))
    encoder(oracles.text())
    assert len(calls) == 1
    assert "near" not in encoder.state_dict()
    assert local_mask(7, 2).shape == (7, 7, 1)
    norms = [type(layer.norm_self_attn) for layer in encoder.layers]
    assert norms == [nn.Identity] + [nn.LayerNorm] * 3
    for layer in encoder.layers:
        parts = (layer, layer.self_attn, layer.feed_forward)
        assert [one.dropout.p for one in parts] == [0.5] * 3
        assert type(layer.self_attn) is FusedAttention
    drops_out_in_training_only(GeGLU(11, 13, 0.5), torch.randn(5, 11))
    assert not [name for name, _ in encoder.named_parameters() if name.endswith("bias")]
    assert 0.012 < encoder.tokens.weight.std() < 0.028
