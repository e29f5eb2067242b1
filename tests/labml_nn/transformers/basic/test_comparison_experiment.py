from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import torch
from torch import nn

from labml_nn.transformers.basic import comparison_experiment as page
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer


def test_a_part_takes_every_place_of_its_name_each_time_a_new_one() -> None:
    model = AutoregressiveTransformer(13, 10, 5, 2, 17, 11)
    page.put_in_place(model, {"feed_forward": nn.Tanh, "norm": nn.Identity})
    parts = [layer.feed_forward for layer in model.encoder.layers]
    assert [type(part) for part in parts] == [nn.Tanh, nn.Tanh]
    assert parts[0] is not parts[1]
    assert type(model.encoder.norm) is nn.Identity
    assert all(type(layer.norm_ff) is nn.LayerNorm for layer in model.encoder.layers)
    with pytest.raises(ValueError, match="no part 'nowhere'"):
        page.put_in_place(model, {"nowhere": nn.Tanh})


def test_what_both_models_have_starts_with_the_same_numbers() -> None:
    models = page.make_both(13, 11, seed=1)
    plain, changed = (model.state_dict() for model in models.values())
    same = [name for name in plain if "feed_forward" not in name]
    assert all(torch.equal(plain[name], changed[name]) for name in same)
    activations = {type(m.encoder.layers[0].feed_forward.activation) for m in models.values()}
    assert activations == {nn.GELU, nn.ReLU}


def test_the_notebook_trains_both_and_shows_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def make_small(n_vocab: int, seq_len: int, seed: int) -> dict[str, AutoregressiveTransformer]:
        sizes = (n_vocab, 8, 2, 1, 16, seq_len)
        return {name: AutoregressiveTransformer(*sizes) for name in ("plain", "changed")}

    monkeypatch.setattr(page, "make_both", make_small)
    monkeypatch.setattr(plt, "show", lambda: plt.close("all"))
    (tmp_path / "text.txt").write_text("the quick brown fox\n" * 40, encoding="utf-8")
    page.notebook(str(tmp_path / "text.txt"), steps=20)
    shown = capsys.readouterr().out
    assert shown.count("validation loss") == 2
    assert "changed: step 20 of 20" in shown
