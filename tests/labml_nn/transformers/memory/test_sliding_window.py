from functools import partial

import pytest
import torch
from torch import Tensor
from transformers import MistralConfig
from transformers.masking_utils import create_sliding_window_causal_mask
from transformers.models.mistral.modeling_mistral import MistralAttention

from labml_nn.transformers.memory import sliding_window as page
from labml_nn.transformers.mha import causal_mask
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.seam import D_MODEL, HEADS, SEQ_LEN_K, at_the_seam, equals
from tests.oracles.compare import largest

attention = partial(page.SlidingWindowAttention, HEADS, D_MODEL)


def seen(window: int, n_sinks: int) -> Tensor:
    r"""Pair by pair; only causal, and a step back at a time."""
    rows = []
    for i in range(SEQ_LEN_K):
        near = list(range(i, -1, -1))[:window]
        rows.append([j in near or (j < n_sinks and j <= i) for j in range(SEQ_LEN_K)])
    return torch.tensor(rows)[..., None]


def from_mistral(window: int) -> float:
    config = MistralConfig(**seam.CONFIG, num_hidden_layers=1, sliding_window=window)
    # No mask of its own, and no cache: an argument that 5.24 gave another name, in the same place.
    hidden = create_sliding_window_causal_mask(
        config,
        seam.text().transpose(0, 1),
        None,
        None,
        position_ids=torch.arange(SEQ_LEN_K)[None],
    )
    module = seam.randomised(attention(bias=False, window=window))
    return seam.from_hugging_face(module, MistralAttention(config, 0), mask=hidden)


def from_window(window: int, n_sinks: int, mask: Tensor | None) -> float:
    module = seam.randomised(attention(window=window, n_sinks=n_sinks))
    visible = seen(window, n_sinks) if mask is None else seen(window, n_sinks) & mask
    # As many queries as keys, but not the same ones.
    return seam.from_loops(module, mask, visible=visible, given=seam.inputs(SEQ_LEN_K))


def rolling_from_whole(window: int, n_sinks: int) -> float:
    r"""One position at a time, with a cache that is too small for the text."""
    module = seam.randomised(attention(window=window, n_sinks=n_sinks))
    rolling = page.RollingAttention(HEADS, D_MODEL, window=window, n_sinks=n_sinks).double()
    rolling.load_state_dict(module.state_dict())
    x = seam.text().detach()
    pieces = [seam.attend(rolling, one) for one in x.split(1)]
    assert len(rolling.key.slots) == len(rolling.value.slots) == window + n_sinks
    return largest([torch.cat(pieces)], [seam.attend(module, x)])


SIZES = [(1, 0), (1, 1), (3, 0), (3, 1), (2, 3), (9, 2)]
ORACLES = {
    "a loop over heads and positions": lambda: max(
        from_window(3, 1, None), from_window(2, 0, seam.some_mask(SEQ_LEN_K, idle=True))
    ),
    "Hugging Face Mistral": lambda: max(map(from_mistral, [1, 3, 7, 9])),
    "the whole text at once, for the rolling cache": lambda: max(
        rolling_from_whole(*sizes) for sizes in SIZES
    ),
    "multi-head attention, with a window as long as the text": lambda: seam.from_module(
        seam.randomised(attention(window=SEQ_LEN_K)), causal_mask(SEQ_LEN_K)
    ),
}
test_it_equals_what_others_compute = equals(ORACLES)
# With sinks that a query without keys would see, if a mask couldn't hide them.
test_at_the_seam = at_the_seam(
    partial(attention, window=4, n_sinks=1), {}, but=(seam.check_hidden_keys_of_another,)
)
test_no_window_is_refused = seam.refuses(
    attention,
    "got {window=}, {n_sinks=}$",
    [{"window": window, "n_sinks": n_sinks} for window, n_sinks in ((0, 0), (-1, 1), (3, -1))],
)


def test_several_new_positions_are_refused_by_the_ring() -> None:
    rolling = page.RollingAttention(HEADS, D_MODEL, window=3)
    with pytest.raises(RuntimeError, match="number of sizes"):
        seam.attend(rolling, seam.text(torch.float32))


def test_the_rolling_attention_and_the_mask_have_the_same_defaults() -> None:
    rolling = partial(page.RollingAttention, HEADS, D_MODEL, window=3)
    assert not [name for name in seam.shapes(rolling(bias=False)) if "bias" in name]
    assert (rolling(dropout_prob=0.3).dropout.p, rolling().dropout.p) == (0.3, 0.0)
    assert (rolling().key.window, rolling().key.n_sinks) == (3, 0)
    assert torch.equal(page.window_mask(SEQ_LEN_K, 2), seen(2, 0))
    assert (
        attention(window=3).n_sinks == page.RollingProjection(2, 1, 2, True, window=3).n_sinks == 0
    )
