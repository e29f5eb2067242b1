from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import torch
from torch import nn

from labml_nn.experts import experiment as page
from labml_nn.experts.balancing import balanced_gradients, routers
from labml_nn.experts.mixture import Mixture
from labml_nn.training.data import RandomWindows
from labml_nn.transformers.fused_attention import FusedAttention
from tests.oracles.compare import largest

N_VOCAB, SEQ_LEN = 13, 7
TEXT = torch.arange(500) % N_VOCAB
BATCHES = RandomWindows(TEXT, SEQ_LEN, batch_size=3, seed=1)


def fitted(way: str, steps: int) -> tuple[nn.Module, torch.Tensor]:
    torch.manual_seed(1)
    sizes = (page.D_MODEL, page.D_FF, page.N_EXPERTS, page.N_ACTIVE)
    model = page.small_model(N_VOCAB, SEQ_LEN, lambda: Mixture(*sizes, router=page.WAYS[way][0]))
    return model, page.fit_balanced(way, model, BATCHES, steps) if steps else torch.empty(0)


def test_the_loss_and_the_bias_even_out_the_load_and_nothing_else_moves_a_bias() -> None:
    greatest = {way: fitted(way, 30)[1] for way in page.WAYS}
    assert all(one.shape == (30, 2) for one in greatest.values())
    model, _ = fitted("loss", 0)
    model(BATCHES.at(0)[0])
    first = torch.stack([page.load(router).max() for router in routers(model)])
    assert greatest["loss"][0].equal(first) and greatest["no balancing"][0].equal(first)
    last = {way: one[-10:].mean().item() for way, one in greatest.items()}
    assert last["loss"] < 0.9 * last["no balancing"]
    biases = torch.stack([router.bias for router in routers(fitted("bias", 5)[0])])
    assert biases.abs().max() == pytest.approx(0.005)
    assert page.WAYS["loss"][1] is balanced_gradients


def test_the_held_out_load_is_that_of_the_first_windows() -> None:
    model, _ = fitted("no balancing", 3)
    assert type(model.encoder.layers[1].self_attn) is FusedAttention
    found = page.held_out_load(model, TEXT, SEQ_LEN, n_windows=5)
    assert found.shape == (2, page.N_EXPERTS)
    assert not found.requires_grad
    assert found.mean(dim=1).tolist() == pytest.approx([1, 1])
    model(TEXT[: 5 * SEQ_LEN].view(5, SEQ_LEN).t())
    assert largest([found], [torch.stack([page.load(one) for one in routers(model)])]) == 0
    page.held_out_load(model, TEXT.repeat(3), SEQ_LEN)
    assert [len(router.chosen) for router in routers(model)] == [200 * SEQ_LEN] * 2


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
