r"""What arguments are by their names, and what a configuration is read for."""

import functools
from typing import Any

import pytest
from torch import nn

from wrongline.configurations import Config
from wrongline.guesses import guess_arguments, guess_constants, sizes_in
from wrongline.sizes import SIZES, meaning


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("embed_dim", "d_model"),
        ("C", "d_model"),
        ("nhead", "heads"),
        ("ninp", "d_model"),
        ("nhid", "d_ff"),
        ("head_dim", "d_k"),
        ("T", "seq_len"),
        ("vocab_size", "n_vocab"),
        ("n_layer", "n_layers"),
        ("dim_feedforward", "d_ff"),
        ("qkv_bias", "bias"),
        ("n_kv_heads", "key_heads"),
        ("is_causal", "causal"),
        ("attn_Dropout", "dropout"),
        ("colour", ""),
        ("head", ""),
    ],
)
def test_a_name_says_what_an_argument_is(name: str, known: str) -> None:
    assert meaning(name) == known


def test_sizes_differ_and_heads_have_the_width_that_is_left_for_each() -> None:
    # The width, three heads of it, and a text of the tests has seven tokens.
    assert SIZES["d_model"] == SIZES["heads"] * SIZES["d_k"]
    assert SIZES["heads"] > 2
    assert SIZES["seq_len"] > 7
    # (Images have three colours, and patches that fit many sizes.)
    free = ("channels", "patch", "experts_per_token")
    lengths = [size for name, size in SIZES.items() if size is not True and name not in free]
    assert len(set(lengths)) == len(lengths) == len(SIZES) - 5
    # A key for each head would be an attention without anything shared.
    assert SIZES["heads"] % SIZES["key_heads"] == 0


def test_arguments_are_guessed_by_their_names_and_others_keep_their_default_or_are_asked_for() -> (
    None
):
    class Module(nn.Module):
        def __init__(
            self, emb: int, p_drop: float, wobble: int, colour: str = "red", bias: bool = False,
            *args: int, shade: int, h: int = 8, causal: bool = False, mask: Any = None,
            norm: Any = nn.LayerNorm, parts: int = 5, share: float = 0.5, masked: Any,
            **others: int,
        ) -> None:  # fmt: skip
            super().__init__()

    found, unknown = guess_arguments(Module, "")
    expected = {
        **{"emb": 24, "p_drop": 0.1, "colour": "red", "bias": True, "h": 3},
        # A switch for a mask is turned on. What is none keeps its default, and one that can't be
        # typed isn't shown.
        **{"causal": True, "mask": None, "parts": 5, "share": 0.5},
    }
    assert found == expected
    assert list(found) == list(expected)
    assert unknown == ["wobble", "shade", "masked"]


def test_a_function_that_makes_a_model_has_arguments_too() -> None:
    def make(n_vocab: int, *, dim: int, depth: int, colour: str) -> nn.Module:
        return nn.Identity()

    expected = {"n_vocab": 19, "dim": 24, "depth": 2}
    assert guess_arguments(make, "") == (expected, ["colour"])
    # As is what a decorator hides.
    hidden = functools.wraps(make)(lambda *given, **named: make(*given, **named))
    assert guess_arguments(hidden, "")[0] == expected


@pytest.mark.parametrize("name", ["config", "cfg", "args", "hparams", "params", "conf"])
def test_a_configuration_is_made_of_what_is_read_from_it(name: str) -> None:
    namespace: dict[str, Any] = {"nn": nn}
    exec(f"class Configured(nn.Module):\n    def __init__(self, {name}): pass", namespace)
    read = f"{name}.n_head + {name}.n_embd + {name}.n_head + {name}.other + my{name}.n_layer"
    found, unknown = guess_arguments(namespace["Configured"], read)
    assert {key: vars(one) for key, one in found.items()} == {name: {"n_head": 3, "n_embd": 24}}
    assert unknown == []


def test_a_configuration_may_be_a_dictionary_and_have_defaults() -> None:
    namespace: dict[str, Any] = {"nn": nn}
    exec(
        "class Sizes:\n    n_head = 8\n    activation = 'gelu'\n    unused = 1\n"
        "class Configured(nn.Module):\n    def __init__(self, cfg): pass",
        namespace,
    )
    read = "cfg['n_head'] cfg[\"drop_rate\"] cfg.activation cfg.nothing"
    config = guess_arguments(namespace["Configured"], read)[0]["cfg"]
    assert vars(config) == {"n_head": 3, "drop_rate": 0.1, "activation": "gelu"}
    assert config["n_head"] == config.n_head == 3
    with pytest.raises(AttributeError, match="nothing"):
        config["nothing"]


def test_sizes_above_the_classes_become_those_of_the_test() -> None:
    names = {"emb": 384, "d_head": 64, "h": 6, "bias": False, "colours": 3, "dropout": 0}
    assert guess_constants(names | {"n_layer": 6.0, "dim": nn}) == {"emb": 24, "d_head": 8}


def test_what_is_said_last_of_a_size_counts() -> None:
    module = nn.Identity()
    assert sizes_in(module)["heads"] == 0
    assert sizes_in(module)["d_model"] == 24
    module.n_heads = 4
    assert sizes_in(module)["heads"] == 4
    config = Config(n_embd=32, n_head=2, bias=True)
    found = sizes_in(
        module, {"num_heads": 8, "colours": 3}, {"config": config, "dim": 40, "n_kv_heads": None}
    )
    assert (found["heads"], found["d_model"]) == (2, 40)
    assert found.keys() == {"heads", "d_model"}
