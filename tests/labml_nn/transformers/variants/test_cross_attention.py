r"""Cross-attention, against BART's, PyTorch's attention and its layer, and loops over numbers."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from transformers.models.bart.configuration_bart import BartConfig
from transformers.models.bart.modeling_bart import BartAttention

from labml_nn.transformers.fast_attention import mean_of_values
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.variants import cross_attention
from labml_nn.transformers.variants.cross_attention import (
    CrossAttention,
    LayerWithMemory,
    visible_positions,
)
from tests.labml_nn.transformers.variants.seam import (
    BATCH_SIZE,
    D_K,
    D_MODEL,
    HEADS,
    SEAM,
    SEQ_LEN_K,
    SEQ_LEN_Q,
    added_mask,
    all_in_double,
    assert_near,
    copied,
    gradients,
    inputs,
    largest_difference,
    padding,
    parameters,
    randomised,
)

D_FF = 13


def attention(**options: float) -> CrossAttention:
    r"""In evaluation."""
    return CrossAttention(HEADS, D_MODEL, **options).eval()


def layer() -> LayerWithMemory:
    r"""In evaluation, with weights that are all random."""
    made = LayerWithMemory(d_model=D_MODEL, heads=HEADS, d_ff=D_FF)
    return randomised(made.double()).eval()


def sequence_and_memory() -> tuple[Tensor, Tensor]:
    r"""Both with gradients."""
    given = inputs()
    return given["query"], given["key"]


def idle_padding() -> Tensor:
    r"""The memory of the second sequence is nothing but padding."""
    return visible_positions(torch.tensor([SEQ_LEN_K, 0, 3]), SEQ_LEN_K)


def projections(
    ours: MultiHeadAttention, theirs: BartAttention
) -> list[tuple[nn.Module, nn.Module]]:
    r"""What belongs together."""
    return [
        (ours.query.linear, theirs.q_proj),
        (ours.key.linear, theirs.k_proj),
        (ours.value.linear, theirs.v_proj),
        (ours.output, theirs.out_proj),
    ]


def bart() -> float:
    r"""BART's attention to the states of its encoder, weight for weight."""
    config = BartConfig(d_model=D_MODEL, attn_implementation="eager")
    ours = randomised(attention().double())
    theirs = BartAttention(D_MODEL, HEADS, is_decoder=True, config=config, layer_idx=0)
    theirs = theirs.double().eval()
    pairs = projections(ours, theirs)
    copied(pairs)
    x, memory = sequence_and_memory()
    with all_in_double():
        expected, _ = theirs(
            x.transpose(0, 1),
            memory.transpose(0, 1),
            attention_mask=added_mask(padding().expand(SEQ_LEN_Q, -1, -1)),
        )
    expected = expected.transpose(0, 1)
    others = [x, memory, *(p for _, other in pairs for p in other.parameters())]
    wanted = [expected, *gradients(expected, others)]
    differences = []
    for found in (
        ours(query=x, key=memory, value=memory, mask=padding()),
        ours.recall(x, ours.remember(memory, padding())),
    ):
        mine = [x, memory, *(p for one, _ in pairs for p in one.parameters())]
        differences.append(largest_difference([found, *gradients(found, mine)], wanted))
    return max(differences)


def pytorch() -> float:
    r"""PyTorch's attention, with its mask of padding, true where nothing is to be seen."""
    ours, theirs = attention().double(), nn.MultiheadAttention(D_MODEL, HEADS).double()
    joined(ours, theirs)
    x, memory = sequence_and_memory()
    expected, _ = theirs(x, memory, memory, key_padding_mask=~padding()[0].T)
    found = ours.recall(x, ours.remember(memory, padding()))
    mine, others = gradients(found, [x, memory]), gradients(expected, [x, memory])
    return largest_difference([found, *mine], [expected, *others])


def joined(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> None:
    r"""PyTorch has the three projections in one."""
    parts = [ours.query.linear, ours.key.linear, ours.value.linear]
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
        theirs.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
    copied([(ours.output, theirs.out_proj)])


def pytorch_layer() -> float:
    r"""PyTorch's layer of a decoder, its normalisations first."""
    ours = layer()
    theirs = nn.TransformerDecoderLayer(D_MODEL, HEADS, D_FF, norm_first=True).double().eval()
    joined(ours.self_attn, theirs.self_attn)
    joined(ours.cross_attn, theirs.multihead_attn)
    pairs = [
        (ours.norm_self_attn, theirs.norm1),
        (ours.norm_cross_attn, theirs.norm2),
        (ours.norm_ff, theirs.norm3),
        (ours.feed_forward.layer1, theirs.linear1),
        (ours.feed_forward.layer2, theirs.linear2),
    ]
    copied(pairs)
    x, memory = sequence_and_memory()
    mask = causal_mask(SEQ_LEN_Q)
    expected = theirs(x, memory, tgt_mask=~mask[..., 0], memory_key_padding_mask=~padding()[0].T)
    found = ours(x=x, memory=memory, mask=mask, visible=padding())
    mine = [x, memory, *(p for one, _ in pairs for p in parameters(one))]
    others = [x, memory, *(p for _, other in pairs for p in parameters(other))]
    return largest_difference(
        [found, *gradients(found, mine)], [expected, *gradients(expected, others)]
    )


def loops() -> float:
    r"""Each weight from Python's own numbers, over the positions that each sequence has."""
    module = randomised(attention().double())
    module.output = nn.Identity()
    x, memory = sequence_and_memory()
    q, k, v = (
        part(one).tolist()
        for part, one in zip(
            (module.query, module.key, module.value), (x, memory, memory), strict=True
        )
    )
    found, worst = module.recall(x, module.remember(memory, idle_padding())).tolist(), 0.0
    for b, length in enumerate((SEQ_LEN_K, 0, 3)):
        for i in range(SEQ_LEN_Q):
            for h in range(HEADS):
                weights = [
                    math.exp(
                        sum(q[i][b][h][d] * k[j][b][h][d] for d in range(D_K)) / math.sqrt(D_K)
                    )
                    for j in range(length)
                ]
                for d in range(D_K):
                    total = sum(w * v[j][b][h][d] for j, w in enumerate(weights))
                    expected = total / max(sum(weights), 1e-300)
                    worst = max(worst, abs(expected - found[i][b][h * D_K + d]))
    return worst


ORACLES: dict[str, Callable[[], float]] = {
    "Hugging Face BART": bart,
    "torch.nn.MultiheadAttention": pytorch,
    "torch.nn.TransformerDecoderLayer": pytorch_layer,
    "a loop over scalars": loops,
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_equals_what_others_compute(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


@pytest.mark.parametrize("check", SEAM)
def test_it_takes_the_place_of_other_attention(check: str) -> None:
    SEAM[check](attention)


@pytest.mark.parametrize("kernel", [True, False])
@pytest.mark.parametrize("visible", [None, padding(), padding()[..., 1:2], idle_padding()])
def test_what_is_remembered_gives_the_same_query_by_query(
    visible: Tensor | None, kernel: bool
) -> None:
    module = randomised(attention().double())
    module.kernel = kernel
    x, memory = sequence_and_memory()
    whole = module(query=x, key=memory, value=memory, mask=visible)
    remembered = module.remember(memory, visible)
    assert_near(module.recall(x, remembered), whole)
    for i in range(SEQ_LEN_Q):
        assert_near(module.recall(x[i : i + 1], remembered), whole[i : i + 1])


def test_the_memory_is_projected_once(monkeypatch: pytest.MonkeyPatch) -> None:
    module, calls = attention(), []
    module.key.register_forward_hook(lambda *_: calls.append("key"))
    module.value.register_forward_hook(lambda *_: calls.append("value"))
    module.query.register_forward_hook(lambda *_: calls.append("query"))
    x, memory = (one.float() for one in sequence_and_memory())
    remembered = module.remember(memory)
    for i in range(3):
        module.recall(x[i : i + 1], remembered)
    assert sorted(calls) == ["key", "query", "query", "query", "value"]
    assert remembered.keys.is_contiguous()
    assert remembered.values.is_contiguous()
    assert remembered.keys.shape == (BATCH_SIZE, HEADS, SEQ_LEN_K, D_K)


def test_the_order_of_the_memory_does_not_matter() -> None:
    module = attention().double()
    x, memory = sequence_and_memory()
    order = torch.tensor([3, 6, 0, 2, 5, 1, 4])
    expected = module(query=x, key=memory, value=memory, mask=padding())
    shuffled = memory[order]
    assert_near(module(query=x, key=shuffled, value=shuffled, mask=padding()[:, order]), expected)


def test_queries_do_not_see_one_another() -> None:
    module = attention().double()
    x, memory = sequence_and_memory()
    expected = module(query=x, key=memory, value=memory)
    changed = x.detach().clone()
    changed[2] = 100.0
    found = module(query=changed, key=memory, value=memory)
    assert_near(found[[0, 1, 3, 4]], expected[[0, 1, 3, 4]])


def test_a_memory_of_one_position_gives_all_queries_its_value() -> None:
    module = attention().double()
    x, memory = sequence_and_memory()
    found = module(query=x, key=memory[:1], value=memory[:1])
    expected = module.output(module.value.linear(memory[:1]))
    assert_near(found, expected.expand_as(found))


def test_idle_queries_get_zero_and_finite_gradients_from_a_remembered_memory() -> None:
    module = attention().double()
    x, memory = sequence_and_memory()
    output = module.recall(x, module.remember(memory, idle_padding()))
    assert torch.equal(output[:, 1], module.output.bias.expand(SEQ_LEN_Q, -1))
    found = gradients(output, [x, memory, *module.parameters()])
    assert all(one.isfinite().all() for one in found)
    assert not found[1][:, 1].any()


@pytest.mark.parametrize("kernel", [True, False])
@pytest.mark.parametrize("visible", [None, padding()], ids=["all", "padding"])
def test_the_kernel_is_asked_where_it_is_wanted(
    kernel: bool, visible: Tensor | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = []

    def remember(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, **named: bool) -> Tensor:
        wanted.append(named["kernel"])
        return mean_of_values(q, k, v, mask)

    module = attention().double()
    module.kernel = kernel
    x, memory = sequence_and_memory()
    monkeypatch.setattr(cross_attention, "mean_of_values", remember)
    module.recall(x, module.remember(memory, visible))
    assert wanted == [kernel]


def test_idle_queries_stay_finite_where_hidden_keys_are_huge() -> None:
    module = attention()
    x, memory = (one.float() for one in sequence_and_memory())
    scale = torch.tensor([1.0, 1e36, 1.0])[:, None]
    output = module.recall(1e4 * x, module.remember(memory * scale, idle_padding()))
    assert torch.equal(output[:, 1], module.output.bias.expand(SEQ_LEN_Q, -1))


def test_a_layer_sees_its_past_and_all_of_the_memory() -> None:
    module = layer()
    x, memory = sequence_and_memory()
    output = module(x=x, memory=memory, mask=causal_mask(SEQ_LEN_Q), visible=padding())
    for position in range(SEQ_LEN_Q):
        past, seen = torch.autograd.grad(output[position, 0].sum(), [x, memory], retain_graph=True)
        assert (past[:, 0].abs().sum(dim=1) > 0).tolist() == [
            other <= position for other in range(SEQ_LEN_Q)
        ]
        assert (seen[:, 0].abs().sum(dim=1) > 0).all()


def test_a_layer_drops_out_in_training_only() -> None:
    module = layer()
    x, memory = sequence_and_memory()
    assert torch.equal(module(x=x, memory=memory), module(x=x, memory=memory))
    module.train()
    assert not torch.equal(module(x=x, memory=memory), module(x=x, memory=memory))
    probabilities = {one.p for one in module.modules() if isinstance(one, nn.Dropout)}
    assert probabilities == {0.1}
    other = LayerWithMemory(d_model=D_MODEL, heads=HEADS, d_ff=D_FF, dropout_prob=0.3)
    assert {one.p for one in other.modules() if isinstance(one, nn.Dropout)} == {0.3}
    other = LayerWithMemory(d_model=D_MODEL, heads=HEADS, d_ff=D_FF, dropout_prob=1.0)
    x, memory = x.float(), memory.float()
    assert torch.equal(other(x=x, memory=memory), x)


def test_the_mask_of_padding_is_true_before_the_ends() -> None:
    found = visible_positions(torch.tensor([0, 3, 2]), 3)
    assert found.dtype is torch.bool
    assert found.int().tolist() == [[[0, 1, 1], [0, 1, 1], [0, 1, 0]]]
    assert visible_positions(torch.ones(2, device="meta"), 3).device.type == "meta"


@pytest.mark.parametrize("shape", [(5, 3, 43), (5, 1, 44), (5, 44), (1, 5, 3, 44)], ids=str)
def test_a_query_that_does_not_fit_what_is_remembered_is_refused(shape: tuple[int, ...]) -> None:
    module = attention()
    remembered = module.remember(torch.zeros(SEQ_LEN_K, BATCH_SIZE, D_MODEL))
    with pytest.raises(ValueError) as caught:
        module.recall(torch.zeros(shape), remembered)
    assert f"[seq_len_q, 3, 44], got {list(shape)}" in str(caught.value)


@pytest.mark.parametrize(
    "visible", [padding().double(), padding()[0], padding()[:, 1:], padding().expand(2, -1, -1)]
)
def test_a_mask_that_does_not_fit_the_memory_is_refused(visible: Tensor) -> None:
    with pytest.raises(ValueError, match="mask has"):
        attention().double().remember(sequence_and_memory()[1], visible)


def test_the_parameters_of_a_layer_are_those_of_its_parts() -> None:
    square, row = (D_MODEL, D_MODEL), (D_MODEL,)
    expected: dict[str, tuple[int, ...]] = {}
    for part in ("self_attn", "cross_attn"):
        for name in ("query.linear", "key.linear", "value.linear", "output"):
            expected |= {f"{part}.{name}.weight": square, f"{part}.{name}.bias": row}
    for norm in ("norm_self_attn", "norm_cross_attn", "norm_ff"):
        expected |= {f"{norm}.weight": row, f"{norm}.bias": row}
    expected |= {
        "feed_forward.layer1.weight": (D_FF, D_MODEL),
        "feed_forward.layer1.bias": (D_FF,),
        "feed_forward.layer2.weight": (D_MODEL, D_FF),
        "feed_forward.layer2.bias": row,
    }
    assert {name: tuple(p.shape) for name, p in layer().state_dict().items()} == expected


def test_there_is_no_place_for_it_in_a_model_without_a_memory() -> None:
    assert not hasattr(cross_attention, "in_transformer")


def test_the_example_is_a_layer_over_three_memories_and_one_query() -> None:
    torch.manual_seed(8)
    whole, one = cross_attention.example(7, 11, 3, 5, 2, 13)
    assert whole.shape == (7, 3, 10)
    assert one.shape == (1, 3, 10)
