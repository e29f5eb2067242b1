import torch
from torch import Tensor

from labml_nn.inference.rewind import RewindingTransformer
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from tests.labml_nn.transformers import seam
from tests.oracles.compare import largest

N_VOCAB, CONTEXT, BATCH_SIZE = 13, 11, 3
SIZES = (N_VOCAB, 10, 5, 2, 7, CONTEXT)


def pair() -> tuple[AutoregressiveTransformer, RewindingTransformer]:
    model = seam.randomised(AutoregressiveTransformer(*SIZES))
    rewinding = RewindingTransformer(*SIZES).double()
    rewinding.load_state_dict(model.state_dict())
    return model, rewinding


def tokens(seed: int = 1, batch_size: int = BATCH_SIZE) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(N_VOCAB, (CONTEXT, batch_size), generator=generator)


def changed(at: int, column: int = 1) -> Tensor:
    r"""The text with a single token replaced; those after it are the same again."""
    other = tokens()
    other[at, column] = (other[at, column] + 1) % N_VOCAB
    return other


# What is read after the first nine tokens, and how much of it has to be computed.
CASES = [(changed(at), CONTEXT - at) for at in range(9)]
CASES += [(tokens(), 2), (changed(9), 2), (changed(2)[:5], 3), (tokens()[:9], 1), (tokens()[:4], 1)]
CASES += [(other, CONTEXT) for other in (tokens(2), tokens(3, 7), tokens(3, 1))]


def from_model(other: Tensor, n_new: int) -> float:
    r"""How far the logits of what is new are from those of a model without a cache."""
    model, rewinding = pair()
    rewinding(tokens()[:9])
    found = rewinding(other)
    assert len(rewinding.read) == len(rewinding.encoder.layers[1].self_attn.key.cache) == len(other)
    assert len(found) == n_new
    return largest([found], [model(other)[-n_new:]])


ORACLES = {"the model without a cache": lambda: max(from_model(*case) for case in CASES)}
test_it_computes_what_is_new_and_gives_the_logits_of_a_model_without_a_cache = seam.equals(ORACLES)


def test_it_can_be_rewound_before_it_has_read_anything() -> None:
    model, rewinding = pair()
    rewinding.rewind(3)
    assert largest([rewinding(tokens())], [model(tokens())]) < 1e-10
