r"""Right and wrong models in other spellings than those that each rule was made for."""

import inspect
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from tests.wrongline.others import N_VOCAB, WIDTH, Mixing, Small, texts
from wrongline.attention_tests import find_mistakes
from wrongline.command import main
from wrongline.language_model import find_in_language_model, find_in_training_step


class NamesOnly(Small):
    r"""`forward` takes its tokens by name, and a mask of padding."""

    def forward(self, *, input_ids: Tensor, attention_mask: Tensor | None = None) -> dict:
        x = self.embed(input_ids)
        hidden = None if attention_mask is None else (attention_mask == 0)[:, None]
        return {"logits": self.head(x + self.mixing(x, hidden))}


def test_tokens_may_be_taken_by_name_only() -> None:
    found = find_in_language_model(NamesOnly(), texts())
    assert found == {}
    assert "- right: padding_is_hidden" in found.table


def test_what_else_a_model_wants_is_said() -> None:
    class Wants(Small):
        def forward(self, tokens: Tensor, mask: Tensor) -> Tensor:
            return super().forward(tokens)

    said = find_in_language_model(Wants(), texts())["runs"]
    assert said.startswith("`forward` also wants mask: say predict=lambda model, tokens: model(tok")
    assert "model(tokens, mask=...)" in said


class Keeps(Small):
    r"""The past stays in the module, under a name that says nothing, and each call has a place."""

    kept: Tensor | None = None
    counts = True

    def forward(self, tokens: Tensor, start_pos: int = 0) -> Tensor:
        past = self.kept if start_pos else None
        x = self.embed(tokens, start_pos if self.counts else 0)
        full = x if past is None else torch.cat([past, x], dim=1)
        self.kept = full
        return self.head(x + self.mixing(full, new=tokens.shape[1]))


class KeepsWrongly(Keeps):
    counts = False


class OnlyPlaces(Small):
    r"""It is told the place of its first token, and keeps nothing."""

    def forward(self, tokens: Tensor, start_pos: int = 0) -> Tensor:
        x = self.embed(tokens, start_pos)
        return self.head(x + self.mixing(x))


def test_a_cache_in_the_module_is_known_by_what_it_does() -> None:
    for model, verdict in (
        (Keeps(), "- right: cache_agrees"),
        (KeepsWrongly(), "* wrong: cache_agrees: token by token"),
        (OnlyPlaces(), "- not tried: cache_agrees: no cache comes to light: the module keeps noth"),
    ):
        assert verdict in find_in_language_model(model, texts()).table


class Resets(Keeps):
    r"""It has a layer in a dictionary of PyTorch's, which has `clear`, and room after a call."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleDict({"mixing": self.mixing})

    def reset_cache(self) -> None:
        if self.kept is None:
            raise RuntimeError("nothing was kept")
        self.kept = None

    def forward(self, tokens: Tensor, start_pos: int = 0) -> Tensor:
        self.mixing = self.layers["mixing"]
        return super().forward(tokens, start_pos)


def test_a_cache_is_emptied_by_the_method_of_its_author() -> None:
    model = Resets()
    found = find_in_language_model(model, texts())
    assert found == {}
    assert "- right: cache_agrees" in found.table
    assert [*model.layers] == ["mixing"]
    model.counts = False
    assert "cache_agrees" in find_in_language_model(model, texts())


def test_a_nameless_cache_that_refuses_a_part_is_told_in_its_words() -> None:
    class Square(Mixing):
        def sees(self, t: int, n: int) -> Tensor:
            return torch.ones(t, t if t > 1 else n, dtype=torch.bool).tril(n - 1 if t == 1 else 0)

    table = find_in_language_model(Keeps(Square), texts()).table
    assert "- not tried: cache_agrees: several new tokens at once: RuntimeError: " in table


class Noisy(Mixing):
    r"""A kernel drops weights in training, by a number that no module has."""

    causal = True

    def forward(self, x: Tensor, hidden: Tensor | None = None, new: int = 0) -> Tensor:
        q, k, v = (z.unflatten(-1, (2, -1)).transpose(1, 2) for z in self.parts(x).chunk(3, -1))
        p = 0.1 if self.training else 0.0
        causal = self.causal or not self.training
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=p, is_causal=causal)
        return self.out(y.transpose(1, 2).flatten(2))


class NoisyLeak(Noisy):
    causal = False


class Drawn(Mixing):
    r"""In training, so many random numbers are drawn as there are large tokens."""

    def forward(self, x: Tensor, hidden: Tensor | None = None, new: int = 0) -> Tensor:
        y = super().forward(x, hidden, new)
        if not self.training:
            return y
        large = x[..., 0] > 0
        # The last ones come first.
        noise = torch.rand(int(large.sum())).flip(0)
        return y.index_put((large,), y[large] + noise[:, None])


def test_what_is_random_in_training_is_compared_with_the_same_numbers() -> None:
    assert find_in_language_model(Small(Noisy), texts()) == {}
    said = find_in_language_model(Small(NoisyLeak), texts())
    assert said["model_prefix"].startswith("in training, the logits ")
    found = find_in_language_model(Small(Drawn), texts())
    assert found == {}
    assert "model_prefix: in training, how many random numbers are drawn" in found.table


def test_a_head_that_is_used_in_training_only_is_no_fault() -> None:
    class Second(Small):
        def __init__(self) -> None:
            super().__init__()
            self.second = nn.Linear(WIDTH, N_VOCAB)

        def forward(self, tokens: Tensor) -> Any:
            z, x = self.logits(tokens)
            return (z, self.second(x)) if self.training else z

    for options in ({}, {"predict": lambda m, t: m(t)[0] if m.training else m(t)}):
        found = find_in_language_model(Second(), texts(), **options)
        assert found == {}
        assert "- unusual: every_weight_is_used: no gradient comes to second.weight" in found.table


@pytest.mark.parametrize("cut", [True, False])
def test_a_layer_is_named_though_others_of_its_list_are_used(cut: bool) -> None:
    class Deep(Small):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(3))

        def forward(self, tokens: Tensor) -> Tensor:
            x = self.embed(tokens)
            # The first is left out, or what it makes is detached.
            x = x if cut else self.layers[0](x).detach()
            for layer in self.layers[1:]:
                x = x + layer(x)
            return self.head(x + self.mixing(x))

    found = find_in_language_model(Deep(), texts())
    named = next(row for row in found.table.splitlines() if "every_weight" in row)
    assert named.startswith("- unusual: ")
    assert "layers.0.weight" in named
    assert "layers.1.weight" not in named


class Adapted(nn.Module):
    r"""A layer that stays, and one beside it that learns."""

    def __init__(self, base: nn.Module) -> None:
        super().__init__()
        self.base, self.more = base.requires_grad_(False), nn.Linear(WIDTH, N_VOCAB)

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + self.more(x)


@pytest.mark.parametrize("late", [True, False])
def test_a_layer_that_make_step_replaces_is_known_by_its_name(late: bool) -> None:
    def make_step(model: nn.Module) -> Any:
        if not late:
            model.head = Adapted(model.head)
        optimizer = torch.optim.AdamW([w for w in model.parameters() if w.requires_grad], 1e-2)
        # The old one is what the optimizer knows.
        if late:
            model.head = nn.Linear(WIDTH, N_VOCAB)

        def step(x: Tensor, y: Tensor) -> None:
            optimizer.zero_grad()
            F.cross_entropy(model(x).mT, y).backward()
            optimizer.step()

        return step

    x = texts(6)
    found = find_in_training_step(Small(), x[:, :-1], x[:, 1:], make_step=make_step, n_steps=300)
    said = "head.weight, head.bias get a gradient, and no optimizer knows them"
    assert found.get("same_step", "") == (said if late else ""), found.table


class Fields(nn.Module):
    r"""An attention that gives its weights as well, in a field."""

    @dataclass
    class Output:
        weights: Tensor
        hidden: Tensor

    empty_row = False

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(24, 24) for _ in range(4))

    def forward(self, x: Tensor) -> Any:
        q, k, v = (f(x).unflatten(-1, (3, 8)).transpose(1, 2) for f in (self.q, self.k, self.v))
        seen = torch.ones(x.shape[1], x.shape[1]).tril(-1 if self.empty_row else 0) == 1
        weights = (q @ k.mT / 8**0.5).masked_fill(~seen, -math.inf).softmax(-1)
        return Fields.Output(weights, self.o((weights @ v).transpose(1, 2).flatten(2)))


def test_the_output_is_found_in_a_field() -> None:
    found = find_mistakes(Fields(), 3, 24)
    assert found == {}
    assert "- right: comparison" in found.table


def test_numbers_that_are_none_are_told_alone() -> None:
    attention = Fields()
    attention.empty_row = True
    found = find_mistakes(attention, 3, 24)
    assert list(found) == ["comparison", "stays_finite"]
    assert "- not tried: sequences_apart: the output has NaN" in found.table


def test_the_command_says_where_and_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "theirs.py"
    file.write_text(
        inspect.cleandoc("""
        import torch
        from torch import nn

        class Image(nn.Module):
            def __init__(self, dim):
                super().__init__()
                self.patches = nn.Conv2d(3, dim, 4, 4)
            def forward(self, img):
                return self.patches(img).flatten(2).mean(-1)

        class Both(nn.Module):
            def __init__(self, vocab_size, dim):
                super().__init__()
                self.e = nn.Embedding(vocab_size, dim)
            def forward(self, encoder_input, decoder_input):
                return self.e(encoder_input).sum(1, True) + self.e(decoder_input)

        class Sees(nn.Module):
            def __init__(self, vocab_size, dim):
                super().__init__()
                self.e = nn.Embedding(vocab_size, dim)
                self.o = nn.Linear(dim, vocab_size)
            def forward(self, input_ids):
                x = self.e(input_ids)
                return self.o(x + x.mean(1, keepdim=True))
        """),
        encoding="utf-8",
    )
    assert main([f"{file}:Image"]) == 2
    assert "(theirs.py, line 9: return self.patches" in capsys.readouterr().out
    assert main([f"{file}:Both"]) == 2
    assert "it has an encoder and a decoder: say which text" in capsys.readouterr().out
    assert main([f"{file}:Sees"]) == 1
    assert "which may see everything: --skip model_prefix\n" in capsys.readouterr().out
    assert main([f"{file}:Sees", "--skip", "model_prefix"]) == 0


class Listed(nn.Module):
    r"""Its layers stand in a plain list."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(N_VOCAB, WIDTH), nn.Linear(WIDTH, N_VOCAB)
        self.layers = [nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)]

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        for layer in self.layers:
            x = x + layer(x).relu()
        return self.head(x)


class Taught(Small):
    r"""A teacher is kept out of the parameters on purpose, and gets no gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.teacher = [Small()]

    def forward(self, tokens: Tensor) -> Tensor:
        with torch.no_grad():
            self.kept = self.teacher[0](tokens)
        return super().forward(tokens)


def test_layers_in_a_plain_list_are_named() -> None:
    batch = texts()
    given = {"only": ["every_weight_moves"]}
    found = find_in_training_step(Listed(), batch[:, :-1], batch[:, 1:], **given)
    said = found["every_weight_moves"]
    assert said.startswith("layers[0].weight, layers[0].bias, layers[1].weight, layers[1].bias get")
    assert find_in_training_step(Taught(), batch[:, :-1], batch[:, 1:], **given) == {}
    # Who hands them to the optimizer has done it another way.

    def make_step(model: Any) -> Any:
        weights = [*model.parameters(), *(w for one in model.layers for w in one.parameters())]
        optimizer = torch.optim.Adam(weights, 3e-3)

        def step(inputs: Tensor, targets: Tensor) -> None:
            optimizer.zero_grad()
            F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten()).backward()
            optimizer.step()

        return step

    given["make_step"] = make_step
    assert find_in_training_step(Listed(), batch[:, :-1], batch[:, 1:], **given) == {}


class Dropping(Small):
    def __init__(self) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.1)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.drop(super().forward(tokens))


@pytest.mark.parametrize("begins", [False, True])
@pytest.mark.parametrize("ends", [False, True])
def test_a_step_that_leaves_the_model_in_evaluation(begins: bool, ends: bool) -> None:
    def make_step(model: nn.Module) -> Any:
        optimizer = torch.optim.Adam(model.parameters(), 3e-3)

        def step(inputs: Tensor, targets: Tensor) -> None:
            if begins:
                model.train()
            optimizer.zero_grad()
            F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten()).backward()
            optimizer.step()
            model.eval()
            with torch.no_grad():
                model(inputs)
            if ends:
                model.train()

        return step

    batch = texts()
    given = {"only": ["stays_in_training"], "make_step": make_step}
    found = find_in_training_step(Dropping(), batch[:, :-1], batch[:, 1:], **given)
    assert bool(found) == (not begins and not ends)
    if found:
        assert "the next step has no dropout" in found["stays_in_training"]
    # Without dropout it does no harm.
    assert find_in_training_step(Small(), batch[:, :-1], batch[:, 1:], **given) == {}
