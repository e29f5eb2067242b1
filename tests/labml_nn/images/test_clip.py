import math

import pytest
import torch
from torch.func import functional_call

from labml_nn.images.clip import Pairs, TextEncoder, contrastive_loss
from labml_nn.images.digits import caption
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


def test_the_loss_of_the_page() -> None:
    assert contrastive_loss(torch.zeros(64, 64)).item() == pytest.approx(math.log(64))
    assert contrastive_loss(100 * torch.eye(64)).item() == pytest.approx(0, abs=1e-6)
    # The best that cosines as logits could reach: 1 for the right one, -1 for 63 others.
    cosines = 2 * torch.eye(64) - 1
    assert round(contrastive_loss(cosines).item(), 3) == 2.254


def test_twelve_captions_are_in_no_batch_but_each_digit_is_on_either_side() -> None:
    pairs = Pairs(seed=1, batch_size=98)
    new = [caption(*scene) for scene in pairs.scenes[pairs.unseen].tolist()]
    assert len(new) == 12
    assert {"two threes", "two sevens", "a two and a seven", "a zero and a one"} <= set(new)
    different = pairs.scenes[pairs.unseen & (pairs.scenes[:, 0] != pairs.scenes[:, 1])]
    assert [sorted(side.tolist()) for side in different.T] == [list(range(10))] * 2
    _, tokens = pairs.at(0)
    shown = {pairs.tokenizer.decode(one).rstrip("\n") for one in tokens.T}
    assert shown == {caption(*scene) for scene in pairs.scenes[~pairs.unseen].tolist()}


def test_no_caption_comes_twice_and_each_is_beside_an_image_of_it() -> None:
    pairs = Pairs(seed=1)
    (shown, tokens), again, other = pairs.at(5), Pairs(seed=1).at(5), Pairs(seed=2).at(5)
    assert shown.shape == (64, 8, 16)
    assert len(tokens.T.unique(dim=0)) == 64
    assert torch.equal(shown, again[0])
    assert torch.equal(tokens, again[1])
    assert not torch.equal(tokens, other[1])
    assert not torch.equal(tokens, pairs.at(6)[1])
    # One digit has less ink than two.
    alone = torch.tensor([" and " not in pairs.tokenizer.decode(one) for one in tokens.T])
    alone &= torch.tensor(["two " not in pairs.tokenizer.decode(one) for one in tokens.T])
    inked = shown.clamp(min=0).sum(dim=(1, 2))
    assert inked[alone].mean() < 0.7 * inked[~alone].mean()


def test_texts_are_captions_with_an_end_and_images_to_measure_with_are_in_their_order() -> None:
    pairs = Pairs(seed=1)
    assert pairs.tokenizer.decode(pairs.texts[:, 77]) == "two sevens".ljust(21, "\n")
    assert pairs.texts[-1].unique().tolist() == [0]
    longest = pairs.texts[-2].nonzero().flatten()
    assert {len(caption(*scene)) for scene in pairs.scenes[longest].tolist()} == {20}
    shown, numbers = pairs.held_out(3)
    assert numbers.tolist() == [number for number in range(110) for _ in range(3)]
    # Their last ones have a digit and an empty place.
    assert shown[-30:].clamp(min=0).sum() < 0.7 * shown[:30].clamp(min=0).sum()
    assert torch.equal(shown, Pairs(seed=2).held_out(3)[0])
    assert len(pairs.held_out()[1]) == 20 * 110
