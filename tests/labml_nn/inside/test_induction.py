from itertools import product

import pytest
import torch
import torch.nn.functional as F

from labml_nn.inside import induction as page
from labml_nn.inside.induction import AttentionOnly, RepeatedParts
from tests.labml_nn.inside.by_hand import by_hand, twice
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import largest


def test_heads_made_by_hand_have_scores_of_one_and_their_predictions_are_right() -> None:
    tokens, model = twice(), by_hand()
    logits = model(tokens)
    assert torch.equal(logits[6:-1].argmax(dim=-1), tokens[7:])
    first, second = (layer.attn for layer in model.layers)
    assert abs(page.previous_token_score(first)[0].item() - 1) < 1e-10
    assert abs(page.induction_score(second, tokens)[0].item() - 1) < 1e-10
    assert page.previous_token_score(second)[0] < 0.3
    assert page.induction_score(first, tokens)[0] < 1e-10


def from_loops() -> float:
    r"""How far the scores of heads are from those of loops."""
    torch.manual_seed(1)
    n, m, heads = 7, 3, 5
    tokens = torch.randint(3, (n, m))
    attn = torch.randn(n, n, m, heads, dtype=torch.float64).softmax(dim=1)
    induction, previous = [], []
    for h in range(heads):
        found = []
        for i, b in product(range(n), range(m)):
            keys = [j for j in range(1, i + 1) if tokens[j - 1, b] == tokens[i, b]]
            found += [sum(attn[i, j, b, h].item() for j in keys)] if keys else []
        induction.append(sum(found) / len(found))
        before = [attn[i, i - 1, b, h].item() for i, b in product(range(1, n), range(m))]
        previous.append(sum(before) / len(before))
    found = [page.induction_score(attn, tokens), page.previous_token_score(attn)]
    return largest(found, [torch.tensor(one, dtype=torch.float64) for one in (induction, previous)])


def from_torch() -> float:
    r"""How far the model is from PyTorch's attention, layer by layer."""
    torch.manual_seed(1)
    model = AttentionOnly(13, 20, 5, 3, 11).double()
    tokens = torch.randint(13, (7, 3))
    x = model.embed(tokens)
    for layer in model.layers:
        q, k, v = (
            F.linear(x, part.linear.weight).view(7, 3, 5, 4).permute(1, 2, 0, 3)
            for part in (layer.query, layer.key, layer.value)
        )
        z = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + F.linear(z.permute(2, 0, 1, 3).flatten(2), layer.output.weight)
    expected = F.linear(x, model.generator.projection.weight, model.generator.projection.bias)
    return largest([model(tokens)], [expected])


ORACLES = {"loops over positions": from_loops, "PyTorch's attention": from_torch}
test_it_is_what_others_compute = equals(ORACLES)


def test_there_is_no_dropout_and_a_position_for_each_token() -> None:
    model = AttentionOnly(13, 20, 5, 3, 11)
    assert all(layer.dropout.p == 0 for layer in model.layers)
    assert model.embed.positions.dropout.p == 0 and len(model.embed.positions.encodings) == 11


def test_the_usual_model_has_the_numbers_of_the_page() -> None:
    model = AttentionOnly()
    assert sum(p.numel() for p in model.parameters()) == 36_896
    assert [(one.heads, one.d_k) for one in model.layers] == [(4, 16)] * 2
    assert len(model.embed.positions.encodings) == 32


def test_each_sequence_is_a_part_of_different_tokens_over_and_over() -> None:
    inputs, targets = RepeatedParts(13, 17, 200, 5, 7).at(3)
    assert inputs.shape == targets.shape == (17, 200)
    assert torch.equal(inputs[1:], targets[:-1])
    whole = torch.cat([inputs, targets[-1:]])
    lengths = [len(set(column)) for column in whole.T.tolist()]
    assert set(lengths) == {5, 6, 7}
    for column, length in zip(whole.T.tolist(), lengths, strict=True):
        assert column == [column[at % length] for at in range(18)]


def test_the_usual_parts_have_10_to_23_tokens_and_seed_and_step_decide_on_them() -> None:
    generator = torch.Generator().manual_seed(2 * 1_000_003 + 5)
    order = torch.rand(32, 32, generator=generator).argsort(dim=0)
    assert torch.equal(RepeatedParts(seed=2).at(5)[0][:10], order[:10])
    assert torch.equal(RepeatedParts().at(0)[0], RepeatedParts(seed=1).at(0)[0])
    inputs, _ = RepeatedParts(batch_size=500).at(0)
    assert inputs.max() == 31
    again = page.following(inputs).any(dim=1)
    assert set(again.sum(dim=0).tolist()) == set(range(32 - 23, 32 - 10 + 1))


def test_a_part_longer_than_the_vocabulary_is_refused() -> None:
    RepeatedParts(23)
    with pytest.raises(ValueError, match="longest is 23, but there are 22 different tokens"):
        RepeatedParts(22)
