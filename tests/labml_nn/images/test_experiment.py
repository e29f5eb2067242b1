from itertools import permutations

import matplotlib
import matplotlib.pyplot as plt
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from labml_nn.images import experiment as page
from labml_nn.images.clip import contrastive_loss
from labml_nn.images.digits import Pairs, digits_at
from labml_nn.transformers.fused_attention import FusedAttention
from labml_nn.transformers.mha import MultiHeadAttention
from tests.oracles.compare import largest


def attentions(model: nn.Module) -> list[type]:
    found = [one for one in model.modules() if isinstance(one, MultiHeadAttention)]
    assert {one.heads for one in found} == {4}
    return [type(one) for one in found]


def test_the_models_have_two_layers_of_fused_attention_in_each_encoder() -> None:
    model = page.classifier()
    assert attentions(model) == [FusedAttention] * 2
    assert model(torch.randn(3, 8, 8)).shape == (3, 10)
    assert sum(p.numel() for p in model.parameters()) == 58234
    for size, length in ((4, 5), (1, 65)):
        assert page.classifier(size)[0].positions.shape == (length, 1, 48)
    assert page.classifier(2, 3)[0].registers.shape == (3, 1, 48)
    pairs = Pairs(1)
    both = page.image_and_text_model(pairs)
    assert attentions(both) == [FusedAttention] * 4
    assert both(pairs.at(0)[0], pairs.texts).shape == (64, 110)
    assert both.project_image.weight.shape == both.project_text.weight.shape == (32, 48)


def test_gradients_are_those_of_the_two_losses() -> None:
    torch.manual_seed(1)
    pairs = Pairs(1, 5)
    both, model = page.image_and_text_model(pairs), page.classifier()
    for one, batch, function, of_loss in (
        (model, digits_at(0, 1), page.digit_gradients, lambda x, y: F.cross_entropy(model(x), y)),
        (both, pairs.at(0), page.pair_gradients, lambda x, y: contrastive_loss(both(x, y))),
    ):
        expected = torch.autograd.grad(of_loss(*batch), list(one.parameters()))
        loss = function(one, *batch)
        assert not loss.requires_grad
        assert loss.item() == pytest.approx(of_loss(*batch).item())
        assert largest([p.grad for p in one.parameters()], list(expected)) < 1e-6


def test_the_judge_of_a_model_that_guesses_and_of_one_that_knows_three_of_four() -> None:
    targets = torch.arange(4)
    for classes, loss in ((10, 2.303), (110, 4.7)):
        assert page.judge(torch.zeros(4, classes), targets)[0] == pytest.approx(loss, abs=5e-4)
    logits = torch.zeros(4, 10)
    logits[:, 0] = 5.0
    assert page.judge(logits.requires_grad_(), torch.tensor([0, 0, 0, 3]))[1] == 0.75


def test_it_looks_at_the_patches_in_their_places_and_weights_are_means_of_heads() -> None:
    model, images = page.classifier(), digits_at(0, 0, 3)[0]
    readable = page.classifier(attention=MultiHeadAttention)
    readable.load_state_dict(model.state_dict())
    readable(images)
    weights = readable[0].encoder.layers[1].self_attn.attn[0].mean(dim=2)
    found = page.looks(model, images)
    assert found.shape == (3, 4, 4)
    assert not found.requires_grad
    for row, column in ((0, 0), (0, 3), (2, 1)):
        assert largest([found[:, row, column]], [weights[1 + 4 * row + column]]) < 1e-6
    for size, width in ((4, 2), (1, 8)):
        assert page.looks(page.classifier(size), images, size).shape == (3, width, width)


def test_pictures_of_the_notebook_are_large_enough_and_cover_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shown = []

    def show() -> None:
        figure = plt.gcf()
        figure.canvas.draw()
        shown.append([(axes.get_window_extent(), axes.get_tightbbox()) for axes in figure.axes])
        plt.close(figure)

    matplotlib.use("Agg")
    monkeypatch.setattr(plt, "show", show)
    page.notebook(steps=1)
    assert [len(pictures) for pictures in shown] == [16, 1, 5]
    for pictures in shown:
        # In pixels, of a figure that a notebook shows at its own size.
        assert min(inside.width for inside, _ in pictures) >= 60
        for (inside, _), (_, with_ticks) in permutations(pictures, 2):
            assert not inside.overlaps(with_ticks)
