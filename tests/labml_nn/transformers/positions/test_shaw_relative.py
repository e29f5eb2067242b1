from functools import partial

import torch
from transformers import Wav2Vec2BertConfig
from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import Wav2Vec2BertSelfAttention

from labml_nn.transformers.positions.shaw_relative import ShawAttention
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.positions.at_the_seam import check_decoding
from tests.labml_nn.transformers.seam import D_K, D_MODEL, HEADS, at_the_seam, equals
from tests.oracles.compare import difference

MAX_DISTANCE = 3
# Some distances share a vector.
attention = partial(ShawAttention, HEADS, D_MODEL, max_distance=MAX_DISTANCE)


def wav2vec2_bert() -> float:
    r"""It counts distances from the query to the key."""
    module, x = seam.randomised(attention()), seam.text()
    config = Wav2Vec2BertConfig(
        hidden_size=D_MODEL,
        num_attention_heads=HEADS,
        attention_dropout=0.0,
        position_embeddings_type="relative_key",
        left_max_position_embeddings=MAX_DISTANCE,
        right_max_position_embeddings=MAX_DISTANCE,
        attn_implementation="eager",
    )
    other = Wav2Vec2BertSelfAttention(config).double()
    parts = ("query", "key", "value")
    names = {f"{part}.linear": f"linear_{part[0]}" for part in parts} | {"output": "linear_out"}
    seam.copied(module, other, names)
    other.distance_embedding.weight.data = module.distance_keys.data.flip(0)
    mine, theirs = ([x, *one.parameters()] for one in (module.query.linear, other.linear_q))
    expected, _ = other(x.transpose(0, 1))
    return difference(seam.attend(module, x), expected.transpose(0, 1), mine, theirs)


ORACLES = {"Hugging Face Wav2Vec2-BERT": wav2vec2_bert}
test_it_equals_what_others_compute = equals(ORACLES)
test_at_the_seam = at_the_seam(
    attention, {"distance_keys": (2 * MAX_DISTANCE + 1, D_K)}, and_also=(check_decoding,)
)


def test_the_vector_of_each_distance_starts_with_a_length_of_one() -> None:
    torch.manual_seed(1)
    lengths = ShawAttention(1, 997).distance_keys.norm(dim=1)
    assert lengths.shape == (33,)
    assert (lengths - 1).abs().max() < 0.1
