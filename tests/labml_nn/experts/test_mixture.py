from labml_nn.experts.mixture import Mixture, Router, in_transformer
from labml_nn.transformers.feed_forward import FeedForward
from tests.labml_nn.experts.oracles import (
    D_FF,
    D_MODEL,
    SIZES,
    from_hugging_face,
    mixtral,
    qwen,
    text,
)
from tests.labml_nn.models import drops_out_in_training_only
from tests.labml_nn.transformers.seam import equals, refuses
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


def test_an_expert_sees_the_tokens_that_have_chosen_it_and_no_others() -> None:
    module, seen = Mixture(*SIZES).double(), []
    for expert in module.experts:
        expert.register_forward_pre_hook(lambda _, given: seen.append(len(given[0])))
    module(text())
    assert seen == module.router.chosen.flatten().bincount(minlength=len(seen)).tolist()
    assert module.router.scores.requires_grad


def test_experts_that_no_token_has_chosen_learn_nothing_and_neither_do_their_rows() -> None:
    module = Mixture(*SIZES).double()
    module(text()[:1, :1]).square().sum().backward()
    idle = [one for one in range(len(module.experts)) if one not in module.router.chosen.flatten()]
    assert idle
    for one in idle:
        assert module.router.linear.weight.grad[one].abs().max() < 1e-15
        assert all(not p.grad.any() for p in module.experts[one].parameters())


def test_hidden_features_are_dropped_out_in_training_alone_also_of_a_single_expert() -> None:
    drops_out_in_training_only(randomise(Mixture(D_MODEL, D_FF, 1, 1, dropout_prob=0.5)), text())
    assert Mixture(*SIZES).experts[0].dropout.p == 0.0


def test_in_the_transformer_a_token_meets_as_many_weights_as_in_the_network_it_replaces() -> None:
    sizes = {"d_model": 128, "d_ff": 510, "dropout_prob": 0.5}
    module = in_transformer(**sizes)["feed_forward"]()
    one = sum(p.numel() for p in module.experts[0].parameters())
    network = sum(p.numel() for p in FeedForward(128, 510, bias=False).parameters())
    assert module.router.n_active * one == network
    assert len(module.experts) * one == 4 * network
    assert module.experts[0].dropout.p == 0.5
