from functools import partial

import pytest
import torch
from torch import Tensor

from labml_nn.transformers.basic.autoregressive_experiment import AutoregressiveTransformer
from labml_nn.transformers.kv_cache import CachedAttention, CachedTransformer
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.seam import D_MODEL, HEADS, SEQ_LEN_K, at_the_seam, equals
from tests.oracles.compare import largest

N_VOCAB, BATCH_SIZE, N_LAYERS, CONTEXT = 13, 3, 2, 11
SIZES = (N_VOCAB, 10, 5, N_LAYERS, 7, CONTEXT)


def pair() -> tuple[AutoregressiveTransformer, CachedTransformer]:
    model = seam.randomised(AutoregressiveTransformer(*SIZES))
    cached = CachedTransformer(*SIZES).double()
    cached.load_state_dict(model.state_dict())
    return model, cached


def tokens(seed: int = 1, batch_size: int = BATCH_SIZE) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(N_VOCAB, (CONTEXT, batch_size), generator=generator)


def from_model(lengths: list[int]) -> float:
    r"""The text in pieces; each call gives the logits of what is new."""
    model, cached = pair()
    whole, ends = model(tokens()), [0, *torch.tensor(lengths).cumsum(0).tolist()]
    computed: list[int] = []
    cached.encoder.layers[0].feed_forward.register_forward_hook(
        lambda module, given, result: computed.append(len(result))
    )
    found = [cached(tokens()[:end]) for end in ends[1:]]
    # Only what is new is computed, and nothing of a cache is saved.
    assert [len(one) for one in found] == computed == lengths
    assert seam.shapes(cached) == seam.shapes(model)
    return largest([torch.cat(found)], [whole])


def attention_from_whole() -> float:
    r"""The attention alone, with the last rows of the mask, and without one for a single query."""
    module = seam.randomised(MultiHeadAttention(HEADS, D_MODEL))
    cached = CachedAttention(HEADS, D_MODEL).double().eval()
    cached.load_state_dict(module.state_dict())
    x, mask = seam.text().detach(), causal_mask(SEQ_LEN_K)
    found = [
        seam.attend(cached, x[:3], mask[:3, :3]),
        seam.attend(cached, x[3:5], mask[3:5, :5]),
        seam.attend(cached, x[5:6]),
        seam.attend(cached, x[6:], mask[6:]),
    ]
    return largest([torch.cat(found)], [seam.attend(module, x, mask)])


ORACLES = {
    "the model without a cache": lambda: max(
        map(from_model, [[1] * CONTEXT, [CONTEXT], [4, 1, 3, 1, 1, 1], [1, 10]])
    ),
    "multi-head attention": attention_from_whole,
}
test_it_equals_what_others_compute = equals(ORACLES)


class Forgetful(CachedAttention):
    r"""Each call is that of a new text."""

    def forward(self, **given: Tensor) -> Tensor:
        self.key.cache = self.value.cache = None
        return super().forward(**given)


test_with_an_empty_cache_it_is_at_the_seam = at_the_seam(partial(Forgetful, HEADS, D_MODEL), {})


@pytest.mark.parametrize(
    "other", [tokens(2), tokens(2)[:2], tokens()[:4], tokens()[:5], tokens(3, 7)], ids=range(5)
)
def test_another_text_begins_anew(other: Tensor) -> None:
    r"""Another one, a shorter one, the same or less of it, or another number of sequences."""
    model, cached = pair()
    cached(tokens()[:5])
    assert largest([cached(other)], [model(other)]) < 1e-10


def test_the_first_text_may_be_on_another_device_than_the_model_was_made_on() -> None:
    r"""A model is made on a CPU and moved to a GPU; tensors of the two can't be compared."""
    model, cached = pair()
    cached.read = cached.read.to("meta")
    assert (cached(tokens()) - model(tokens())).abs().max() < 1e-10


def test_what_the_caller_changes_later_was_read_as_it_was() -> None:
    model, cached = pair()
    changing = tokens()
    cached(changing[:5])
    changing[:5] = tokens(2)[:5]
    assert largest([cached(changing)], [model(changing)]) < 1e-10
