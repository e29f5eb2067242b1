import pytest
import torch
from torch.func import functional_call

from labml_nn.images.clip import Pairs, TextEncoder, contrastive_loss
from labml_nn.images.digits import EMPTY, caption
from labml_nn.transformers.fused_attention import FusedAttention
from tests.labml_nn.images.oracles import (
    D,
    D_TEXT,
    D_TEXT_FF,
    HEADS,
    N_VOCAB,
    SEQ_LEN,
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
