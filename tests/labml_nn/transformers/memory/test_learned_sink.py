r"""The learned sink against loops and gpt-oss."""

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import GptOssConfig
from transformers.masking_utils import create_sliding_window_causal_mask
from transformers.models.gpt_oss.modeling_gpt_oss import GptOssAttention

from labml_nn.transformers.memory import learned_sink
from labml_nn.transformers.memory.learned_sink import LearnedSinkAttention, in_transformer
from labml_nn.transformers.memory.sliding_window import RollingCache, SlidingWindowAttention
from labml_nn.transformers.mha import causal_mask

SEQ_LEN, BATCH_SIZE, HEADS, KEY_HEADS, D_K, WINDOW = 13, 3, 4, 2, 10, 5
D_MODEL = HEADS * D_K

each_way = pytest.mark.parametrize("way", ["fused", "readable"])


def attention(
    way: str = "fused", window: int = WINDOW, dtype: torch.dtype = torch.float64, **options: float
) -> LearnedSinkAttention:
    r"""Without dropout, unless the options say otherwise, and with sinks that differ."""
    torch.manual_seed(1)
    options = {"dropout_prob": 0.0, "key_heads": KEY_HEADS, **options}
    made = LearnedSinkAttention(HEADS, D_MODEL, window=window, **options)
    made.fused = way == "fused"
    with torch.no_grad():
        made.sinks.copy_(torch.randn(HEADS))
    return made.to(dtype)


def text(dtype: torch.dtype = torch.float64) -> Tensor:
    r"""A text with gradients."""
    torch.manual_seed(2)
    return torch.randn(SEQ_LEN, BATCH_SIZE, D_MODEL).to(dtype).requires_grad_()


def with_gradients(output: Tensor, variables: list[Tensor]) -> list[Tensor]:
    r"""The output, and gradients of a sum in which each of its numbers counts differently."""
    generator = torch.Generator().manual_seed(4)
    weights = torch.randn(output.shape, generator=generator).to(output.dtype)
    return [output, *torch.autograd.grad((output * weights).sum(), variables)]


def furthest(mine: list[Tensor], theirs: list[Tensor]) -> float:
    r"""The largest absolute difference between two lists of tensors."""
    found = [(a - b).detach().abs().max() for a, b in zip(mine, theirs, strict=True)]
    return max(one.nan_to_num(nan=torch.inf).item() for one in found)


def by_loops(module: LearnedSinkAttention, x: Tensor) -> Tensor:
    r"""Position by position and head by head; the sink is a term of the denominator."""
    query, key, value = (
        F.linear(x, part.linear.weight, part.linear.bias).unflatten(-1, (-1, D_K))
        for part in (module.query, module.key, module.value)
    )
    rows = []
    for i in range(len(x)):
        heads = []
        for head in range(HEADS):
            shared = head * KEY_HEADS // HEADS
            total, mean = module.sinks[head].exp(), torch.zeros(BATCH_SIZE, D_K).double()
            for j in range(max(0, i - module.window + 1), i + 1):
                score = (query[i, :, head] * key[j, :, shared]).sum(-1) / math.sqrt(D_K)
                total = total + score.exp()
                mean = mean + score.exp()[:, None] * value[j, :, shared]
            heads.append(mean / total[:, None])
        rows.append(torch.cat(heads, dim=-1))
    return F.linear(torch.stack(rows), module.output.weight, module.output.bias)


def from_loops(way: str) -> float:
    module, x = attention(way), text()
    variables = [x, *module.parameters()]
    mine = with_gradients(module(query=x, key=x, value=x), variables)
    return furthest(mine, with_gradients(by_loops(module, x), variables))


def from_gpt_oss(way: str, window: int) -> float:
    r"""Its attention with the same weights, and turned by angles of zero."""
    module, x = attention(way, window), text()
    config = GptOssConfig(
        hidden_size=D_MODEL,
        num_hidden_layers=1,
        num_attention_heads=HEADS,
        num_key_value_heads=KEY_HEADS,
        head_dim=D_K,
        sliding_window=window,
        layer_types=["sliding_attention"],
        attention_bias=True,
        attn_implementation="eager",
    )
    other = GptOssAttention(config, 0).double().eval()
    names = {"q": "query.linear", "k": "key.linear", "v": "value.linear", "o": "output"}
    pairs = {
        f"{theirs}_proj.{part}": f"{mine}.{part}"
        for theirs, mine in names.items()
        for part in ("weight", "bias")
    } | {"sinks": "sinks"}
    weights = module.state_dict()
    other.load_state_dict({theirs: weights[mine] for theirs, mine in pairs.items()})

    no_turn = torch.ones(1, SEQ_LEN, D_K // 2).double(), torch.zeros(1, SEQ_LEN, D_K // 2).double()
    hidden = create_sliding_window_causal_mask(
        config=config,
        inputs_embeds=x.transpose(0, 1),
        attention_mask=None,
        past_key_values=None,
        position_ids=torch.arange(SEQ_LEN)[None],
    )
    output, _ = other(x.transpose(0, 1), no_turn, hidden)
    theirs, mine = dict(other.named_parameters()), dict(module.named_parameters())
    return furthest(
        with_gradients(module(query=x, key=x, value=x), [x, *(mine[n] for n in pairs.values())]),
        with_gradients(output.transpose(0, 1), [x, *(theirs[n] for n in pairs)]),
    )


ORACLES: dict[str, Callable[[], float]] = {
    "a loop over heads and positions": lambda: max(from_loops("fused"), from_loops("readable")),
    "Hugging Face gpt-oss": lambda: max(
        from_gpt_oss(way, window) for way in ("fused", "readable") for window in (1, 5, 99)
    ),
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


@each_way
def test_a_sink_far_below_the_scores_is_none(way: str) -> None:
    module, x = attention(way), text()
    plain = SlidingWindowAttention(HEADS, D_MODEL, 0.0, key_heads=KEY_HEADS, window=WINDOW)
    plain.double().load_state_dict(
        {name: weight for name, weight in module.state_dict().items() if name != "sinks"}
    )
    with torch.no_grad():
        module.sinks.fill_(-200)
    difference = module(query=x, key=x, value=x) - plain(query=x, key=x, value=x)
    assert difference.abs().max() < 1e-12
    with torch.no_grad():
        module.sinks.fill_(200)
    nothing = module(query=x, key=x, value=x)
    assert (nothing - module.output.bias).abs().max() < 1e-12


def test_weights_sum_to_what_the_sink_leaves() -> None:
    module, x = attention(), text()
    module.keep_attn = True
    module(query=x, key=x, value=x)
    assert module.attn.shape == (SEQ_LEN, SEQ_LEN, BATCH_SIZE, HEADS)
    sums = module.attn.sum(dim=1)
    assert (sums > 0).all()
    assert (sums < 1).all()
    assert not module.attn[0, 1:].any()
    module.keep_attn = False
    module(query=x, key=x, value=x)
    assert module.attn is None


@pytest.mark.parametrize("pieces", [[1] * 13, [13], [6, 1, 1, 3, 2]], ids=str)
@pytest.mark.parametrize("n_sinks", [0, 2])
def test_decoding_equals_the_whole_text(n_sinks: int, pieces: list[int]) -> None:
    module, x = attention(n_sinks=n_sinks), text().detach()
    whole = module(query=x, key=x, value=x)
    cache = RollingCache(BATCH_SIZE, KEY_HEADS, WINDOW, n_sinks, D_K, torch.float64)
    read = [module.decode(piece, cache) for piece in x.split(pieces)]
    assert (torch.cat(read) - whole).abs().max() < 1e-10


@each_way
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_each_type_stays_and_a_query_that_sees_nothing_gets_zero(
    way: str, dtype: torch.dtype
) -> None:
    module, x = attention(way, dtype=dtype), text(dtype)
    mask = torch.ones(1, SEQ_LEN, BATCH_SIZE, dtype=torch.bool)
    mask[:, :8, 1] = False
    output = module(query=x, key=x, value=x, mask=mask)
    assert output.dtype == dtype
    assert torch.equal(output[:8, 1], module.output.bias.expand(8, -1))
    found = with_gradients(output, [x, *module.parameters()])
    assert all(gradient.isfinite().all() for gradient in found)
    wide = attention(way)
    wide.load_state_dict({name: weight.double() for name, weight in module.state_dict().items()})
    exact = wide(query=x.double(), key=x.double(), value=x.double(), mask=mask)
    assert (output - exact).abs().max() < 8 * torch.finfo(dtype).eps


@each_way
def test_automatic_mixed_precision_gives_16_bits_near_the_exact_numbers(way: str) -> None:
    module, x = attention(way, dtype=torch.float32), text(torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output = module(query=x, key=x, value=x)
    assert output.dtype == torch.bfloat16
    assert (output - module(query=x, key=x, value=x)).abs().max() < 0.03


@each_way
def test_no_output_depends_on_a_later_position_or_another_text(way: str) -> None:
    module, x = attention(way), text()
    output = module(query=x, key=x, value=x)
    for position in range(SEQ_LEN):
        (gradient,) = torch.autograd.grad(output[position, 1].sum(), x, retain_graph=True)
        depends = gradient.abs().sum(dim=2) > 0
        assert depends[:, 1].tolist() == [0 <= position - j < WINDOW for j in range(SEQ_LEN)]
        assert not depends[:, [0, 2]].any()


def test_the_parameters_are_those_of_the_window_and_a_score_for_each_head() -> None:
    fresh = LearnedSinkAttention(HEADS, D_MODEL, 0.0, False, KEY_HEADS, window=WINDOW, n_sinks=1)
    assert (fresh.dropout.p, fresh.key_heads, fresh.window, fresh.n_sinks) == (0.0, 2, 5, 1)
    assert {name: tuple(p.shape) for name, p in fresh.state_dict().items()} == {
        "sinks": (4,),
        "query.linear.weight": (40, 40),
        "key.linear.weight": (20, 40),
        "value.linear.weight": (20, 40),
        "output.weight": (40, 40),
    }
    assert not fresh.sinks.any()


def test_in_a_transformer_a_quarter_is_the_window() -> None:
    make = in_transformer(d_model=D_MODEL, heads=HEADS, seq_len=22, dropout_prob=0.5)["self_attn"]
    one, other = make(), make()
    assert (one.window, one.n_sinks, one.key_heads, one.dropout.p) == (5, 0, HEADS, 0.5)
    assert not torch.equal(one.key.linear.weight, other.key.linear.weight)
    other.load_state_dict(one.state_dict())
    x = text(dtype=torch.float32)
    one.eval(), other.eval()
    assert torch.equal(one(query=x, key=x, value=x), other(query=x, key=x, value=x))
    short = in_transformer(d_model=D_MODEL, heads=HEADS, seq_len=3, dropout_prob=0.0)["self_attn"]
    assert short().window == 1


def test_the_example_gives_the_same_three_times() -> None:
    torch.manual_seed(7)
    fused, readable, decoded = learned_sink.example()
    assert (fused - readable).abs().max() < 1e-5
    assert (fused - decoded).abs().max() < 1e-5


@each_way
def test_numbers_are_never_read_on_the_way(way: str) -> None:
    r"""A tensor on the meta device has none: reading one is an error, as it is a wait on a GPU."""
    module, x = attention(way).to("meta"), text().to("meta")
    assert module(query=x, key=x, value=x).shape == x.shape


def test_compiled_it_gives_the_same_with_its_gradients() -> None:
    module, x = attention(), text()
    variables = [x, *module.parameters()]
    compiled = torch.compile(module, backend="aot_eager", fullgraph=True)
    mask = causal_mask(len(x))
    mine = with_gradients(compiled(query=x, key=x, value=x, mask=mask), variables)
    plain = with_gradients(module(query=x, key=x, value=x, mask=mask), variables)
    assert furthest(mine, plain) < 1e-12
