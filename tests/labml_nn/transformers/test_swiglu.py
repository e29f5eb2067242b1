import torch

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
