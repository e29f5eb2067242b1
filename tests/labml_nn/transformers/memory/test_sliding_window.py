r"""The window against loops and Mistral, and the rolling cache against the window."""

from collections.abc import Callable
from unittest.mock import patch

import pytest
import torch
from torch import Tensor, nn
from transformers import MistralConfig
from transformers.masking_utils import create_sliding_window_causal_mask
from transformers.models.mistral.modeling_mistral import MistralAttention

from labml_nn.transformers.memory import sliding_window
from labml_nn.transformers.memory.sliding_window import (
    RollingAttention,
    SlidingWindowAttention,
    window_mask,
)
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from tests.labml_nn.transformers.memory.at_the_seam import (
    D_K,
    D_MODEL,
    HEADS,
    SEQ_LEN,
    attend,
    check_at_the_seam,
    from_loops,
    from_module,
    parameters_of_heads,
    randomise,
    shapes,
    some_mask,
    text,
)
from tests.oracles.compare import difference


def attention(window: int = 3, n_sinks: int = 1, bias: bool = True) -> SlidingWindowAttention:
    made = SlidingWindowAttention(HEADS, D_MODEL, 0.0, bias, window=window, n_sinks=n_sinks)
    return randomise(made)


def seen(window: int, n_sinks: int) -> Tensor:
    r"""Pair by pair; only causal, and a step back at a time."""
    rows = []
    for i in range(SEQ_LEN):
        near = list(range(i, -1, -1))[:window]
        rows.append([j in near or (j < n_sinks and j <= i) for j in range(SEQ_LEN)])
    return torch.tensor(rows)[..., None]


def softmax_in_double(x: Tensor, dim: int, dtype: torch.dtype | None = None) -> Tensor:
    r"""Mistral's softmax has 32 bits; here it keeps the bits that come in."""
    return x.softmax(dim=dim)


def from_mistral(window: int) -> float:
    r"""Its attention with the same weights, the mask of its model, and angles of zero."""
    module, x = attention(window, 0, bias=False), text()
    config = MistralConfig(
        hidden_size=D_MODEL,
        num_hidden_layers=1,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        head_dim=D_K,
        sliding_window=window,
        attn_implementation="eager",
    )
    other = MistralAttention(config, 0).double().eval()
    mine = [module.query.linear, module.key.linear, module.value.linear, module.output]
    theirs = [other.q_proj, other.k_proj, other.v_proj, other.o_proj]
    for one, same in zip(mine, theirs, strict=True):
        same.load_state_dict(one.state_dict())
    hidden = create_sliding_window_causal_mask(
        config=config,
        inputs_embeds=x.transpose(0, 1),
        attention_mask=None,
        past_key_values=None,
        position_ids=torch.arange(SEQ_LEN)[None],
    )
    unrotated = torch.ones(1, SEQ_LEN, D_K).double(), torch.zeros(1, SEQ_LEN, D_K).double()
    with patch("torch.nn.functional.softmax", softmax_in_double):
        output, _ = other(x.transpose(0, 1), unrotated, hidden)
    return difference(
        attend(module, x),
        output.transpose(0, 1),
        [x, *(one.weight for one in mine)],
        [x, *(one.weight for one in theirs)],
    )


def rolling_from_whole(window: int, n_sinks: int) -> float:
    r"""One position at a time, with a cache that is too small for the text."""
    module = attention(window, n_sinks)
    rolling = RollingAttention(HEADS, D_MODEL, window=window, n_sinks=n_sinks).double()
    rolling.load_state_dict(module.state_dict())
    x = text().detach()
    pieces = [attend(rolling, one) for one in x.split(1)]
    assert len(rolling.key.slots) == len(rolling.value.slots) == window + n_sinks
    return (torch.cat(pieces) - attend(module, x)).abs().max().item()


SIZES = [(1, 0), (1, 1), (3, 0), (3, 1), (2, 3), (9, 2)]
ORACLES: dict[str, Callable[[], float]] = {
    "a loop over heads and positions": lambda: max(
        from_loops(attention(3, 1), seen(3, 1), None),
        from_loops(attention(2, 0), seen(2, 0) & some_mask(), some_mask()),
    ),
    "Hugging Face Mistral": lambda: max(map(from_mistral, [1, 3, 7, 9])),
    "the whole text at once, for the rolling cache": lambda: max(
        rolling_from_whole(*sizes) for sizes in SIZES
    ),
    "multi-head attention, with a window as long as the text": lambda: from_module(
        attention(SEQ_LEN), CausalMultiHeadAttention(HEADS, D_MODEL, 0.0).double(), None
    ),
}


class CausalMultiHeadAttention(MultiHeadAttention):
    r"""It makes the causal mask itself."""

    def forward(self, *, mask: Tensor | None = None, **given: Tensor) -> Tensor:
        return super().forward(**given, mask=causal_mask(SEQ_LEN))


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


def test_at_the_seam() -> None:
    # With sinks that a query without keys would see, if a mask couldn't hide them.
    check_at_the_seam(lambda: SlidingWindowAttention(HEADS, D_MODEL, 0.0, window=4, n_sinks=1))


def test_the_mask_is_the_one_on_the_page() -> None:
    assert window_mask(6, 3, 1)[..., 0].int().tolist() == [
        [1, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0],
        [1, 1, 1, 0, 0, 0],
        [1, 1, 1, 1, 0, 0],
        [1, 0, 1, 1, 1, 0],
        [1, 0, 0, 1, 1, 1],
    ]


def test_the_slots_hold_what_the_page_says() -> None:
    r"""The value of each position is its number, through a projection that changes nothing."""
    rolling = RollingAttention(1, 1, bias=False, window=3, n_sinks=1)
    nn.init.ones_(rolling.key.linear.weight)
    held = []
    for position in range(10):
        x = torch.full((1, 1, 1), float(position))
        attend(rolling, x)
        held.append(rolling.key.slots[: position + 1].flatten().int().tolist())
    assert held[:7] == [
        [0],
        [0, 1],
        [0, 1, 2],
        [0, 1, 2, 3],
        [0, 4, 2, 3],
        [0, 4, 5, 3],
        [0, 4, 5, 6],
    ]
    assert held[9] == [0, 7, 8, 9]


def test_several_new_positions_are_refused_by_the_ring() -> None:
    rolling = RollingAttention(HEADS, D_MODEL, window=3)
    with pytest.raises(RuntimeError, match="number of sizes"):
        attend(rolling, text(torch.float32))


@pytest.mark.parametrize(("n_layers", "window"), [(1, 3), (2, 3), (3, 2)])
def test_information_moves_on_by_a_window_in_each_layer(n_layers: int, window: int) -> None:
    layers = [attention(window, 0) for _ in range(n_layers)]
    x = text()
    output = x
    for layer in layers:
        output = attend(layer, output)
    (gradient,) = torch.autograd.grad(output[-1].sum(), x)
    reached = gradient.abs().sum(dim=(1, 2)) > 0
    distance = n_layers * (window - 1)
    assert reached.tolist() == [SEQ_LEN - 1 - j <= distance for j in range(SEQ_LEN)]


@pytest.mark.parametrize(("window", "n_sinks"), [(0, 0), (-1, 1), (3, -1)])
def test_no_window_is_refused(window: int, n_sinks: int) -> None:
    with pytest.raises(ValueError, match=f"got window={window}, n_sinks={n_sinks}$"):
        attention(window, n_sinks)


def test_it_has_the_parameters_of_multi_head_attention() -> None:
    rolling = RollingAttention(HEADS, D_MODEL, window=3)
    assert shapes(attention()) == shapes(rolling) == parameters_of_heads()


def test_in_a_transformer_a_quarter_is_the_window() -> None:
    sizes = {"d_model": D_MODEL, "heads": HEADS, "dropout_prob": 0.5}
    made = sliding_window.in_transformer(**sizes, seq_len=64)["self_attn"]()
    assert (made.window, made.n_sinks, made.dropout.p) == (16, 1, 0.5)
    assert sliding_window.in_transformer(**sizes, seq_len=3)["self_attn"]().window == 1
