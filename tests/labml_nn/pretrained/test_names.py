import json
import re
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from labml_nn.pretrained.names import as_it_is, fill, in_layers, read_config

TABLE = {"weight": ("w", Tensor.t), "bias": ("b", as_it_is)}


def theirs() -> dict[str, Tensor]:
    return {"w": torch.randn(5, 3), "b": torch.randn(3)}


def test_the_layer_does_what_theirs_does() -> None:
    found, model, x = theirs(), nn.Linear(5, 3), torch.randn(7, 5)
    # Their file may have a tensor twice.
    fill(model, found | {"again": found["b"]}, TABLE, {"again": "b"})
    torch.testing.assert_close(model(x), x @ found["w"] + found["b"])


def test_sixteen_bits_become_thirtytwo_without_a_change_and_none_is_shared() -> None:
    found, model = {name: x.bfloat16() for name, x in theirs().items()}, nn.Linear(5, 3)
    fill(model, found, TABLE, {})
    assert torch.equal(model.weight, found["w"].float().t()) and model.weight.requires_grad
    found["b"].zero_()
    assert model.bias.all()


def other(**changes: Tensor | None) -> dict[str, Tensor]:
    both = theirs() | changes
    return {name: tensor for name, tensor in both.items() if tensor is not None}


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (other(b=None), "missing in the checkpoint: ['b']; left over: []"),
        (other(c=torch.ones(3)), "missing in the checkpoint: []; left over: ['c']"),
        (other(b=torch.ones(1)), "b gives torch.float32 [1] for bias, which is [3]"),
        (other(w=torch.ones(3, 5)), "w gives torch.float32 [5, 3] for weight, which is [3, 5]"),
        (other(b=torch.ones(3).long()), "b gives torch.int64 [3] for bias, which is [3]"),
        (other(again=torch.ones(3)), "again differs from b, and the model has one weight for both"),
    ],
)
def test_a_checkpoint_that_doesnt_fit_is_refused(found: dict[str, Tensor], sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        fill(nn.Linear(5, 3), found, TABLE, {"again": "b"})


def test_the_names_of_two_layers() -> None:
    assert in_layers(2, "ours.{}.", "h.{}.", {"weight": ("w", as_it_is)}) == {
        "ours.0.weight": ("h.0.w", as_it_is),
        "ours.1.weight": ("h.1.w", as_it_is),
    }


def test_another_setting_is_refused_and_one_that_isnt_there_is_the_usual_one(
    tmp_path: Path,
) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"kind": "a", "size": 3}), encoding="utf-8")
    assert read_config(tmp_path, kind="a", missing=True) == {"kind": "a", "size": 3}
    with pytest.raises(ValueError, match="^config.json has kind='a', and needed is 'b'$"):
        read_config(tmp_path, kind="b")
