r"""Attentions as people write them: right ones pass, wrong ones are named, with their line."""

from typing import Any

import pytest
from torch import nn

from labml_nn.transformers.mistakes import pasted
from labml_nn.transformers.mistakes.guesses import Way, guess_arguments, ways

# In the manner of nanoGPT: a configuration, one projection for all, a mask of its own, batch first.
CONFIGURED = """
class CausalSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=config.bias)
        self.dropout = config.dropout
        self.n_head = config.n_head
        mask = torch.tril(torch.ones(config.block_size, config.block_size))
        self.register_buffer("tri", mask.view(1, 1, config.block_size, config.block_size))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(C, dim=2)
        q, k, v = (z.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for z in (q, k, v))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.tri[:, :, :T, :T] == 0, float("-inf"))
        att = F.softmax(att, dim=-1)
        att = F.dropout(att, self.dropout, self.training)
        return self.c_proj((att @ v).transpose(1, 2).contiguous().view(B, T, C))
"""

# A mask from outside, true where it hides; three inputs; the weights come along.
HIDES = """
class Attention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        self.inner = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)

    def forward(self, query, key, value, attn_mask=None):
        return self.inner(query, key, value, attn_mask=attn_mask)
"""

# The sequence first, by einsum; true shows, and heads are the last axis of the mask.
SEQUENCE_FIRST = """
class MultiHead(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(d_model, d_model)
        self.k = nn.Linear(d_model, d_model)
        self.v = nn.Linear(d_model, d_model)
        self.o = nn.Linear(d_model, d_model)

    def forward(self, x, mask):
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)) for f in (self.q, self.k, self.v))
        scores = torch.einsum("ibhd,jbhd->ijbh", q, k) / q.shape[-1] ** 0.5
        scores = scores.masked_fill(~mask.unsqueeze(-1), -1e9)
        weights = scores.softmax(dim=1)
        return self.o(torch.einsum("ijbh,jbhd->ibhd", weights, v).flatten(2))
"""

# Heads one by one, in a class of their own; the mask is added.
ONE_BY_ONE = """
class Head(nn.Module):
    def __init__(self, d_model, head_size):
        super().__init__()
        self.q = nn.Linear(d_model, head_size, bias=False)
        self.k = nn.Linear(d_model, head_size, bias=False)
        self.v = nn.Linear(d_model, head_size, bias=False)

    def forward(self, x, mask):
        scores = self.q(x) @ self.k(x).transpose(-2, -1) / math.sqrt(self.q.out_features)
        return (scores + mask).softmax(-1) @ self.v(x)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.parts = nn.ModuleList(Head(d_model, d_model // n_heads) for _ in range(n_heads))
        self.proj = nn.Linear(d_model, d_model)

    def forward(self, x, mask):
        return self.proj(torch.cat([part(x, mask) for part in self.parts], dim=-1))
"""

# A whole model: tokens go in.
MODEL = """
class Model(nn.Module):
    def __init__(self, vocab_size, n_embd):
        super().__init__()
        self.table = nn.Embedding(vocab_size, n_embd)
        self.out = nn.Linear(n_embd, vocab_size)

    def forward(self, tokens, targets=None):
        x = self.table(tokens)
        x = x.cumsum(dim=1)
        return self.out(x), None
"""


def checked(text: str, answers: dict[str, Any] | None = None) -> dict[str, Any]:
    r"""All that is told, in one."""
    return {key: one for told in pasted.check(text, answers or {}) for key, one in told.items()}


@pytest.mark.parametrize(
    ("text", "way"),
    [
        (CONFIGURED, {"layout": "batch first", "mask": "none"}),
        (HIDES, {"layout": "batch first", "inputs": 3, "mask": "true hides"}),
        (SEQUENCE_FIRST, {"layout": "sequence first", "mask": "true shows", "shape": "T, T, 1"}),
        (ONE_BY_ONE, {"layout": "batch first", "mask": "added"}),
        (MODEL, None),
    ],
    ids=["configured", "hides", "sequence first", "one by one", "model"],
)
def test_right_ones_pass_and_the_way_to_call_them_is_found(
    text: str, way: dict[str, Any] | None
) -> None:
    told = checked(text)
    # Where heads are small matrices, there is nothing to compare with.
    found = [one for one in told["found"] if "kind of attention" not in one["sentence"]]
    assert found == []
    assert way is None or way.items() <= told["assumed"]["way"].items()


@pytest.mark.parametrize(
    ("text", "right", "wrong", "sentence", "line"),
    [
        (CONFIGURED, "math.sqrt(k.size(-1))", "math.sqrt(C)", "root of the whole width", "sqrt(C)"),
        (CONFIGURED, " == 0", " == 2", "no causal mask", "masked_fill"),
        (SEQUENCE_FIRST, "dim=1", "dim=3", "softmax is over the heads", "dim=3"),
        (CONFIGURED, "self.dropout, self.training", "0.1", "dropout is on", "F.dropout"),
        (SEQUENCE_FIRST, "dim=1", "dim=0", "softmax is over the queries", "dim=0"),
        (HIDES, "attn_mask=attn_mask", "attn_mask=None", "no causal mask", None),
        (MODEL, "cumsum(dim=1)", "cumsum(dim=0)", "sequence", None),
        (MODEL, "x.cumsum(dim=1)", "x + x.mean(dim=1, keepdim=True)", "future", None),
    ],
)
def test_wrong_ones_are_named_with_their_line(
    text: str, right: str, wrong: str, sentence: str, line: str | None
) -> None:
    assert right in text
    changed = text.replace(right, wrong)
    found = [one for one in checked(changed)["found"] if sentence in one["sentence"]]
    assert found
    if line:
        assert line in changed.split("\n")[found[0]["line"] - 1]


def test_what_was_guessed_can_be_corrected() -> None:
    own = checked(CONFIGURED + HIDES)
    assert own["assumed"]["class"] == "Attention"
    other = checked(CONFIGURED + HIDES, {"class": "CausalSelfAttention"})
    assert other["assumed"]["class"] == "CausalSelfAttention"
    assert other["found"] == []
    said = checked(HIDES, {"arguments": {"num_heads": "2"}, "mask": "true shows"})
    assert said["assumed"]["arguments"]["num_heads"] == "2"
    assert said["assumed"]["way"]["mask"] == "true shows"
    assert said["found"]


def test_an_argument_that_nobody_knows_is_asked_for() -> None:
    text = HIDES.replace("num_heads):", "num_heads, wobble):")
    assert checked(text)["assumed"]["unknown"] == ["wobble"]
    assert checked(text, {"arguments": {"wobble": "3"}})["found"] == []


@pytest.mark.parametrize(
    ("text", "failed", "line"),
    [
        ("class A(nn.Module):\n    def forward(self, x)\n", "SyntaxError", 2),
        ("x = 1\ny = x.nothing\n", "AttributeError: 'int'", 2),
        ("x = 1\n", "no class here", None),
        (HIDES.replace("self.inner(query", "self.inner(query @ key"), "runs in no way", None),
    ],
)
def test_what_does_not_run_says_why(text: str, failed: str, line: int | None) -> None:
    told = checked(text)
    assert failed in told["failed"]
    assert told.get("line") == line


def test_a_configuration_is_made_of_what_is_read_from_it() -> None:
    class Configured(nn.Module):
        def __init__(self, config: Any) -> None:
            super().__init__()

    found, unknown = guess_arguments(Configured, "config.n_head + config.n_embd + config.other")
    assert vars(found["config"]) == {"n_head": 3, "n_embd": 24}
    assert unknown == []


def test_what_was_said_is_no_longer_tried() -> None:
    tried = list(ways(nn.MultiheadAttention(4, 2).forward, {"layout": "sequence first"}))
    assert {way.layout for way in tried} == {"sequence first"}
    assert {way.inputs for way in tried} == {3}
    assert Way().mask == "none"
