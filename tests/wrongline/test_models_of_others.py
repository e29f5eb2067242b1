r"""
What people bring: right models that no test may accuse, and wrong ones, whose fault must be found.

Each is a kind that was once judged wrongly.
"""

import math
import re
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.wrongline.others import N_VOCAB, WIDTH, Mixing, Small, texts
from wrongline.attention_tests import find_mistakes
from wrongline.language_model import (
    ALL_TESTS,
    find_in_language_model,
    find_in_training_step,
)


class NoMask(Mixing):
    def sees(self, t: int, n: int) -> Tensor:
        return torch.ones(t, n, dtype=torch.bool)


class Suppresses(Small):
    r"""One token is never said."""

    value = -1e9

    def forward(self, tokens: Tensor) -> Tensor:
        z = super().forward(tokens)
        return z.index_fill(-1, torch.tensor([4]), self.value)


class Never(Suppresses):
    value = -math.inf


class Smallest(Suppresses):
    value = torch.finfo(torch.float32).min


class Adds(Small):
    r"""As a bias, which is rounded: most of the logit is lost."""

    def forward(self, tokens: Tensor) -> Tensor:
        bias = torch.zeros(N_VOCAB)
        bias[3:14] = -1e9
        return super().forward(tokens) + bias


class Loud(Small):
    r"""The first position is a million times as loud as the others."""

    def forward(self, tokens: Tensor) -> Tensor:
        z = super().forward(tokens)
        return torch.cat([1e6 * z[:, :1], z[:, 1:]], dim=1)


class ForAllTheLossOnly(Small):
    r"""As nanoGPT: all logits with targets only, which are given a view."""

    def forward(self, tokens: Tensor, targets: Tensor | None = None) -> tuple[Tensor, Any]:
        z = super().forward(tokens)
        if targets is None:
            return z[:, [-1]], None
        return z, F.cross_entropy(z.view(-1, N_VOCAB), targets.view(-1))


class LossFirst(Small):
    def forward(self, tokens: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        z = super().forward(tokens)
        return F.cross_entropy(z.flatten(0, 1), labels.flatten()), z


class NotOne(Small):
    def forward(self, tokens: Tensor) -> Tensor:
        assert tokens.shape[1] > 2, "a text of two tokens at least"
        return super().forward(tokens)


class Closure(Small):
    r"""A function that the model holds knows its parts, with their dropout."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.more = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Dropout(0.3))
        weight = self.head.weight
        self.last = lambda x: (x + self.more(x)) @ weight.T

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        return self.last(x + self.mixing(x)) + 0 * self.head.bias.sum()


class Keeps(Small):
    r"""What can't be copied: a lock, and what has a history, in a list in a dictionary."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.lock, self.seen = threading.Lock(), {"all": []}

    def forward(self, tokens: Tensor) -> Tensor:
        with self.lock:
            self.seen["all"].append(super().forward(tokens))
        return self.seen["all"][-1]


class Frozen(Small):
    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.places.requires_grad_(False)


class Experts(Small):
    r"""One of three is chosen for a token, never the last one, and a bias decides with it."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.experts = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.favour = nn.Parameter(torch.zeros(2))

    def embed(self, tokens: Tensor, first: int = 0) -> Tensor:
        x = super().embed(tokens, first)
        chosen = (x[..., :2] + self.favour).argmax(-1)
        return x + sum(
            torch.where((chosen == number)[..., None], self.experts[number](x), 0.0)
            for number in chosen.unique().tolist()
        )


class Backwards(nn.Module):
    r"""A recurrent layer takes its weights as a list."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.rnn = (
            nn.Embedding(N_VOCAB, WIDTH),
            nn.GRU(WIDTH, N_VOCAB, batch_first=True),
        )

    def forward(self, tokens: Tensor) -> Tensor:
        return self.rnn(self.tokens(tokens))[0]


RIGHT: list[Callable[[], nn.Module]] = [
    *(Small, Suppresses, Never, Smallest, Adds, Loud, ForAllTheLossOnly, LossFirst, NotOne),
    *(Closure, Keeps, Frozen, Experts, Backwards),
]


@pytest.mark.parametrize("kind", RIGHT)
def test_nothing_is_wrong_with_a_right_model_and_it_stays_as_it_is(kind: type) -> None:
    model = kind()
    model(*[texts()] * (2 if kind is LossFirst else 1))
    before = {name: one.clone() for name, one in model.state_dict().items()}
    flags = [one.requires_grad for one in model.parameters()]
    held = dict(vars(model))
    found = find_in_language_model(model, texts())
    assert found == {}, found.table
    assert {one.test for one in found.verdicts} == {one.__name__ for one in ALL_TESTS}
    assert model.training
    assert all(one.equal(before[name]) for name, one in model.state_dict().items())
    assert [one.requires_grad for one in model.parameters()] == flags
    assert all(one.grad is None for one in model.parameters())
    assert all(vars(model)[name] is one for name, one in held.items())


@pytest.mark.parametrize("kind", [Small, Suppresses, Smallest, Adds, Loud, Closure, Keeps])
def test_a_missing_mask_is_found_whatever_else_is_unusual(kind: type) -> None:
    found = find_in_language_model(kind(NoMask), texts())
    assert "sees the future" in found["model_prefix"]


def test_a_shorter_text_that_is_refused_is_told_and_no_failure() -> None:
    found = find_in_language_model(NotOne(), texts())
    said = {one.test: one for one in found.verdicts}["model_prefix"]
    assert said.kind == "not tried"
    assert said.sentence.startswith("texts of 1, 2 tokens: AssertionError: a text of two tokens")


class OnlyInTraining(Mixing):
    def sees(self, t: int, n: int) -> Tensor:
        return super().sees(t, n) | torch.tensor(self.training)


class BatchNormed(Mixing):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(WIDTH)

    def forward(self, x: Tensor, hidden: Tensor | None = None, new: int = 0) -> Tensor:
        return self.norm(super().forward(x, hidden, new).mT).mT


@pytest.mark.parametrize("mixing", [OnlyInTraining, BatchNormed])
def test_a_leak_in_training_alone_is_found(mixing: type) -> None:
    found = find_in_language_model(Small(mixing), texts())
    assert list(found) == ["model_prefix"]
    assert found["model_prefix"].startswith("in training, the logits of sequence ")


def test_dropout_in_training_is_no_leak() -> None:
    model = Small(lambda: nn.Identity())
    model.mixing = nn.Module()
    model.mixing.forward = lambda x, new: F.dropout(x, 0.5, model.mixing.training)
    found = find_in_language_model(model, texts())
    assert found == {}
    assert "- right: model_prefix" in found.table


class Chunks(Mixing):
    r"""Each position sees the mean of its chunk, if the chunk is complete."""

    size = 16

    def forward(self, x: Tensor, hidden: Tensor | None = None, new: int = 0) -> Tensor:
        whole = x.shape[1] // self.size * self.size
        means = x[:, :whole].unflatten(1, (-1, self.size)).mean(2).repeat_interleave(self.size, 1)
        y = super().forward(x, hidden, new)
        return torch.cat([y[:, :whole] + means, y[:, whole:]], dim=1)


class LargerChunks(Chunks):
    size = 64


class Chooses(Mixing):
    r"""The three loudest tokens of the text are handled, as by an expert that chooses."""

    def forward(self, x: Tensor, hidden: Tensor | None = None, new: int = 0) -> Tensor:
        loud = x[..., 0].topk(min(3, x.shape[1]), dim=1).indices
        chosen = torch.zeros(x.shape[:2]).scatter(1, loud, 1.0)
        return super().forward(x, hidden, new) + chosen[..., None]


@pytest.mark.parametrize(("mixing", "longest"), [(Chunks, 48), (LargerChunks, 160), (Chooses, 48)])
def test_a_leak_in_a_chunk_or_by_a_choice_is_found(mixing: type, longest: int) -> None:
    model = Small(mixing, longest)
    model.block_size = longest
    found = find_in_language_model(model, texts())
    assert "sees the future" in found["model_prefix"]
    assert (
        found.tried_on == f"tried on 3 texts of 10 tokens and on 2 of {longest}"
        or mixing is Chooses
    )


@pytest.mark.parametrize(("rows", "length"), [(1, 256), (3, 256), (40, 256), (3, 12)])
def test_at_most_sixty_calls_are_made(rows: int, length: int) -> None:
    calls = []
    model = Small(longest=256)
    model.register_forward_hook(lambda *_: calls.append(None))
    assert find_in_language_model(model, texts(rows, length)) == {}
    assert len(calls) <= 60


def test_a_sequence_of_many_is_mixed_with_one_other() -> None:
    class Leaks(Small):
        def forward(self, tokens: Tensor) -> Tensor:
            z = super().forward(tokens)
            if len(z) > 37:
                z = z.index_add(0, torch.tensor([37]), z[5:6])
            return z

    found = find_in_language_model(Leaks(), texts(40))
    assert found["each_sequence_alone"].startswith("sequence 37 of 40 gets other logits when the")


# Caches


class Returned(Small):
    r"""Right. A mistake is the first position of what is read later."""

    def __init__(self, right: bool) -> None:
        super().__init__()
        self.right = right

    def embed(self, tokens: Tensor, first: int = 0) -> Tensor:
        return super().embed(tokens, first if self.right else 0)

    def forward(self, tokens: Tensor, use_cache: bool = False, past_key_values: Any = None) -> Any:
        z, x = self.logits(tokens, past_key_values)
        return SimpleNamespace(logits=z, past_key_values=x if use_cache else None)


class Pair(Returned):
    def forward(self, tokens: Tensor, past: Any = None) -> Any:
        return self.logits(tokens, past)


class InADictionary(Returned):
    def forward(self, tokens: Tensor, cache: Any = None) -> Any:
        z, x = self.logits(tokens, cache and cache["x"])
        return {"logits": z, "cache": {"x": x}}


class Filled(Returned):
    def forward(self, tokens: Tensor, kv_cache: Any = None) -> Any:
        z, x = self.logits(tokens, None if kv_cache is None else kv_cache.get("x"))
        if kv_cache is not None:
            kv_cache["x"] = x
        return z


class InTheModule(Returned):
    past: Tensor | None = None

    def reset_cache(self) -> None:
        self.past = None

    def forward(self, tokens: Tensor, use_cache: bool = False) -> Any:
        z, x = self.logits(tokens, self.past if use_cache else None)
        self.past = x if use_cache else self.past
        return z


class FromAPosition(Returned):
    r"""As Llama: the buffer is as long as the longest text."""

    def __init__(self, right: bool) -> None:
        super().__init__(right)
        self.register_buffer("cache_x", torch.zeros(8, 48, WIDTH))

    def forward(self, tokens: Tensor, start_pos: int) -> Any:
        z, x = self.logits(tokens, self.cache_x[: len(tokens), :start_pos] if start_pos else None)
        self.cache_x[: len(tokens), : x.shape[1]] = x
        return z


class LastOnly(Returned):
    def forward(self, tokens: Tensor, targets: Any = None, past: Any = None) -> Any:
        z, x = self.logits(tokens, past)
        return z[:, -1:] if targets is None else z, x


@pytest.mark.parametrize(
    "kind",
    [Returned, Pair, InADictionary, Filled, InTheModule, FromAPosition, LastOnly],
)
def test_a_cache_is_read_in_its_way_and_a_wrong_position_is_found(kind: type) -> None:
    right = find_in_language_model(kind(True), texts())
    assert right == {}, right.table
    assert "- right: cache_agrees" in right.table
    wrong = find_in_language_model(kind(False), texts())
    assert list(wrong) == ["cache_agrees"], wrong.table
    assert "without a cache" in wrong["cache_agrees"]


def test_a_cached_call_that_fails_is_told_in_its_own_words() -> None:
    class Fails(Returned):
        def forward(
            self, tokens: Tensor, use_cache: bool = False, past_key_values: Any = None
        ) -> Any:
            if past_key_values is not None:
                raise RuntimeError("a mask of 6x6 for 6x7 scores")
            return super().forward(tokens, use_cache)

    found = find_in_language_model(Fails(True), texts())
    assert list(found) == ["cache_agrees"]
    assert found["cache_agrees"].startswith(
        "RuntimeError: a mask of 6x6 for 6x7 scores (test_models"
    )
    (one,) = [one for one in found.verdicts if one.test == "cache_agrees"]
    assert one.kind == "error"
    assert re.search(r"test_models_of_others.py:\d+$", one.place)


def test_what_says_that_it_has_a_cache_and_has_none_is_not_judged() -> None:
    class Ignores(Small):
        def forward(self, tokens: Tensor, use_cache: bool = False, cache: Any = None) -> Tensor:
            return super().forward(tokens)

    found = find_in_language_model(Ignores(), texts())
    assert found == {}
    assert "- not tried: cache_agrees: " in found.table


class Documents(Small):
    def __init__(self, obeys: bool) -> None:
        super().__init__()
        self.obeys = obeys

    def forward(
        self, tokens: Tensor, doc_ids: Any = None, use_cache: Any = None, past: Any = None
    ) -> Any:
        hidden = None
        if doc_ids is not None and self.obeys:
            hidden = doc_ids[:, :, None] != doc_ids[:, None]
        if hidden is None:
            return self.logits(tokens, past)
        x = self.embed(tokens)
        return self.head(x + self.mixing(x, hidden)), x


def test_documents_are_told_by_an_argument_or_within_predict() -> None:
    numbers = torch.arange(10).expand(3, 10) // 6

    def said(model: nn.Module, tokens: Tensor) -> Tensor:
        return model(tokens, doc_ids=numbers[: len(tokens), : tokens.shape[1]])[0]

    # Its cache is called without documents, so the two can't be compared.
    found = find_in_language_model(Documents(True), texts(), predict=said)
    assert found == {}
    assert "- not tried: cache_agrees: nobody has said by `read`" in found.table
    assert find_in_language_model(Documents(True), texts()) == {}
    found = find_in_language_model(Documents(False), texts())
    assert list(found) == ["documents_are_apart"]


class Padded(Small):
    r"""`shows` is what is true of a token that may be seen, or None if the mask is ignored."""

    def __init__(self, shows: bool | None) -> None:
        super().__init__()
        self.shows = shows

    def forward(self, tokens: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        x = self.embed(tokens)
        hidden = None
        if attention_mask is not None and self.shows is not None:
            hidden = (attention_mask.bool() != self.shows)[:, None]
        return self.head(x + self.mixing(x, hidden))


def test_padding_is_hidden_by_a_mask_of_either_meaning() -> None:
    for shows in (True, False):
        found = find_in_language_model(Padded(shows), texts())
        assert found == {}
        # The other meaning is told: a tokenizer's mask would show the padding alone.
        said = "right: padding_is_hidden" if shows else "unusual: padding_is_hidden: `attention_ma"
        assert f"- {said}" in found.table
    found = find_in_language_model(Padded(None), texts())
    assert list(found) == ["padding_is_hidden"]


def test_a_weight_that_is_never_used_is_named_and_one_that_waits_for_an_image_is_not() -> None:
    model = Small()
    model.forgotten, model.gain = nn.Linear(3, 3), nn.Parameter(torch.ones(5))
    said = find_in_language_model(model, texts())
    assert said == {
        "every_weight_is_used": "no gradient comes to gain, forgotten.weight: never used"
    }

    class Sees(Small):
        def __init__(self) -> None:
            super().__init__()
            self.eye = nn.Linear(3, 3)

        def forward(self, tokens: Tensor, pixel_values: Any = None) -> Tensor:
            return super().forward(tokens)

    found = find_in_language_model(Sees(), texts())
    assert found == {}
    assert "- unusual: every_weight_is_used: no gradient comes to eye.weight" in found.table


def test_an_encoder_with_a_decoder_is_not_accused() -> None:
    class Two(Small):
        def forward(self, tokens: Tensor, tgt: Tensor) -> Tensor:
            return super().forward(tgt)

    found = find_in_language_model(Two(), texts())
    assert list(found) == ["runs"]
    assert found.status() == 2
    assert "an encoder and a decoder: say which text the encoder reads" in found["runs"]
    assert "tgt=tokens" in found["runs"]


# Attentions


class Attention(Mixing):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x)


def turned(z: Tensor, d: int) -> Tensor:
    angles = torch.arange(z.shape[2])[:, None] * 0.5 ** torch.arange(d // 2)
    a, b = z[..., :d].chunk(2, -1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([a * cos - b * sin, a * sin + b * cos, z[..., d:]], -1)


class Half(nn.Module):
    r"""`change` is made to queries and keys, and then `times` their products are the scores."""

    def __init__(self, change: Callable[[Tensor], Tensor], times: float = 6**-0.5) -> None:
        super().__init__()
        self.parts, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.change, self.times = change, times

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (z.unflatten(-1, (2, -1)).transpose(1, 2) for z in self.parts(x).chunk(3, -1))
        scores = self.times * self.change(q) @ self.change(k).mT
        ahead = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
        weights = scores.masked_fill(ahead, -torch.inf).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))


UNUSUAL = {
    "half of the features are turned": Half(lambda z: turned(z, 4)),
    "normalised queries and keys": Half(lambda z: F.normalize(z, dim=-1), 5.0),
    "divided by the width": Half(lambda z: z, 1 / 6),
    "a fixed scale": Half(lambda z: z, 0.77),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_an_attention_of_another_kind_is_unusual(name: str) -> None:
    found = find_mistakes(UNUSUAL[name], 2, WIDTH)
    assert found == {}
    assert "- unusual: comparison: " in found.table


def test_an_attention_may_have_a_learned_temperature() -> None:
    class Warm(Half):
        def __init__(self) -> None:
            super().__init__(lambda z: z)
            self.times = nn.Parameter(torch.tensor(0.4))

    assert find_mistakes(Warm(), 2, WIDTH) == {}
    # A leak beside it is found.
    Warm.forward = lambda self, x: Half.forward(self, x) + x.mean(1, keepdim=True)
    assert "nothing_from_the_future" in find_mistakes(Warm(), 2, WIDTH)


def test_an_attention_may_have_frozen_weights_and_hold_what_has_a_history() -> None:
    attention = Attention()
    attention.parts.weight.requires_grad_(False)
    attention.kept = {"x": attention(torch.randn(2, 4, WIDTH))}
    assert find_mistakes(attention, 2, WIDTH) == {}
    assert not attention.parts.weight.requires_grad


def test_a_detached_input_has_no_gradient() -> None:
    class Detached(Attention):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x.detach())

    found = find_mistakes(Detached(), 2, WIDTH)
    assert found["stays_finite"] == (
        "no gradient comes to the input: is it detached on its way to the output?"
    )


def test_keys_of_a_joint_matrix_may_not_be_detached() -> None:
    class Keys(Half):
        def __init__(self) -> None:
            super().__init__(lambda z: z)
            self.change = Once()

    class Once(nn.Module):
        calls = 0

        def forward(self, z: Tensor) -> Tensor:
            # Queries and keys in turn.
            self.calls += 1
            return z if self.calls % 2 else z.detach()

    found = find_mistakes(Keys(), 2, WIDTH)
    rows = f"rows {WIDTH} to {2 * WIDTH - 1} of parts.weight"
    assert rows in found["every_matrix_is_used"]


# Training steps

TEXT = torch.stack(
    [torch.randperm(N_VOCAB, generator=torch.Generator().manual_seed(i))[:11] for i in range(6)]
)
X, Y = TEXT[:, :-1], TEXT[:, 1:]
Steps = Callable[[nn.Module], Callable[[Tensor, Tensor], Any]]


def loss_of(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


def trainable(model: nn.Module) -> list[nn.Parameter]:
    return [one for one in model.parameters() if one.requires_grad]


def plain_step(
    loss: Callable[..., Tensor] = loss_of,
    before: Callable[[nn.Module], Any] = lambda model: None,
    rate: float = 1e-2,
    at_first: Callable[[nn.Module], Any] = lambda model: None,
) -> Steps:
    def make(model: nn.Module) -> Callable[[Tensor, Tensor], Any]:
        at_first(model)
        optimizer = torch.optim.AdamW(trainable(model), rate)

        def step(x: Tensor, y: Tensor) -> None:
            optimizer.zero_grad()
            loss(model, x, y).backward()
            before(model)
            optimizer.step()

        return step

    return make


def waiting(n: int, clears: bool = True) -> Steps:
    def make(model: nn.Module) -> Callable[[Tensor, Tensor], Any]:
        optimizer = torch.optim.AdamW(trainable(model), 1e-2)
        calls = []

        def step(x: Tensor, y: Tensor) -> None:
            calls.append(None)
            (loss_of(model, x, y) / n).backward()
            if len(calls) % n == 0:
                optimizer.step()
                if clears:
                    optimizer.zero_grad()

        return step

    return make


def clip_all(model: nn.Module) -> None:
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)


def clip_values(model: nn.Module) -> None:
    nn.utils.clip_grad_value_(model.parameters(), 0.05)


def smooth(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten(), label_smoothing=0.1)


def with_penalty(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return loss_of(model, x, y) + 0.01 * sum(one.square().sum() for one in model.parameters())


def half_left_out() -> Tensor:
    y = Y.clone()
    y[:, :3] = -100
    y[0, :6] = -100
    return y


def all_but_the_last(model: nn.Module) -> None:
    for one in [*model.parameters()][:-2]:
        one.requires_grad_(False)


def with_spectral_norm() -> nn.Module:
    r"""A buffer moves with each call in training."""
    model = Small()
    nn.utils.parametrizations.spectral_norm(model.mixing.out)
    return model


RIGHT_STEPS: dict[str, tuple[Callable[[], nn.Module], Tensor, Tensor, Steps]] = {
    "plain": (Small, X, Y, plain_step()),
    "frozen, and all are clipped": (Frozen, X, Y, plain_step(before=clip_all)),
    "clipped by value": (Small, X, Y, plain_step(before=clip_values)),
    "eight calls": (Small, X, Y, waiting(8)),
    "twenty calls": (Small, X, Y, waiting(20)),
    "a prompt is left out": (Small, X, half_left_out(), plain_step()),
    "a spectral norm": (with_spectral_norm, X, Y, plain_step()),
    "smoothed in the step": (Small, X, Y, plain_step(smooth)),
    "a penalty": (Small, X, Y, plain_step(with_penalty)),
    "a small rate": (Small, X, Y, plain_step(rate=1e-4)),
    "frozen by who makes the step": (Small, X, Y, plain_step(at_first=all_but_the_last)),
}


@pytest.mark.parametrize("name", RIGHT_STEPS)
def test_nothing_is_wrong_with_a_right_step(name: str) -> None:
    kind, x, y, make_step = RIGHT_STEPS[name]
    model = kind()
    before = {name: one.clone() for name, one in model.state_dict().items()}
    found = find_in_training_step(model, x, y, make_step=make_step, n_steps=200)
    assert found == {}, found.table
    assert all(one.equal(before[name]) for name, one in model.state_dict().items())
    assert all(one.grad is None for one in model.parameters())


class ShiftsInside(Small):
    r"""As all models of the transformers library: the labels are the text."""

    shift = 1

    def forward(self, tokens: Tensor, labels: Tensor | None = None) -> Any:
        z, loss = super().forward(tokens), None
        if labels is not None:
            n = tokens.shape[1] - self.shift
            loss = F.cross_entropy(z[:, :n].flatten(0, 1), labels[:, self.shift :].flatten())
        return SimpleNamespace(logits=z, loss=loss)


class Copies(ShiftsInside):
    shift = 0


def by_its_own_loss(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return model(x, labels=y).loss


def test_labels_may_be_the_text_if_the_model_shifts_them() -> None:
    options = {"make_step": plain_step(by_its_own_loss), "n_steps": 200}
    found = find_in_training_step(ShiftsInside(), X, X, **options)
    assert found == {}, found.table
    found = find_in_training_step(Copies(), X, X, **options)
    assert "the model learns to copy" in found["targets_follow_inputs"]

    def in_the_step(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(model(x)[:, :-1].flatten(0, 1), y[:, 1:].flatten())

    options = {"make_step": plain_step(in_the_step), "n_steps": 200}
    assert find_in_training_step(Small(), X, X, **options) == {}


OTHER = Small()


def test_an_optimizer_of_another_model_is_named_and_the_other_model_stays_as_it_is() -> None:
    def make_step(model: nn.Module) -> Callable[[Tensor, Tensor], Any]:
        optimizer = torch.optim.AdamW(OTHER.parameters(), 1e-2)

        def step(x: Tensor, y: Tensor) -> None:
            optimizer.zero_grad()
            (loss_of(model, x, y) + loss_of(OTHER, x, y)).backward()
            optimizer.step()

        return step

    before = OTHER.head.weight.detach().clone()
    found = find_in_training_step(Small(), X, Y, make_step=make_step, n_steps=20)
    assert "the optimizer has no weight of this model" in found["same_step"]
    assert OTHER.head.weight.equal(before)


def mean_of_means(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return sum(loss_of(model, *part) for part in zip(x.chunk(3), y.chunk(3), strict=True)) / 3


def without_a_token(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return loss_of(model, x, y.masked_fill(y == 5, -100))


def softmax_first(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    return F.cross_entropy(model(x).softmax(-1).flatten(0, 1), y.flatten())


WRONG_STEPS: dict[str, tuple[Tensor, Steps, str, str]] = {
    "leftover": (Y, waiting(3, clears=False), "forgets", "`zero_grad` is missing"),
    "sum over calls": (Y, lambda model: waiting_sum(model), "same_step", "the gradient is 4 times"),
    "mean of means": (half_left_out(), plain_step(mean_of_means), "same_step", "means of 3 parts"),
    "a token": (Y, plain_step(without_a_token), "same_step", "token 5 is left out"),
    "softmax": (Y, plain_step(softmax_first), "same_step", "a softmax comes before"),
}


def waiting_sum(model: nn.Module) -> Callable[[Tensor, Tensor], Any]:
    r"""Four calls are added up, and nothing is divided."""
    optimizer = torch.optim.SGD(model.parameters(), 1e-2)
    calls = []

    def step(x: Tensor, y: Tensor) -> None:
        calls.append(None)
        loss_of(model, x, y).backward()
        if len(calls) % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()

    return step


@pytest.mark.parametrize("name", WRONG_STEPS)
def test_a_wrong_step_is_named(name: str) -> None:
    y, make_step, test, sentence = WRONG_STEPS[name]
    found = find_in_training_step(Small(), X, y, make_step=make_step, n_steps=12)
    assert sentence in found[test]


def test_weights_that_stand_still_are_named_and_frozen_ones_are_told() -> None:
    def make_step(model: nn.Module) -> Callable[[Tensor, Tensor], Any]:
        groups = [{"params": model.head.parameters(), "lr": 0.0}]
        groups += [{"params": [one for n, one in model.named_parameters() if "head" not in n]}]
        optimizer = torch.optim.SGD(groups, 1e-2)

        def step(x: Tensor, y: Tensor) -> None:
            optimizer.zero_grad()
            loss_of(model, x, y).backward()
            optimizer.step()

        return step

    found = find_in_training_step(Small(), X, Y, make_step=make_step, n_steps=12)
    assert found["every_weight_moves"].startswith(
        "head.weight, head.bias get a gradient, and never"
    )
    found = find_in_training_step(Frozen(), X, Y, make_step=plain_step(), n_steps=200)
    assert found == {}
    assert "- unusual: every_weight_moves: frozen: places.weight" in found.table
    model = Small()
    model.unused = nn.Linear(3, 3)
    found = find_in_training_step(model, X, Y, make_step=plain_step(), n_steps=12)
    assert "no gradient comes to unused.weight" in found["every_weight_moves"]


def test_what_rounding_does_to_a_model_is_no_leak_and_a_leak_beside_it_is_one() -> None:
    class Chaotic(Small):
        r"""Rounding grows, as through many layers; `leak` is what the next token adds."""

        leak = 0.0

        def forward(self, tokens: Tensor) -> Tensor:
            z = super().forward(tokens)
            rounded = (z * 1e3).sin()
            # In another order of additions, as a kernel for another length does it.
            extra = 1e-7 * tokens.shape[1] * z
            return rounded + ((z + extra) * 1e3).sin() + self.leak * z.roll(-1, 1)

    assert find_in_language_model(Chaotic(), texts()) == {}
    leaking = Chaotic()
    leaking.leak = 1.0
    assert "sees the future" in find_in_language_model(leaking, texts())["model_prefix"]
