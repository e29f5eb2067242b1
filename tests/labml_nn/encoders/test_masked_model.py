r"""BERT's encoder, and a masked language model on it."""

import math

import pytest
import torch
import torch.nn.functional as F
from transformers import BertForMaskedLM

from labml_nn.encoders import masked_model as page
from labml_nn.transformers.fused_attention import FusedAttention
from tests.labml_nn.encoders import oracles
from tests.labml_nn.models import drops_out_in_training_only
from tests.labml_nn.transformers.seam import equals, shapes
from tests.oracles.compare import gradients, largest
from tests.oracles.hugging_face import copied, randomise


def bert() -> float:
    ours = randomise(page.MaskedModel(oracles.bert_encoder()))
    theirs = BertForMaskedLM(oracles.bert_config()).double().eval()
    oracles.into_bert(ours.encoder, theirs.bert)
    head = theirs.cls.predictions
    copied(ours, head, {"dense": "transform.dense", "norm": "transform.LayerNorm"})
    head.decoder.bias.data.copy_(ours.bias)
    assert head.decoder.weight is theirs.bert.embeddings.word_embeddings.weight
    found = ours(oracles.text(), oracles.visible()[None])
    expected = theirs(oracles.text().T, attention_mask=oracles.visible().T).logits.transpose(0, 1)
    of_ours = gradients(found, [ours.encoder.tokens.weight, ours.encoder.positions.weight])
    embeddings = theirs.bert.embeddings
    of_theirs = gradients(
        expected, [embeddings.word_embeddings.weight, embeddings.position_embeddings.weight]
    )
    # Their row of padding has no gradient as an input.
    mine, other = ([one[0][:-1], one[1]] for one in (of_ours, of_theirs))
    return largest([found, *mine], [expected, *other])


ORACLES = {"Hugging Face BERT": bert}
test_it_is_what_others_compute = equals(ORACLES)


def test_an_untrained_model_is_about_as_good_as_guessing() -> None:
    torch.manual_seed(1)
    model = page.MaskedModel(page.BertEncoder(67, 64, 4, 2, 128, 64)).eval()
    assert 0.018 < model.encoder.tokens.weight.std() < 0.022
    assert 0.018 < model.encoder.positions.weight.std() < 0.022
    tokens = torch.randint(67, (64, 8))
    loss = F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten()).item()
    assert loss == pytest.approx(math.log(67), abs=0.1)


def test_dropout_attention_and_parameters() -> None:
    encoder = page.BertEncoder(*oracles.SIZES, dropout_prob=0.5, attention=FusedAttention).double()
    drops_out_in_training_only(encoder, oracles.text())
    assert page.BertEncoder(*oracles.SIZES).dropout.p == 0.1
    for layer in encoder.layers:
        assert type(layer.self_attn) is FusedAttention
        parts = (layer, layer.self_attn, layer.feed_forward)
        assert [one.dropout.p for one in parts] == [0.5] * 3
    calls = []
    for module in (encoder, *encoder.layers):
        module.dropout.register_forward_hook(lambda *given: calls.append(given[0]))
    encoder(oracles.text())
    assert len(calls) == 1 + 2 * oracles.N_LAYERS
    model = page.MaskedModel(encoder, bias=False)
    assert not model.bias.any()
    found = shapes(model)
    assert len(encoder.layers) == oracles.N_LAYERS and found["bias"] == (oracles.N_VOCAB,)
    assert {"dense.bias", "norm.bias"}.isdisjoint(found)
    assert found["dense.weight"] == (oracles.D_MODEL, oracles.D_MODEL)
