r"""What may see everything: an encoder by its name, by what it is a part of, or nobody knows."""

import pytest

from wrongline.may_see import ALL, ASK, PAST, example, may_see, speaks_of_encoders

PLAIN = "class Attention:\n    def forward(self, x): return x\n"
MASKED = "class Attention:\n    def forward(self, x): return x.tril()\n"
DOCUMENTED = 'class Attention:\n    r"""No causal mask."""\n    def forward(self, x): return x\n'


@pytest.mark.parametrize(
    ("text", "name", "sees"),
    [
        (PLAIN, "Attention", ASK),
        (PLAIN, "BertSelfAttention", ALL),
        (PLAIN, "CrossAttention", ALL),
        (PLAIN, "CausalSelfAttention", PAST),
        (PLAIN, "DecoderLayer", PAST),
        (MASKED, "Attention", PAST),
        # Its own name says more than a line of it.
        (MASKED, "EncoderAttention", ALL),
        # Words of its author are no code.
        (DOCUMENTED, "Attention", ASK),
        (PLAIN + "class ViT:\n    part = Attention\n", "Attention", ALL),
        (
            PLAIN + "class Block:\n    part = Attention\nclass GPT:\n    b = Block\n",
            "Attention",
            PAST,
        ),
        (PLAIN + "class Net:\n    part = Attention\n    conv = Conv2d\n", "Attention", ALL),
        # Two of them use it.
        (
            PLAIN + "class Encoder:\n    a = Attention\nclass Decoder:\n    a = Attention\n",
            "Attention",
            ASK,
        ),
        # A mask that is off is none.
        (PLAIN.replace("return x", "return sdpa(x, is_causal=False)"), "Attention", ASK),
        (PLAIN.replace("return x", "return sdpa(x, is_causal=True)"), "Attention", PAST),
    ],
)
def test_names_masks_and_wholes_say_what_may_be_seen(text: str, name: str, sees: str) -> None:
    found, why = may_see(text.replace("class Attention", f"class {name}", 1), name)
    assert found == sees
    assert why


def test_a_text_speaks_of_encoders_by_its_names() -> None:
    assert speaks_of_encoders("class Encoder: pass")
    assert speaks_of_encoders("loss = mlm(x)")
    assert not speaks_of_encoders("class Model: pass")


def test_the_three_of_the_example_are_told_apart() -> None:
    assert [sees for sees, _ in example()] == [ALL, PAST, ASK]
