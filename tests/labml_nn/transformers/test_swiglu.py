import torch
import torch.nn.functional as F

from labml_nn.transformers.feed_forward import FeedForward
from labml_nn.transformers.swiglu import SwiGLU
from tests.labml_nn.models import drops_out_in_training_only
from tests.labml_nn.transformers.seam import copied, equals
from tests.oracles import hugging_face
from tests.oracles.compare import difference


def distance_to_llama() -> float:
    theirs, network = hugging_face.llama_network(5, 11), SwiGLU(5, 11).double()
    copied(theirs, network, {"gate_proj": "gate", "up_proj": "value", "down_proj": "output"})
    x = torch.randn(7, 3, 5, dtype=torch.float64, requires_grad=True)
    parts = (network.gate, network.value, network.output)
    mine = [part.weight for part in parts]
    other = [part.weight for part in (theirs.gate_proj, theirs.up_proj, theirs.down_proj)]
    return difference(network(x), theirs(x), [x, *mine], [x, *other])


ORACLES = {"Hugging Face Llama": distance_to_llama}
test_it_is_what_others_compute = equals(ORACLES)


def test_the_hidden_features_are_dropped_out_in_training_alone() -> None:
    drops_out_in_training_only(SwiGLU(5, 11, dropout_prob=0.5), torch.randn(7, 3, 5))


def test_two_hidden_features_multiply() -> None:
    network = SwiGLU(2, 2).double()
    network.gate.weight.data = torch.tensor([[1.0, 0], [-1, 0]]).double()
    network.value.weight.data = torch.tensor([[0.0, 1], [0, -1]]).double()
    network.output.weight.data = torch.ones(2, 2).double()
    assert [round(gate, 3) for gate in F.silu(torch.tensor([3.0, -3])).tolist()] == [2.858, -0.142]
    x = torch.tensor([[3.0, 4], [-50, 7], [0.1, -0.2]]).double()
    torch.testing.assert_close(network(x)[:, 0], x.prod(dim=1))


def test_far_from_zero_a_network_of_straight_pieces_only_doubles() -> None:
    network, x = FeedForward(2, 24, 0.0).double(), 1e6 * torch.randn(9, 2).double()
    torch.testing.assert_close(network(2 * x), 2 * network(x), rtol=1e-3, atol=1)
