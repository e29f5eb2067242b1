r"""Latent attention against DeepSeek's and against complex numbers; the absorbed form."""

import math
from collections.abc import Callable
from unittest.mock import patch

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import DeepseekV3Config
from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3Attention

from labml_nn.transformers.kv_cache import KeyValueCache
from labml_nn.transformers.memory import latent_attention
from labml_nn.transformers.memory.latent_attention import (
    LatentAttention,
    LatentCache,
    in_transformer,
    same_memory_in_groups,
)
from labml_nn.transformers.mha import causal_mask

SEQ_LEN, BATCH_SIZE, HEADS, D_K, D_LATENT, D_TURNED = 11, 3, 2, 5, 7, 4
D_MODEL, N_REMEMBERED = HEADS * D_K, D_LATENT + D_TURNED

each_way = pytest.mark.parametrize("way", ["fused", "readable"])


def attention(
    way: str = "fused", dtype: torch.dtype = torch.float64, dropout_prob: float = 0.0
) -> LatentAttention:
    r"""With gains that differ, which are all one at the start."""
    torch.manual_seed(1)
    made = LatentAttention(
        HEADS, D_MODEL, dropout_prob, d_latent=D_LATENT, d_turned=D_TURNED, max_len=SEQ_LEN
    )
    nn.init.normal_(made.norm.gain)
    made.fused = way == "fused"
    return made.to(dtype)


def text(dtype: torch.dtype = torch.float64) -> Tensor:
    r"""A text with gradients."""
    torch.manual_seed(2)
    return torch.randn(SEQ_LEN, BATCH_SIZE, D_MODEL).to(dtype).requires_grad_()


def attend(module: LatentAttention, x: Tensor) -> Tensor:
    r"""To itself and what came before."""
    return module(query=x, key=x, value=x, mask=causal_mask(len(x)))


def with_gradients(output: Tensor, variables: list[Tensor]) -> list[Tensor]:
    r"""The output, and gradients of a sum in which each of its numbers counts differently."""
    generator = torch.Generator().manual_seed(4)
    weights = torch.randn(output.shape, generator=generator).to(output.dtype)
    return [output, *torch.autograd.grad((output * weights).sum(), variables)]


def furthest(mine: list[Tensor], theirs: list[Tensor]) -> float:
    r"""The largest absolute difference between two lists of tensors."""
    found = [(a - b).detach().abs().max() for a, b in zip(mine, theirs, strict=True)]
    return max(one.nan_to_num(nan=torch.inf).item() for one in found)


def softmax_in_double(x: Tensor, dim: int, dtype: torch.dtype | None = None) -> Tensor:
    r"""Theirs has 32 bits; here it keeps the bits that come in."""
    return x.softmax(dim=dim)


def angles_of(module: LatentAttention) -> tuple[Tensor, Tensor]:
    r"""Cosines and sines for each position: what becomes of ones in the first half."""
    ones = torch.ones(SEQ_LEN, 1, 1, D_TURNED // 2).double()
    turned = module.turn(torch.cat([ones, 0 * ones], dim=-1))[:, 0, 0]
    cos, sin = turned.chunk(2, dim=-1)
    return torch.cat([cos, cos], dim=-1)[None], torch.cat([sin, sin], dim=-1)[None]


def from_deepseek(way: str, interleaved: bool) -> float:
    r"""Pairs are neighbours in their weights, if interleaved, and half the width apart in ours."""
    module, x = attention(way), text()
    config = DeepseekV3Config(
        hidden_size=D_MODEL,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        q_lora_rank=None,
        kv_lora_rank=D_LATENT,
        qk_rope_head_dim=D_TURNED,
        qk_nope_head_dim=D_K,
        v_head_dim=D_K,
        rope_interleave=interleaved,
        attn_implementation="eager",
    )
    other = DeepseekV3Attention(config, 0).double().eval()
    # DeepSeek's own normalisation rounds to 32 bits on the way; PyTorch's doesn't.
    other.kv_a_layernorm = nn.RMSNorm(D_LATENT, eps=1e-6).double()

    apart = [0, 2, 1, 3] if interleaved else [0, 1, 2, 3]
    of_query = [h * 9 + f for h in range(HEADS) for f in [0, 1, 2, 3, 4, *(5 + a for a in apart)]]
    of_latent = [*range(D_LATENT), *(D_LATENT + a for a in apart)]

    # In ours all keys come first, in theirs a head's key and value stand together.
    def together(key: Tensor, value: Tensor) -> Tensor:
        split = [t.unflatten(0, (HEADS, D_K)) for t in (key, value)]
        return torch.cat(split, dim=1).flatten(end_dim=1)

    mine = {
        "q_proj.weight": module.query.linear.weight[of_query],
        "kv_a_proj_with_mqa.weight": module.compress.weight[of_latent],
        "kv_a_layernorm.weight": module.norm.gain,
        "kv_b_proj.weight": together(module.key.linear.weight, module.value.linear.weight),
        "o_proj.weight": module.output.weight,
    }
    other.load_state_dict({name: weight.detach() for name, weight in mine.items()})
    hidden = ~causal_mask(SEQ_LEN)[..., 0]
    bias = torch.zeros(SEQ_LEN, SEQ_LEN).double().masked_fill(hidden, -math.inf)[None, None]
    with patch("torch.nn.functional.softmax", softmax_in_double):
        output, _ = other(x.transpose(0, 1), angles_of(module), bias)

    weights = dict(other.named_parameters())
    theirs = with_gradients(output.transpose(0, 1), [x, *(weights[name] for name in mine)])
    parts = [module.query.linear, module.compress, module.key.linear, module.value.linear]
    found = with_gradients(
        attend(module, x), [x, *(p.weight for p in parts), module.norm.gain, module.output.weight]
    )
    ordered = [
        *found[:2],
        found[2][of_query],
        found[3][of_latent],
        found[6],
        together(found[4], found[5]),
        found[7],
    ]
    return furthest(ordered, theirs)


def by_complex_numbers(way: str) -> float:
    r"""Each score by itself; what sees positions are points of the plane that are turned."""
    module, x = attention(way), text()
    query = F.linear(x, module.query.linear.weight).unflatten(-1, (HEADS, -1))
    latent, shared = F.linear(x, module.compress.weight).split([D_LATENT, D_TURNED], dim=-1)
    size = latent.square().mean(dim=-1, keepdim=True) + 1e-6
    latent = latent / size.sqrt() * module.norm.gain
    key = F.linear(latent, module.key.linear.weight).unflatten(-1, (HEADS, D_K))
    value = F.linear(latent, module.value.linear.weight).unflatten(-1, (HEADS, D_K))
    cos, sin = (part[0, :, : D_TURNED // 2] for part in angles_of(module))
    turn = torch.complex(cos, sin)

    rows = []
    for i in range(SEQ_LEN):
        heads = []
        for h in range(HEADS):
            exps = []
            for j in range(i + 1):
                score = (query[i, :, h, :D_K] * key[j, :, h]).sum(dim=-1)
                for pair in range(D_TURNED // 2):
                    q = torch.complex(query[i, :, h, D_K + pair], query[i, :, h, D_K + pair + 2])
                    k = torch.complex(shared[j, :, pair], shared[j, :, pair + 2])
                    turned = q * turn[i, pair] * (k * turn[j, pair]).conj()
                    score = score + turned.real
                exps.append((score / math.sqrt(D_K + D_TURNED)).exp())
            parts = [(e / sum(exps))[:, None] * value[j, :, h] for j, e in enumerate(exps)]
            heads.append(sum(parts))
        rows.append(torch.cat(heads, dim=-1))
    theirs = F.linear(torch.stack(rows), module.output.weight)
    variables = [x, *module.parameters()]
    return furthest(with_gradients(attend(module, x), variables), with_gradients(theirs, variables))


ORACLES: dict[str, Callable[[], float]] = {
    "Hugging Face DeepSeek-V3": lambda: max(
        from_deepseek(way, interleaved)
        for way in ("fused", "readable")
        for interleaved in (False, True)
    ),
    "a loop over positions with complex numbers": lambda: max(
        by_complex_numbers("fused"), by_complex_numbers("readable")
    ),
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


@each_way
@pytest.mark.parametrize("pieces", [[1] * 11, [11], [4, 1, 3, 2, 1]], ids=str)
def test_the_absorbed_form_with_a_cache_equals_the_plain_one(way: str, pieces: list[int]) -> None:
    module, x = attention(way), text().detach()
    cache = LatentCache(2, BATCH_SIZE, SEQ_LEN, N_REMEMBERED, torch.float64)
    cache.memory.fill_(math.nan)
    read = [module.decode(piece, cache.extend(len(piece))[1]) for piece in x.split(pieces)]
    assert (torch.cat(read) - attend(module, x)).abs().max() < 1e-10
    assert cache.memory[0].isnan().all()
    assert not read[0].requires_grad


def test_decoding_never_writes_keys_and_values_out() -> None:
    r"""The heads of keys that the kernel gets are one."""
    module, x = attention(), text().detach()
    cache = LatentCache(1, BATCH_SIZE, SEQ_LEN, N_REMEMBERED, torch.float64)
    kernel, seen = F.scaled_dot_product_attention, []

    def remember(q: Tensor, k: Tensor, v: Tensor, *more: float, **named: float) -> Tensor:
        seen.extend([tuple(k.shape), k.data_ptr() == v.data_ptr() == cache.memory.data_ptr()])
        return kernel(q, k, v, *more, **named)

    with patch("torch.nn.functional.scaled_dot_product_attention", remember):
        module.decode(x, *cache.extend(SEQ_LEN))
    assert seen == [(BATCH_SIZE, 1, SEQ_LEN, N_REMEMBERED), True]


def test_values_are_as_wide_as_keys_for_the_kernel() -> None:
    kernel, seen = F.scaled_dot_product_attention, []

    def remember(q: Tensor, k: Tensor, v: Tensor, *more: float, **named: float) -> Tensor:
        seen.extend([k.shape[-1], v.shape[-1]])
        return kernel(q, k, v, *more, **named)

    with patch("torch.nn.functional.scaled_dot_product_attention", remember):
        attend(attention(), text())
    assert seen == [D_K + D_TURNED] * 2


def test_what_is_remembered_is_as_small_as_is_said() -> None:
    latents = LatentCache(1, 1, 1, 512 + 64).memory.numel()
    heads = KeyValueCache(1, 1, 128, 1, 128).memory.numel()
    one_head = KeyValueCache(1, 1, 1, 1, 128).memory.numel()
    assert (latents, heads) == (576, 32_768)
    assert same_memory_in_groups(512, 64, 128) == latents / one_head == 2.25


@pytest.mark.parametrize("shift", [1, 3])
def test_turned_scores_see_the_distance_alone(shift: int) -> None:
    module, x = attention(), text()[: SEQ_LEN - 3]
    scores = []
    for offset in (0, shift):
        own, turned = module.ask(x, offset)
        _, shared = module.remember(x, offset).split([D_LATENT, D_TURNED], dim=-1)
        scores.append(torch.einsum("ibhd,jbd->ijbh", turned, shared))
        assert torch.equal(own, module.ask(x)[0])
    assert (scores[0] - scores[1]).abs().max() < 1e-6


@each_way
def test_no_output_depends_on_a_later_position_or_another_text(way: str) -> None:
    module, x = attention(way), text()
    output = attend(module, x)
    for position in range(SEQ_LEN):
        (gradient,) = torch.autograd.grad(output[position, 1].sum(), x, retain_graph=True)
        depends = gradient.abs().sum(dim=2) > 0
        assert depends[:, 1].tolist() == [other <= position for other in range(SEQ_LEN)]
        assert not depends[:, [0, 2]].any()


@each_way
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_each_type_stays_and_a_query_that_sees_nothing_gets_zero(
    way: str, dtype: torch.dtype
) -> None:
    module, wide, x = attention(way, dtype), attention(way), text(dtype)
    wide.load_state_dict({name: weight.double() for name, weight in module.state_dict().items()})
    mask = causal_mask(SEQ_LEN).repeat(1, 1, BATCH_SIZE)
    mask[4, :, 1] = False
    output = module(query=x, key=x, value=x, mask=mask)
    assert output.dtype == dtype
    assert not output[4, 1].any()
    found = with_gradients(output, [x, *module.parameters()])
    assert all(gradient.isfinite().all() for gradient in found)
    double = x.double()
    exact = wide(query=double, key=double, value=double, mask=mask)
    assert (output - exact).abs().max() < 16 * torch.finfo(dtype).eps


def test_decoding_keeps_16_bits() -> None:
    module, x = attention(dtype=torch.bfloat16), text(torch.bfloat16).detach()
    cache = LatentCache(1, BATCH_SIZE, SEQ_LEN, N_REMEMBERED, torch.bfloat16)
    read = [module.decode(piece, *cache.extend(1)) for piece in x.split(1)]
    assert read[0].dtype == torch.bfloat16
    assert (torch.cat(read) - attend(module, x)).abs().max() < 0.05


def test_keys_that_are_no_values_are_refused() -> None:
    x = text()
    with pytest.raises(ValueError, match="pass the same tensor for both"):
        attention()(query=x, key=x, value=x.clone())


@pytest.mark.parametrize(("d_latent", "d_turned"), [(0, 2), (3, 0), (-1, -2)])
def test_widths_of_nothing_are_refused(d_latent: int, d_turned: int) -> None:
    with pytest.raises(ValueError, match=f"d_latent={d_latent} and d_turned={d_turned}$"):
        LatentAttention(HEADS, D_MODEL, d_latent=d_latent, d_turned=d_turned, max_len=3)


def test_a_cache_without_room_says_how_much_there_is() -> None:
    cache = LatentCache(2, BATCH_SIZE, 5, N_REMEMBERED)
    assert [tuple(part.shape) for part in cache.extend(3)[1]] == [(3, 3, 11), (3, 3, 11)]
    assert [tuple(part.shape) for part in cache.extend(2)[0]] == [(3, 2, 11), (3, 5, 11)]
    message = "room for 5 positions, of which 5 are filled: 1 more"
    with pytest.raises(ValueError, match=message):
        cache.extend(1)
    assert cache.filled == 5
    with pytest.raises(ValueError, match="0 more"):
        LatentCache(1, 1, 5, 1).extend(0)


def test_a_tenth_of_the_weights_is_dropped_unless_it_is_said() -> None:
    made = LatentAttention(HEADS, D_MODEL, d_latent=D_LATENT, d_turned=D_TURNED, max_len=3)
    assert made.dropout.p == 0.1


def test_the_parameters_are_these() -> None:
    assert {name: tuple(p.shape) for name, p in attention().state_dict().items()} == {
        "query.linear.weight": (18, 10),
        "compress.weight": (11, 10),
        "norm.gain": (7,),
        "key.linear.weight": (10, 7),
        "value.linear.weight": (10, 7),
        "output.weight": (10, 10),
    }


def test_in_a_transformer_latents_are_a_quarter_and_positions_are_turned() -> None:
    parts = in_transformer(d_model=12, heads=3, seq_len=SEQ_LEN, dropout_prob=0.5)
    one, other = parts["self_attn"](), parts["self_attn"]()
    assert parts["positions"] is nn.Identity
    assert (one.d_latent, one.d_turned, one.d_k, one.dropout.p) == (3, 8, 4, 0.5)
    assert not torch.equal(one.key.linear.weight, other.key.linear.weight)
    other.load_state_dict(one.state_dict())
    x = torch.randn(SEQ_LEN, BATCH_SIZE, 12)
    one.eval(), other.eval()
    assert torch.equal(attend(one, x), attend(other, x))
    longer = torch.randn(SEQ_LEN + 1, BATCH_SIZE, 12)
    with pytest.raises(ValueError, match="11 positions"):
        attend(one, longer)
    tiny = in_transformer(d_model=3, heads=1, seq_len=2, dropout_prob=0.0)
    assert tiny["self_attn"]().d_latent == 1


def test_the_example_gives_the_same_twice() -> None:
    torch.manual_seed(7)
    whole, decoded = latent_attention.example()
    assert (whole - decoded).abs().max() < 1e-5


@each_way
def test_numbers_are_never_read_on_the_way(way: str) -> None:
    r"""A tensor on the meta device has none: reading one is an error, as it is a wait on a GPU."""
    module, x = attention(way).to("meta"), text().to("meta")
    mask = causal_mask(SEQ_LEN, "meta")
    assert module(query=x, key=x, value=x, mask=mask).shape == x.shape
    cache = LatentCache(1, BATCH_SIZE, SEQ_LEN, N_REMEMBERED, torch.float64, "meta")
    for piece in x.split([SEQ_LEN - 1, 1]):
        assert module.decode(piece, *cache.extend(len(piece))).shape == piece.shape


def test_compiled_it_gives_the_same_with_its_gradients() -> None:
    module, x = attention(), text()
    variables = [x, *module.parameters()]
    compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
    mask = causal_mask(len(x))
    mine = with_gradients(compiled(query=x, key=x, value=x, mask=mask), variables)
    plain = with_gradients(module(query=x, key=x, value=x, mask=mask), variables)
    assert furthest(mine, plain) < 1e-12
