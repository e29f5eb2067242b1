r"""The learned sink against loops and gpt-oss."""

import math
from collections.abc import Callable

import pytest
import torch
from transformers import GptOssConfig
from transformers.models.gpt_oss.modeling_gpt_oss import GptOssAttention

from labml_nn.transformers.memory import learned_sink
from labml_nn.transformers.memory.learned_sink import LearnedSinkAttention
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from tests.labml_nn.transformers.memory.at_the_seam import (
    D_K,
    D_MODEL,
    HEADS,
    SEQ_LEN,
    attend,
    check_at_the_seam,
    from_loops,
    parameters_of_heads,
    randomise,
    shapes,
    some_mask,
    text,
)
from tests.oracles.compare import difference


def attention() -> LearnedSinkAttention:
    return randomise(LearnedSinkAttention(HEADS, D_MODEL, 0.0))


def from_gpt_oss() -> float:
    r"""Its attention with the same weights, and turned by angles of zero."""
    module, x = attention(), text()
    config = GptOssConfig(
        hidden_size=D_MODEL,
        num_hidden_layers=1,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        head_dim=D_K,
        layer_types=["full_attention"],
        attention_bias=True,
        attn_implementation="eager",
    )
    other = GptOssAttention(config, 0).double().eval()
    names = {"q_proj": "query.linear", "k_proj": "key.linear", "v_proj": "value.linear"}
    names = {
        f"{theirs}.{part}": f"{mine}.{part}"
        for theirs, mine in (names | {"o_proj": "output"}).items()
        for part in ("weight", "bias")
    } | {"sinks": "sinks"}
    mine = dict(module.named_parameters())
    other.load_state_dict({name: mine[names[name]].detach() for name in names})
    theirs = dict(other.named_parameters())
    unrotated = (
        torch.ones(1, SEQ_LEN, D_K // 2).double(),
        torch.zeros(1, SEQ_LEN, D_K // 2).double(),
    )
    hidden = ~causal_mask(SEQ_LEN)[..., 0]
    bias = torch.zeros(hidden.shape).double().masked_fill(hidden, -math.inf)[None, None]
    output, _ = other(x.transpose(0, 1), unrotated, bias)
    return difference(
        attend(module, x, causal_mask(SEQ_LEN)),
        output.transpose(0, 1),
        [x, *(mine[names[name]] for name in names)],
        [x, *(theirs[name] for name in names)],
    )


ORACLES: dict[str, Callable[[], float]] = {
    "a loop over heads and positions": lambda: from_loops(attention(), some_mask(), some_mask()),
    "Hugging Face gpt-oss": from_gpt_oss,
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


def test_at_the_seam() -> None:
    check_at_the_seam(lambda: LearnedSinkAttention(HEADS, D_MODEL, 0.0))


def test_without_the_sink_it_is_multi_head_attention() -> None:
    module, plain = attention(), MultiHeadAttention(HEADS, D_MODEL, 0.0).double()
    weights = module.state_dict()
    del weights["sinks"]
    plain.load_state_dict(weights)
    torch.nn.init.constant_(module.sinks, -1000.0)
    x = text()
    assert (attend(module, x) - attend(plain, x)).abs().max() < 1e-12


@pytest.mark.parametrize(
    ("sink", "scores", "expected"),
    [(0.0, [0, 0, 0], 1 / 4), (5.0, [0, 0, 0], 0.0066), (5.0, [10, 0, 0], 0.9932)],
)
def test_the_weights_are_those_on_the_page(
    sink: float, scores: list[float], expected: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = LearnedSinkAttention(1, 1, 0.0)
    torch.nn.init.constant_(module.sinks, sink)
    given = torch.tensor(scores).float()[None, :, None, None]
    monkeypatch.setattr(module, "get_scores", lambda query, key: given)
    x = torch.randn(3, 1, 1)
    module(query=x[:1], key=x, value=x)
    assert module.attn[0, 0, 0, 0].item() == pytest.approx(expected, abs=1e-4)
    assert module.attn.shape == (1, 3, 1, 1)


def test_there_is_a_sink_for_each_head() -> None:
    made = LearnedSinkAttention(HEADS, D_MODEL)
    assert shapes(made) == parameters_of_heads() | {"sinks": (HEADS,)}
    assert not made.sinks.any()
    assert made.dropout.p == 0.1


def test_weights_are_dropped() -> None:
    module = learned_sink.in_transformer(d_model=D_MODEL, heads=HEADS, dropout_prob=1.0)
    made = module["self_attn"]()
    assert torch.equal(attend(made, text(torch.float32))[2, 1], made.output.bias)
