import math

import pytest
from torch.func import functional_call

from labml_nn.images.clip import TextEncoder, contrastive_loss
from labml_nn.transformers.fused_attention import FusedAttention
from tests.labml_nn.images import oracles
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import difference, largest
from tests.oracles.hugging_face import all_in_double, randomise


def from_clip(of_loss: bool) -> float:
    # In training: nothing is dropped.
    (theirs, tensors), ours = oracles.hugging_face_clip(), oracles.clip(attention=FusedAttention)
    x, tokens = oracles.images(), oracles.texts()
    assert set(tensors) == set(ours.state_dict())
    with all_in_double():
        expected = theirs(tokens.T, x.unsqueeze(1), return_loss=True)
    found = functional_call(ours, tensors, (x, tokens))
    variables = [x, *theirs.parameters()]
    pairs = [(found, expected.logits_per_image), (contrastive_loss(found), expected.loss)]
    return difference(*pairs[of_loss], variables, variables)


ORACLES = {
    "the logits of Hugging Face CLIP": lambda: from_clip(of_loss=False),
    "the loss of Hugging Face CLIP": lambda: from_clip(of_loss=True),
}
test_it_is_what_others_compute = equals(ORACLES)


def test_what_stands_behind_the_end_of_a_text_changes_nothing_and_all_before_it_counts() -> None:
    model, tokens = randomise(oracles.clip()).texts, oracles.texts()
    before, end = model(tokens), 4
    for place in range(oracles.SEQ_LEN):
        other = tokens.clone()
        other[place, 1] = (tokens[place, 1] + 1) % oracles.N_VOCAB
        # The last place of the text has its end, without which it would be longer.
        changed = (model(other) - before).abs().amax(dim=1)
        assert (changed[1] > 1e-6) == (place <= end)
        assert not changed[[0, 2]].any()
    assert largest([model(tokens[:5])[1]], [before[1]]) < 1e-12


def test_what_is_made_in_a_call_is_made_where_the_input_is() -> None:
    model = oracles.clip().to("meta")
    logits = model(oracles.images().to("meta"), oracles.texts().to("meta"))
    assert logits.device.type == contrastive_loss(logits).device.type == "meta"


def test_parameters_and_how_they_start() -> None:
    assert oracles.clip().log_scale.item() == pytest.approx(math.log(1 / 0.07))
    texts = TextEncoder(3, 40, 4, 1, 11, 500, FusedAttention)
    assert texts.positions.std().item() == pytest.approx(0.3, abs=0.01)
    assert type(texts.encoder.layers[0].self_attn) is FusedAttention
