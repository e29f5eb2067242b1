import pytest
import torch
from torch import nn
from transformers.models.mixtral.modeling_mixtral import load_balancing_loss_func

from labml_nn.experts import balancing as page
from labml_nn.experts.mixture import Mixture, Router
from labml_nn.training.loop import gradients
from tests.labml_nn.experts import oracles
from tests.labml_nn.experts.oracles import D_MODEL, N_ACTIVE, N_EXPERTS, SIZES
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import difference, largest
from tests.oracles.hugging_face import randomise

TOKENS = torch.arange(33).view(11, 3) % N_EXPERTS


def loss_of_mixtral() -> float:
    router, x = randomise(Router(D_MODEL, N_EXPERTS, N_ACTIVE)), oracles.text()
    router(x.flatten(0, 1))
    logits = router.linear(x.flatten(0, 1))
    with oracles.all_in_double():
        expected = load_balancing_loss_func((logits,), N_EXPERTS, N_ACTIVE)
    variables = [x, router.linear.weight]
    return difference(page.balancing_loss(router), expected, variables, variables)


def router_of_deepseek() -> float:
    r"""Which expert has which weight, in whatever order they are."""
    theirs, x = oracles.deepseek().gate, oracles.text()
    ours = page.BiasedRouter(D_MODEL, N_EXPERTS, N_ACTIVE).double()
    ours.load_state_dict({"linear.weight": theirs.weight, "bias": theirs.e_score_correction_bias})
    with oracles.all_in_double():
        _, expected, chosen = theirs(x)
    weights, found = ours(x.flatten(0, 1))
    nothing = torch.zeros(len(weights), N_EXPERTS, dtype=torch.float64)
    mine, others = nothing.scatter(1, found, weights), nothing.scatter(1, chosen, expected)
    return difference(mine, others, [x, ours.linear.weight], [x, theirs.weight])


ORACLES = {"the loss of Mixtral": loss_of_mixtral, "the router of DeepSeek": router_of_deepseek}
test_it_is_what_others_compute = equals(ORACLES)


def test_the_eight_tokens_of_the_page_and_a_step_of_the_bias_against_their_shares() -> None:
    router = page.BiasedRouter(D_MODEL, 4, 2)
    router.scores = torch.tensor([[0.5, 0.2, 0.2, 0.1]] * 8)
    router.chosen = torch.tensor([[0, 1]] * 4 + [[0, 2]] * 4)
    assert page.shares(router).tolist() == [1.0, 0.5, 0.5, 0.0]
    assert page.balancing_loss(router).item() == pytest.approx(2.8)
    page.adjust(router)
    assert router.bias.tolist() == pytest.approx([-0.001, 0, 0, 0.001])


def test_the_gradient_pushes_the_busy_expert_down_and_the_idle_one_up_the_most() -> None:
    router = page.BiasedRouter(D_MODEL, 4, 2)
    logits = torch.tensor([0.5, 0.2, 0.2, 0.1]).log().requires_grad_()
    router.scores = logits.softmax(dim=-1).expand(8, 4)
    router.chosen = torch.tensor([[0, 1]] * 4 + [[0, 2]] * 4)
    page.balancing_loss(router).backward()
    assert logits.grad.tolist() == pytest.approx([0.6, -0.16, -0.16, -0.28])


def test_the_gradients_are_those_of_the_loss_and_of_a_hundredth_of_each_layer_s_balance() -> None:
    def model() -> nn.Module:
        layers = [nn.Embedding(N_EXPERTS, D_MODEL), Mixture(*SIZES), Mixture(*SIZES)]
        return randomise(nn.Sequential(*layers, nn.Linear(D_MODEL, N_EXPERTS)))

    mine, plain = model(), model()
    found = page.balanced_gradients(mine, TOKENS, TOKENS)
    assert found == gradients(plain, TOKENS, TOKENS) and not found.requires_grad
    plain(TOKENS)
    sum(0.01 * page.balancing_loss(router) for router in page.routers(plain)).backward()
    both = ([p.grad for p in one.parameters()] for one in (mine, plain))
    assert largest(*both) < 1e-12
