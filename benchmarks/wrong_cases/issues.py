r"""
Mistakes that were reported in public, each written anew in one small model, wrong and right.

Nothing of the reported code is here. What is wrong is a method or a line, beside the right one.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.wrong_cases.case import (
    N_VOCAB,
    SEQ_LEN,
    Case,
    Subject,
    Training,
    cross_entropy,
    plain,
    text,
)
from benchmarks.wrong_cases.gpt import (
    D_MODEL,
    HEADS,
    LONGEST,
    Attention,
    Block,
    Gpt,
    Past,
    alibi,
    counted,
    rms,
    with_attention,
    with_block,
)
from labml_nn.transformers.mistakes.published_leaks import ChunkMeans, Waves

WINDOW = 5


def of(model: Callable[[], nn.Module], **more: Any) -> Callable[[], Subject]:
    r"""A subject from a class of models, with a right training."""

    def make() -> Subject:
        torch.manual_seed(1)
        tokens = text()
        options = {"cached": True, "masked": True, "left": True, "longest": LONGEST, **more}
        return Subject(model(), tokens[:, :-1].clone(), tokens[:, 1:].clone(), **options)

    return make


# A cache.


class FromTheTop(Attention):
    def sees(self, n_new: int, n_all: int) -> Tensor:
        # The new queries are the last ones, and get the mask of the first.
        return torch.ones(n_new, n_all, dtype=torch.bool).tril()


class ChunkUnmasked(Attention):
    def sees(self, n_new: int, n_all: int) -> Tensor:
        # "With a cache there is one new token": then no mask is needed.
        if n_new < n_all:
            return torch.ones(n_new, n_all, dtype=torch.bool)
        return super().sees(n_new, n_all)


class FirstNotKept(Attention):
    def kept(self, key: Tensor, value: Tensor) -> Past:
        # The value of the first token isn't in the cache.
        return key, torch.cat([0 * value[:, :, :1], value[:, :, 1:]], dim=2)


class ShortCache(Attention):
    def kept(self, key: Tensor, value: Tensor) -> Past:
        # Six places, and no word about what doesn't fit. The positions go on counting.
        return key[:, :, -6:], value[:, :, -6:]


class CountsTokens(Gpt):
    r"""A model that counts what it has read, since its cache may be shorter."""

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        past_key_values: list[Any] | None = None,
        use_cache: bool = False,
    ) -> Any:
        past = past_key_values
        self.n_read = 0 if past is None else past[-1]
        kept = None if past is None else past[:-1]
        result = super().forward(input_ids, attention_mask, kept, use_cache)
        return (result[0], [*result[1], self.n_read + input_ids.shape[1]]) if use_cache else result

    def read(self, past: list[Past]) -> int:
        return self.n_read


class NewestUnseen(Attention):
    def sees(self, n_new: int, n_all: int) -> Tensor:
        # The newest token isn't among what one new query sees.
        return super().sees(n_new, n_all).tril(n_all - n_new - int(n_new < n_all))


class SeveralRaise(Attention):
    def sees(self, n_new: int, n_all: int) -> Tensor:
        # A mask for the new tokens alone: it fits one new token, and no more.
        found = torch.ones(n_new, n_new, dtype=torch.bool).tril()
        return found.expand(n_new, n_all) if n_new == 1 else found


class Windowed(Attention):
    r"""The right window: as many tokens as it is wide, the query's own among them."""

    wide = WINDOW

    def sees(self, n_new: int, n_all: int) -> Tensor:
        offset = n_all - n_new
        return super().sees(n_new, n_all).triu(offset - self.wide + 1)


class WiderWithoutCache(Windowed):
    def sees(self, n_new: int, n_all: int) -> Tensor:
        # Two ways through the code, and one of them counts one more.
        self.wide = WINDOW + int(n_new == n_all)
        return super().sees(n_new, n_all)


class DropsTooEarly(Windowed):
    def joined(self, past: Past, key: Tensor, value: Tensor) -> Past:
        # A cache that is just full drops its oldest token before it has to.
        if past[0].shape[2] + key.shape[2] >= WINDOW:
            hole = torch.ones(past[0].shape[2])
            hole[: max(0, past[0].shape[2] + key.shape[2] - WINDOW + 1)] = 0
            past = past[0] * hole[:, None], past[1] * hole[:, None]
        return super().joined(past, key, value)


class Distances(Attention):
    def bias(self, n_new: int, n_all: int) -> Tensor:
        return alibi(n_new, n_all, n_all - n_new)


class DistancesFromZero(Attention):
    def bias(self, n_new: int, n_all: int) -> Tensor:
        # The new queries begin at 0 again.
        return alibi(n_new, n_all, 0)


class KeptInModule(nn.Module):
    r"""The cache stays in the module, which can be reset: much teaching code has it so."""

    def __init__(self, attention: type[Attention] = Attention) -> None:
        super().__init__()
        self.inner = with_attention(attention)()
        self.reset_cache()

    def reset_cache(self) -> None:
        self.past: list[Past] | None = None

    def forward(self, tokens: Tensor, use_cache: bool = False) -> Tensor:
        if not use_cache:
            found: Tensor = self.inner(tokens)
            return found
        found, self.past = self.inner(tokens, past_key_values=self.past, use_cache=True)
        return found


# Padding and documents.


class IgnoresPadding(Attention):
    def hidden(self, mask: Tensor | None, documents: Tensor | None) -> Tensor | None:
        return super().hidden(None, documents)


class PositionsWithPadding(Gpt):
    def positions(self, tokens: Tensor, n_read: int, mask: Tensor | None) -> Tensor:
        # Padding on the left takes the first positions.
        return super().positions(tokens, n_read, None)


class DocumentsMixed(Attention):
    def hidden(self, mask: Tensor | None, documents: Tensor | None) -> Tensor | None:
        return super().hidden(mask, None)


# The future.


class Rms(nn.Module):
    r"""A norm without a gain, over some axes."""

    axes: tuple[int, ...] = (-1,)

    def forward(self, x: Tensor) -> Tensor:
        return rms(x, self.axes)


class RmsBlock(Block):
    def norm(self) -> nn.Module:
        return Rms()


class OverTime(Rms):
    # The features of one position, and all positions of the text.
    axes = (-2, -1)


class OverTimeBlock(Block):
    def norm(self) -> nn.Module:
        return OverTime()


class TokensChoose(Block):
    r"""A token takes the second network if its own score says so."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.router = nn.Linear(D_MODEL, 1)

    def chosen(self, scores: Tensor) -> Tensor:
        return scores > 0

    def network(self, x: Tensor) -> Tensor:
        scores = self.router(x)
        return self.mlp(x) * torch.where(self.chosen(scores), scores.sigmoid(), 0.0)


class ExpertChooses(TokensChoose):
    def chosen(self, scores: Tensor) -> Tensor:
        # It takes the best half of the text, later tokens among them.
        best = scores.topk((scores.shape[1] + 1) // 2, dim=1).indices
        return torch.zeros_like(scores, dtype=torch.bool).scatter(1, best, True)


class ChunkBefore(ChunkMeans):
    r"""The right way: the mean of the chunk before."""

    def forward(self, x: Tensor) -> Tensor:
        added = super().forward(x) - x
        before = F.pad(added, (0, 0, self.size, 0))[:, : x.shape[1]]
        return x + before


class Convolution(nn.Module):
    r"""A right filter: a convolution of what came before."""

    def forward(self, x: Tensor) -> Tensor:
        taps = torch.tensor([0.5, 0.25, 0.125])
        parts = [tap * F.pad(x, (0, 0, by, 0))[:, : x.shape[1]] for by, tap in enumerate(taps)]
        return x + torch.stack(parts).sum(dim=0)


class Mixed(nn.Module):
    r"""A model whose first block has a mixing of its own before it."""

    def __init__(self, mixing: Callable[[], nn.Module]) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.wte, self.wpe = nn.Embedding(N_VOCAB, D_MODEL), nn.Embedding(LONGEST, D_MODEL)
        self.mixing, self.block = mixing(), Block(0, Attention)
        self.ln_f = nn.LayerNorm(D_MODEL)
        self.lm_head = nn.Linear(D_MODEL, N_VOCAB, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.mixing(self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1])))
        found: Tensor = self.lm_head(self.ln_f(self.block(x)[0]))
        return found


# Weights.


class Gain(nn.Module):
    r"""A norm with a gain."""

    def __init__(self) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(D_MODEL))

    def forward(self, x: Tensor) -> Tensor:
        return rms(x) * self.gain


class GainUnused(Gain):
    def forward(self, x: Tensor) -> Tensor:
        return rms(x)


class GainBlock(Block):
    def norm(self) -> nn.Module:
        return Gain()


class GainUnusedBlock(Block):
    def norm(self) -> nn.Module:
        return GainUnused()


class FusedBeside(Attention):
    r"""Three projections were fused into one, and stayed. Nobody uses them."""

    def __init__(self, layer: int) -> None:
        super().__init__(layer)
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(D_MODEL, D_MODEL) for _ in range(3))


class WindowBelow(Attention):
    r"""The first layer has a window, and the second none."""

    layers: tuple[int, ...] = (0,)

    def sees(self, n_new: int, n_all: int) -> Tensor:
        found = super().sees(n_new, n_all)
        return found.triu(n_all - n_new - 3) if self.layer in self.layers else found


class WindowAbove(WindowBelow):
    # The comparison is the wrong way round.
    layers = (1,)


class Rotary(Attention):
    r"""Queries and keys are turned, by speeds from a base."""

    base = 10_000.0

    def turned(self, query: Tensor, key: Tensor, n_read: int) -> tuple[Tensor, Tensor]:
        half = D_MODEL // HEADS // 2
        speeds = self.base ** (-torch.arange(half) / half)
        angles = torch.arange(n_read, n_read + query.shape[2])[:, None] * speeds
        angles = angles.repeat(1, 2)

        def turn(z: Tensor) -> Tensor:
            first, second = z.chunk(2, dim=-1)
            return z * angles.cos() + torch.cat([-second, first], dim=-1) * angles.sin()

        return turn(query), turn(key)


class OtherBase(Rotary):
    # The base of another release of the same model.
    base = 500_000.0


class Dropping(Attention):
    r"""With dropout on what it gives."""

    always = False

    def forward(self, x: Tensor, *others: Any) -> tuple[Tensor, Past]:
        z, past = super().forward(x, *others)
        return F.dropout(z, 0.1, self.always or self.training), past


class AlwaysDropping(Dropping):
    always = True


# The training step.


def without(line: str, model: nn.Module) -> Training:
    r"""The right step but for one thing."""
    training = plain(model)
    optimizer = training.optimizer

    def step(inputs: Tensor, targets: Tensor) -> Tensor:
        model.train()
        if line != "zero_grad":
            optimizer.zero_grad()
        loss = cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Training(optimizer, step)


def accumulated(divide: bool, model: nn.Module) -> Training:
    r"""A part for each call, and the optimizer's step once all were there."""
    training = plain(model)
    optimizer = training.optimizer

    def in_parts(inputs: Tensor, targets: Tensor, n: int) -> Tensor:
        model.train()
        total = torch.zeros(())
        for x, y in zip(inputs.chunk(n), targets.chunk(n), strict=True):
            loss = cross_entropy(model(x), y)
            loss = loss / n if divide else loss
            loss.backward()
            total += loss.detach()
        optimizer.step()
        optimizer.zero_grad()
        return total

    return Training(optimizer, lambda x, y: in_parts(x, y, 2), in_parts)


def means_of_parts(whole: bool, model: nn.Module) -> Training:
    r"""Two parts in which unequal numbers of targets count."""
    training = plain(model)
    optimizer = training.optimizer

    def in_parts(inputs: Tensor, targets: Tensor, n: int) -> Tensor:
        model.train()
        optimizer.zero_grad()
        total = torch.zeros(())
        count = (targets != -100).sum()
        for x, y in zip(inputs.chunk(n), targets.chunk(n), strict=True):
            # The right way: all of what counts in the whole batch is the divisor.
            loss = counted(model(x), y) / count if whole else cross_entropy(model(x), y) / n
            loss.backward()
            total += loss.detach()
        optimizer.step()
        return total

    return Training(optimizer, lambda x, y: in_parts(x, y, 2), in_parts)


def unequal(whole: bool) -> Subject:
    r"""The first half of the batch has a long prompt, which doesn't count."""
    subject = of(Gpt, train=partial(means_of_parts, whole))()
    subject.targets[: len(subject.targets) // 2, : SEQ_LEN - 2] = -100
    return subject


class ShiftsLabels(Gpt):
    r"""As the transformers library: `labels` are the inputs, and the model shifts them."""

    def forward(self, input_ids: Tensor, labels: Tensor | None = None) -> Any:
        logits = super().forward(input_ids)
        if labels is None:
            return logits
        return cross_entropy(logits[:, :-1], labels[:, 1:]), logits


def shifting(model: nn.Module) -> Training:
    r"""The model computes its own loss."""
    optimizer = plain(model).optimizer

    def step(inputs: Tensor, labels: Tensor) -> Tensor:
        model.train()
        optimizer.zero_grad()
        loss: Tensor = model(inputs, labels=labels)[0]
        loss.backward()
        optimizer.step()
        return loss.detach()

    return Training(optimizer, step)


def labels(shifted: bool) -> Subject:
    r"""Labels as the model wants them, or shifted by the data already."""
    made = of(
        ShiftsLabels,
        train=shifting,
        loss=lambda logits, y: cross_entropy(logits[:, :-1], y[:, 1:]),
        cached=False,
        masked=False,
    )()
    if not shifted:
        made.targets = made.inputs.clone()
    return made


def end_is_padding(left_out: bool) -> Subject:
    r"""The end of a text is token 7. In the wrong case it's what fills short texts as well."""

    def loss(logits: Tensor, targets: Tensor) -> Tensor:
        ignored = 7 if left_out else -100
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=ignored)

    made = of(Gpt, train=partial(plain, loss=loss), loss=loss)()
    # Each text has an end at its last place.
    made.targets[:, -1] = 7
    return made


def frozen(forgotten: bool) -> Subject:
    r"""Weights were frozen for a warm-up, and nobody has thawed them."""
    made = of(Gpt)()
    made.model.h[0].attn.c_attn.requires_grad_(not forgotten)  # type: ignore[union-attr,index]
    return made


Row = tuple[str, str, Callable[[], Subject], Callable[[], Subject]]


def rows() -> list[Row]:
    r"""What is wrong, where it was reported, the right one and the wrong one."""
    gpt = of(Gpt)
    counting = {"attention": ShortCache}
    windowed = of(with_attention(Windowed))
    unmasked = {"cached": False, "masked": False}
    return [
        (
            "the mask of new tokens begins at the top",
            "pytorch/pytorch#103082, #144858",
            gpt,
            of(with_attention(FromTheTop)),
        ),
        (
            "the same, with the cache in the module",
            "rasbt/LLMs-from-scratch#1048",
            of(KeptInModule, **unmasked),
            of(lambda: KeptInModule(FromTheTop), **unmasked),
        ),
        (
            "a chunk of the prompt has no mask",
            "mlx-node#24, sparkinfer#3",
            gpt,
            of(with_attention(ChunkUnmasked)),
        ),
        (
            "the first token isn't in the cache",
            "TrenTorch#192",
            gpt,
            of(with_attention(FirstNotKept)),
        ),
        (
            "the cache is shorter than the text",
            "einygpt#2",
            of(CountsTokens),
            of(type("Model", (CountsTokens,), counting)),
        ),
        (
            "the newest token isn't seen with a cache",
            "lucidrains/native-sparse-attention-pytorch#20",
            gpt,
            of(with_attention(NewestUnseen)),
        ),
        (
            "several new tokens raise an error",
            "llama#899, candle#3743",
            gpt,
            of(with_attention(SeveralRaise)),
        ),
        (
            "the window is one wider without a cache",
            "huggingface/transformers#39408",
            windowed,
            of(with_attention(WiderWithoutCache)),
        ),
        (
            "a full window drops a token too early",
            "huggingface/transformers#37574",
            windowed,
            of(with_attention(DropsTooEarly)),
        ),
        (
            "distances begin at 0 with a cache",
            "huggingface/transformers#19045",
            of(with_attention(Distances)),
            of(with_attention(DistancesFromZero)),
        ),
        (
            "the lengths of texts are ignored",
            "jax-ml/jax#23349",
            gpt,
            of(with_attention(IgnoresPadding)),
        ),
        (
            "padding on the left takes positions",
            "unsloth#3699, nnsight#672, TransformerLens#1609",
            gpt,
            of(PositionsWithPadding),
        ),
        (
            "documents see each other",
            "huggingface/transformers#46634, nanoVLM#204",
            gpt,
            of(with_attention(DocumentsMixed)),
        ),
        (
            "a norm over the time",
            "llama-from-scratch#4, zeta#180",
            of(with_block(RmsBlock)),
            of(with_block(OverTimeBlock)),
        ),
        (
            "an expert chooses among later tokens",
            "MoSA#3, OLMoE#46",
            of(with_block(TokensChoose)),
            of(with_block(ExpertChooses)),
        ),
        (
            "the mean of a chunk of 64 tokens",
            "karpathy/nanochat#844",
            of(lambda: Mixed(lambda: ChunkBefore(64)), **unmasked),
            of(lambda: Mixed(lambda: ChunkMeans(64)), **unmasked),
        ),
        (
            "the mean of a chunk of 16 tokens",
            "karpathy/nanochat#844",
            of(lambda: Mixed(lambda: ChunkBefore(16)), **unmasked),
            of(lambda: Mixed(lambda: ChunkMeans(16)), **unmasked),
        ),
        (
            "a filter of the whole text",
            "karpathy/nanochat#844",
            of(lambda: Mixed(Convolution), **unmasked),
            of(lambda: Mixed(Waves), **unmasked),
        ),
        (
            "a gain that is never applied",
            "lucidrains/x-transformers#352",
            of(with_block(GainBlock)),
            of(with_block(GainUnusedBlock)),
        ),
        (
            "projections that were fused, and stayed",
            "huggingface/diffusers#11903",
            gpt,
            of(with_attention(FusedBeside)),
        ),
        (
            "the window is in the other layers",
            "huggingface/transformers#35896",
            of(with_attention(WindowBelow)),
            of(with_attention(WindowAbove)),
        ),
        (
            "rotary positions with another base",
            "TransformerLens#910",
            of(with_attention(Rotary)),
            of(with_attention(OtherBase)),
        ),
        (
            "dropout in evaluation",
            "huggingface/transformers#33844",
            of(with_attention(Dropping)),
            of(with_attention(AlwaysDropping)),
        ),
        (
            "weights that stayed frozen",
            "pytorch-forum-84911",
            partial(frozen, False),
            partial(frozen, True),
        ),
        (
            "gradients that nobody clears",
            "stackoverflow-60335387",
            of(Gpt, train=partial(without, "")),
            of(Gpt, train=partial(without, "zero_grad")),
        ),
        (
            "parts that are added up over calls",
            "verl#3332",
            of(Gpt, train=partial(accumulated, True)),
            of(Gpt, train=partial(accumulated, False)),
        ),
        (
            "the mean of means of unequal parts",
            "karpathy/nanochat#59, ml-explore/mlx-lm#1413",
            partial(unequal, True),
            partial(unequal, False),
        ),
        (
            "labels that are shifted twice",
            "huggingface/transformers#47394",
            partial(labels, False),
            partial(labels, True),
        ),
        (
            "the end of a text counts as padding",
            "Automodel#1336, Megatron-Bridge#4660",
            partial(end_is_padding, False),
            partial(end_is_padding, True),
        ),
    ]


def cases() -> list[Case]:
    r"""All of them."""
    found = []
    known: dict[Callable[[], Subject], str] = {}
    for name, source, right, wrong in rows():
        # Several have the same right one, which is looked at once.
        like = known.setdefault(right, name)
        found.append(Case(name, "report", source, right, wrong, like))
    return found
