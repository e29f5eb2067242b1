import pytest
import torch
from torch import Tensor, nn

from labml_nn.experts.mixture import Mixture, Router, in_transformer
from labml_nn.transformers.feed_forward import FeedForward
from tests.labml_nn.experts.oracles import (
    D_FF,
    D_MODEL,
    N_ACTIVE,
    N_EXPERTS,
    SIZES,
    from_hugging_face,
    mixtral,
    qwen,
    text,
)
from tests.labml_nn.models import drops_out_in_training_only, sees_only_the_past
from tests.labml_nn.transformers.seam import equals, refuses, shapes
from tests.oracles.compare import gradients, largest
from tests.oracles.hugging_face import randomise

ORACLES = {
    "Hugging Face Mixtral": lambda: from_hugging_face(Mixture(*SIZES), mixtral()),
    "Hugging Face Qwen3": lambda: from_hugging_face(Mixture(*SIZES), qwen()),
}
test_it_is_what_others_compute = equals(ORACLES)
test_more_experts_for_a_token_than_there_are_or_none_are_refused = refuses(
    Router,
    "n_active must be from 1 to {n_experts=}, got {n_active=}",
    [{"d_model": 5, "n_experts": 3, "n_active": n_active} for n_active in (0, 4)],
)


def mixture(n_experts: int = N_EXPERTS, n_active: int = N_ACTIVE, **options: object) -> Mixture:
    return randomise(Mixture(D_MODEL, D_FF, n_experts, n_active, **options))


def with_logits(module: Mixture, logits: Tensor) -> Mixture:
    r"""The same scores for each token whose first feature is 1."""
    nn.init.zeros_(module.router.linear.weight)
    module.router.linear.weight.data[:, 0] = logits
    return module


def test_the_token_of_the_page() -> None:
    module = with_logits(mixture(4, 2), torch.tensor([1.0, -1.0, 2.0, 0.0]))
    x = text().detach()[0, :1]
    x[:, 0] = 1
    weights, chosen = module.router(x)
    scores = [round(score, 2) for score in module.router.scores[0].tolist()]
    assert scores == [0.24, 0.03, 0.64, 0.09]
    assert chosen.tolist() == [[2, 0]]
    assert [round(weight, 2) for weight in weights[0].tolist()] == [0.73, 0.27]
    expected = weights[0, 0] * module.experts[2](x) + weights[0, 1] * module.experts[0](x)
    assert largest([module(x)], [expected]) < 1e-12


def test_the_weights_are_a_softmax_over_the_chosen_logits_and_sum_to_one() -> None:
    router, x = mixture().router, text().flatten(0, 1)
    weights, chosen = router(x)
    expected = router.linear(x).gather(1, chosen).softmax(dim=1)
    assert largest([weights], [expected]) < 1e-12
    assert largest([weights.sum(dim=1)], [torch.ones_like(weights[:, 0])]) < 1e-12


def test_a_single_expert_is_a_plain_network() -> None:
    module, x = mixture(1, 1), text()
    assert largest([module(x)], [module.experts[0](x)]) < 1e-12


def test_no_token_depends_on_another() -> None:
    sees_only_the_past(mixture(), text().detach(), lambda token: token + 1)


def test_an_expert_without_tokens_gets_a_gradient_of_zero_and_costs_no_call() -> None:
    module, x = with_logits(mixture(3, 2), torch.tensor([5.0, 4.0, -5.0])), text().detach()
    x[..., 0] = 1
    seen = []
    for expert in module.experts:
        expert.register_forward_pre_hook(lambda _, given: seen.append(len(given[0])))
    found = gradients(module(x), [*module.experts.parameters()])
    assert seen == [21, 21, 0]
    assert [bool(one.any()) for one in found] == [True] * 6 + [False] * 3


def test_with_one_expert_for_a_token_the_router_learns_nothing() -> None:
    for n_active, learns in ((1, False), (2, True)):
        module = mixture(N_EXPERTS, n_active)
        (found,) = gradients(module(text()), [module.router.linear.weight])
        assert bool(found.abs().max() > 1e-12) == learns


def test_hidden_features_of_experts_are_dropped_out_in_training_alone() -> None:
    drops_out_in_training_only(mixture(dropout_prob=0.5), text())
    assert mixture().experts[0].dropout.p == 0.0


def test_the_parameters_are_those_of_the_experts_and_of_the_router() -> None:
    expert = {"gate.weight": (11, 5), "value.weight": (11, 5), "output.weight": (5, 11)}
    expected = {"router.linear.weight": (3, 5)} | {
        f"experts.{number}.{name}": shape for number in range(3) for name, shape in expert.items()
    }
    assert shapes(mixture(3, 2)) == expected


def test_in_the_transformer_a_token_meets_as_many_weights_as_in_the_network_it_replaces() -> None:
    sizes = {"d_model": 128, "d_ff": 510, "dropout_prob": 0.5}
    module = in_transformer(**sizes)["feed_forward"]()
    one = sum(p.numel() for p in module.experts[0].parameters())
    network = sum(p.numel() for p in FeedForward(128, 510, bias=False).parameters())
    assert module.router.n_active * one == network
    assert len(module.experts) * one == 4 * network
    assert module.experts[0].dropout.p == 0.5


def test_the_weights_of_a_layer_and_of_a_token_are_those_of_the_exercise() -> None:
    module = Mixture(64, 32, 16, 2)
    router, *experts = (
        sum(p.numel() for p in part.parameters()) for part in (module.router, *module.experts)
    )
    assert (experts[0], router) == (6_144, 1_024)
    assert router + sum(experts) == 99_328
    assert router + 2 * experts[0] == 13_312


def test_a_router_keeps_what_it_saw_last_with_gradients_for_a_loss() -> None:
    router = mixture().router
    _, chosen = router(text().flatten(0, 1))
    assert router.chosen is chosen
    assert router.scores.requires_grad
    assert pytest.approx(1) == router.scores[0].sum().item()
