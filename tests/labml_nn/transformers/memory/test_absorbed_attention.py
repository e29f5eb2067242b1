import torch

from labml_nn.transformers.memory.absorbed_attention import AbsorbedLatentAttention
from labml_nn.transformers.memory.latent_attention import LatentAttention
from labml_nn.transformers.mha import causal_mask
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.seam import D_MODEL, HEADS, SEQ_LEN_K, equals
from tests.oracles.compare import largest

SIZES = {"d_latent": 13, "d_rotary": 4, "max_len": 11}


def pair() -> tuple[LatentAttention, AbsorbedLatentAttention]:
    written_out = seam.randomised(LatentAttention(HEADS, D_MODEL, **SIZES))
    absorbed = AbsorbedLatentAttention(HEADS, D_MODEL, **SIZES).double().eval()
    absorbed.load_state_dict(written_out.state_dict())
    return written_out, absorbed


def in_pieces(lengths: list[int]) -> float:
    r"""The text in pieces, each with the last rows of the mask so far."""
    written_out, absorbed = pair()
    x = seam.text().detach()
    whole = seam.attend(written_out, x, causal_mask(SEQ_LEN_K))
    found, end = [], 0
    for piece in x.split(lengths):
        end += len(piece)
        mask = causal_mask(SEQ_LEN_K)[end - len(piece) : end, :end]
        found.append(seam.attend(absorbed, piece, mask if len(piece) > 1 else None))
    assert [t.shape for t in absorbed.cache] == [(SEQ_LEN_K, 3, 13), (SEQ_LEN_K, 3, 4)]
    return largest([torch.cat(found)], [whole])


ORACLES = {
    "latent attention, all at once": lambda: seam.from_module(
        pair()[1], seam.some_mask(SEQ_LEN_K), pair()[0]
    ),
    "latent attention, in pieces": lambda: max(
        map(in_pieces, [[1] * 7, [7], [3, 1, 2, 1], [1, 6]])
    ),
}
test_it_equals_what_others_compute = equals(ORACLES)
