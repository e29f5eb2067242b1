import pytest
import torch
from torch import Tensor, nn
from transformers.models.mixtral.modeling_mixtral import load_balancing_loss_func

from labml_nn.experts.balancing import (
    BiasedRouter,
    adjust,
    balanced_gradients,
    balancing_loss,
    routers,
    shares,
)
from labml_nn.experts.mixture import Mixture, Router
from labml_nn.training.loop import gradients
from tests.labml_nn.experts.oracles import (
    D_MODEL,
    N_ACTIVE,
    N_EXPERTS,
    SIZES,
    all_in_double,
    deepseek,
    text,
)
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import difference, largest
from tests.oracles.hugging_face import randomise

TOKENS = torch.arange(33).view(11, 3) % N_EXPERTS


def called(kind: type[Router], n_active: int = N_ACTIVE) -> Router:
    router = randomise(kind(D_MODEL, N_EXPERTS, n_active))
    router(text().flatten(0, 1))
    return router


def loss_of_mixtral() -> float:
    router, x = called(Router), text()
    router(x.flatten(0, 1))
    logits = router.linear(x.flatten(0, 1))
    with all_in_double():
        expected = load_balancing_loss_func((logits,), N_EXPERTS, N_ACTIVE)
    variables = [x, router.linear.weight]
    return difference(balancing_loss(router), expected, variables, variables)


def router_of_deepseek() -> float:
    theirs, ours, x = deepseek().gate, called(BiasedRouter), text()
    ours.load_state_dict(
        {"linear.weight": theirs.weight, "bias": theirs.e_score_correction_bias}
    )
    with all_in_double():
        _, expected, chosen = theirs(x)
    weights, found = ours(x.flatten(0, 1))
    places, others = found.argsort(dim=1), chosen.argsort(dim=1)
    assert torch.equal(found.gather(1, places), chosen.gather(1, others))
    mine, theirs_sorted = weights.gather(1, places), expected.gather(1, others)
    return difference(mine, theirs_sorted, [x, ours.linear.weight], [x, theirs.weight])


ORACLES = {"the loss of Mixtral": loss_of_mixtral, "the router of DeepSeek": router_of_deepseek}
test_it_is_what_others_compute = equals(ORACLES)


def with_scores(scores: list[list[float]], chosen: list[list[int]]) -> Router:
    router = Router(D_MODEL, 4, 2)
    router.scores, router.chosen = torch.tensor(scores), torch.tensor(chosen)
    return router


def test_the_eight_tokens_of_the_page() -> None:
    chosen = [[0, 1]] * 4 + [[0, 2]] * 4
    router = with_scores([[0.5, 0.2, 0.2, 0.1]] * 8, chosen)
    assert shares(router).tolist() == [1.0, 0.5, 0.5, 0.0]
    assert balancing_loss(router).item() == pytest.approx(2.8)
    even = with_scores([[0.25] * 4] * 8, [[0, 1], [2, 3]] * 4)
    assert balancing_loss(even).item() == pytest.approx(2.0)
    # That of the exercise: three experts, one for each of ten tokens.
    uneven = with_scores([[0.5, 0.3, 0.2]] * 10, [[0]] * 5 + [[1]] * 3 + [[2]] * 2)
    assert balancing_loss(uneven).item() == pytest.approx(1.14)


def test_the_loss_pushes_down_the_scores_of_an_expert_by_its_share() -> None:
    router = called(Router)
    (found,) = torch.autograd.grad(balancing_loss(router), [router.scores])
    expected = N_EXPERTS * shares(router) / len(router.scores)
    assert largest([found], [expected.expand_as(found)]) < 1e-12


def test_an_even_bias_changes_nothing_and_a_large_one_is_always_chosen_with_its_own_score() -> None:
    router, x = called(BiasedRouter), text().flatten(0, 1)
    weights, chosen = router(x)
    router.bias += 7
    assert largest([router(x)[0]], [weights]) < 1e-12
    router.bias[5] += 3
    weights, chosen = router(x)
    assert (chosen[:, 0] == 5).all()
    scores = router.linear(x).sigmoid().gather(1, chosen)
    assert largest([weights], [scores / scores.sum(dim=1, keepdim=True)]) < 1e-12


class Model(nn.Module):
    r"""Logits from two layers of experts."""

    def __init__(self, router: type[Router]) -> None:
        super().__init__()
        self.embed = nn.Embedding(N_EXPERTS, D_MODEL)
        self.layers = nn.Sequential(*(Mixture(*SIZES, router=router) for _ in range(2)))

    def forward(self, tokens: Tensor) -> Tensor:
        return self.layers(self.embed(tokens)) @ self.embed.weight.T


def test_the_gradients_are_those_of_the_loss_and_of_a_hundredth_of_each_layer_s_balance() -> None:
    model, plain = randomise(Model(Router)), randomise(Model(Router))
    assert balanced_gradients(model, TOKENS, TOKENS) == gradients(plain, TOKENS, TOKENS)
    for router in routers(plain):
        # What `backward` has used is computed anew, with the same numbers.
        assert len(router.scores) == TOKENS.numel()
    plain(TOKENS)
    sum(0.01 * balancing_loss(router) for router in routers(plain)).backward()
    mine, others = ([p.grad for p in one.parameters()] for one in (model, plain))
    assert largest(mine, others) < 1e-12
    assert not balanced_gradients(model, TOKENS, TOKENS).requires_grad


def test_a_bias_moves_by_one_step_towards_an_even_load_and_has_no_gradient() -> None:
    model = randomise(Model(BiasedRouter))
    balanced_gradients(model, TOKENS, TOKENS, factor=0.0)
    adjust(model)
    for router in routers(model):
        expected = -0.001 * (shares(router) - N_ACTIVE / N_EXPERTS).sign()
        assert largest([router.bias], [expected.to(router.bias)]) < 1e-12
        assert not router.bias.requires_grad
    assert {"layers.0.router.bias", "layers.1.router.bias"} <= set(model.state_dict())


@pytest.mark.parametrize("seed", range(3))
def test_steps_of_the_bias_even_out_tokens_that_have_much_in_common(seed: int) -> None:
    torch.manual_seed(seed)
    router, x = BiasedRouter(D_MODEL, 7, 2), torch.randn(700, D_MODEL) + 1
    router(x)
    before = shares(router).max()
    for _ in range(100):
        adjust(router, step=0.01)
        router(x)
    assert before > 0.45
    assert shares(router).max() < 0.35


