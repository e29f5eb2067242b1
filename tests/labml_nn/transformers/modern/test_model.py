import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from labml_nn.transformers.modern.model import ModernAttention, ModernTransformer

N_VOCAB, D_MODEL, HEADS, D_FF, SEQ_LEN = 13, 20, 5, 11, 7


def make(dropout_prob: float = 0.0) -> ModernTransformer:
    r"""A model in which nothing is zero any more."""
    torch.manual_seed(1)
    model = ModernTransformer(N_VOCAB, D_MODEL, HEADS, 3, D_FF, SEQ_LEN, dropout_prob).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.5 * torch.randn(parameter.shape))
    return model


def tokens(length: int = SEQ_LEN, batch_size: int = 3) -> Tensor:
    return torch.randint(N_VOCAB, (length, batch_size), generator=torch.Generator().manual_seed(2))


def norm(x: Tensor) -> Tensor:
    return F.rms_norm(x, x.shape[-1:], eps=1e-6)


def by_hand(model: ModernTransformer, column: Tensor) -> Tensor:
    r"""The model for one sequence, batch nowhere, with complex numbers for the positions."""
    weights = dict(model.named_parameters())

    def smeared(x: Tensor, name: str) -> Tensor:
        before = torch.cat([torch.zeros(1, D_MODEL, dtype=x.dtype), x[:-1]])
        return x + weights[f"{name}.share"] * before

    x = smeared(norm(weights["embedding.weight"][column]), "smear")

    d_k = D_MODEL // HEADS
    speeds = 10_000 ** (-torch.arange(0, d_k, 2).double() / d_k)
    factors = torch.exp(1j * torch.arange(len(column))[:, None] * speeds)

    def turned(x: Tensor) -> Tensor:
        pairs = torch.complex(x[:, : d_k // 2], x[:, d_k // 2 :]) * factors
        return torch.cat([pairs.real, pairs.imag], dim=1)

    first: list[Tensor] = []
    for index in range(3):
        name = f"layers.{index}"
        results = []
        mixed = smeared(norm(x), f"{name}.smear_attention")
        for head in range(HEADS):
            part = slice(head * d_k, (head + 1) * d_k)
            projection = weights[f"{name}.attention.project.weight"][:, part]
            query, key, value = (mixed @ matrix.t() for matrix in projection)
            if index == 0:
                first.append(value)
            else:
                share = 1 / (1 + torch.exp(-weights[f"{name}.attention.mix"]))
                value = share * value + (1 - share) * first[head]
            query, key = turned(norm(query)), turned(norm(key))
            results.append(
                F.scaled_dot_product_attention(1.5 * query, key, value, is_causal=True)
                if len(column) > 1
                else value
            )
        x = x + torch.cat(results, 1) @ weights[f"{name}.attention.output.weight"].t()
        mixed = smeared(norm(x), f"{name}.smear_feed_forward")
        gate, values = (
            mixed @ matrix.t() for matrix in weights[f"{name}.feed_forward.widen.weight"]
        )
        hidden = gate * torch.sigmoid(gate) * values
        x = x + hidden @ weights[f"{name}.feed_forward.narrow.weight"].t()
    return norm(x) @ weights["head.weight"].t()


@pytest.mark.parametrize("kernel", [True, False])
@pytest.mark.parametrize("length", [1, 4, SEQ_LEN])
def test_logits_are_those_of_a_model_written_for_one_sequence(length: int, kernel: bool) -> None:
    model, batch = make(), tokens(length)
    for layer in model.layers:
        layer.attention.kernel = kernel
    found = model(batch)
    for b in range(3):
        torch.testing.assert_close(found[:, b], by_hand(model, batch[:, b]), rtol=1e-6, atol=1e-6)


def test_the_future_is_not_seen() -> None:
    model, batch = make(), tokens()
    whole = model(batch)
    for length in range(1, SEQ_LEN):
        torch.testing.assert_close(model(batch[:length]), whole[:length])


def test_where_a_text_stands_makes_no_difference() -> None:
    model, batch = make(), tokens(4)
    torch.testing.assert_close(model(batch, offset=3), model(batch), rtol=1e-5, atol=1e-5)


def test_at_the_start_all_tokens_are_equally_likely_and_layers_pass_on() -> None:
    model = ModernTransformer(N_VOCAB, D_MODEL, HEADS, 3, D_FF, SEQ_LEN, 0.0)
    logits = model(tokens())
    assert F.cross_entropy(logits.flatten(0, 1), tokens().flatten()).item() == pytest.approx(
        math.log(N_VOCAB)
    )
    x = torch.randn(SEQ_LEN, 3, D_MODEL)
    assert model.layers[1](x, model.mask, None, 0)[0].equal(x)


def test_every_parameter_learns() -> None:
    model = make()
    model(tokens()).square().sum().backward()
    assert [name for name, p in model.named_parameters() if not p.grad.abs().sum() > 0] == []


def test_layers_start_differently_and_have_no_biases() -> None:
    model = ModernTransformer(N_VOCAB, D_MODEL, HEADS, 3, D_FF, SEQ_LEN, 0.0)
    first, second, _ = (layer.attention.project.weight for layer in model.layers)
    assert not first.equal(second)
    shapes = {name: list(p.shape) for name, p in model.named_parameters()}
    assert {name.rpartition(".")[2] for name in shapes} == {"weight", "share", "mix"}
    assert shapes["layers.1.attention.project.weight"] == [3, D_MODEL, D_MODEL]
    assert shapes["layers.2.feed_forward.widen.weight"] == [2, D_FF, D_MODEL]
    assert "layers.0.attention.mix" not in shapes


def test_dropout_is_for_training() -> None:
    model = make(dropout_prob=0.5)
    assert not model(tokens()).equal(model(tokens()))
    model.eval()
    assert model(tokens()).equal(model(tokens()))


def test_under_autocast_logits_are_nearly_the_same() -> None:
    model = make().float()
    with torch.autocast("cpu", torch.bfloat16):
        rough = model(tokens())
    exact = model(tokens())
    assert (rough - exact).abs().max() < 0.1 * exact.abs().max()


def test_heads_that_do_not_divide_the_width_are_refused() -> None:
    with pytest.raises(ValueError, match="multiple of heads, got d_model=20 and heads=3"):
        ModernAttention(20, 3, 7, first=True)


def test_a_window_is_attended_to_without_a_mask_and_what_is_remembered_with_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    r"""So that a card takes FlashAttention where a model is trained."""
    kernel, seen = F.scaled_dot_product_attention, []

    def noting(*args: Tensor, **how: object) -> Tensor:
        seen.append(how.get("is_causal", False))
        return kernel(*args, **how)

    monkeypatch.setattr(F, "scaled_dot_product_attention", noting)
    model, batch = make(), tokens()
    model(batch)
    assert seen == [True] * 3
    seen.clear()
    with torch.no_grad():
        decoder = model.decoder(3)
        decoder(batch[:4])
        decoder(batch[4:])
    # What is read first is a whole window, too.
    assert seen == [True] * 3 + [False] * 3
