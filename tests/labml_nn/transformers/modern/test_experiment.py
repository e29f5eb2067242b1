from inspect import signature

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from labml_nn.optimizers.muon import Muon, orthogonalize
from labml_nn.training.data import prepare
from labml_nn.training.loop import evaluate
from labml_nn.transformers.modern.experiment import fit, muon_and_adamw
from labml_nn.transformers.modern.model import ModernTransformer

TEXT = "to be, or not to be, that is the question. " * 40


def make(n_vocab: int, seed: int = 1) -> ModernTransformer:
    torch.manual_seed(seed)
    return ModernTransformer(n_vocab, 20, 5, 2, 11, seq_len=13)


def test_matrices_of_the_layers_go_to_muon_and_each_parameter_to_one() -> None:
    model = make(17)
    names = {p: name for name, p in model.named_parameters()}
    muon, adamw = muon_and_adamw(model)
    first, second = (
        [names[p] for group in optimizer.param_groups for p in group["params"]]
        for optimizer in (muon, adamw)
    )
    assert isinstance(muon, Muon)
    assert isinstance(adamw, torch.optim.AdamW)
    assert sorted(first + second) == sorted(names.values())
    smears = {
        f"layers.{i}.smear_{part}.share" for i in (0, 1) for part in ("attention", "feed_forward")
    }
    rest = {"embedding.weight", "smear.share", "head.weight", "layers.1.attention.mix"}
    assert set(second) == smears | rest
    assert [group["weight_decay"] for group in adamw.param_groups] == [0.0]


def test_a_shorter_row_of_the_embedding_changes_nothing_and_each_row_of_the_head_learns() -> None:
    model = make(17)
    torch.nn.init.normal_(model.head.weight)
    tokens = torch.arange(5)[:, None]
    logits = model(tokens)
    F.cross_entropy(logits.flatten(0, 1), tokens.flatten()).backward()
    assert model.head.weight.grad.any(dim=1).all()
    assert model.embedding.weight.grad.any(dim=1).sum() == 5
    with torch.no_grad():
        model.embedding.weight *= 0.5
    torch.testing.assert_close(model(tokens), logits)


@pytest.mark.parametrize(("rows", "least", "most"), [(65, 0.5, 1.0), (1000, 0.0, 0.1)])
def test_muon_moves_a_rare_row_as_far_as_a_frequent_one_only_in_a_short_table(
    rows: int, least: float, most: float
) -> None:
    torch.manual_seed(1)
    gradient = torch.randn(rows, 128, dtype=torch.float64) * torch.linspace(1, 0.01, rows)[:, None]
    moved = orthogonalize(gradient[None])[0].norm(dim=1)
    assert least < (moved[-1] / moved[0]).item() < most


def test_a_text_is_learned() -> None:
    tokenizer, tokens, validation = prepare(TEXT, 13)
    model = make(len(tokenizer))
    fit(model, tokens, 150, seq_len=13, batch_size=5)
    assert evaluate(model, validation, 13) < 1.0


def test_the_learning_rate_ends_near_zero_and_the_seed_decides_the_batches() -> None:
    tokenizer, tokens, _ = prepare(TEXT, 13)
    losses: list[Tensor] = []
    weights: list[Tensor] = []
    for seed in (1, 1, 2):
        model = make(len(tokenizer))

        def after_step(step: int, loss: Tensor, model: ModernTransformer = model) -> None:
            losses.append(loss)
            weights.append(model.embedding.weight.detach().clone())

        fit(model, tokens, 40, 13, 5, seed, after_step)
    assert losses[:40] == losses[40:80] != losses[80:]
    rate = signature(muon_and_adamw).parameters["rate"].default
    steps = [(b - a).abs().max().item() for a, b in zip(weights[:39], weights[1:40], strict=True)]
    assert steps[-1] < 0.1 * max(steps) == pytest.approx(0.1 * rate, rel=0.2)
