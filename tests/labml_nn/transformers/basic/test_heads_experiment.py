from collections.abc import Mapping
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import torch

from labml_nn.transformers.basic import heads_experiment as page
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer


def moved(model: AutoregressiveTransformer, at: int) -> list[int]:
    r"""The positions whose logits change with the token at a position."""
    tokens = torch.randint(13, (11, 1), generator=torch.Generator().manual_seed(3))
    other = tokens.clone()
    other[at] = (other[at] + 1) % 13
    with torch.no_grad():
        changed = (model(tokens) != model(other)).any(dim=-1)[:, 0]
    return changed.nonzero().flatten().tolist()


def test_without_attention_a_token_reaches_its_own_position_alone() -> None:
    models = page.make_three(13, 11, seed=1, d_model=8)
    assert {name: moved(model.eval(), 4) for name, model in models.items()} == {
        "no attention": [4],
        "one head": [4, 5, 6, 7, 8, 9, 10],
        "four heads": [4, 5, 6, 7, 8, 9, 10],
    }


def test_what_is_not_attention_starts_with_the_same_numbers_and_heads_cost_no_weights() -> None:
    models = page.make_three(13, 11, seed=1, d_model=8)
    states = [model.state_dict() for model in models.values()]
    rest = [name for name in states[0] if "self_attn" not in name]
    assert all(torch.equal(states[0][name], one[name]) for one in states[1:] for name in rest)
    sizes = [sum(p.numel() for p in model.parameters()) for model in models.values()]
    assert sizes[0] < sizes[1] == sizes[2]
    heads = [models[name].encoder.layers[0].self_attn.heads for name in ("one head", "four heads")]
    assert heads == [1, 4]


def test_the_weights_of_each_head_are_those_of_a_loop_over_queries() -> None:
    model = page.make_three(13, 7, seed=1, d_model=8)["four heads"]
    tokens = torch.arange(7)
    weights = page.weights_of(model, tokens)
    seen: list[torch.Tensor] = []
    layer = model.encoder.layers[-1]
    layer.norm_self_attn.register_forward_hook(lambda module, given, out: seen.append(out[:, 0]))
    with torch.no_grad():
        model(tokens[:, None])
        query, key = (one.linear(seen[0]) for one in (layer.self_attn.query, layer.self_attn.key))
    for head in range(4):
        part = slice(2 * head, 2 * head + 2)
        for at in range(7):
            scores = torch.stack([query[at, part] @ key[j, part] / 2**0.5 for j in range(at + 1)])
            torch.testing.assert_close(weights[at, : at + 1, head], scores.softmax(dim=0))
            assert not weights[at, at + 1 :, head].any()


def test_the_notebook_trains_three_and_draws_four_heads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn: list[int] = []
    made = page.make_three

    def make_small(n_vocab: int, seq_len: int, seed: int) -> Mapping[str, object]:
        return made(n_vocab, seq_len, seed, 8)

    def show() -> None:
        drawn.append(len(plt.gcf().axes))
        plt.close("all")

    monkeypatch.setattr(page, "make_three", make_small)
    monkeypatch.setattr(plt, "show", show)
    (tmp_path / "text.txt").write_text("First Citizen:\nthe quick brown fox\n" * 40, "utf-8")
    page.notebook(str(tmp_path / "text.txt"), steps=20)
    shown = capsys.readouterr().out
    assert shown.count("validation loss") == 3
    assert "no attention: step 20 of 20" in shown
    assert drawn[-1] == 4
