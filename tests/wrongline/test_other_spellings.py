r"""Kinds of models that other rules were not made for: right ones pass, wrong ones don't."""

import inspect
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.wrongline.others import N_VOCAB, WIDTH, Mixing, Small, texts
from wrongline import find_in_language_model, find_in_training_step, find_mistakes
from wrongline.command import main


class WithGradients(Mixing):
    r"""Its mask is missing where gradients are computed."""

    def sees(self, t: int, n: int) -> Tensor:
        return super().sees(t, n) | torch.tensor(torch.is_grad_enabled())


def test_a_leak_with_gradients_only_is_found() -> None:
    said = find_in_language_model(Small(WithGradients), texts())
    assert said["model_prefix"].startswith("in training, the logits ")


def test_what_refuses_gradients_is_tried_without() -> None:
    class Writes(Small):
        def forward(self, tokens: Tensor) -> Tensor:
            self.tokens.weight[0] *= 1
            return super().forward(tokens)

    found = find_in_language_model(Writes(), texts())
    assert found == {}
    assert "- right: model_prefix" in found.table


def test_a_model_may_write_on_its_tokens_and_yours_stay() -> None:
    class Shifts(Small):
        def forward(self, tokens: Tensor) -> Tensor:
            tokens += 1
            tokens %= N_VOCAB
            return super().forward(tokens)

    batch = texts()
    assert find_in_language_model(Shifts(), batch) == {}
    assert batch.equal(texts())


def test_the_longest_text_is_searched_for() -> None:
    assert "and on 2 of 48" in find_in_language_model(Small(), texts()).table


class Pieces(Small):
    r"""It reads a piece after others; a `wrong` one counts its positions from zero."""

    wrong = False

    def piece(self, tokens: Tensor, past: Tensor | None) -> tuple[Tensor, Tensor]:
        first = 0 if past is None or self.wrong else past.shape[1]
        x = self.embed(tokens, first)
        full = x if past is None else torch.cat([past, x], dim=1)
        return self.head(x + self.mixing(full, new=tokens.shape[1])), full


class RunsWithACache(Pieces):
    r"""As gpt-fast: it needs room for a cache, and is told where all tokens stand."""

    kept: Tensor | None = None

    def setup_caches(self, max_batch_size: int, max_seq_length: int) -> None:
        self.kept = torch.zeros(max_batch_size, max_seq_length, WIDTH)

    def forward(self, idx: Tensor, input_pos: Tensor) -> Tensor:
        assert self.kept is not None, "caches must be set up first"
        places = input_pos * 0 if self.wrong and len(input_pos) == 1 else input_pos
        self.kept[: len(idx), input_pos] = self.tokens(idx) + self.places(places)
        full = self.kept[: len(idx), : int(input_pos[-1]) + 1]
        return self.head(full[:, -idx.shape[1] :] + self.mixing(full, new=idx.shape[1]))


class PlaceForEachLayer(Pieces):
    n_layers = 1

    def forward(self, tokens: Tensor, kv_caches: list | None = None) -> Tensor:
        logits, full = self.piece(tokens, kv_caches[0] if kv_caches else None)
        if kv_caches:
            kv_caches[0] = full
        return logits


class EachLayerCache:
    def __init__(self, n_layers: int) -> None:
        self.held: list[Any] = [None] * n_layers


class LayersInARow(Pieces):
    r"""A caller's cache has a place for each layer, and nothing says how many there are."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH))

    def forward(self, tokens: Tensor, cache: Any = None) -> Tensor:
        held = EachLayerCache(2).held if cache is None else cache.held
        logits, held[0] = self.piece(tokens, held[1])
        held[1] = held[0]
        return logits + 0 * self.blocks(held[0]).sum()


class TurnedOn(Pieces):
    is_on = False
    kept: Tensor | None = None

    def enable_kv_cache(self) -> None:
        self.is_on = True

    def reset_kv_cache(self) -> None:
        self.kept = None

    def forward(self, tokens: Tensor) -> Tensor:
        logits, full = self.piece(tokens, self.kept)
        self.kept = full if self.is_on else None
        return logits


@pytest.mark.parametrize(
    ("kind", "how"),
    [
        (RunsWithACache, "in the module"),
        (PlaceForEachLayer, "by `kv_caches`"),
        (LayersInARow, "by `cache`"),
        (TurnedOn, "in the module"),
    ],
)
def test_a_cache_of_another_kind_is_found_and_how_is_told(kind: type, how: str) -> None:
    found = find_in_language_model(kind(), texts())
    assert found == {}
    assert found.table.endswith(f"; a cache {how}")
    wrong = kind()
    wrong.wrong = True
    assert list(find_in_language_model(wrong, texts())) == ["cache_agrees"]


def test_a_method_that_decodes_is_not_forgotten() -> None:
    class Decodes(Pieces):
        def decode(self, tokens: Tensor, past: Any) -> Any:
            return self.piece(tokens, past)

    assert "how `decode` reads a text" in find_in_language_model(Decodes(), texts()).table


def test_a_mask_of_no_kind_that_changes_nothing_is_unusual() -> None:
    class Ignores(Small):
        def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
            return super().forward(tokens)

    class AddsIt(Small):
        def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
            return super().forward(tokens) + (0 if mask is None else mask[..., None])

    found = find_in_language_model(Ignores(), texts())
    assert found == {}
    assert "- unusual: padding_is_hidden: `mask` changes nothing" in found.table
    assert list(find_in_language_model(AddsIt(), texts())) == ["padding_is_hidden"]


class ForEachHead(nn.Module):
    r"""Its weights have an axis for the heads."""

    def __init__(self, scale: float, first: bool) -> None:
        super().__init__()
        shape = (24, 3, 8) if first else (3, 24, 8)
        self.into = "bnd,dhe->bhne" if first else "bnd,hde->bhne"
        self.scale = scale
        self.W_Q, self.W_K, self.W_V = (nn.Parameter(torch.randn(shape)) for _ in range(3))
        self.W_O, self.b_Q = nn.Parameter(torch.randn(3, 8, 24)), nn.Parameter(torch.randn(3, 8))

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (torch.einsum(self.into, x, w) for w in (self.W_Q, self.W_K, self.W_V))
        scores = (q + self.b_Q[:, None]) @ k.mT * self.scale
        hidden = torch.ones(x.shape[1], x.shape[1]).triu(1) == 1
        weights = scores.masked_fill(hidden, -math.inf).softmax(-1)
        return torch.einsum("bhne,hed->bnd", weights @ v, self.W_O)


@pytest.mark.parametrize("first", [False, True])
def test_weights_with_an_axis_for_the_heads_are_compared(first: bool) -> None:
    found = find_mistakes(ForEachHead(8**-0.5, first), 3, 24)
    assert found == {}
    assert "- right: comparison" in found.table
    found = find_mistakes(ForEachHead(1.0, first), 3, 24)
    assert found == {"comparison": "the scores are not scaled"}


class GivesALoss(Small):
    def forward(self, idx: Tensor, targets: Tensor) -> Any:
        logits = self.logits(idx)[0]
        return logits, F.cross_entropy(logits.view(-1, N_VOCAB), targets.view(-1))


def test_a_step_may_give_its_targets_a_view() -> None:
    def make_step(model: nn.Module) -> Any:
        optimizer = torch.optim.Adam(model.parameters(), 1e-2)

        def step(x: Tensor, y: Tensor) -> None:
            _, loss = model(x, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

        return step

    x = texts(6)
    assert find_in_training_step(GivesALoss(), x[:, :-1], x[:, 1:], make_step=make_step) == {}


def test_hooks_of_a_step_are_taken_off_again() -> None:
    def make_step(model: nn.Module) -> Any:
        each = {w: torch.optim.Adam([w], 1e-2) for w in model.parameters()}

        def move(weight: Tensor) -> None:
            each[weight].step()
            each[weight].zero_grad()

        for weight in each:
            weight.register_post_accumulate_grad_hook(move)
        model.register_forward_hook(lambda *given: None)
        return lambda x, y: F.cross_entropy(model(x).mT, y).backward()

    x = texts(6)
    model = Small()
    found = find_in_training_step(
        model, x[:, :-1], x[:, 1:], make_step=make_step, only=["forgets", "same_step"]
    )
    assert found == {}
    assert not model._forward_hooks
    assert not any(one._post_accumulate_grad_hooks for one in model.parameters())


FILE = inspect.cleandoc("""
    from model.sizes import width
    from torch import nn

    class M(nn.Module):
        def __init__(self, vocab_size):
            super().__init__()
            self.e, self.o = nn.Embedding(vocab_size, width), nn.Linear(width, vocab_size)

        def forward(self, ids):
            return self.o(self.e(ids))

    class ByOptions(M):
        def __init__(self, opt):
            super().__init__(opt.vocab_size)

    class Maker:
        @staticmethod
        def small():
            return M(64)

    model = M(64)
""")


@pytest.mark.parametrize("name", ["M", "ByOptions", "Maker.small", "model"])
def test_a_file_may_have_the_name_of_its_folder_and_a_model_may_be_made(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "sizes.py").write_text("width = 8\n", encoding="utf-8")
    (folder / "model.py").write_text(FILE, encoding="utf-8")
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    assert main([f"{folder / 'model.py'}:{name}"]) == 0
