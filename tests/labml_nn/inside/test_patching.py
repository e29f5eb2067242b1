import pytest
import torch
from torch import Tensor

from labml_nn.inside import patching as page
from labml_nn.inside.induction import AttentionOnly
from labml_nn.transformers.mha import causal_mask
from tests.labml_nn.inside.by_hand import by_hand
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import largest

ALL = [(layer, head) for layer in range(2) for head in range(5)]


def small() -> tuple[AttentionOnly, Tensor, Tensor]:
    model = AttentionOnly(13, 20, 5, 2, 11).double()
    return model, torch.randint(13, (7, 3)), torch.randint(13, (7, 3))


def from_zeros() -> float:
    r"""How far it is from a model whose knocked-out heads have columns of zeros."""
    torch.manual_seed(1)
    (model, tokens, _), heads = small(), [(0, 1), (0, 4), (1, 2)]
    found = page.knock_out(model, tokens, heads)
    for layer, head in heads:
        model.layers[layer].output.weight.data[:, 4 * head : 4 * head + 4] = 0
    return largest([found], [model(tokens)])


def from_difference() -> float:
    r"""How far heads knocked out to their means are from a difference of the outputs."""
    torch.manual_seed(1)
    model, tokens, _ = small()
    z = page.record(model, tokens)[1][:, :, 2]
    added = (z.flatten(0, 1).mean(dim=0) - z) @ model.layers[1].output.weight[:, 8:12].T
    expected = model(tokens) + added @ model.generator.projection.weight.T
    return largest([page.knock_out(model, tokens, [(1, 2)], True)], [expected])


def from_values() -> float:
    r"""How far what is recorded is from the mean of the values of each head."""
    torch.manual_seed(1)
    furthest = 0.0
    model, tokens, _ = small()
    x = model.embed(tokens)
    for layer, z in zip(model.layers, page.record(model, tokens), strict=True):
        layer(query=x, key=x, value=x, mask=causal_mask(7))
        mean = torch.einsum("ijbh,jbhd->ibhd", layer.attn, layer.value(x))
        assert not z.requires_grad
        furthest = max(furthest, largest([z], [mean]))
        x = x + z.flatten(2) @ layer.output.weight.T
    return furthest


ORACLES = {
    "a model whose heads have columns of zeros": from_zeros,
    "a difference of the outputs": from_difference,
    "the mean of the values of each head": from_values,
}
test_it_is_what_others_compute = equals(ORACLES)


def test_patching_nothing_changes_nothing_and_patching_all_is_the_other_run() -> None:
    model, tokens, other = small()
    assert largest([page.patch(model, tokens, other, [])], [model(tokens)]) == 0
    assert largest([page.patch(model, tokens, tokens, ALL)], [model(tokens)]) == 0
    # Where the tokens are the same, the embeddings are, too.
    other[3:] = tokens[3:]
    assert largest([page.patch(model, tokens, other, ALL)[3:]], [model(other)[3:]]) < 1e-10


def test_no_hook_is_left_also_after_an_error() -> None:
    model, tokens, other = small()
    page.restored(model, tokens, other, ALL, tokens[0], tokens[1])
    with pytest.raises(IndexError):
        page.run(model, tokens, {(1, 5): torch.zeros(())})
    assert not any(layer.output._forward_pre_hooks for layer in model.layers)


def test_swapped_are_two_positions_of_each_sequence() -> None:
    letters = "FBHCDEFB"
    tokens = torch.tensor([[ord(letter)] * 2 for letter in letters])
    for places, text in (((1, 4), "FDHCBEFB"), ((2, 5), "FBECDHFB")):
        swapped = page.swap(tokens, *places)
        assert ["".join(map(chr, column)) for column in swapped.T.tolist()] == [text] * 2
    assert "".join(map(chr, tokens[:, 0].tolist())) == letters


def test_a_preference_is_a_difference_of_two_logits_of_the_last_position() -> None:
    logits = torch.randn(7, 3, 13)
    right, wrong = torch.tensor([1, 5, 12]), torch.tensor([0, 7, 2])
    found = [(logits[6, b, right[b]] - logits[6, b, wrong[b]]).item() for b in range(3)]
    assert page.preference(logits, right, wrong).item() == pytest.approx(sum(found) / 3)


def test_each_layer_made_by_hand_brings_back_what_it_is_for() -> None:
    # A start, the first five tokens of the example, and its last two.
    clean = torch.tensor([[0, 1, 2, 3, 4, 5, 1, 2]]).T.expand(8, 3)
    model, answers = by_hand(), (clean[3], clean[5])
    texts = {"keys": page.swap(clean, 2, 4), "answers": page.swap(clean, 3, 5)}
    shares = {
        (name, head): page.restored(model, clean, text, [head], *answers).item()
        for name, text in texts.items()
        for head in ((0, 0), (0, 1), (1, 0), (1, 1))
    }
    whole = [("keys", (0, 0)), ("keys", (1, 0)), ("answers", (1, 0))]
    assert shares == {key: pytest.approx(float(key in whole), abs=1e-10) for key in shares}
