from labml_nn.experts.balancing import BiasedRouter
from labml_nn.experts.mixture import Router
from labml_nn.experts.shared_expert import SharedMixture
from tests.labml_nn.experts.oracles import D_FF, N_SHARED, SIZES, deepseek, from_hugging_face
from tests.labml_nn.transformers.seam import equals, shapes

ORACLES = {
    "Hugging Face DeepSeek-V3": lambda: from_hugging_face(
        SharedMixture(*SIZES, N_SHARED), deepseek()
    )
}
test_it_is_what_others_compute = equals(ORACLES)


def test_shared_experts_are_one_network_of_their_joint_width() -> None:
    module = SharedMixture(*SIZES, n_shared=3, dropout_prob=0.5, router=Router)
    assert shapes(module)["shared.gate.weight"] == (3 * D_FF, 5)
    assert shapes(module)["experts.0.gate.weight"] == (D_FF, 5)
    assert shapes(SharedMixture(*SIZES))["shared.output.weight"] == (5, D_FF)
    assert module.shared.dropout.p == module.experts[0].dropout.p == 0.5
    assert type(module.router) is Router
    assert type(SharedMixture(*SIZES).router) is BiasedRouter
