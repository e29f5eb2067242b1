import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from labml_nn.transformers.basic.causal_attention import CausalSelfAttention, greatest_difference
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask

HEADS, D_K, SEQ_LEN, BATCH_SIZE = 3, 5, 7, 2
D_MODEL = HEADS * D_K


def make_attention(dropout_prob: float = 0.0, seq_len: int = SEQ_LEN + 4) -> CausalSelfAttention:
    torch.manual_seed(1)
    return CausalSelfAttention(HEADS, D_MODEL, seq_len, dropout_prob).double()


def make_input() -> Tensor:
    generator = torch.Generator().manual_seed(2)
    return torch.randn(SEQ_LEN, BATCH_SIZE, D_MODEL, dtype=torch.float64, generator=generator)


def attend(attention: MultiHeadAttention, x: Tensor) -> Tensor:
    return attention(query=x, key=x, value=x, mask=causal_mask(len(x)))


def by_pytorch(attention: CausalSelfAttention, x: Tensor) -> Tensor:
    r"""With `F.multi_head_attention_forward`, which others wrote."""
    layers = [attention.query.linear, attention.key.linear, attention.value.linear]
    future = torch.ones(len(x), len(x), dtype=torch.bool).triu(1)
    result, _ = F.multi_head_attention_forward(
        x,
        x,
        x,
        D_MODEL,
        HEADS,
        torch.cat([layer.weight for layer in layers]),
        torch.cat([layer.bias for layer in layers]),
        None,
        None,
        False,
        0.0,
        attention.output.weight,
        attention.output.bias,
        attn_mask=future,
    )
    return result


@pytest.mark.parametrize("kernel", [True, False])
def test_it_is_pytorchs_attention_with_the_same_gradients(kernel: bool) -> None:
    attention, x = make_attention(), make_input().requires_grad_()
    attention.kernel = kernel
    grads = []
    for result in (attend(attention, x), by_pytorch(attention, x)):
        weights = torch.linspace(-1, 1, result.numel(), dtype=torch.float64).view_as(result)
        loss = (result * weights).sum()
        grads.append([loss, *torch.autograd.grad(loss, [x, *attention.parameters()])])
    for ours, theirs in zip(*grads, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kernel", [True, False])
def test_it_is_multi_head_attention_with_the_same_names(kernel: bool) -> None:
    attention = make_attention(0.1).eval()
    attention.kernel = kernel
    assert greatest_difference(attention, make_input()) < 1e-12
    names = MultiHeadAttention(HEADS, D_MODEL).state_dict().keys()
    assert attention.state_dict().keys() == names


def test_both_ways_are_one_under_16_bits() -> None:
    attention, x = make_attention().float(), make_input().float()
    expected = attend(attention, x)
    for kernel in (True, False):
        attention.kernel = kernel
        with torch.autocast("cpu", torch.bfloat16):
            result = attend(attention, x)
        torch.testing.assert_close(result.float(), expected, rtol=0.1, atol=0.02)


@pytest.mark.parametrize("kernel", [True, False])
def test_weights_are_dropped_in_training_alone(kernel: bool) -> None:
    attention, x = make_attention(0.5), make_input()
    attention.kernel = kernel
    with torch.no_grad():
        attention.output.weight.copy_(torch.eye(D_MODEL))
        attention.output.bias.zero_()
    dropped = torch.stack([attend(attention, x)[0] for _ in range(20)])
    attention.eval()
    kept = attend(attention, x)[0]
    assert attend(attention, x)[0].equal(kept)
    # The first position sees itself alone: in each head that weight is dropped or doubled.
    shares = (dropped / kept).unflatten(-1, (HEADS, D_K))
    torch.testing.assert_close(shares, shares.round(), rtol=0, atol=1e-12)
    assert shares.round().unique().tolist() == [0, 2]
    assert shares.std(dim=-1).max() < 1e-12
    assert 0.5 < shares.mean() < 1.5


def test_who_wants_the_weights_gets_them_and_then_they_are_gone() -> None:
    attention, x = make_attention().eval(), make_input()
    expected = attend(attention, x)
    attention.keep_attn = True
    torch.testing.assert_close(attend(attention, x), expected, rtol=1e-12, atol=1e-12)
    assert attention.attn is not None
    assert list(attention.attn.shape) == [SEQ_LEN, SEQ_LEN, BATCH_SIZE, HEADS]
    attention.keep_attn = False
    attend(attention, x)
    assert attention.attn is None


def test_the_readable_way_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    attention, x = make_attention(), make_input()
    expected = attend(attention, x)
    attention.fused = False
    scores = attention.get_scores
    called = []
    monkeypatch.setattr(attention, "get_scores", lambda q, k: called.append(1) or scores(q, k))
    torch.testing.assert_close(attend(attention, x), expected, rtol=1e-12, atol=1e-12)
    assert called == [1]


def test_a_compiler_gets_the_same() -> None:
    attention, x = make_attention(), make_input()
    for kernel in (True, False):
        attention.kernel = kernel
        compiled = torch.compile(attention, backend="aot_eager")
        torch.testing.assert_close(
            attend(compiled, x), attend(attention, x), rtol=1e-12, atol=1e-12
        )


def test_another_mask_another_sequence_and_a_longer_one_are_refused() -> None:
    attention, x = make_attention(), make_input()
    mask = causal_mask(SEQ_LEN)
    with pytest.raises(ValueError, match="use MultiHeadAttention for another one"):
        attention(query=x, key=x, value=x, mask=mask.transpose(0, 1))
    with pytest.raises(ValueError, match="one tensor for query, key and value, and a mask"):
        attention(query=x, key=x, value=x)
    for other in ({"query": x + 1}, {"key": x + 1}, {"value": x + 1}):
        given = {"query": x, "key": x, "value": x, "mask": mask} | other
        with pytest.raises(ValueError, match="one tensor for query, key and value, and a mask"):
            attention(**given)
    with pytest.raises(ValueError, match=f"has {SEQ_LEN} positions, but at most 5"):
        attend(make_attention(seq_len=5), x)
    with pytest.raises(ValueError, match="mask has shape"):
        attention(query=x, key=x, value=x, mask=causal_mask(SEQ_LEN + 1))
