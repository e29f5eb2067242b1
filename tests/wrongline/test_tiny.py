r"""Configurations become tiny, under whatever names their sizes have."""

from typing import Any, ClassVar

from transformers import GPT2Config

from wrongline.tiny import SIZES, Settings, tiny


class Kept:
    r"""Keeps what it is given by name."""

    def __init__(self, pad_token_id: int = 9, **others: Any) -> None:
        self.given = {"pad_token_id": pad_token_id, **others}


class Inner(Kept):
    model_type = "inner"

    def __init__(self, n_embd: int = 768, depth: int = 12, **others: Any) -> None:
        super().__init__(n_embd=n_embd, depth=depth, **others)

    def to_dict(self) -> dict[str, Any]:
        return self.given


class Outer(Kept):
    r"""Has a configuration for text within it, and one whose class depends on what is in it."""

    sub_configs: ClassVar = {"text": Inner, "image": Kept}
    attribute_map: ClassVar = {"hidden_size": "width"}

    def __init__(
        self, n_head: int = 12, width: int = 768, is_decoder: bool = False, **others: Any
    ) -> None:
        super().__init__(n_head=n_head, width=width, is_decoder=is_decoder, **others)


def test_sizes_are_found_by_all_their_names_and_what_was_said_wins() -> None:
    inner = {"pad_token_id": 0, "n_embd": 32, "depth": 12}
    sizes = {"pad_token_id": 0, "n_head": 4, "width": 768, "hidden_size": 32, "is_decoder": True}
    assert tiny(Outer).given == {**sizes, "text": inner}
    special = {"text": {"depth": 3}, "image": {"a": 1}, "n_head": 8, "colour": "red"}
    expected = {**sizes, **special, "text": {**inner, "depth": 3}}
    assert tiny(Outer, **special).given == expected


def test_the_example_is_as_large_as_gpt2_and_becomes_tiny() -> None:
    large, small = Settings(), tiny(Settings)
    assert (large.vocab_size, large.n_embd) == (GPT2Config().vocab_size, GPT2Config().n_embd)
    assert (small.vocab_size, small.n_embd, small.activation) == (64, 32, "gelu")


def test_sizes_fit_each_other() -> None:
    width = SIZES["hidden_size"]
    assert {SIZES[name] for name in ("word_embed_proj_dim", "dim")} == {width}
    heads = {size for name, size in SIZES.items() if name.endswith(("heads", "n_head"))}
    assert all(width % size == 0 for size in heads)
    assert SIZES["head_dim"] * SIZES["num_attention_heads"] == width
    assert SIZES["num_attention_heads"] % SIZES["num_key_value_heads"] == 0
