r"""Windows against loops and Mistral, the rolling cache against the whole text."""

import math
from collections.abc import Callable
from unittest.mock import patch

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given as for_any
from hypothesis import settings
from hypothesis import strategies as st
from torch import Tensor
from transformers import DynamicCache, MistralConfig
from transformers.masking_utils import create_sliding_window_causal_mask
from transformers.models.mistral.modeling_mistral import MistralAttention

from labml_nn.transformers.memory import sliding_window
from labml_nn.transformers.memory.grouped_query import GroupedQueryAttention
from labml_nn.transformers.memory.sliding_window import (
    RollingCache,
    SlidingWindowAttention,
    in_transformer,
    reach,
    window_mask,
)
from labml_nn.transformers.mha import causal_mask

SEQ_LEN, BATCH_SIZE, HEADS, KEY_HEADS, D_K, WINDOW, N_SINKS = 13, 3, 4, 2, 10, 5, 2
D_MODEL = HEADS * D_K

each_way = pytest.mark.parametrize("way", ["fused", "readable"])


def attention(
    way: str = "fused",
    window: int = WINDOW,
    n_sinks: int = N_SINKS,
    dtype: torch.dtype = torch.float64,
    **options: float,
) -> SlidingWindowAttention:
    r"""An attention without dropout, unless the options say otherwise."""
    torch.manual_seed(1)
    options = {"dropout_prob": 0.0, "key_heads": KEY_HEADS, **options}
    made = SlidingWindowAttention(HEADS, D_MODEL, window=window, n_sinks=n_sinks, **options)
    made.fused = way == "fused"
    return made.to(dtype)


def text(seq_len: int = SEQ_LEN, dtype: torch.dtype = torch.float64) -> Tensor:
    r"""A text with gradients."""
    torch.manual_seed(2)
    return torch.randn(seq_len, BATCH_SIZE, D_MODEL).to(dtype).requires_grad_()


def with_gradients(output: Tensor, variables: list[Tensor]) -> list[Tensor]:
    r"""The output, and gradients of a sum in which each of its numbers counts differently."""
    generator = torch.Generator().manual_seed(4)
    weights = torch.randn(output.shape, generator=generator).to(output.dtype)
    return [output, *torch.autograd.grad((output * weights).sum(), variables)]


def furthest(mine: list[Tensor], theirs: list[Tensor]) -> float:
    r"""The largest absolute difference between two lists of tensors."""
    found = [(a - b).detach().abs().max() for a, b in zip(mine, theirs, strict=True)]
    return max(one.nan_to_num(nan=torch.inf).item() for one in found)


def by_loops(module: SlidingWindowAttention, x: Tensor) -> Tensor:
    r"""Each position goes back by itself, a step at a time."""
    query, key, value = (
        F.linear(x, part.linear.weight, part.linear.bias).unflatten(-1, (-1, D_K))
        for part in (module.query, module.key, module.value)
    )
    rows = []
    for i in range(len(x)):
        seen = list(range(i, -1, -1))[: module.window]
        seen += [j for j in range(min(module.n_sinks, i + 1)) if j not in seen]
        heads = []
        for head in range(HEADS):
            shared = head * KEY_HEADS // HEADS
            exps = [
                ((query[i, :, head] * key[j, :, shared]).sum(-1) / math.sqrt(D_K)).exp()
                for j in seen
            ]
            parts = [
                (e / sum(exps))[:, None] * value[j, :, shared]
                for e, j in zip(exps, seen, strict=True)
            ]
            heads.append(sum(parts))
        rows.append(torch.cat(heads, dim=-1))
    return F.linear(torch.stack(rows), module.output.weight, module.output.bias)


def from_loops(way: str, window: int, n_sinks: int) -> float:
    module, x = attention(way, window, n_sinks), text()
    variables = [x, *module.parameters()]
    mine = with_gradients(module(query=x, key=x, value=x), variables)
    return furthest(mine, with_gradients(by_loops(module, x), variables))


def mistral(module: SlidingWindowAttention) -> MistralAttention:
    r"""Mistral's attention with the same weights."""
    config = MistralConfig(
        hidden_size=D_MODEL,
        num_hidden_layers=1,
        num_attention_heads=HEADS,
        num_key_value_heads=KEY_HEADS,
        head_dim=D_K,
        sliding_window=module.window,
        attn_implementation="eager",
    )
    other = MistralAttention(config, 0).double().eval()
    names = {"q": "query.linear", "k": "key.linear", "v": "value.linear", "o": "output"}
    weights = module.state_dict()
    other.load_state_dict({f"{n}_proj.weight": weights[f"{m}.weight"] for n, m in names.items()})
    return other


def softmax_in_double(x: Tensor, dim: int, dtype: torch.dtype | None = None) -> Tensor:
    r"""Mistral's softmax has 32 bits; here it keeps the bits that come in."""
    return x.softmax(dim=dim)


def ask_mistral(other: MistralAttention, x: Tensor, cache: DynamicCache | None = None) -> Tensor:
    r"""With the mask that its model makes; turned by angles of zero."""
    first = 0 if cache is None else cache.get_seq_length()
    no_turn = torch.ones(1, len(x), D_K).double(), torch.zeros(1, len(x), D_K).double()
    hidden = create_sliding_window_causal_mask(
        config=other.config,
        inputs_embeds=x.transpose(0, 1),
        attention_mask=None,
        past_key_values=cache,
        position_ids=torch.arange(first, first + len(x))[None],
    )
    with patch("torch.nn.functional.softmax", softmax_in_double):
        output, _ = other(x.transpose(0, 1), no_turn, hidden, past_key_values=cache)
    return output.transpose(0, 1)


def from_mistral(way: str, window: int) -> float:
    module, x = attention(way, window, 0, bias=False), text()
    other = mistral(module)
    mine = with_gradients(module(query=x, key=x, value=x), [x, *module.parameters()])
    weights = {name.split(".")[0]: g for (name, _), g in zip(module.named_parameters(), mine[2:])}  # noqa: B905
    theirs = with_gradients(
        ask_mistral(other, x),
        [x, *(getattr(other, f"{n}_proj").weight for n in "qkvo")],
    )
    ordered = [weights[name] for name in ("query", "key", "value", "output")]
    return furthest([*mine[:2], *ordered], theirs)


def from_mistral_with_its_cache() -> float:
    r"""Both write the text in pieces, with a cache of the size of the window."""
    module = attention("fused", WINDOW, 0, bias=False)
    other, x = mistral(module), text().detach()
    room = RollingCache(BATCH_SIZE, KEY_HEADS, WINDOW, 0, D_K, torch.float64)
    cache, pieces = DynamicCache(config=other.config), x.split([3, 4, 1, 1, 2, 1, 1])
    with torch.no_grad():
        theirs = [ask_mistral(other, piece, cache) for piece in pieces]
    return furthest([module.decode(piece, room) for piece in pieces], theirs)


ORACLES: dict[str, Callable[[], float]] = {
    "a loop over heads and positions": lambda: max(
        from_loops("fused", 5, 2), from_loops("readable", 3, 0), from_loops("readable", 1, 1)
    ),
    "Hugging Face Mistral": lambda: max(
        from_mistral(way, window) for way in ("fused", "readable") for window in (1, 5, 12, 13, 99)
    ),
    "Hugging Face Mistral with its rolling cache": from_mistral_with_its_cache,
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


def test_the_mask_is_a_band_and_the_columns_of_the_sinks() -> None:
    positions = torch.arange(6)
    assert window_mask(positions, positions, 2, 1).int().tolist() == [
        [1, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0],
        [1, 1, 1, 0, 0, 0],
        [1, 0, 1, 1, 0, 0],
        [1, 0, 0, 1, 1, 0],
        [1, 0, 0, 0, 1, 1],
    ]
    assert window_mask(positions[4:], positions, 3, 0).int().tolist() == [
        [0, 0, 1, 1, 1, 0],
        [0, 0, 0, 1, 1, 1],
    ]


@each_way
def test_a_window_as_long_as_the_text_hides_the_future_alone(way: str) -> None:
    module, x = attention(way, SEQ_LEN, 0), text()
    plain = GroupedQueryAttention(HEADS, D_MODEL, 0.0, key_heads=KEY_HEADS).double()
    plain.load_state_dict(module.state_dict())
    expected = plain(query=x, key=x, value=x, mask=causal_mask(SEQ_LEN))
    assert (module(query=x, key=x, value=x) - expected).abs().max() < 1e-12
    assert (attention(way, 1, SEQ_LEN)(query=x, key=x, value=x) - expected).abs().max() < 1e-12


@each_way
def test_outputs_depend_on_the_window_and_the_sinks(way: str) -> None:
    module, x = attention(way), text()
    output = module(query=x, key=x, value=x)
    for position in range(SEQ_LEN):
        (gradient,) = torch.autograd.grad(output[position, 1].sum(), x, retain_graph=True)
        depends = gradient.abs().sum(dim=2) > 0
        seen = [j <= position and (position - j < 5 or j < 2) for j in range(SEQ_LEN)]
        assert depends[:, 1].tolist() == seen
        assert not depends[:, [0, 2]].any()


@each_way
def test_fewer_queries_are_the_last_positions(way: str) -> None:
    module, x = attention(way), text()
    whole = module(query=x, key=x, value=x)
    last = module(query=x[-3:], key=x, value=x)
    assert (last - whole[-3:]).abs().max() < 1e-12


@each_way
def test_padding_changes_nothing_and_a_mask_can_only_hide_more(way: str) -> None:
    module, x = attention(way), text()
    whole = module(query=x, key=x, value=x)
    everything = torch.ones(1, SEQ_LEN, 1, dtype=torch.bool)
    assert torch.equal(module(query=x, key=x, value=x, mask=everything), whole)

    # In text 2 the last four positions are padding, and none of the others sees them.
    longer = x.detach().clone()
    longer[9:, 2] = 1e6
    mask = everything.repeat(1, 1, BATCH_SIZE)
    mask[:, 9:, 2] = False
    padded = module(query=longer, key=longer, value=longer, mask=mask)
    assert (padded[:9] - whole[:9]).abs().max() < 1e-12
    assert (padded[:, :2] - whole[:, :2]).abs().max() < 1e-12


@each_way
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_a_query_whose_window_is_padding_gets_zero_in_each_type(
    way: str, dtype: torch.dtype
) -> None:
    module, x = attention(way, 3, 0, dtype), text(dtype=dtype)
    mask = torch.ones(1, SEQ_LEN, BATCH_SIZE, dtype=torch.bool)
    mask[:, 4:8, 1] = False
    output = module(query=x, key=x, value=x, mask=mask)
    assert output.dtype == dtype
    zero = [torch.equal(row, module.output.bias) for row in output[:, 1]]
    assert [position for position, is_zero in enumerate(zero) if is_zero] == [6, 7]
    found = with_gradients(output, [x, *module.parameters()])
    assert all(gradient.isfinite().all() for gradient in found)
    exact = attention(way, 3, 0)(query=x.double(), key=x.double(), value=x.double(), mask=mask)
    assert (output - exact).abs().max() < 8 * torch.finfo(dtype).eps


@settings(max_examples=60)
@for_any(
    window=st.integers(1, 6),
    n_sinks=st.integers(0, 4),
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=8),
)
def test_decoding_in_any_pieces_equals_the_whole_text(
    window: int, n_sinks: int, lengths: list[int]
) -> None:
    module, x = attention("fused", window, n_sinks), text(sum(lengths)).detach()
    whole = module(query=x, key=x, value=x)
    cache = RollingCache(BATCH_SIZE, KEY_HEADS, window, n_sinks, D_K, torch.float64)
    cache.memory.fill_(math.nan)
    address, size = cache.memory.data_ptr(), cache.memory.numel()
    read = [module.decode(piece, cache) for piece in x.split(lengths)]
    assert (torch.cat(read) - whole).abs().max() < 1e-10
    assert (cache.memory.data_ptr(), cache.memory.numel()) == (address, size)
    assert not read[0].requires_grad


@for_any(
    window=st.integers(1, 6),
    n_sinks=st.integers(0, 4),
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=8),
)
def test_the_cache_holds_the_sinks_and_the_window(
    window: int, n_sinks: int, lengths: list[int]
) -> None:
    cache = RollingCache(1, 1, window, n_sinks, 1)
    assert cache.held().tolist() == []
    assert cache.memory.shape == (2, 1, 1, n_sinks + window, 1)
    for length in lengths:
        positions = torch.arange(cache.filled, cache.filled + length).float()
        new = torch.stack([positions, -positions])[:, None, None, :, None]
        assert (cache.extend(new)[2] is None) == (length == 1)
        last = cache.filled - 1
        held = {j for j in range(last + 1) if j < n_sinks or last - j < window}
        assert held <= set(cache.held().tolist())
        assert cache.held().tolist() == cache.memory[0, 0, 0, : len(cache.held()), 0].tolist()
        assert cache.memory[1, 0, 0, : len(cache.held()), 0].equal(-cache.held().float())
    assert cache.filled == sum(lengths)


def test_no_slot_is_written_twice_and_only_what_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    write, written = Tensor.index_copy_, []

    def remember(memory: Tensor, dim: int, slots: Tensor, new: Tensor) -> Tensor:
        written.append(slots.tolist())
        return write(memory, dim, slots, new)

    monkeypatch.setattr(Tensor, "index_copy_", remember)
    for lengths in ([1, 1, 11], [9], [2, 1, 1, 6], [3, 4]):
        cache = RollingCache(1, 1, 3, 2, 1)
        for length in lengths:
            cache.extend(torch.zeros(2, 1, 1, length, 1))
            assert len(set(written[-1])) == len(written[-1]) <= min(length, 5)


def test_queries_keys_and_values_are_not_mistaken_for_one_another() -> None:
    module = attention(window=SEQ_LEN, n_sinks=0)
    plain = GroupedQueryAttention(HEADS, D_MODEL, 0.0, key_heads=KEY_HEADS).double()
    plain.load_state_dict(module.state_dict())
    given = dict(zip(("query", "key", "value"), torch.randn(3, *text().shape).double()))  # noqa: B905
    assert (module(**given) - plain(**given, mask=causal_mask(SEQ_LEN))).abs().max() < 1e-12


def test_a_single_position_reads_the_memory_itself() -> None:
    cache = RollingCache(1, 1, 2, 1, 1)
    for position in range(7):
        keys, values, allowed = cache.extend(torch.full((2, 1, 1, 1, 1), float(position)))
        assert allowed is None
        assert keys.data_ptr() == cache.memory.data_ptr()
        seen = {j for j in range(position + 1) if j == 0 or position - j < 2}
        assert set(keys.flatten().tolist()) == set(values.flatten().tolist()) == seen


@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_a_stack_reaches_as_far_as_is_said(n_layers: int) -> None:
    x = text()
    z = x
    for _ in range(n_layers):
        z = attention(window=4, n_sinks=0)(query=z, key=z, value=z)
    (gradient,) = torch.autograd.grad(z[-1].sum(), x)
    furthest_back = int((gradient.abs().sum(dim=(1, 2)) > 0).nonzero()[0])
    assert SEQ_LEN - 1 - furthest_back == reach(n_layers, 4)


@pytest.mark.parametrize(("window", "n_sinks"), [(0, 1), (-2, 0), (3, -1)])
def test_windows_of_nothing_are_refused(window: int, n_sinks: int) -> None:
    with pytest.raises(ValueError, match=f"got window={window} and n_sinks={n_sinks}$"):
        SlidingWindowAttention(HEADS, D_MODEL, window=window, n_sinks=n_sinks)


def test_a_mask_of_another_shape_is_refused() -> None:
    x = text()
    with pytest.raises(ValueError, match="mask has shape"):
        attention()(query=x, key=x, value=x, mask=torch.ones(1, 1, 1, dtype=torch.bool))
    with pytest.raises(ValueError, match="mask has dtype"):
        attention()(query=x, key=x, value=x, mask=torch.ones(1, SEQ_LEN, 1))


def test_unless_it_is_said_there_are_no_sinks_and_one_head_of_keys() -> None:
    made = SlidingWindowAttention(HEADS, D_MODEL, window=3)
    assert (made.dropout.p, made.key.heads, made.n_sinks) == (0.1, 1, 0)
    assert made.output.bias is not None


def test_the_parameters_are_those_of_grouped_heads() -> None:
    shapes = {name: tuple(p.shape) for name, p in attention(bias=False).state_dict().items()}
    assert shapes == {
        "query.linear.weight": (40, 40),
        "key.linear.weight": (20, 40),
        "value.linear.weight": (20, 40),
        "output.weight": (40, 40),
    }


def test_in_a_transformer_a_quarter_is_the_window() -> None:
    make = in_transformer(d_model=D_MODEL, heads=HEADS, seq_len=22, dropout_prob=0.5)["self_attn"]
    one, other = make(), make()
    assert (one.window, one.n_sinks, one.key_heads, one.dropout.p) == (5, 1, HEADS, 0.5)
    assert not torch.equal(one.key.linear.weight, other.key.linear.weight)
    other.load_state_dict(one.state_dict())
    x = text(dtype=torch.float32)
    one.eval(), other.eval()
    assert torch.equal(one(query=x, key=x, value=x), other(query=x, key=x, value=x))
    short = in_transformer(d_model=D_MODEL, heads=HEADS, seq_len=3, dropout_prob=0.0)["self_attn"]
    assert short().window == 1


def test_the_example_gives_the_same_twice() -> None:
    torch.manual_seed(7)
    whole, decoded = sliding_window.example()
    assert (whole - decoded).abs().max() < 1e-5


@each_way
def test_numbers_are_never_read_on_the_way(way: str) -> None:
    r"""A tensor on the meta device has none: reading one is an error, as it is a wait on a GPU."""
    module, x = attention(way).to("meta"), text().to("meta")
    assert module(query=x, key=x, value=x).shape == x.shape
    cache = RollingCache(BATCH_SIZE, KEY_HEADS, WINDOW, N_SINKS, D_K, torch.float64, "meta")
    for piece in x.split([3, 1, 8, 1]):
        assert module.decode(piece, cache).shape == piece.shape
    assert cache.held().device.type == "meta"


def test_compiled_it_gives_the_same_with_its_gradients() -> None:
    module, x = attention(), text()
    variables = [x, *module.parameters()]
    compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
    mask = causal_mask(len(x))
    mine = with_gradients(compiled(query=x, key=x, value=x, mask=mask), variables)
    plain = with_gradients(module(query=x, key=x, value=x, mask=mask), variables)
    assert furthest(mine, plain) < 1e-12
