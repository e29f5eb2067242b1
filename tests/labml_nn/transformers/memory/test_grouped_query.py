r"""Grouped heads against loops, PyTorch's kernel and Llama, and decoding against the whole text."""

import math
from collections.abc import Callable
from unittest.mock import patch

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import DynamicCache, LlamaConfig
from transformers.models.llama.modeling_llama import LlamaAttention

from labml_nn.transformers import fast_attention
from labml_nn.transformers.kv_cache import KeyValueCache
from labml_nn.transformers.memory import grouped_query
from labml_nn.transformers.memory.grouped_query import (
    GroupedQueryAttention,
    cached_numbers,
    group_heads,
    in_transformer,
)
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask

SEQ_LEN_Q, SEQ_LEN_K, BATCH_SIZE, HEADS, KEY_HEADS, D_K = 5, 7, 3, 6, 2, 10
D_MODEL = HEADS * D_K

WAYS = ["kernel", "plain", "readable"]
each_way = pytest.mark.parametrize("way", WAYS)
each_number_of_heads = pytest.mark.parametrize("key_heads", [1, 2, 3, 6])


def attention(
    way: str = "kernel",
    key_heads: int = KEY_HEADS,
    dtype: torch.dtype = torch.float64,
    **options: float,
) -> GroupedQueryAttention:
    r"""An attention without dropout, unless the options say otherwise."""
    torch.manual_seed(1)
    options = {"dropout_prob": 0.0, **options}
    made = GroupedQueryAttention(HEADS, D_MODEL, key_heads=key_heads, **options).to(dtype)
    made.fused = way != "readable"
    made.kernel = way == "kernel"
    return made


def inputs(
    seq_len_q: int = SEQ_LEN_Q, seq_len_k: int = SEQ_LEN_K, dtype: torch.dtype = torch.float64
) -> dict[str, Tensor]:
    r"""A query, a key and a value, all different, with gradients."""
    torch.manual_seed(2)
    lengths = {"query": seq_len_q, "key": seq_len_k, "value": seq_len_k}
    return {
        name: torch.randn(length, BATCH_SIZE, D_MODEL).to(dtype).requires_grad_()
        for name, length in lengths.items()
    }


def some_mask() -> Tensor:
    r"""Any mask in which every query sees a key."""
    generator = torch.Generator().manual_seed(3)
    mask = torch.rand(SEQ_LEN_Q, SEQ_LEN_K, BATCH_SIZE, generator=generator) < 0.5
    mask[:, 1] = True
    return mask


def gradients(output: Tensor, variables: list[Tensor]) -> list[Tensor]:
    r"""The gradients of a sum in which every number of the output counts differently."""
    generator = torch.Generator().manual_seed(4)
    weights = torch.randn(output.shape, generator=generator).to(output.dtype)
    return list(torch.autograd.grad((output * weights).sum(), variables))


def furthest(mine: list[Tensor], theirs: list[Tensor]) -> float:
    r"""The largest absolute difference between two lists of tensors."""
    found = [(a - b).detach().abs().max() for a, b in zip(mine, theirs, strict=True)]
    return max(one.nan_to_num(nan=torch.inf).item() for one in found)


def with_gradients(output: Tensor, variables: list[Tensor]) -> list[Tensor]:
    r"""The output and the gradients."""
    return [output, *gradients(output, variables)]


def by_loops(module: GroupedQueryAttention, given: dict[str, Tensor], mask: Tensor) -> Tensor:
    r"""The formula, one head of queries after the other, with its head of keys looked up."""
    group = HEADS // module.key.heads
    query, key, value = (
        F.linear(given[name], part.linear.weight, part.linear.bias)
        for name, part in (("query", module.query), ("key", module.key), ("value", module.value))
    )
    rows = []
    for i in range(SEQ_LEN_Q):
        texts = []
        for b in range(BATCH_SIZE):
            heads = []
            for head in range(HEADS):
                mine = slice(head * D_K, (head + 1) * D_K)
                shared = slice((head // group) * D_K, (head // group + 1) * D_K)
                seen = [j for j in range(SEQ_LEN_K) if mask[i, j, b]]
                scores = [query[i, b, mine] @ key[j, b, shared] / math.sqrt(D_K) for j in seen]
                exps = [score.exp() for score in scores]
                parts = [
                    e / sum(exps) * value[j, b, shared] for e, j in zip(exps, seen, strict=True)
                ]
                heads.append(sum(parts))
            texts.append(torch.cat(heads))
        rows.append(torch.stack(texts))
    return F.linear(torch.stack(rows), module.output.weight, module.output.bias)


def from_loops(way: str, key_heads: int) -> float:
    module, given, mask = attention(way, key_heads), inputs(), some_mask()
    variables = [*given.values(), *module.parameters()]
    mine = with_gradients(module(**given, mask=mask), variables)
    return furthest(mine, with_gradients(by_loops(module, given, mask), variables))


def from_kernel(way: str, key_heads: int) -> float:
    r"""PyTorch's kernel has groups of its own, and divides by the root itself."""
    module, given, mask = attention(way, key_heads), inputs(), some_mask()
    variables = [*given.values(), *module.parameters()]
    mine = with_gradients(module(**given, mask=mask), variables)
    q, k, v = (
        part.linear(given[name]).view(-1, BATCH_SIZE, part.heads, D_K).permute(1, 2, 0, 3)
        for name, part in (("query", module.query), ("key", module.key), ("value", module.value))
    )
    allowed = mask.permute(2, 0, 1)[:, None]
    mean = F.scaled_dot_product_attention(q, k, v, allowed, enable_gqa=True)
    theirs = module.output(mean.permute(2, 0, 1, 3).reshape(SEQ_LEN_Q, BATCH_SIZE, D_MODEL))
    return furthest(mine, with_gradients(theirs, variables))


def llama(module: GroupedQueryAttention) -> LlamaAttention:
    r"""Llama's attention with the same weights."""
    config = LlamaConfig(
        hidden_size=D_MODEL,
        num_attention_heads=HEADS,
        num_key_value_heads=module.key.heads,
        attention_bias=True,
        attn_implementation="eager",
    )
    other = LlamaAttention(config, 0).double().eval()
    names = {"q": "query.linear", "k": "key.linear", "v": "value.linear", "o": "output"}
    other.load_state_dict(
        {
            f"{theirs}_proj.{part}": module.state_dict()[f"{mine}.{part}"]
            for theirs, mine in names.items()
            for part in ("weight", "bias")
        }
    )
    return other


def softmax_in_double(x: Tensor, dim: int, dtype: torch.dtype | None = None) -> Tensor:
    r"""Llama's softmax has 32 bits; here it keeps the bits that come in."""
    return x.softmax(dim=dim)


def ask_llama(other: LlamaAttention, x: Tensor, cache: DynamicCache | None = None) -> Tensor:
    r"""Under a causal mask; turned by angles of zero, because there are no positions here."""
    n_before = 0 if cache is None else cache.get_seq_length()
    n_keys = n_before + len(x)
    no_turn = torch.ones(1, len(x), D_K).double(), torch.zeros(1, len(x), D_K).double()
    hidden = ~causal_mask(n_keys)[n_before:, :, 0]
    bias = torch.zeros(hidden.shape).double().masked_fill(hidden, -math.inf)[None, None]
    with patch("torch.nn.functional.softmax", softmax_in_double):
        output, _ = other(x.transpose(0, 1), no_turn, bias, past_key_values=cache)
    return output.transpose(0, 1)


def from_llama(way: str, key_heads: int) -> float:
    module, x = attention(way, key_heads), inputs()["key"]
    other = llama(module)
    mine = with_gradients(
        module(query=x, key=x, value=x, mask=causal_mask(SEQ_LEN_K)), [x, *module.parameters()]
    )
    theirs = with_gradients(
        ask_llama(other, x),
        [
            x,
            *other.q_proj.parameters(),
            *other.k_proj.parameters(),
            *other.v_proj.parameters(),
            *other.o_proj.parameters(),
        ],
    )
    names = ["x", *(name.split(".")[0] for name, _ in module.named_parameters())]
    order = ["x", "query", "query", "key", "key", "value", "value", "output", "output"]
    assert sorted(names) == sorted(order)
    places = [index for name in dict.fromkeys(order) for index, n in enumerate(names) if n == name]
    return furthest([mine[0], *(mine[1 + place] for place in places)], theirs)


def from_llama_with_its_cache() -> float:
    r"""Both write a token at a time, after some at once."""
    module = attention()
    other, x = llama(module), inputs()["key"].detach()
    room = KeyValueCache(1, BATCH_SIZE, KEY_HEADS, SEQ_LEN_K, D_K, torch.float64)
    cache, pieces = DynamicCache(), x.split([3, 1, 1, 1, 1])
    mine = [module.decode(piece, room.extend(len(piece))[0]) for piece in pieces]
    with torch.no_grad():
        theirs = [ask_llama(other, piece, cache) for piece in pieces]
    return furthest(mine, theirs)


def over_all(compare: Callable[[str, int], float]) -> float:
    r"""The largest difference over the ways and the numbers of heads."""
    return max(compare(way, key_heads) for way in WAYS for key_heads in (1, 2, 3, 6))


ORACLES: dict[str, Callable[[], float]] = {
    "a loop over heads, positions and texts": lambda: max(
        from_loops("kernel", 1), *(from_loops(way, KEY_HEADS) for way in WAYS)
    ),
    "F.scaled_dot_product_attention, enable_gqa": lambda: over_all(from_kernel),
    "Hugging Face Llama": lambda: over_all(from_llama),
    "Hugging Face Llama with its cache": from_llama_with_its_cache,
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


@each_way
def test_with_as_many_heads_it_is_multi_head_attention(way: str) -> None:
    grouped = attention(way, HEADS)
    plain = MultiHeadAttention(HEADS, D_MODEL, dropout_prob=0.0).double()
    plain.load_state_dict(grouped.state_dict())
    given, mask = inputs(), some_mask()
    difference = grouped(**given, mask=mask) - plain(**given, mask=mask)
    assert difference.abs().max() < 1e-12


@each_way
@each_number_of_heads
def test_it_is_multi_head_attention_with_the_heads_of_keys_repeated(
    way: str, key_heads: int
) -> None:
    grouped, given = attention(way, key_heads), inputs()
    weights = grouped.state_dict()
    for name in (
        "key.linear.weight",
        "key.linear.bias",
        "value.linear.weight",
        "value.linear.bias",
    ):
        heads = weights[name].unflatten(0, (key_heads, D_K))
        weights[name] = heads.repeat_interleave(HEADS // key_heads, dim=0).flatten(end_dim=1)
    plain = MultiHeadAttention(HEADS, D_MODEL, dropout_prob=0.0).double()
    plain.load_state_dict(weights)
    assert (grouped(**given) - plain(**given)).abs().max() < 1e-12


def test_a_kernel_that_knows_of_no_groups_gets_the_keys_written_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module, given = attention(), inputs()
    expected = module(**given)
    kernel = F.scaled_dot_product_attention

    def of_old(q: Tensor, k: Tensor, v: Tensor, *more: float, **named: float) -> Tensor:
        assert q.shape[1] == k.shape[1] == v.shape[1]
        assert "enable_gqa" not in named
        return kernel(q, k, v, *more, **named)

    monkeypatch.setattr(fast_attention, "KERNEL_HAS_GROUPS", False)
    monkeypatch.setattr(F, "scaled_dot_product_attention", of_old)
    assert (module(**given) - expected).abs().max() < 1e-12


def test_the_kernel_gets_the_few_heads_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, seen = F.scaled_dot_product_attention, []

    def remember(q: Tensor, k: Tensor, v: Tensor, *more: float, **named: float) -> Tensor:
        seen.extend([q.shape[1], k.shape[1], v.shape[1]])
        return kernel(q, k, v, *more, **named)

    monkeypatch.setattr(F, "scaled_dot_product_attention", remember)
    attention()(**inputs())
    assert seen == [HEADS, KEY_HEADS, KEY_HEADS]


@each_number_of_heads
@pytest.mark.parametrize("pieces", [[1] * 7, [7], [3, 1, 2, 1], [1, 6]], ids=str)
def test_decoding_equals_the_whole_text(key_heads: int, pieces: list[int]) -> None:
    module, x = attention(key_heads=key_heads), inputs()["key"].detach()
    whole = module(query=x, key=x, value=x, mask=causal_mask(SEQ_LEN_K))
    cache = KeyValueCache(2, BATCH_SIZE, key_heads, SEQ_LEN_K, D_K, torch.float64)
    read = [module.decode(piece, cache.extend(len(piece))[1]) for piece in x.split(pieces)]
    assert (torch.cat(read) - whole).abs().max() < 1e-10
    assert not read[0].requires_grad


def test_a_single_new_position_needs_no_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, masks = F.scaled_dot_product_attention, []

    def remember(
        q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, *p: float, **n: float
    ) -> Tensor:
        masks.append(mask is not None)
        return kernel(q, k, v, mask, *p, **n)

    monkeypatch.setattr(F, "scaled_dot_product_attention", remember)
    module, x = attention(), inputs()["key"].detach()
    cache = KeyValueCache(1, BATCH_SIZE, KEY_HEADS, SEQ_LEN_K, D_K, torch.float64)
    for piece in x.split([3, 1, 2, 1]):
        module.decode(piece, cache.extend(len(piece))[0])
    assert masks == [False, False, True, False]


@pytest.mark.parametrize("pieces", [[1] * 7, [7], [3, 1, 2, 1]], ids=str)
def test_texts_of_different_lengths_are_decoded_together(pieces: list[int]) -> None:
    module, x = attention(), inputs()["key"].detach()
    starts = torch.tensor([0, 2, 4])
    cache = KeyValueCache(1, BATCH_SIZE, KEY_HEADS, SEQ_LEN_K, D_K, torch.float64)
    read = [module.decode(p, cache.extend(len(p))[0], starts) for p in x.split(pieces)]
    for text, start in enumerate(starts.tolist()):
        alone = x[start:, text : text + 1]
        whole = module(query=alone, key=alone, value=alone, mask=causal_mask(len(alone)))
        assert (torch.cat(read)[start:, text] - whole[:, 0]).abs().max() < 1e-10


@each_number_of_heads
def test_conversion_takes_the_mean_of_each_group(key_heads: int) -> None:
    torch.manual_seed(5)
    plain = MultiHeadAttention(HEADS, D_MODEL, dropout_prob=0.25).double()
    before = {name: weight.clone() for name, weight in plain.state_dict().items()}
    grouped = group_heads(plain, key_heads)
    group = HEADS // key_heads
    for part in (grouped.key, grouped.value):
        old = plain.key if part is grouped.key else plain.value
        for head in range(key_heads):
            for feature in range(D_K):
                rows = [(head * group + member) * D_K + feature for member in range(group)]
                row = head * D_K + feature
                weight = sum(old.linear.weight[r] for r in rows) / group
                bias = sum(old.linear.bias[r] for r in rows) / group
                assert (part.linear.weight[row] - weight).abs().max() < 1e-15
                assert (part.linear.bias[row] - bias).abs() < 1e-15
    assert torch.equal(grouped.query.linear.weight, plain.query.linear.weight)
    assert torch.equal(grouped.output.bias, plain.output.bias)
    assert grouped.dropout.p == 0.25
    assert all(torch.equal(before[name], weight) for name, weight in plain.state_dict().items())


def test_conversion_of_heads_that_are_alike_changes_nothing() -> None:
    torch.manual_seed(6)
    plain = MultiHeadAttention(HEADS, D_MODEL, dropout_prob=0.0, bias=False).double()
    for part in (plain.key, plain.value):
        rows = part.linear.weight.detach().unflatten(0, (KEY_HEADS, -1, D_K))
        rows[:, 1:] = rows[:, :1]
    grouped, given = group_heads(plain, KEY_HEADS), inputs()
    assert grouped.output.bias is None
    assert (grouped(**given) - plain(**given)).abs().max() < 1e-12


def test_the_cache_is_smaller_by_the_size_of_a_group() -> None:
    sizes = [KeyValueCache(3, 1, heads, 1, D_K).memory.numel() for heads in (HEADS, KEY_HEADS)]
    assert sizes == [cached_numbers(3, HEADS, D_K), cached_numbers(3, KEY_HEADS, D_K)]
    assert sizes[0] == sizes[1] * HEADS // KEY_HEADS


@each_way
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_each_type_stays_and_a_query_that_sees_nothing_gets_zero(
    way: str, dtype: torch.dtype
) -> None:
    module, given, mask = attention(way, dtype=dtype), inputs(dtype=dtype), some_mask()
    mask[2, :, 1] = False
    output = module(**given, mask=mask)
    assert output.dtype == dtype
    assert torch.equal(output[2, 1], module.output.bias)
    found = gradients(output, [*given.values(), *module.parameters()])
    assert all(gradient.isfinite().all() for gradient in found)
    exact = attention(way)(**{name: x.double() for name, x in given.items()}, mask=mask)
    assert (output - exact).abs().max() < 8 * torch.finfo(dtype).eps


@each_way
def test_no_output_depends_on_a_later_position_or_another_text(way: str) -> None:
    module, x = attention(way), inputs()["key"]
    output = module(query=x, key=x, value=x, mask=causal_mask(SEQ_LEN_K))
    for position in range(SEQ_LEN_K):
        (gradient,) = torch.autograd.grad(output[position, 1].sum(), x, retain_graph=True)
        depends = gradient.abs().sum(dim=2) > 0
        assert depends[:, 1].tolist() == [other <= position for other in range(SEQ_LEN_K)]
        assert not depends[:, [0, 2]].any()


def test_kept_weights_are_those_of_the_heads_of_queries() -> None:
    module, given, mask = attention(), inputs(), some_mask()
    module.keep_attn = True
    module(**given, mask=mask)
    assert module.attn.shape == (SEQ_LEN_Q, SEQ_LEN_K, BATCH_SIZE, HEADS)
    assert (module.attn.sum(dim=1) - 1).abs().max() < 1e-12
    assert not module.attn[~mask].any()


@pytest.mark.parametrize("key_heads", [4, 0, -2, 12])
def test_heads_that_make_no_groups_are_refused(key_heads: int) -> None:
    with pytest.raises(ValueError, match=f"got heads=6 and key_heads={key_heads}$"):
        GroupedQueryAttention(HEADS, D_MODEL, key_heads=key_heads)


def test_unless_it_is_said_there_is_one_head_of_keys_and_a_tenth_is_dropped() -> None:
    made = GroupedQueryAttention(HEADS, D_MODEL)
    assert (made.dropout.p, made.key.heads, made.value.heads) == (0.1, 1, 1)
    assert made.output.bias is not None
    assert made.key.linear.bias is not None


def test_the_parameters_are_these() -> None:
    shapes = {name: tuple(p.shape) for name, p in attention().state_dict().items()}
    assert shapes == {
        "query.linear.weight": (60, 60),
        "query.linear.bias": (60,),
        "key.linear.weight": (20, 60),
        "key.linear.bias": (20,),
        "value.linear.weight": (20, 60),
        "value.linear.bias": (20,),
        "output.weight": (60, 60),
        "output.bias": (60,),
    }
    without = attention(bias=False).state_dict()
    assert [name for name in without if name.endswith("bias")] == []


def test_in_a_transformer_each_layer_has_its_own_and_one_head_of_keys() -> None:
    make = in_transformer(d_model=D_MODEL, heads=HEADS, seq_len=7, dropout_prob=0.5)["self_attn"]
    one, other = make(), make()
    assert isinstance(one, nn.Module)
    assert (one.key_heads, one.query.heads, one.dropout.p) == (1, HEADS, 0.5)
    assert not torch.equal(one.key.linear.weight, other.key.linear.weight)
    other.load_state_dict(one.state_dict())
    assert torch.equal(one.key.linear.weight, other.key.linear.weight)


def test_the_example_gives_the_same_three_times() -> None:
    torch.manual_seed(7)
    fused, readable, decoded, converted = grouped_query.example()
    assert (fused - readable).abs().max() < 1e-5
    assert (fused - decoded).abs().max() < 1e-5
    assert converted.shape == fused.shape


@each_way
def test_numbers_are_never_read_on_the_way(way: str) -> None:
    r"""A tensor on the meta device has none: reading one is an error, as it is a wait on a GPU."""
    module, x = attention(way).to("meta"), inputs()["key"].to("meta")
    mask = causal_mask(SEQ_LEN_K, "meta")
    assert module(query=x, key=x, value=x, mask=mask).shape == x.shape
    cache = KeyValueCache(1, BATCH_SIZE, KEY_HEADS, 20, D_K, torch.float64, "meta")
    assert module.decode(x, cache.extend(SEQ_LEN_K)[0]).shape == x.shape
    starts = torch.zeros(BATCH_SIZE, device="meta")
    assert module.decode(x, cache.extend(SEQ_LEN_K)[0], starts).shape == x.shape
    converted = group_heads(MultiHeadAttention(HEADS, D_MODEL).to("meta"), KEY_HEADS)
    assert converted.key.linear.weight.device.type == "meta"


def test_compiled_it_gives_the_same_with_its_gradients() -> None:
    module, x = attention(), inputs()["key"]
    variables = [x, *module.parameters()]
    compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
    mask = causal_mask(len(x))
    mine = with_gradients(compiled(query=x, key=x, value=x, mask=mask), variables)
    plain = with_gradients(module(query=x, key=x, value=x, mask=mask), variables)
    assert furthest(mine, plain) < 1e-12
