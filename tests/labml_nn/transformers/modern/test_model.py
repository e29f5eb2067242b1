import math
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from labml_nn.transformers.modern.model import ModernTransformer
from tests.labml_nn.models import drops_out_in_training_only, sees_only_the_past
from tests.labml_nn.transformers.seam import refuses, shapes
from tests.oracles.hugging_face import randomise

N_VOCAB, D_MODEL, HEADS, D_FF, SEQ_LEN = 13, 20, 5, 11, 7


def make(dropout_prob: float = 0.0) -> ModernTransformer:
    r"""A model in which nothing is zero any more."""
    return randomise(ModernTransformer(N_VOCAB, D_MODEL, HEADS, 3, D_FF, SEQ_LEN, dropout_prob))


def start() -> ModernTransformer:
    return ModernTransformer(N_VOCAB, D_MODEL, HEADS, 3, D_FF, SEQ_LEN)


def tokens(length: int = SEQ_LEN) -> Tensor:
    return torch.randint(N_VOCAB, (length, 3), generator=torch.Generator().manual_seed(2))


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
    frequencies = 10_000 ** (-torch.arange(0, d_k, 2).double() / d_k)
    factors = torch.exp(1j * torch.arange(len(column))[:, None] * frequencies)

    def rotated(x: Tensor) -> Tensor:
        pairs = torch.complex(x[:, : d_k // 2], x[:, d_k // 2 :]) * factors
        return torch.cat([pairs.real, pairs.imag], dim=1)

    first: list[Tensor] = []
    for index in range(3):
        name = f"layers.{index}"
        results = []
        mixed = smeared(norm(x), f"{name}.smear_attention")
        for head in range(HEADS):
            part = slice(head * d_k, (head + 1) * d_k)
            query, key, value = (
                mixed @ weights[f"{name}.attention.{one}.linear.weight"][part].t()
                for one in ("query", "key", "value")
            )
            if index == 0:
                first.append(value)
            else:
                share = 1 / (1 + torch.exp(-weights[f"{name}.attention.mix"]))
                value = share * value + (1 - share) * first[head]
            scores = rotated(norm(query)) @ rotated(norm(key)).t() * 1.5 / math.sqrt(d_k)
            hidden = torch.ones_like(scores).triu(1).bool()
            results.append(scores.masked_fill(hidden, -math.inf).softmax(dim=1) @ value)
        x = x + torch.cat(results, 1) @ weights[f"{name}.attention.output.weight"].t()
        mixed = smeared(norm(x), f"{name}.smear_feed_forward")
        gate, value = (
            mixed @ weights[f"{name}.feed_forward.{one}.weight"].t() for one in ("gate", "value")
        )
        hidden = gate * torch.sigmoid(gate) * value
        x = x + hidden @ weights[f"{name}.feed_forward.output.weight"].t()
    return norm(x) @ weights["head.weight"].t()


@pytest.mark.parametrize("length", [1, 4, SEQ_LEN])
def test_logits_are_those_of_a_model_written_for_one_sequence(length: int) -> None:
    model, batch = make(), tokens(length)
    found = model(batch)
    for b in range(3):
        torch.testing.assert_close(found[:, b], by_hand(model, batch[:, b]), rtol=1e-6, atol=1e-6)


def test_the_future_is_not_seen() -> None:
    sees_only_the_past(make(), tokens(), lambda token: (token + 1) % N_VOCAB)


def test_at_the_start_all_tokens_are_equally_likely_and_layers_pass_on_and_differ() -> None:
    model, x = start(), torch.randn(SEQ_LEN, 3, D_MODEL)
    assert model(tokens()).equal(torch.zeros(SEQ_LEN, 3, N_VOCAB))
    assert model.layers[1](x, None)[0].equal(x)
    first, second = (layer.attention.query.linear.weight for layer in model.layers[:2])
    assert not first.equal(second)


def test_in_the_first_step_the_head_alone_learns_and_in_the_second_the_last_matrices() -> None:
    model, learning = start(), []
    for _ in range(2):
        model.zero_grad()
        F.cross_entropy(model(tokens()).flatten(0, 1), tokens().flatten()).backward()
        learning.append({name for name, p in model.named_parameters() if p.grad.abs().sum() > 0})
        torch.optim.SGD(model.parameters(), lr=1.0).step()
    assert learning[0] == {"head.weight"}
    parts = ("attention", "feed_forward")
    last = {f"layers.{i}.{part}.output.weight" for i in range(3) for part in parts}
    assert learning[1] == {"head.weight", "embedding.weight", "smear.share"} | last


def test_parameters_have_these_names_and_shapes() -> None:
    square, share = (D_MODEL, D_MODEL), (D_MODEL,)
    parts = ("query.linear", "key.linear", "value.linear", "output")
    layer = {f"attention.{part}.weight": square for part in parts}
    layer |= {f"feed_forward.{part}.weight": (D_FF, D_MODEL) for part in ("gate", "value")}
    layer |= {"feed_forward.output.weight": (D_MODEL, D_FF)}
    layer |= {"smear_attention.share": share, "smear_feed_forward.share": share}
    expected = {"embedding.weight": (N_VOCAB, D_MODEL), "head.weight": (N_VOCAB, D_MODEL)}
    expected |= {"smear.share": share, "layers.1.attention.mix": (), "layers.2.attention.mix": ()}
    expected |= {f"layers.{i}.{name}": shape for i in range(3) for name, shape in layer.items()}
    assert shapes(start()) == expected
    # No more than nanoGPT's.
    assert sum(p.numel() for p in ModernTransformer(66).parameters()) <= 804_096


def test_projections_keep_the_variance_of_what_comes_in() -> None:
    layer, x = ModernTransformer(N_VOCAB, 212, 2, 1, 307).layers[0], torch.randn(997, 1, 212)
    for projection in (layer.attention.value, layer.feed_forward.gate, layer.feed_forward.value):
        assert projection(x).var().item() == pytest.approx(1, abs=0.05)


def test_dropout_is_for_training() -> None:
    drops_out_in_training_only(make(dropout_prob=0.5), tokens())


def test_under_autocast_logits_are_nearly_the_same() -> None:
    model = make().float()
    with torch.autocast("cpu", torch.bfloat16):
        rough = model(tokens())
    exact = model(tokens())
    assert (rough - exact).abs().max() < 0.1 * exact.abs().max()


test_heads_without_pairs_of_features_are_refused = refuses(
    partial(ModernTransformer, N_VOCAB, D_MODEL),
    "twice the heads, .* d_model=20 and {heads=}",
    [{"heads": 3}, {"heads": 4}],
)
