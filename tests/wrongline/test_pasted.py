r"""Attentions as people write them: right ones pass, wrong ones are named, with their line."""

import json
from typing import Any

import pytest

from wrongline import pasted

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


# A whole model in the manner of nanoGPT, with the attention above: without targets it gives the
# scores of the last position alone, and its targets have a view.
WHOLE = (
    CONFIGURED
    + """
class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.wte = nn.Embedding(config.vocab_size, config.n_embd)
        self.attn = CausalSelfAttention(config)
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)

    def forward(self, idx, targets=None):
        x = self.wte(idx)
        x = x + self.attn(x)
        if targets is None:
            return self.lm_head(x[:, [-1], :]), None
        logits = self.lm_head(x)
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
"""
)

# In the manner of PyTorch's tutorial: the sequence first, positions along it, a mask from outside.
TUTORIAL = """
class TransformerModel(nn.Module):
    def __init__(self, ntoken, d_model, nhead, d_hid, nlayers, max_len=50):
        super().__init__()
        self.embedding = nn.Embedding(ntoken, d_model)
        self.positions = nn.Parameter(torch.randn(max_len, 1, d_model))
        layers = (nn.MultiheadAttention(d_model, nhead) for _ in range(nlayers))
        self.layers = nn.ModuleList(layers)
        self.linear = nn.Linear(d_model, ntoken)

    def forward(self, src, src_mask):
        x = self.embedding(src) + self.positions[: src.size(0)]
        for layer in self.layers:
            x = x + layer(x, x, x, attn_mask=src_mask)[0]
        return {"logits": self.linear(x)}
"""

# The loss comes first, and the targets must be given.
LOSS_FIRST = """
class Model(nn.Module):
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, d_model)
        self.head = nn.Linear(d_model, vocab_size)

    def forward(self, x, y):
        logits = self.head(self.embed(x).cumsum(1))
        return F.cross_entropy(logits.flatten(0, 1), y.flatten()), logits
"""

# Keys and values of earlier calls come back as an argument.
CACHED = """
class CachedAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x, past_kv=None, use_cache=False):
        B, T, C = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (z.view(B, T, self.n_heads, -1).transpose(1, 2) for z in (q, k, v))
        if past_kv is not None:
            k = torch.cat([past_kv[0], k], dim=2)
            v = torch.cat([past_kv[1], v], dim=2)
        S = k.shape[2]
        mask = torch.ones(T, S, dtype=torch.bool).tril(diagonal=S - T)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        scores = scores.masked_fill(~mask, float("-inf"))
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, C)
        return self.out(y), (k, v) if use_cache else None
"""

# A whole model with a cache: the sum of the vectors of earlier calls.
CACHED_MODEL = """
class Model(nn.Module):
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.table = nn.Embedding(vocab_size, d_model)
        self.head = nn.Linear(d_model, vocab_size)

    def forward(self, tokens, sum_of_past=None):
        x = self.table(tokens).cumsum(1)
        if sum_of_past is not None:
            x = x + sum_of_past[:, None]
        return self.head(x), x[:, -1]
"""

# The weights of the last call are kept, as a plot wants them, and there is no output matrix. Sizes
# stand above the class, and a library is imported that nothing needs.
KEPT = """
import nowhere.plots as plots
n_embd = 384
n_head = 6

class SelfAttention(nn.Module):
    def __init__(self, causal=False):
        super().__init__()
        self.causal = causal
        self.query = nn.Linear(n_embd, n_embd)
        self.key = nn.Linear(n_embd, n_embd)
        self.value = nn.Linear(n_embd, n_embd)

    def forward(self, hidden_states):
        parts = (self.query, self.key, self.value)
        q, k, v = (f(hidden_states).unflatten(-1, (n_head, -1)).transpose(1, 2) for f in parts)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        if self.causal:
            scores = scores + torch.full(scores.shape[-2:], -1e9).triu(1)
        self.weights = scores.softmax(-1)
        return {"weights": self.weights, "output": (self.weights @ v).transpose(1, 2).flatten(2)}
"""
GPT = {"class": "GPT"}
# A model that sums over the first axis is right where that is the sequence.
BATCH_FIRST, SAID = {"layout": "batch first"}, {"layout": "sequence first"}


def checked(text: str, answers: dict[str, Any] | None = None) -> dict[str, Any]:
    r"""All that is told, in one; each thing as it is when it is told."""
    every = [json.loads(json.dumps(told)) for told in pasted.check(text, answers or {})]
    return {key: one for told in every for key, one in told.items()}


@pytest.mark.parametrize(
    ("text", "way"),
    [
        (CONFIGURED, {"layout": "batch first", "mask": "none"}),
        (HIDES, {"layout": "batch first", "inputs": 3, "mask": "true hides"}),
        (SEQUENCE_FIRST, {"layout": "sequence first", "mask": "true shows", "shape": "T, T, 1"}),
        (ONE_BY_ONE, {"layout": "batch first", "mask": "added"}),
        (MODEL, {"layout": "batch first"}),
        (KEPT, {"layout": "batch first"}),
    ],
    ids=["configured", "hides", "sequence first", "one by one", "model", "kept"],
)
def test_right_ones_pass_and_the_way_to_call_them_is_found(text: str, way: dict[str, Any]) -> None:
    told = checked(text)
    assert told["found"] == []
    assert told["compared"] == ("no" if text == MODEL else "yes")
    assert way.items() <= told["assumed"]["way"].items()


@pytest.mark.parametrize(
    ("text", "right", "wrong", "sentence", "line"),
    [
        (CONFIGURED, "math.sqrt(k.size(-1))", "math.sqrt(C)", "root of the whole width", "sqrt(C)"),
        (CONFIGURED, " == 0", " == 2", "no causal mask", "masked_fill"),
        (SEQUENCE_FIRST, "dim=1", "dim=3", "softmax is over the heads", "dim=3"),
        (MODEL, "x.cumsum(dim=1)", "F.dropout(x.cumsum(dim=1))", "dropout is on", "F.dropout"),
        (KEPT, "math.sqrt(q.shape[-1])", "math.sqrt(n_embd)", "root of the whole", "sqrt(n_embd)"),
        (KEPT, ".transpose(1, 2).flatten(2)", ".reshape(hidden_states.shape)", "merged by a", None),
        (
            KEPT,
            "self.weights @ v",
            "self.weights.detach() @ v",
            "query.weight, key",
            "self.query =",
        ),
        (KEPT, "(self.weights @ v)", "(self.weights @ v).detach()", "no gradient comes back", None),
        (SEQUENCE_FIRST, "dim=1", "dim=0", "softmax is over the queries", "dim=0"),
        (HIDES, "attn_mask=attn_mask", "attn_mask=None", "no causal mask", None),
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


@pytest.mark.parametrize(
    ("text", "answers", "way"),
    [
        (MODEL, {}, {"layout": "batch first", "inputs": 1}),
        (WHOLE, GPT, {"layout": "batch first", "inputs": 2, "mask": "none"}),
        (TUTORIAL, {}, {"layout": "sequence first", "mask": "true hides", "name": "src_mask"}),
        (LOSS_FIRST, {}, {"layout": "batch first", "inputs": 2}),
    ],
    ids=["plain", "last position", "sequence first", "loss first"],
)
def test_a_whole_model_is_called_as_it_wants(
    text: str, answers: dict[str, Any], way: dict[str, Any]
) -> None:
    told = checked(text, answers)
    assert told["found"] == []
    assert told["assumed"]["model"]
    assert way.items() <= told["assumed"]["way"].items()


@pytest.mark.parametrize(
    ("text", "answers", "right", "wrong", "sentence"),
    [
        (WHOLE, GPT, " == 0", " == 2", "the model sees the future"),
        (WHOLE, GPT, "x = self.wte(idx)", "x = self.wte(idx) + self.wte.weight[:1]", ""),
        (TUTORIAL, {}, "src.size(0)]", "src.size(1)].transpose(0, 1)", "place in the batch"),
        (TUTORIAL, SAID, "attn_mask=src_mask", "attn_mask=None", "the model sees the future"),
        (LOSS_FIRST, BATCH_FIRST, "cumsum(1)", "cumsum(0)", "sequence"),
        (MODEL, BATCH_FIRST, "cumsum(dim=1)", "cumsum(dim=0)", "sequence"),
        (MODEL, {}, "cumsum(dim=1)", "cumsum(dim=0)", ""),
    ],
)
def test_a_wrong_model_is_told_its_mistake_and_a_right_one_none(
    text: str, answers: dict[str, Any], right: str, wrong: str, sentence: str
) -> None:
    assert right in text
    found = checked(text.replace(right, wrong), answers)["found"]
    assert any(sentence in one["sentence"] for one in found) if sentence else found == []


@pytest.mark.parametrize(
    ("text", "cache", "right", "wrong", "sentence"),
    [
        (CACHED, "past_kv", "x", "x", ""),
        (CACHED, "past_kv", "diagonal=S - T", "diagonal=0", "token by token"),
        (CACHED, "past_kv", "diagonal=S - T", "diagonal=S - T + (S > T > 1)", "several new"),
        (CACHED, "past_kv", "[past_kv[1], v]", "[past_kv[1], v.flip(2)]", "with a cache"),
        (CACHED_MODEL, "sum_of_past", "x", "x", ""),
        (CACHED_MODEL, "sum_of_past", "x + sum", "x - sum", "token by token"),
    ],
)
def test_a_cache_is_read_in_parts(
    text: str, cache: str, right: str, wrong: str, sentence: str
) -> None:
    text = text.replace(right, wrong)
    told = checked(text, BATCH_FIRST)
    assert told["assumed"]["cache"] == cache
    found = [one for one in told["found"] if one["test"] == "cache_agrees"]
    assert len(found) == bool(sentence)
    assert all(sentence in one["sentence"] for one in found)
    # Who says that it is none, is not told about it.
    other = checked(text, BATCH_FIRST | {"cache": "none"})
    assert other["assumed"]["cache"] == ""
    assert "cache_agrees" not in [one["test"] for one in other["found"]]


def test_of_a_model_what_is_wrong_without_a_cache_comes_first() -> None:
    wrong = CACHED_MODEL.replace("cumsum(1)", "cumsum(1).flip(1)")
    assert [one["test"] for one in checked(wrong, BATCH_FIRST)["found"]] == [
        "model_prefix",
        "cache_agrees",
    ]


def test_what_was_guessed_can_be_corrected() -> None:
    own = checked(CONFIGURED + HIDES)
    assert own["assumed"]["class"] == "Attention"
    other = checked(CONFIGURED + HIDES, {"class": "CausalSelfAttention"})
    assert other["assumed"]["class"] == "CausalSelfAttention"
    assert other["found"] == []
    # One that is no longer in the text is not looked for.
    assert checked(CONFIGURED + HIDES, {"class": "Gone"})["assumed"]["class"] == "Attention"
    said = checked(HIDES, {"arguments": {"num_heads": "2"}, "mask": "true shows"})
    assert said["assumed"]["arguments"]["num_heads"] == "2"
    assert said["assumed"]["way"]["mask"] == "true shows"
    assert said["found"]


def test_sizes_and_switches_that_are_corrected_are_those_of_the_tests() -> None:
    told = checked(KEPT, {"constants": {"n_embd": "32", "n_head": "4"}})
    assert told["assumed"]["constants"] == {"n_embd": "32", "n_head": "4"}
    # They are four heads of width 8, and not the three that were guessed.
    assert told["found"] == []
    # An argument says more than a number of the text.
    named = KEPT.replace("causal=False", "heads, causal=False").replace("n_head, -1", "self.n, -1")
    named = named.replace("self.causal = causal", "self.causal, self.n = causal, heads")
    assert checked(named, {"arguments": {"heads": "4"}})["found"] == []
    off = checked(KEPT, {"arguments": {"causal": "False"}})["found"]
    assert "no causal mask" in off[0]["sentence"]
    config = {"config": "n_embd=32, n_head=2, bias=False, dropout=0.0, block_size=20"}
    told = checked(CONFIGURED, {"arguments": config})
    assert told["assumed"]["arguments"] == config
    assert told["found"] == []


def test_what_is_guessed_is_told_though_the_class_can_not_be_made() -> None:
    wrong = CONFIGURED.replace("self.dropout = config.dropout", "config.wobble")
    assert wrong != CONFIGURED
    told = checked(wrong)
    assert told["failed"].startswith("nobody can guess `wobble` of the configuration: add wobble=")
    assert told["line"] == 7
    assert told["assumed"]["arguments"]["config"].startswith("n_embd=24, bias=True")


def test_other_weights_than_the_formulas_are_compared_with_nothing() -> None:
    text = HIDES.replace(
        "super().__init__()", "super().__init__()\n        self.gain = nn.LayerNorm(2)"
    )
    text = text.replace(
        "return self.inner(",
        "x = self.gain.weight.sum() + self.gain.bias.sum()\n        return self.inner(x * ",
    )
    fifth = "self.fifth = nn.Linear(embed_dim, embed_dim)"
    for other in (
        text,
        text.replace("self.gain = nn.LayerNorm(2)", fifth).replace("gain", "fifth"),
    ):
        told = checked(other)
        assert told["found"] == []
        assert told["compared"] == "no"


def test_a_number_of_heads_that_nobody_has_said_is_no_mistake() -> None:
    text = CONFIGURED.replace("(self, config)", "(self, n_embd, parts)").replace(
        "self.n_head = config.n_head", "self.parts = parts; config = self"
    )
    text = text.replace("self.n_head", "self.parts").replace("config.block_size", "16")
    text = text.replace("config.bias", "True").replace("config.dropout", "0.1")
    text = text.replace("config.n_embd", "n_embd")
    parts = {"arguments": {"parts": "4"}}
    assert checked(text, parts)["found"] == []
    single = checked(text, {"arguments": {"parts": "1"}})
    assert single["found"] == []
    assert single["compared"] == "yes"
    (one,) = checked(text.replace("k.size(-1)", "C"), parts)["found"]
    assert one["sentence"] == "the scores are divided by the root of the whole width"
    # A number that was said counts: this class splits in four whatever it is told.
    said = text.replace("parts", "n_head").replace(
        "self.n_head = n_head", "self.parts = 4; n_head = 4"
    )
    said = said.replace("self.n_head", "self.parts")
    assert checked(said)["found"][0]["sentence"] == "there are 4 heads, not 3"


def test_a_cache_is_read_whatever_the_heads_are_called() -> None:
    text = CACHED.replace("n_heads", "parts").replace("diagonal=S - T", "diagonal=0")
    found = checked(text, BATCH_FIRST | {"arguments": {"parts": "2"}})["found"]
    assert [one["test"] for one in found] == ["cache_agrees"]


def test_what_needs_no_comparison_is_told_before_it() -> None:
    wrong = KEPT.replace("if self.causal", "if False").replace("weights @ v", "weights @ v**2")
    told = [one for one in pasted.check(wrong, {}) if "found" in one]
    assert [one["compared"] for one in told] == ["soon", "yes"]
    first, last = ([test["test"] for test in one["found"]] for one in told)
    assert first == ["nothing_from_the_future"]
    # It isn't the formula's result, and that is said as well.
    assert last == [*first, "comparison"]
    cached = CACHED.replace("diagonal=S - T", "diagonal=0")
    told = [one["found"] for one in pasted.check(cached, BATCH_FIRST) if "found" in one]
    assert [[one["test"] for one in found] for found in told] == [["cache_agrees"]] * 2


def test_what_holds_others_is_tested_first_and_positions_have_no_matrix() -> None:
    positions = "class Positions(nn.Module):\n    def forward(self, x):\n        return x + 1\n"
    assert checked(MODEL.replace("x.cumsum", "Positions()(x).cumsum") + positions)["found"] == []
    told = checked(positions)
    assert (told["found"], told["compared"]) == ([], "no")
    # What wasn't compared isn't told as if it had passed.
    assert "comparison" in [one["test"] for one in told["not_tried"]]
    assert "comparison" not in told["right"]


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
        (HIDES.replace("self.inner(query", "self.inner(query @ key"), "runs in no way", 8),
        (
            MODEL.replace("x.cumsum(dim=1)", "x @ x"),
            "runs in no way that we know. In the one that came furthest: R",
            10,
        ),
    ],
)
def test_what_does_not_run_says_why(text: str, failed: str, line: int | None) -> None:
    told = checked(text)
    assert failed in told["failed"]
    assert told.get("line") == line


def test_what_runs_in_no_way_is_told_with_the_first_error_and_no_way() -> None:
    told = checked(
        "class A(nn.Module):\n    def forward(self, x):\n        raise ValueError(list(x.shape))\n"
    )
    said = "It runs in no way that we know. In the one that came furthest: ValueError: [5, 7, 24]"
    assert told["failed"].startswith(said)
    assert told["assumed"]["class"] == "A"
    assert told["assumed"]["way"] is None


def test_an_attention_with_a_table_of_positions_is_no_model() -> None:
    table = "self.positions = nn.Embedding(16, embed_dim)"
    text = HIDES.replace("super().__init__()", f"super().__init__()\n        {table}")
    assert table in text
    assert checked(text)["assumed"]["model"] is False


def test_a_module_is_made_of_the_same_random_numbers_each_time() -> None:
    text = "class A(nn.Module):\n    def __init__(self):\n        raise ValueError(torch.rand(1))\n"
    assert checked(text)["failed"] == checked(text)["failed"]


def test_what_can_be_meant_is_marked() -> None:
    r"""The page's headline doesn't count it as a test that fails."""
    (one,) = checked(KEPT.replace("math.sqrt(q.shape[-1])", "q.shape[-1]"))["found"]
    assert one["test"] == "comparison" and one["unusual"]
    (one,) = checked(KEPT.replace("math.sqrt(q.shape[-1])", "math.sqrt(n_embd)"))["found"]
    assert one["test"] == "comparison" and "unusual" not in one


# Six heads over two key heads: with one key head, both ways to share them are the same.
GROUPED = """
class Grouped(nn.Module):
    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        self.n_heads, self.n_kv_heads, self.d = n_heads, n_kv_heads, d_model // n_heads
        self.q = nn.Linear(d_model, d_model)
        self.k = nn.Linear(d_model, n_kv_heads * self.d)
        self.v = nn.Linear(d_model, n_kv_heads * self.d)
        self.o = nn.Linear(d_model, d_model)

    def forward(self, x):
        q = self.q(x).unflatten(-1, (self.n_heads, self.d)).transpose(1, 2)
        k, v = (
            f(x).unflatten(-1, (self.n_kv_heads, self.d)).transpose(1, 2)
            .repeat_interleave(self.n_heads // self.n_kv_heads, dim=1)
            for f in (self.k, self.v)
        )
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(mixed.transpose(1, 2).flatten(2))
"""


def test_key_heads_are_more_than_one() -> None:
    *assumed, found = pasted.check(GROUPED, {})
    assert assumed[0]["assumed"]["arguments"] == {
        "d_model": "24",
        "n_heads": "6",
        "n_kv_heads": "2",
    }
    assert (found["found"], found["compared"]) == ([], "yes")
    turns = GROUPED.replace(
        "repeat_interleave(self.n_heads // self.n_kv_heads, dim=1)",
        "repeat(1, self.n_heads // self.n_kv_heads, 1, 1)",
    )
    *_, found = pasted.check(turns, {})
    assert [one["sentence"] for one in found["found"]] == [
        "heads share keys in turns (`repeat` for `repeat_interleave`)"
    ]


# As in a lecture, without the lines above the class.
UNDEFINED = """
class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(vocab_size, n_embd)
        self.position = nn.Embedding(block_size, n_embd)
        self.drop = nn.Dropout(dropout)
        self.head = nn.Linear(n_embd, vocab_size)

    def forward(self, tokens):
        places = [place for place in range(tokens.shape[1])]
        x = self.token(tokens) + self.position(torch.tensor(places, device=device))
        return self.head(self.drop(x))
"""


def test_sizes_that_were_not_copied_are_guessed_and_can_be_said() -> None:
    *assumed, found = pasted.check(UNDEFINED, {})
    assert assumed[0]["assumed"]["constants"] == {
        "block_size": "256",
        "dropout": "0.1",
        "n_embd": "24",
        "vocab_size": "19",
        "device": "'cpu'",
    }
    assert (found["found"], found["compared"]) == ([], "no")
    *assumed, found = pasted.check(UNDEFINED, {"constants": {"n_embd": "5"}})
    assert assumed[0]["assumed"]["constants"]["n_embd"] == "5"
    assert found["found"] == []


# A head of a lecture, whose sizes stand above the class.
HEAD = """
class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.key, self.query = nn.Linear(C, head_size), nn.Linear(C, head_size)
        self.value = nn.Linear(C, head_size)

    def forward(self, x):
        scores = self.query(x) @ self.key(x).mT * head_size**-0.5
        hidden = torch.ones(x.shape[1], x.shape[1]).triu(1).bool()
        return scores.masked_fill(hidden, float("-inf")).softmax(-1) @ self.value(x)
"""


def test_a_size_of_the_text_that_an_error_names_is_tried() -> None:
    *assumed, found = pasted.check(HEAD, {})
    assert assumed[0]["assumed"]["constants"] == {"C": "24", "head_size": "24"}
    assert found["found"] == []
    *_, found = pasted.check(HEAD.replace("head_size**-0.5", "C**-1"), {})
    assert "scale" in found["found"][0]["sentence"]


# An encoder's attention, in the manner of a vision transformer: it makes no mask.
PLAIN = """
class Attention(nn.Module):
    def __init__(self, dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        q, k, v = (z.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
            for z in self.qkv(x).chunk(3, -1))
        weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
        return self.proj((weights @ v).transpose(1, 2).flatten(2))
"""
CROSS = """
class CrossAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.q, self.k, self.v, self.o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x, context):
        def cut(z):
            return z.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

        q, k, v = cut(self.q(x)), cut(self.k(context)), cut(self.v(context))
        weights = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
        return self.o((weights @ v).transpose(1, 2).flatten(2))
"""


@pytest.mark.parametrize(
    ("text", "answers", "sees", "tests"),
    [
        # Nothing says so: it is asked, and nobody is accused.
        (PLAIN, {}, "ask", []),
        (PLAIN, {"sees": "all"}, "all", []),
        (PLAIN, {"sees": "past"}, "past", ["comparison", "nothing_from_the_future"]),
        (PLAIN.replace("Attention", "ViTAttention"), {}, "all", []),
        (
            PLAIN.replace("Attention", "GPTAttention"),
            {},
            "past",
            ["comparison", "nothing_from_the_future"],
        ),
        # Another mistake is named all the same.
        (PLAIN.replace("q.shape[-1] **", "x.shape[-1] **"), {}, "ask", ["comparison"]),
        # What has a place for a causal mask, and sees more when it is given one, is wrong.
        (
            PLAIN.replace("x):", "x, mask=None):"),
            {},
            "past",
            ["comparison", "nothing_from_the_future"],
        ),
        # The sequence first: the batch isn't mixed up.
        (
            PLAIN.replace(
                "forward(self, x):", "forward(self, y):\n        x = y.transpose(0, 1)"
            ).replace("flatten(2))", "flatten(2)).transpose(0, 1)"),
            {},
            "ask",
            [],
        ),
    ],
)
def test_nobody_is_accused_before_it_is_known_what_may_be_seen(
    text: str, answers: dict[str, Any], sees: str, tests: list[str]
) -> None:
    told = checked(text, answers)
    assert told["assumed"]["sees"] == sees
    assert told["assumed"]["leaks"] == (sees != "past") or answers == {}
    assert [one["test"] for one in told["found"]] == tests
    left = [one["test"] for one in told["not_tried"]]
    assert ("nothing_from_the_future" in left) == (sees != "past")
    assert told["compared"] == "yes"


def test_an_encoder_of_tokens_is_asked_too_and_a_model_that_writes_is_not() -> None:
    leaks = MODEL.replace("x.cumsum(dim=1)", "x + x.mean(dim=1, keepdim=True)")
    told = checked(leaks.replace("Model", "TextEncoder"))
    assert (told["assumed"]["sees"], told["found"]) == ("all", [])
    assert "model_prefix" in [one["test"] for one in told["not_tried"]]
    told = checked(leaks)
    assert told["assumed"]["why"] == "it scores the tokens of a vocabulary"
    assert [one["test"] for one in told["found"]] == ["model_prefix"]


def test_cross_attention_gets_another_text() -> None:
    told = checked(CROSS)
    assert (told["found"], told["compared"]) == ([], "yes")
    assert told["assumed"]["way"]["other"]
    (one,) = checked(CROSS.replace("/ q.shape[-1] **", "/ x.shape[-1] **"))["found"]
    assert one["sentence"] == "the scores are divided by the root of the whole width"
    (one,) = checked(
        CROSS.replace("cut(self.k(context))", "cut(self.k(x))").replace(
            "cut(self.v(context))", "cut(self.v(x))"
        )
    )["found"]
    assert one["test"] == "context_is_used"


def test_a_whole_model_is_tested_before_its_parts() -> None:
    assert checked(WHOLE)["assumed"]["classes"][0] == "GPT"
    # A part that is handed in by its name is one as well.
    text = (
        CROSS
        + """
class Encoder(nn.Module):
    def __init__(self, vocab_size, d_model):
        super().__init__()
        self.table = nn.Embedding(vocab_size, d_model)
    def forward(self, src):
        return self.table(src)

class Decoder(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads):
        super().__init__()
        self.table = nn.Embedding(vocab_size, d_model)
        self.cross = CrossAttention(d_model, n_heads)
        self.head = nn.Linear(d_model, vocab_size)
    def forward(self, trg, enc_src):
        return self.head(self.cross(self.table(trg).cumsum(1), enc_src))

class Both(nn.Module):
    def __init__(self, encoder, decoder, src_pad_idx, device):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
    def forward(self, src, trg):
        return self.decoder(trg, self.encoder(src))
"""
    )
    told = checked(text)
    assert told["assumed"]["class"] == "Both"
    assert told["assumed"]["way"]["roles"] == ["source", "tokens"]
    assert told["found"] == []
    wrong = checked(text.replace("cumsum(1)", "flip(1).cumsum(1)"), {"sees": "past"})
    assert "model_prefix" in [one["test"] for one in wrong["found"]]


LETTERS = """
B, T, C = 4, 8, 32
x = torch.randn(B, T, C)

class Head(nn.Module):
    def __init__(self, head_size):
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(C, head_size) for _ in range(3))
        self.tril = torch.ones(T, T).tril()

    def forward(self, x):
        scores = self.query(x) @ self.key(x).mT * self.key.out_features ** -0.5
        T = x.shape[1]
        return scores.masked_fill(self.tril[:T, :T] == 0, -1e9).softmax(-1) @ self.value(x)

out = Head(16)(x)
"""


@pytest.mark.parametrize(
    ("text", "constants"),
    [
        (LETTERS, {"C": "24", "T": "7"}),
        (LETTERS.replace("B, T, C = 4, 8, 32", ""), {"C": "24", "T": "7"}),
        # The number is written into it: the error names it.
        (LETTERS.replace("(C, ", "(32, "), {"T": "7"}),
    ],
    ids=["defined", "undefined", "written"],
)
def test_sizes_of_one_letter_are_those_of_the_tests(text: str, constants: dict[str, str]) -> None:
    told = checked(text)
    assert (told["found"], told["compared"]) == ([], "yes")
    assert told["assumed"]["constants"] == constants


def test_each_undefined_name_has_a_box_and_its_line() -> None:
    text = LETTERS.replace("self.key.out_features ** -0.5", "factor")
    told = checked(text)
    assert told["assumed"]["constants"]["factor"] == ""
    assert (told["failed"], told["line"]) == ("`factor` is not defined: say it below", 12)
    assert checked(text, {"constants": {"factor": "24 ** -0.5"}})["failed"]
    assert checked(text, {"constants": {"factor": "0.2041241"}})["found"] == []
    # What is called can't be said.
    assert checked(LETTERS.replace("-1e9", "least()"))["failed"] == (
        "`least` is not defined: paste what defines it"
    )


def test_an_error_in_a_test_has_its_line() -> None:
    text = PLAIN.replace(
        "def forward(self, x):", "def forward(self, x):\n        assert len(x) > 1"
    )
    found = {one["test"]: one for one in checked(text)["found"]}
    assert found["sequences_apart"]["error"]
    assert found["sequences_apart"]["line"] == 10


def test_a_layer_that_is_made_in_forward_is_named() -> None:
    text = MODEL.replace("self.out(x)", "nn.Linear(24, 19)(x)")
    (one,) = checked(text)["found"]
    assert one["sentence"].startswith("two calls in evaluation differ: `nn.Linear` is made anew")
    assert text.split("\n")[one["line"] - 1].strip().startswith("return nn.Linear")


def test_what_was_not_tried_is_told_with_its_reason() -> None:
    told = checked(CONFIGURED)
    assert {one["test"] for one in told["not_tried"]} == {
        "padding_hides",
        "cache_agrees",
        "shift_changes_nothing",
    }
    assert all(one["sentence"] for one in told["not_tried"])
    assert "comparison" in told["right"]


def test_layers_may_learn_their_size_from_the_first_call() -> None:
    text = PLAIN.replace("nn.Linear(dim, ", "nn.LazyLinear(")
    assert text != PLAIN
    told = checked(text)
    assert (told["found"], told["compared"]) == ([], "yes")


def test_a_mask_that_is_never_read_is_said() -> None:
    found = checked(PLAIN.replace("x):", "x, mask=None):"))["found"]
    assert found[0]["sentence"] == "there is no causal mask: `mask` is never read (line 9)"


def test_an_attention_whose_arguments_have_to_be_named_is_called_by_their_names() -> None:
    text = """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.query = nn.Linear(d_model, d_model)

    def forward(self, *, query, key, value):
        return self.query(query)
"""
    told = checked(text)
    assert "failed" not in told
    # What goes wrong inside is told with its line, and not that a call names no arguments.
    told = checked(text.replace("return self", "return self.nothing + self"))
    assert "nothing" in told["failed"]
    assert told["line"] == 11


IMPORTS = """
from labml_nn.transformers.mha import MultiHeadAttention
from labml_nn.transformers.normalisation import Unused

class Block(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        self.attention = MultiHeadAttention(heads=heads, d_model=d_model)

    def forward(self, x):
        return self.attention(query=x, key=x, value=x, is_causal=True)
"""


def test_what_is_imported_from_this_site_is_said_unless_it_stands_above() -> None:
    told = checked(IMPORTS)
    said = "`MultiHeadAttention` comes from this site's labml_nn: if you mean another one, "
    assert told["assumed"]["notes"] == [said + "paste its code above"]
    above = "class MultiHeadAttention(nn.Module):\n    pass\n"
    assert checked(above + IMPORTS)["assumed"]["notes"] == []


def test_the_other_classes_are_told_after_a_failure() -> None:
    broken = MODEL.replace("x.cumsum(dim=1)", "x @ x") + ONE_BY_ONE
    assert checked(broken, {"class": "Model"})["others"] == ["MultiHeadAttention", "Head"]
    assert checked(broken, {"arguments": {"d_model": "'a'"}})["others"] == ["Model", "Head"]


# Fourier's transform in place of weights, which wants the same tensor three times.
MIXED = """
class Mixing(nn.Module):
    def forward(self, query, key, value, mask=None):
        assert query is key and key is value
        assert mask is None
        return torch.fft.fft(torch.fft.fft(query, dim=2), dim=1).real
"""


def test_what_has_no_weights_is_tested_as_it_is_or_the_remedy_told() -> None:
    told = checked(MIXED)
    assert told["assumed"]["way"]["inputs"] == 3
    assert told["assumed"]["sees"] == "ask"
    told = checked(MIXED.replace("is value", "is mask"))
    said = "AssertionError in `assert query is key and key is mask`. It has no weights of its own"
    assert said in told["failed"]


def test_classes_that_can_not_be_defined_are_told() -> None:
    lost = "class Lost(Gone):\n    pass\n\nclass Other(Lost):\n    pass\n"
    (note,) = checked(MODEL + lost)["assumed"]["notes"]
    said = "`Lost`, `Other`: they can't be tested, because of line 12: NameError: name 'Gone'"
    assert note.startswith(said)


# Its table is a bare parameter, what writes with it is no model, and both have lines that look
# like an attention's.
BARE = """
class Embed(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.W_E = nn.Parameter(torch.randn(cfg.d_vocab, cfg.d_model))

    def forward(self, tokens):
        return self.W_E[tokens]

class Transformer(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.embed, self.head = Embed(cfg), nn.Linear(cfg.d_model, cfg.d_vocab)

    def forward(self, tokens):
        x = self.embed(tokens)
        scores = (x @ x.mT).masked_fill(torch.ones(len(x[0]), len(x[0])).triu(1).bool(), -1e9)
        return self.head(scores.softmax(-1) @ x)

    def generate(self, tokens):
        return self(tokens)[:, -1].masked_fill(self.hidden, -1e9).softmax(-1)

class Config:
    d_vocab = 50257
    d_model = 768

class Sampler:
    def __init__(self):
        self.model = Transformer(Config())

    def write(self, tokens):
        return self.model(tokens)[:, -1].masked_fill(self.hidden, -1e9).softmax(-1)
"""


def test_a_model_whose_table_is_a_parameter_is_one_and_its_line_is_its_own() -> None:
    told = checked(BARE)
    assert told["assumed"]["class"] == "Transformer" and told["assumed"]["model"]
    assert "d_vocab=19" in told["assumed"]["arguments"]["cfg"]
    assert told["found"] == []
    (one,) = checked(BARE.replace("triu(1)", "triu(2)"))["found"]
    assert (one["test"], one["line"]) == ("model_prefix", 17)
