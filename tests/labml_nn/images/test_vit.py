import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call

from labml_nn.images.vit import ViT, patches
from labml_nn.transformers.fused_attention import FusedAttention
from tests.labml_nn.images.oracles import (
    BATCH_SIZE,
    D_FF,
    D_MODEL,
    HEADS,
    N_CLASSES,
    N_PATCHES,
    N_REGISTERS,
    SIZE,
    dino,
    hugging_face_vit,
    images,
    vit,
)
from tests.labml_nn.transformers.seam import equals, shapes
from tests.oracles.compare import difference, largest
from tests.oracles.hugging_face import all_in_double, randomise


def from_vit() -> float:
    theirs, tensors = hugging_face_vit()
    ours, x = nn.Sequential(vit(), nn.Linear(D_MODEL, N_CLASSES)), images()
    assert set(tensors) == set(ours.state_dict())
    with all_in_double():
        expected = theirs(x.unsqueeze(1)).logits
    variables = [x, *theirs.parameters()]
    return difference(functional_call(ours, tensors, x), expected, variables, variables)


def from_dino() -> float:
    (theirs, tensors), ours, x = dino(), vit(N_REGISTERS), images()
    assert set(tensors) == set(ours.state_dict())
    with all_in_double():
        expected = theirs(x.unsqueeze(1)).pooler_output
    # Those of a token that isn't used, and of gains that are 1 here, have no counterpart.
    others = [p for name, p in theirs.named_parameters() if "mask" not in name]
    variables = [x, *(p for p in others if p.shape != (D_MODEL,) or not (p == 1).all())]
    return difference(functional_call(ours, tensors, x), expected, variables, variables)


ORACLES = {"Hugging Face ViT": from_vit, "Hugging Face DINOv2 with registers": from_dino}
test_it_is_what_others_compute = equals(ORACLES)


def test_patches_are_squares_in_the_order_of_reading() -> None:
    image = torch.arange(24).view(1, 4, 6)
    found = patches(image, 2)[:, 0].tolist()
    assert found[:4] == [[0, 1, 6, 7], [2, 3, 8, 9], [4, 5, 10, 11], [12, 13, 18, 19]]
    assert patches(torch.randn(3, 10, 15), 5).shape == (6, 3, 25)


def shuffled(model: ViT, x: Tensor, order: Tensor) -> tuple[Tensor, Tensor]:
    r"""The vectors of images, and of the same images with their patches in another order."""
    cut = x.unflatten(2, (3, SIZE)).unflatten(1, (3, SIZE)).transpose(2, 3).flatten(1, 2)
    moved = cut[:, order].unflatten(1, (3, 3)).transpose(2, 3).flatten(3, 4).flatten(1, 2)
    return model(x), model(moved)


def test_without_positions_an_image_is_a_bag_of_patches() -> None:
    model, x, order = randomise(vit()), images().detach(), torch.randperm(N_PATCHES)
    first, second = shuffled(model, x, order)
    assert (first - second).abs().amax(dim=1).min() > 1e-3
    model.positions.data.zero_()
    assert largest(*[[one] for one in shuffled(model, x, order)]) < 1e-12


def test_a_register_without_weight_on_it_would_change_nothing_and_images_are_apart() -> None:
    model, x = randomise(vit(N_REGISTERS)), images().detach()
    together = model(x)
    alone = torch.cat([model(one.unsqueeze(0)) for one in x])
    assert largest([together], [alone]) < 1e-12


def test_parameters_and_how_they_start() -> None:
    torch.manual_seed(1)
    model = ViT(500, 2, 40, 4, 1, 11, n_registers=300)
    for one, length in ((model.positions, 501), (model.registers, 300), (model.class_token, 1)):
        assert one.shape == (length, 1, 40)
        assert one.std().item() == pytest.approx(0.3, abs=0.1 if length == 1 else 0.01)
    assert ViT(9, 5, 14, 2, 2, 28).registers.shape == (0, 1, 14)
    assert shapes(model.project) == {"weight": (40, 4), "bias": (40,)}


def test_fused_attention_gives_the_same_and_two_calls_never_differ() -> None:
    ours, x = randomise(vit(N_REGISTERS)), images().detach()
    fused = ViT(
        N_PATCHES, SIZE, D_MODEL, HEADS, 2, D_FF, N_REGISTERS, attention=FusedAttention
    ).double()
    fused.load_state_dict(ours.state_dict())
    assert largest([fused(x)], [ours(x)]) < 1e-12
    # Nothing is dropped, in training either.
    assert torch.equal(ours.train()(x), ours(x))
    assert ours(x).shape == (BATCH_SIZE, D_MODEL)
