import math

from labml_nn.experts.balancing import BiasedRouter
from labml_nn.experts.mixture import Mixture, Router
from labml_nn.experts.shared_expert import SharedMixture
from tests.labml_nn.experts.oracles import (
    D_FF,
    N_SHARED,
    SIZES,
    deepseek,
    from_hugging_face,
    text,
)
from tests.labml_nn.transformers.seam import equals, shapes
from tests.oracles.compare import largest
from tests.oracles.hugging_face import randomise

ORACLES = {
    "Hugging Face DeepSeek-V3": lambda: from_hugging_face(
        SharedMixture(*SIZES, N_SHARED), deepseek()
    )
}
test_it_is_what_others_compute = equals(ORACLES)


def test_what_the_shared_expert_gives_is_added_to_what_the_others_give() -> None:
    module, x = randomise(SharedMixture(*SIZES)), text()
    assert type(module.router) is BiasedRouter
    others = Mixture(*SIZES, router=BiasedRouter).double()
    others.load_state_dict({k: v for k, v in module.state_dict().items() if "shared" not in k})
    assert largest([module(x) - others(x)], [module.shared(x)]) < 1e-12


def test_the_combinations_and_the_weights_of_the_page() -> None:
    cases = ((16, 2, 120), (32, 4, 35_960), (31, 3, 4_495), (64, 8, 4_426_165_368))
    assert all(math.comb(experts, active) == number for experts, active, number in cases)
    module = SharedMixture(64, 16, 31, 3)
    router, shared, expert = (
        sum(p.numel() for p in part.parameters())
        for part in (module.router, module.shared, module.experts[0])
    )
    assert (router, shared, expert) == (1_984, 3_072, 3_072)
    assert router + 4 * expert == 14_272
    assert sum(p.numel() for p in module.parameters()) == 100_288


def test_shared_experts_are_one_network_of_their_joint_width() -> None:
    module = SharedMixture(*SIZES, n_shared=3, dropout_prob=0.5, router=Router)
    assert shapes(module.shared)["gate.weight"] == (3 * D_FF, 5)
    assert shapes(SharedMixture(*SIZES).shared)["output.weight"] == (5, D_FF)
    assert module.shared.dropout.p == module.experts[0].dropout.p == 0.5
    assert type(module.router) is Router


