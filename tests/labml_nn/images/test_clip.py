import math

import pytest
import torch
from torch.func import functional_call

from labml_nn.images.clip import TextEncoder, contrastive_loss
from labml_nn.transformers.fused_attention import FusedAttention
from tests.labml_nn.images.oracles import (
    D_TEXT,
    D_TEXT_FF,
    HEADS,
    N_VOCAB,
    SEQ_LEN,
    D,
    clip,
    hugging_face_clip,
    images,
    texts,
)
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import difference, largest
from tests.oracles.hugging_face import all_in_double, randomise


def from_clip(of_loss: bool) -> float:
    (theirs, tensors), ours, x, tokens = hugging_face_clip(), clip(), images(), texts()
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


def test_vectors_have_length_one_and_the_scale_starts_at_one_over_seven_hundredths() -> None:
    model = clip()
    assert model.log_scale.item() == pytest.approx(math.log(1 / 0.07))
    assert model.log_scale.requires_grad
    found = [model.encode_images(images()), model.encode_texts(texts())]
    assert [one.shape for one in found] == [(3, D), (3, D)]
    assert all(largest([one.norm(dim=1)], [torch.ones(3).double()]) < 1e-12 for one in found)


def test_what_stands_behind_the_end_of_a_text_changes_nothing_and_all_before_it_counts() -> None:
    model, tokens = randomise(clip()).texts, texts()
    before, end = model(tokens), 4
    for place in range(SEQ_LEN):
        other = tokens.clone()
        other[place, 1] = (tokens[place, 1] + 1) % N_VOCAB
        # The last place of the text has its end, without which it would be longer.
        changed = (model(other) - before).abs().amax(dim=1)
        assert (changed[1] > 1e-6) == (place <= end)
        assert not changed[[0, 2]].any()
    assert largest([model(tokens[:5])[1]], [before[1]]) < 1e-12


def test_the_text_encoder_of_another_attention_is_the_same_and_nothing_is_dropped() -> None:
    ours = randomise(clip()).texts
    fused = TextEncoder(N_VOCAB, SEQ_LEN, D_TEXT, HEADS, 2, D_TEXT_FF, FusedAttention).double()
    fused.load_state_dict(ours.state_dict())
    assert largest([fused(texts())], [ours(texts())]) < 1e-12
    assert torch.equal(ours.train()(texts()), ours(texts()))
    positions = TextEncoder(3, 500, 40, 4, 1, 11).positions
    assert positions.std().item() == pytest.approx(0.3, abs=0.01)


def test_what_is_made_in_a_call_is_made_where_the_input_is() -> None:
    model = clip().to("meta")
    logits = model(images().to("meta"), texts().to("meta"))
    assert logits.device.type == contrastive_loss(logits).device.type == "meta"


def test_the_numbers_of_the_page() -> None:
    cosines = torch.tensor([0.8, 0.5, 0.1])
    rows = [[round(p, 2) for p in (cosines / t).softmax(0).tolist()] for t in (1, 0.07)]
    assert rows == [[0.45, 0.33, 0.22], [0.99, 0.01, 0.0]]
    assert contrastive_loss(torch.zeros(64, 64)).item() == pytest.approx(math.log(64))
    assert contrastive_loss(100 * torch.eye(64)).item() == pytest.approx(0, abs=1e-6)
    # The best that cosines as logits could reach: 1 for the right one, -1 for 63 others.
    cosines = 2 * torch.eye(64) - 1
    assert round(contrastive_loss(cosines).item(), 3) == 2.254
