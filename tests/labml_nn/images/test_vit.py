import pytest
import torch
from torch import nn
from torch.func import functional_call

from labml_nn.images.vit import ViT
from labml_nn.transformers.fused_attention import FusedAttention
from tests.labml_nn.images import oracles
from tests.labml_nn.transformers.seam import equals, shapes
from tests.oracles.compare import difference
from tests.oracles.hugging_face import all_in_double


def from_vit() -> float:
    theirs, tensors = oracles.hugging_face_vit()
    ours = nn.Sequential(oracles.vit(), nn.Linear(oracles.D_MODEL, oracles.N_CLASSES))
    x = oracles.images()
    assert set(tensors) == set(ours.state_dict())
    with all_in_double():
        expected = theirs(x.unsqueeze(1)).logits
    variables = [x, *theirs.parameters()]
    return difference(functional_call(ours, tensors, x), expected, variables, variables)


def from_dino() -> float:
    (theirs, tensors), x = oracles.dino(), oracles.images()
    # In training: nothing is dropped.
    ours = oracles.vit(oracles.N_REGISTERS, attention=FusedAttention)
    assert set(tensors) == set(ours.state_dict())
    with all_in_double():
        expected = theirs(x.unsqueeze(1)).pooler_output
    # Those of a token that isn't used, and of gains that are 1 here, have no counterpart.
    others = [p for name, p in theirs.named_parameters() if "mask" not in name]
    variables = [x, *(p for p in others if p.shape != (oracles.D_MODEL,) or not (p == 1).all())]
    return difference(functional_call(ours, tensors, x), expected, variables, variables)


ORACLES = {"Hugging Face ViT": from_vit, "Hugging Face DINOv2 with registers": from_dino}
test_it_is_what_others_compute = equals(ORACLES)


def test_parameters_and_how_they_start() -> None:
    torch.manual_seed(1)
    model = ViT(500, 2, 40, 4, 1, 11, n_registers=300, attention=FusedAttention)
    assert type(model.encoder.layers[0].self_attn) is FusedAttention
    for one, length in ((model.positions, 501), (model.registers, 300), (model.class_token, 1)):
        assert one.shape == (length, 1, 40)
        assert one.std().item() == pytest.approx(0.3, abs=0.1 if length == 1 else 0.01)
    assert ViT(9, 5, 14, 2, 2, 28).registers.shape == (0, 1, 14)
    assert shapes(model.project) == {"weight": (40, 4), "bias": (40,)}
    # With its own parameters, and not those of an oracle.
    assert oracles.vit()(oracles.images()).shape == (oracles.BATCH_SIZE, oracles.D_MODEL)
