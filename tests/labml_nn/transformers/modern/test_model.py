import math
from functools import partial
from unittest.mock import patch

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from labml_nn.transformers.modern.experiment import muon_and_adamw
from labml_nn.transformers.modern.model import ModernTransformer, Smear
from tests.labml_nn.models import drops_out_in_training_only
from tests.labml_nn.transformers.seam import equals, refuses
from tests.oracles.compare import largest
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


def from_one_sequence(length: int) -> float:
    r"""How far the logits are from those of a model that is written for one sequence."""
    # The page keeps cosines and sines in single precision.
    with patch.object(Tensor, "float", Tensor.double):
        model = make()
    batch = tokens(length)
    expected = [by_hand(model, batch[:, b]) for b in range(3)]
    return largest([model(batch)], [torch.stack(expected, dim=1)])


ORACLES = {
    "a model for one sequence": lambda: max(map(from_one_sequence, (1, 4, SEQ_LEN))),
}
test_logits_are_those_of_a_model_written_for_one_sequence = equals(ORACLES)


def test_at_the_start_all_tokens_are_equally_likely_and_layers_pass_on_and_differ() -> None:
    model, x = start(), torch.randn(SEQ_LEN, 3, D_MODEL)
    assert model(tokens()).equal(torch.zeros(SEQ_LEN, 3, N_VOCAB))
    assert model.layers[1](x, None)[0].equal(x)
    first, second = (layer.attention.query.linear.weight for layer in model.layers[:2])
    assert not first.equal(second)


def test_the_head_learns_first_then_what_it_reads_and_the_rest_in_the_third_step() -> None:
    torch.manual_seed(1)
    model, batch = start(), tokens()
    optimizers, seen = muon_and_adamw(model), []
    for _ in range(3):
        model.zero_grad()
        F.cross_entropy(model(batch[:-1]).flatten(0, 1), batch[1:].flatten()).backward()
        seen.append({name for name, p in model.named_parameters() if p.grad.any()})
        for optimizer in optimizers:
            optimizer.step()
    assert seen[0] == {"head.weight"}
    last = {name for name, _ in model.named_parameters() if name.endswith("output.weight")}
    assert seen[1] == {"head.weight", "embedding.weight", "smear.share"} | last
    assert seen[2] == set(dict(model.named_parameters()))


def test_with_head_and_embedding_at_zero_nothing_gets_a_gradient() -> None:
    model, batch = start(), tokens()
    torch.nn.init.zeros_(model.embedding.weight)
    F.cross_entropy(model(batch).flatten(0, 1), batch.flatten()).backward()
    assert not any(p.grad.any() for p in model.parameters())


def looks_ahead(self: Smear, x: Tensor) -> Tensor:
    return x + self.share * F.pad(x[1:], (0, 0, 0, 0, 0, 1))


def test_that_it_looks_ahead_shows_only_if_neither_shares_nor_head_are_zero() -> None:
    batch, changed, fresh = tokens(), tokens(), start()
    changed[-1] = (changed[-1] + 1) % N_VOCAB
    shared = start()
    torch.nn.init.normal_(shared.smear.share)
    with patch.object(Smear, "forward", looks_ahead):
        same = [m(batch)[:-1].equal(m(changed)[:-1]) for m in (fresh, shared, make())]
    assert same == [True, True, False]


def test_the_recipe_has_no_more_parameters_than_nanogpt_and_no_dropout() -> None:
    model = ModernTransformer(66)
    assert sum(p.numel() for p in model.parameters()) <= 804_096
    assert model.dropout.p == 0.0
    assert model.layers[0].attention.query.rotate.max_len == 64
    # The first layer has no values of an earlier one to mix with.
    mixes = [name for name in start().state_dict() if name.endswith("mix")]
    assert mixes == ["layers.1.attention.mix", "layers.2.attention.mix"]


def test_projections_keep_the_variance_of_what_comes_in() -> None:
    layer, x = ModernTransformer(N_VOCAB, 212, 2, 1, 307).layers[0], torch.randn(997, 1, 212)
    for projection in (layer.attention.value, layer.feed_forward.gate, layer.feed_forward.value):
        assert projection(x).var().item() == pytest.approx(1, abs=0.05)


def test_dropout_is_for_training() -> None:
    model = make(dropout_prob=0.5)
    drops_out_in_training_only(model, tokens())
    # Also of the embeddings.
    calls = []
    model.dropout.register_forward_hook(lambda *given: calls.append(given))
    model(tokens())
    assert len(calls) == 1


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
