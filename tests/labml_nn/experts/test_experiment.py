from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import torch
from torch import nn

from labml_nn.experts import experiment as page
from labml_nn.experts.balancing import BiasedRouter, balanced_gradients, routers
from labml_nn.experts.mixture import Mixture, Router
from labml_nn.training.data import RandomWindows
from tests.oracles.compare import largest

N_VOCAB, SEQ_LEN, BATCH_SIZE = 13, 7, 3
TEXT = torch.arange(500) % N_VOCAB


def small(kind: type[Router], seed: int = 1) -> nn.Module:
    torch.manual_seed(seed)
    sizes = (page.D_MODEL, page.D_FF, page.N_EXPERTS, page.N_ACTIVE)
    return page.small_model(N_VOCAB, SEQ_LEN, lambda: Mixture(*sizes, router=kind))


def fitted(way: str, steps: int) -> tuple[nn.Module, torch.Tensor]:
    model = small(page.WAYS[way][0])
    batches = RandomWindows(TEXT, SEQ_LEN, BATCH_SIZE, seed=1)
    return model, page.fit_balanced(way, model, batches, steps)


def test_each_layer_of_the_model_has_a_layer_of_its_own_in_the_place_of_the_network() -> None:
    model = small(BiasedRouter)
    layers = [layer.feed_forward for layer in model.encoder.layers]
    assert [type(layer) for layer in layers] == [Mixture, Mixture]
    assert layers[0] is not layers[1]
    assert [type(router) for router in routers(model)] == [BiasedRouter, BiasedRouter]
    assert model(TEXT[: 2 * SEQ_LEN].view(SEQ_LEN, 2)).shape == (SEQ_LEN, 2, N_VOCAB)


def test_a_load_is_the_share_over_an_equal_share() -> None:
    router = Router(5, 4, 2)
    router.scores, router.chosen = torch.zeros(8, 4), torch.tensor([[0, 1]] * 4 + [[0, 2]] * 4)
    assert page.load(router).tolist() == [2.0, 1.0, 1.0, 0.0]


def test_a_router_that_chooses_at_random_is_as_uneven_as_the_exercise_says() -> None:
    chosen = torch.rand(100, 1024, 16).topk(2, dim=2).indices
    counts = torch.stack([torch.bincount(one.flatten(), minlength=16) for one in chosen]).float()
    assert counts.std(dim=1).mean().item() == pytest.approx(11, abs=1)
    assert counts.amax(dim=1).mean().item() / 128 == pytest.approx(1.15, abs=0.02)


def test_the_loss_and_the_bias_even_out_the_load_and_nothing_else_moves_a_bias() -> None:
    greatest = {way: fitted(way, 30)[1] for way in page.WAYS}
    assert all(one.shape == (30, 2) for one in greatest.values())
    assert not largest([greatest["loss"][0]], [greatest["no balancing"][0]])
    last = {way: one[-10:].mean().item() for way, one in greatest.items()}
    assert last["loss"] < 0.9 * last["no balancing"]
    model, _ = fitted("bias", 5)
    biases = torch.stack([router.bias for router in routers(model)])
    assert biases.abs().max() == pytest.approx(0.005)
    assert page.WAYS["loss"][1] is balanced_gradients


def test_the_held_out_load_is_that_of_the_first_windows() -> None:
    model, _ = fitted("no balancing", 3)
    found = page.held_out_load(model, TEXT, SEQ_LEN, n_windows=5)
    assert found.shape == (2, page.N_EXPERTS)
    assert not found.requires_grad
    assert found.mean(dim=1).tolist() == pytest.approx([1, 1])
    model(TEXT[: 5 * SEQ_LEN].view(5, SEQ_LEN).t())
    assert largest([found], [torch.stack([page.load(one) for one in routers(model)])]) == 0
    page.held_out_load(model, TEXT, SEQ_LEN)
    assert [len(router.chosen) for router in routers(model)] == [71 * SEQ_LEN] * 2


def test_the_notebook_trains_all_three_and_shows_their_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    titles: list[str] = []

    def show() -> None:
        titles.extend(axes.get_title() for axes in plt.gcf().axes)
        plt.close("all")

    monkeypatch.setattr(plt, "show", show)
    (tmp_path / "text.txt").write_text("the quick brown fox\n" * 40, encoding="utf-8")
    page.notebook(str(tmp_path / "text.txt"), steps=2)
    shown = capsys.readouterr().out
    assert shown.count("validation loss") == shown.count("greatest load in each layer") == 3
    assert titles == list(page.WAYS)


