r"""Models as strangers write them: each kind was accused, or passed, or couldn't be called."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from tests.wrongline.others import N_VOCAB, WIDTH, Mixing, Small, texts
from wrongline.cache_tests import cache_agrees
from wrongline.classes_of_files import classes_of
from wrongline.command import main
from wrongline.guesses import guess_arguments
from wrongline.language_model import find_in_language_model
from wrongline.verdicts import NotTried
from wrongline.whole import Whole

# A cache beside the whole text


class CutsInside(Small):
    r"""Is given the whole text each time, and cuts off all but the last token."""

    def places_of(self, tokens: Tensor) -> Tensor:
        return self.places(torch.arange(tokens.shape[1]))

    def forward(self, tokens: Tensor, past: Tensor | None = None, use_cache: bool = False) -> Any:
        x = self.tokens(tokens) + self.places_of(tokens)
        if past is not None:
            x = x[:, -1:]
        new = x.shape[1]
        x = x if past is None else torch.cat([past, x], dim=1)
        return self.head(x[:, -new:] + self.mixing(x, new=new)), x


class KeepsTooLittle(CutsInside):
    r"""The first token falls out of the cache."""

    def forward(self, tokens: Tensor, past: Tensor | None = None, use_cache: bool = False) -> Any:
        logits, x = super().forward(tokens, past, use_cache)
        return logits, x[:, 1:]


class NeverReads(Small):
    r"""Gives a cache, takes it, and computes everything again; then gives the last logits."""

    def forward(self, tokens: Tensor, past: Tensor | None = None, use_cache: bool = False) -> Any:
        logits, x = self.logits(tokens)
        return logits if past is None else logits[:, -1:], x


def test_a_model_may_be_given_the_whole_text_and_cut_it_itself() -> None:
    said = cache_agrees(Whole(CutsInside(), texts(), texts()))
    assert isinstance(said, NotTried)
    assert said.startswith("several new tokens at once")
    assert "cache_agrees" not in find_in_language_model(CutsInside(), texts())
    assert "token by token" in cache_agrees(Whole(KeepsTooLittle(), texts(), texts()))


def test_a_cache_that_is_never_read_does_not_pass() -> None:
    said = cache_agrees(Whole(NeverReads(), texts(), texts()))
    assert said
    assert not said.startswith("several new tokens at once")


# Weights that only a loss needs


class HeadForALoss(Small):
    def __init__(self) -> None:
        super().__init__()
        self.second = nn.Linear(WIDTH, N_VOCAB)

    def forward(self, tokens: Tensor, labels: Tensor | None = None) -> Any:
        x = self.embed(tokens)
        logits = self.head(x + self.mixing(x))
        if labels is None:
            return logits
        loss = nn.functional.cross_entropy(self.second(x).flatten(0, 1), labels.flatten())
        return loss, logits


class AsksForALoss(HeadForALoss):
    def forward(self, tokens: Tensor, return_loss: bool = False) -> Any:
        return super().forward(tokens, tokens if return_loss else None)


class Forgotten(HeadForALoss):
    def forward(self, tokens: Tensor, labels: Tensor | None = None) -> Any:
        return super().forward(tokens)


@pytest.mark.parametrize("kind", [HeadForALoss, AsksForALoss])
def test_a_weight_may_be_for_a_loss_only(kind: type) -> None:
    found = find_in_language_model(kind(), texts())
    assert found == {}
    assert "second.weight" in found.unusual["every_weight_is_used"]


def test_a_weight_that_no_loss_uses_either_is_named() -> None:
    said = find_in_language_model(Forgotten(), texts())["every_weight_is_used"]
    assert "no gradient comes to second.weight" in said


# Two texts


class Translates(Small):
    def forward(self, src: Tensor, tgt: Tensor, src_mask: Tensor, pad: int = 0) -> Tensor:
        return super().forward(tgt) + self.head(self.embed(src)).mean(1, keepdim=True)


class TargetFirst(Small):
    def forward(self, tgt: Tensor, memory: Tensor) -> Tensor:
        return super().forward(tgt)


def said_of(model: nn.Module) -> str:
    return find_in_language_model(model, texts())["runs"]


def test_how_two_texts_are_given_is_said_with_all_that_is_needed() -> None:
    source = "source[:1].expand(len(tokens), -1)"
    said = said_of(Translates())
    assert f"model({source}, tgt=tokens, src_mask=...)" in said
    assert ".logits" not in said
    assert f"model(tgt=tokens, memory={source})" in said_of(TargetFirst())


def test_what_is_said_of_two_texts_runs() -> None:
    said = said_of(Translates()).partition("predict=")[2].partition(", which")[0]
    names = {"source": texts(1, 5), "model": None}
    predict = eval(said.replace("=...", "=None"), names)
    assert find_in_language_model(Translates(), texts(), predict=predict) == {}


# Two masks


class TwoMasks(Small):
    r"""With padding, one mask is built, and without it another one."""

    def forward(self, tokens: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        if attention_mask is None:
            return super().forward(tokens)
        x = self.embed(tokens)
        hidden = (attention_mask == 0)[:, None].expand(-1, tokens.shape[1], -1)
        return self.head(x + self.mixing(x, hidden))


class NotCausalWithPadding(TwoMasks):
    def __init__(self) -> None:
        super().__init__()
        self.all = Mixing()
        self.all.sees = lambda t, n: torch.ones(t, n, dtype=torch.bool)

    def forward(self, tokens: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        mixing = self.mixing
        self.mixing = self.mixing if attention_mask is None else self.all
        logits = super().forward(tokens, attention_mask)
        self.mixing = mixing
        return logits


class NotCausalIfNothingIsHidden(NotCausalWithPadding):
    def forward(self, tokens: Tensor, attention_mask: Tensor | None = None) -> Tensor:
        full = attention_mask is not None and bool((attention_mask != 0).all())
        kind = NotCausalWithPadding if full else TwoMasks
        return kind.forward(self, tokens, attention_mask)


def test_the_future_is_hidden_with_padding_as_without() -> None:
    assert find_in_language_model(TwoMasks(), texts()) == {}
    said = find_in_language_model(NotCausalWithPadding(), texts())["padding_is_hidden"]
    assert said.startswith("with padding hidden by `attention_mask`, the logits of sequence")
    assert said.endswith("the model sees the future")
    said = find_in_language_model(NotCausalIfNothingIsHidden(), texts())["padding_is_hidden"]
    assert said.startswith("with a `attention_mask` that hides nothing, the logits")


# Windows


class Windowed(nn.Module):
    def __init__(self, n_embd: int, window_size: int = 1024, chunk_size: int = 2) -> None:
        super().__init__()


class Off(nn.Module):
    def __init__(self, cfg: Any, window: Any = None, sliding_window: int = -1) -> None:
        super().__init__()


def test_a_window_is_shorter_than_the_texts_and_one_that_is_off_stays_off() -> None:
    assert guess_arguments(Windowed, "")[0] == {"n_embd": 24, "window_size": 4, "chunk_size": 2}
    found, _ = guess_arguments(Off, "cfg.sliding_window")
    assert vars(found.pop("cfg")) == {"sliding_window": 4}
    assert found == {"window": None, "sliding_window": -1}


@pytest.mark.parametrize(("size", "kind"), [(64, "not tried"), (8, "right"), (4096, "right")])
def test_what_is_beyond_a_window_that_no_text_fills_was_not_tried(size: int, kind: str) -> None:
    model = Small()
    model.window_size = size
    model.block_size = 48 if kind == "right" else 128
    found = {one.test: one for one in find_in_language_model(model, texts()).verdicts}
    assert found["model_prefix"].kind == kind
    assert (kind == "right") or "`window_size` is 64" in found["model_prefix"].sentence


# Configurations

MAPPINGS = """
from dataclasses import dataclass, field
from torch import nn


def block(n_embd, vocab_size):
    return nn.Linear(n_embd, vocab_size)


class Mapped(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        assert "n_head" in cfg and "colour" not in cfg and len(cfg) == len(cfg.keys())
        assert {**cfg}["n_head"] == cfg.get("n_head") == 3 and cfg.get("colour", 7) == 7
        self.table = nn.Embedding(cfg.get("vocab_size", 99), cfg["n_embd"])
        self.head = block(**{k: v for k, v in cfg.items() if k in ("n_embd", "vocab_size")})

    def forward(self, tokens):
        return self.head(self.table(tokens))


class Passed(Mapped):
    def __init__(self, cfg):
        nn.Module.__init__(self)
        self.table = nn.Embedding(cfg.vocab_size, cfg.n_embd)
        self.head = head(self.table, **cfg)


def head(table, n_embd, vocab_size, n_head, d_ff):
    assert d_ff == 32
    return block(n_embd, vocab_size)


@dataclass
class Sizes:
    n_embd: int
    n_head: int
    vocab_size: int
    use_head: bool
    rate: float = 0.5
    ablate_mask: bool = False
    drop_mask: bool = False
    kinds: list = field(default_factory=lambda: ["a"])

    def __post_init__(self):
        self.inner = 2 * self.n_embd

    @property
    def head_width(self):
        return self.n_embd // self.n_head


class Annotated:
    n_embd: int
    vocab_size: int
    tied: bool


class Computed(Mapped):
    def __init__(self, config: Sizes):
        nn.Module.__init__(self)
        assert config.head_width == 8 and config.inner == 48 and config.kinds == ["a"]
        assert not config.drop_mask and not config.ablate_mask and not config.use_head
        self.table = nn.Embedding(config.vocab_size, config.n_embd)
        self.head = block(config.n_embd, config.vocab_size)


class Bare(Mapped):
    def __init__(self, args: Annotated):
        nn.Module.__init__(self)
        assert not args.tied
        self.table = nn.Embedding(args.vocab_size, args.n_embd)
        self.head = block(args.n_embd, args.vocab_size)


@dataclass
class Args:
    n_embd: int
    vocab_size: int
    norm_eps: float
    n_head: int = 12


class Layer(nn.Linear):
    def __init__(self, args):
        a = args
        super().__init__(a.n_embd, a.vocab_size)
        assert a.norm_eps == 1e-5


class Aliased(Mapped):
    def __init__(self, args: Args):
        nn.Module.__init__(self)
        a = args
        self.table = nn.Embedding(a.vocab_size, a.n_embd)
        self.head = Layer(args)


class Unknown(Mapped):
    def __init__(self, cfg):
        self.colours = cfg.colours
        super().__init__(cfg)


class Switched(Mapped):
    def __init__(self, vocab_size, n_embd, drop_mask=False, ablate_it: bool = False):
        nn.Module.__init__(self)
        assert drop_mask is False and ablate_it is False
        self.table = nn.Embedding(vocab_size, n_embd)
        self.head = block(n_embd, vocab_size)


def make_model():
    return Switched(19, 24)


def build_small_transformer():
    return make_model()


def helper():
    return 3
"""


@pytest.fixture
def mappings(tmp_path: Path) -> Path:
    path = tmp_path / "mappings.py"
    path.write_text(MAPPINGS, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["Mapped", "Passed", "Computed", "Bare", "Aliased", "Switched"])
def test_a_configuration_may_be_read_in_any_way(
    name: str, mappings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([f"{mappings}:{name}"]) == 0, capsys.readouterr().out


def test_how_to_say_a_configuration_is_said_and_works(
    mappings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([f"{mappings}:Unknown"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("nobody can guess `colours` of `cfg`: say all of it, by --arguments 'di")
    arguments = said.partition("--arguments '")[2].rpartition("'")[0].replace("...", "3")
    assert "n_embd=24" in arguments
    assert main([f"{mappings}:Unknown", "--arguments", arguments]) == 0


def test_functions_that_make_a_model_are_listed(mappings: Path) -> None:
    said = classes_of(f"{mappings}")
    assert "Switched, make_model, build_small_transformer" in said
    assert "helper" not in said


# A cache that the caller makes


class RowCache:
    def __init__(self, max_batch_size: int, max_seq_len: int, n_embd: int) -> None:
        self.rows = torch.zeros(max_batch_size, max_seq_len, n_embd)
        self.length = 0


class MadeByTheCaller(Small):
    off = 0

    def __init__(self) -> None:
        super().__init__()
        self.n_embd = WIDTH

    def forward(self, tokens: Tensor, cache: RowCache | None = None) -> Tensor:
        if cache is None:
            return super().forward(tokens)
        first, new = cache.length, tokens.shape[1]
        x = self.embed(tokens, max(0, first - self.off))
        cache.rows[:, first : first + new] = x
        cache.length += new
        past = cache.rows[:, : cache.length]
        return self.head(x + self.mixing(past, new=new))


class MadeAndWrong(MadeByTheCaller):
    off = 1


def test_a_cache_that_the_caller_makes_is_made() -> None:
    assert cache_agrees(Whole(MadeByTheCaller(), texts(), texts())) == ""
    said = cache_agrees(Whole(MadeAndWrong(), texts(), texts()))
    assert said.startswith("token by token, the logits at position 1")


# The state of a recurrent layer


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.head = nn.Embedding(N_VOCAB, WIDTH), nn.Linear(WIDTH, N_VOCAB)
        self.rnn = nn.GRU(WIDTH, WIDTH, 2, batch_first=True)

    def forward(self, x: Tensor, hidden: Tensor | None = None) -> tuple[Tensor, Tensor]:
        out, hidden = self.rnn(self.tokens(x), hidden)
        return self.head(out), hidden


class FirstLayerForAll(Recurrent):
    def forward(self, x: Tensor, hidden: Tensor | None = None) -> tuple[Tensor, Tensor]:
        logits, hidden = super().forward(x, hidden)
        return logits, hidden[:1].expand_as(hidden).contiguous()


def test_the_state_of_a_recurrent_layer_is_a_cache() -> None:
    assert cache_agrees(Whole(Recurrent(), texts(), texts())) == ""
    assert "token by token" in cache_agrees(Whole(FirstLayerForAll(), texts(), texts()))


# Reentrant checkpoints


class Checkpointed(Small):
    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        mixed = checkpoint(self.mixing, x, use_reentrant=True)
        assert isinstance(mixed, Tensor)
        return self.head(x + mixed)


class CheckpointedAndForgotten(Checkpointed):
    def __init__(self) -> None:
        super().__init__()
        self.second = nn.Linear(WIDTH, N_VOCAB)


def named_weights(model: nn.Module) -> str:
    found = {one.test: one for one in find_in_language_model(model, texts()).verdicts}
    one = found["every_weight_is_used"]
    return f"{one.kind}: {one.sentence}"


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
def test_weights_under_a_reentrant_checkpoint_are_asked_for_a_gradient() -> None:
    assert named_weights(Checkpointed()).startswith("unusual: `checkpoint` with `use_reentrant=Tr")
    said = named_weights(CheckpointedAndForgotten())
    assert said.startswith("wrong: no gradient comes to second.weight")


# Another axis, or a list


class OneText(Small):
    def forward(self, tokens: Tensor) -> Tensor:
        assert tokens.dim() == 1
        return super().forward(tokens[None])[0]


class AList(Small):
    def forward(self, tokens: Tensor) -> list[Tensor]:
        return list(super().forward(tokens).unbind(1))


class Numbers(Small):
    def forward(self, tokens: Tensor) -> Any:
        return super().forward(tokens).tolist()


@pytest.mark.parametrize(
    ("kind", "begins"),
    [
        (OneText, "it takes one text at a time"),
        (AList, "it gives a list of 10, not one tensor"),
        (Numbers, "it gives a list of 3, not one tensor"),
    ],
)
def test_one_text_or_a_list_is_told_with_a_call_that_works(kind: type, begins: str) -> None:
    said = find_in_language_model(kind(), texts())["runs"]
    assert said.startswith(begins)
    predict = eval(said.partition("predict=")[2], {"torch": torch})
    found = find_in_language_model(kind(), texts(), predict=predict, skip=["every_weight_is_used"])
    assert found == {}


class OneNumberForEach(Small):
    def forward(self, tokens: Tensor) -> Any:
        return [one.mean() for one in super().forward(tokens)]


def test_a_list_of_numbers_without_axes_is_no_list_of_logits() -> None:
    said = find_in_language_model(OneNumberForEach(), texts())["runs"]
    assert said.startswith("the logits are [], not [3, 10, n_vocab]")


# One token in a call


class Reader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(N_VOCAB, WIDTH)
        self.head = nn.Linear(WIDTH, N_VOCAB)


class Step(Reader):
    r"""A recurrent step of matrices, which takes vectors of any shape."""

    def __init__(self) -> None:
        super().__init__()
        self.old = nn.Linear(WIDTH, WIDTH)

    def forward(self, token: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        state = self.embed(token) + (0 if state is None else self.old(state))
        return self.head(state), state


class StepThatKeeps(Step):
    r"""The state stays in the module, and nobody empties it."""

    state: Tensor | None = None

    def forward(self, token: Tensor) -> Tensor:  # type: ignore[override]
        logits, self.state = super().forward(token, self.state)
        return logits


class StepOfACell(Reader):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(WIDTH, WIDTH)

    def forward(self, token: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        state = self.cell(self.embed(token), state)
        return self.head(state), state


class StepWithPosition(Reader):
    r"""Attention to all that was read; at position 0 a text begins."""

    def forward(self, token: Tensor, pos: int) -> Tensor:
        x = self.embed(token)
        self.before: list[Tensor] = [*(self.before if pos else []), x]
        keys = torch.stack(self.before, dim=1)
        shares = (keys @ x.unsqueeze(-1)).squeeze(-1).softmax(dim=-1)
        return self.head((shares.unsqueeze(-1) * keys).sum(1))


class StepOrText(StepOfACell):
    r"""Takes whole texts as well."""

    def forward(self, token: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        if token.dim() == 1:
            return super().forward(token, state)
        found = []
        for one in token.T:
            logits, state = super().forward(one, state)
            found.append(logits)
        assert state is not None
        return torch.stack(found, dim=1), state


class Bidirectional(Reader):
    r"""Takes a text without an axis for the batch, too, and sees the future."""

    def __init__(self) -> None:
        super().__init__()
        self.mix = nn.GRU(WIDTH, WIDTH // 2, batch_first=True, bidirectional=True)

    def forward(self, token: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        mixed, state = self.mix(self.embed(token), state)
        assert state is not None
        return self.head(mixed), state


def handed_on(model: nn.Module, tokens: Tensor) -> Tensor:
    found, state = [], None
    for one in tokens.T:
        logits, state = model(one, state)
        found.append(logits)
    return torch.stack(found, dim=1)


def by_position(model: nn.Module, tokens: Tensor) -> Tensor:
    return torch.stack([model(one, place) for place, one in enumerate(tokens.T)], dim=1)


def emptied(model: nn.Module, tokens: Tensor) -> Tensor:
    model.state = None  # type: ignore[assignment]
    return torch.stack([model(one) for one in tokens.T], dim=1)


@pytest.mark.parametrize(
    ("kind", "predict"),
    [
        (Step, handed_on),
        (StepOfACell, handed_on),
        (StepWithPosition, by_position),
        (StepThatKeeps, emptied),
    ],
)
def test_a_model_that_is_called_for_each_token_is_not_called_with_texts(
    kind: type, predict: Any
) -> None:
    found = find_in_language_model(kind(), texts())
    assert [*found] == ["runs"]
    assert found["runs"].startswith("a call reads one token of each text, and remembers")
    assert find_in_language_model(kind(), texts(), predict=predict) == {}


def test_what_takes_texts_is_judged_by_them() -> None:
    assert find_in_language_model(StepOrText(), texts()) == {}
    assert "model_prefix" in find_in_language_model(Bidirectional(), texts())
    assert find_in_language_model(nn.Embedding(N_VOCAB, N_VOCAB), texts()) == {}


def test_a_step_beside_forward_is_not_forgotten() -> None:
    class Both(Small):
        def step(self, token: Tensor, state: Any) -> Any:
            r"""What it does is of no matter here."""

    (cache,) = (
        one
        for one in find_in_language_model(Both(), texts()).verdicts
        if one.test == "cache_agrees"
    )
    assert (cache.kind, cache.sentence.endswith("say by `read` how `step` reads a text")) == (
        "not tried",
        True,
    )
