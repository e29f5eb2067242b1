r"""
Dates are translated by an encoder and a decoder, with a part of them changed or left out.

Each model is trained from three seeds for 500 steps. The result is results/translation.json, to
which the pages of labml_nn/translation refer. It takes seven minutes of one core.
"""

import time
from collections.abc import Sequence
from statistics import mean
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.library.charts import picture
from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import Found, Runs, drawn, mean_of, spread
from benchmarks.library.tables import column, table
from benchmarks.pictures import heat_map, new, svg
from labml_nn.training.loop import adamw, train
from labml_nn.transformers.mha import causal_mask
from labml_nn.transformers.models import Embeddings, TransformerLayer
from labml_nn.transformers.positional_encoding import PositionalEncoding
from labml_nn.transformers.variants.cross_attention import LayerWithMemory
from labml_nn.translation.dates import (
    END,
    FORMS,
    N_DAYS,
    START,
    SYMBOLS,
    DatePairs,
    decode,
    encode,
    split,
)
from labml_nn.translation.encoder_decoder import EncoderDecoder, translation_loss
from labml_nn.translation.translation_experiment import (
    NoSource,
    OneVector,
    fit,
    held_out_pairs,
    looked_at,
    measure,
    translations,
)

SEEDS = (1, 2, 3)
STEPS = 500


class NoPositions(EncoderDecoder):
    r"""The source is a set of letters."""

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        visible = (source != self.pad).unsqueeze(0)
        return self.encoder(self.embed.tokens(source), visible), visible


class CausalEncoder(EncoderDecoder):
    r"""A letter of the source doesn't see those after it."""

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        visible = (source != self.pad).unsqueeze(0)
        return self.encoder(self.embed(source), visible & causal_mask(len(source))), visible


class TwoTables(EncoderDecoder):
    r"""The source has an embedding of its own."""

    def __init__(self, n_vocab: int) -> None:
        super().__init__(n_vocab)
        self.embed_source = Embeddings(n_vocab, 64, PositionalEncoding(64, 0.0, 64))

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        visible = (source != self.pad).unsqueeze(0)
        return self.encoder(self.embed_source(source), visible), visible


class PostNormLayer(TransformerLayer):
    r"""The layer of the paper's encoder."""

    def forward(self, *, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = self.norm_self_attn(x + self.self_attn(query=x, key=x, value=x, mask=mask))
        return self.norm_ff(x + self.feed_forward(x))


class PostNormLayerWithMemory(LayerWithMemory):
    r"""The layer of the paper's decoder."""

    def forward(
        self,
        *,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        visible: Tensor | None = None,
    ) -> Tensor:
        x = self.norm_self_attn(x + self.self_attn(query=x, key=x, value=x, mask=mask))
        z = self.cross_attn(query=x, key=memory, value=memory, mask=visible)
        x = self.norm_cross_attn(x + z)
        return self.norm_ff(x + self.feed_forward(x))


class PostNorm(EncoderDecoder):
    r"""Each sum is normalised, and nothing else."""

    def __init__(self, n_vocab: int) -> None:
        super().__init__(n_vocab)
        for layer in self.encoder.layers:
            layer.__class__ = PostNormLayer
        for layer in self.decoder:
            layer.__class__ = PostNormLayerWithMemory
        self.encoder.norm = self.norm = nn.Identity()


def unshifted(model: EncoderDecoder, source: Tensor, target: Tensor) -> Tensor:
    r"""The gradients if each letter is to be predicted from itself."""
    logits = model(source, target[1:])
    loss = F.cross_entropy(logits.flatten(0, 1), target[1:].flatten(), ignore_index=model.pad)
    loss.backward()
    return loss.detach()


MODELS: dict[str, type[EncoderDecoder]] = {
    "Encoder and decoder": EncoderDecoder,
    "One vector": OneVector,
    "No source": NoSource,
    "No positions in the source": NoPositions,
    "Target not shifted": EncoderDecoder,
    "Post-norm": PostNorm,
    "Causal encoder": CausalEncoder,
    "Two embeddings": TwoTables,
}


@torch.no_grad()
def beam(model: EncoderDecoder, source: Tensor, width: int, n_tokens: int) -> Tensor:
    r"""Translations that keep so many beginnings, `[target_len, batch_size]`."""
    model.eval()
    memory, visible = (x.repeat_interleave(width, -2 + at) for at, x in enumerate(
        model.encode(source)
    ))  # fmt: skip
    n = source.shape[1]
    target = torch.full((1, n * width), START)
    # All beginnings of a sentence are the same at first, so only one of them counts.
    scores = torch.full((n, width), -torch.inf)
    scores[:, 0] = 0
    done = torch.zeros(n * width, dtype=torch.bool)
    for _ in range(n_tokens):
        following = model.decode(target, memory, visible)[-1].log_softmax(dim=-1)
        # What has ended goes on with padding, for nothing.
        following[done] = -torch.inf
        following[done, model.pad] = 0
        n_vocab = following.shape[-1]
        scores, best = (scores.view(-1, 1) + following).view(n, -1).topk(width, dim=-1)
        before = (best // n_vocab + width * torch.arange(n)[:, None]).flatten()
        token = (best % n_vocab).flatten()
        target = torch.cat([target[:, before], token[None]])
        done = done[before] | (token == END)
    return target[:, ::width]


def swapped(found: str, target: str) -> bool:
    r"""Whether the year has the right digits in another order."""
    return found[:4] != target[:4] and sorted(found[:4]) == sorted(target[:4])


def copied(model: EncoderDecoder, days: Tensor) -> list[float]:
    r"""For each digit of the year, how often the largest weight is at that digit."""
    sources, _ = held_out_pairs(days)
    counts = [0] * 4
    for source in sources:
        _, weights = looked_at(model, source)
        # A year is what a source ends with, before the end itself.
        for at in range(4):
            counts[at] += int(weights[at].argmax()) == len(source) - 3 + at
    return [count / len(sources) for count in counts]


def trained(name: str, seed: int) -> dict[str, Any]:
    r"""Train one model and measure it."""
    days, held_out = split()
    torch.manual_seed(seed)
    model = MODELS[name](len(SYMBOLS))
    half: list[float] = []
    losses: list[float] = []
    paused = 0.0
    beams: list[list[float]] = []
    few = held_out[:200]
    sources, targets = held_out_pairs(few)

    def with_beams() -> None:
        r"""The shares that are right, for widths of 1 and 4."""
        shares = []
        for width in (1, 4):
            found = [decode(one) for one in beam(model, encode(sources), width, 11).t()]
            shares.append(mean(a == b for a, b in zip(found, targets, strict=True)))
        beams.append(shares)

    def after_step(step: int, loss: Tensor) -> None:
        nonlocal paused
        losses.append(loss.item())
        if step == STEPS // 2:
            began = time.process_time()
            half.append(measure(model, few)[1])
            if name == "Encoder and decoder":
                with_beams()
                model.train()
            paused = time.process_time() - began

    started = time.process_time()
    if name == "Target not shifted":
        train(
            model, DatePairs(days, 32, seed).at, [adamw(model)], STEPS,
            gradients=unshifted, after_step=after_step,
        )  # fmt: skip
    else:
        fit(model, days, STEPS, seed, after_step)
    seconds = time.process_time() - started - paused
    with torch.no_grad():
        loss = translation_loss(model, encode(sources), encode(targets)).item()
    written = translations(model, sources)
    both = list(zip(written, targets, strict=True))
    found: dict[str, Any] = {
        "loss": loss,
        "right": mean(a == b for a, b in both),
        "half": half[0],
        "printed": mean(losses[-20:]),
        "seconds": seconds,
        "swapped": sum(swapped(a, b) for a, b in both),
        "wrong": sum(a != b for a, b in both),
        "forms": [mean(a == b for a, b in both[at :: len(FORMS)]) for at in range(len(FORMS))],
        "written": written[:10],
    }
    if name == "Encoder and decoder":
        with_beams()
        later = torch.randperm(36_524, generator=torch.Generator().manual_seed(1))[:200] + N_DAYS
        found |= {
            "beams": beams,
            "later": measure(model, later)[1],
            "later written": [held_out_pairs(later[:1])[0][0], translations(
                model, held_out_pairs(later[:1])[0]
            )[0]],
            "copied": copied(model, held_out[:40]),
            "looked": {
                source: [*looked_at(model, source)[:1], looked_at(model, source)[1].tolist()]
                for source in ("Thursday, 5 March 1987", "5.3.1987", "3/5/1987")
            },
        }  # fmt: skip
    return found


def measure_all(runner: Runner) -> Runs:
    r"""Each model, from each seed."""
    return runner.runs(trained, MODELS, SEEDS)


def looks(one: Found, source: str, name: str) -> str:
    r"""Letters written down, letters of the source across."""
    figure, (axes,) = new(6.4 if len(source) > 10 else 4.0, 3.6)
    written, weights = one["looked"][source]
    heat_map(axes, weights, list(f"{written}>"), list(f"<{source}>".replace(" ", "·")))
    axes.set_xlabel("source")
    axes.set_ylabel("written")
    return svg(figure, f"translation-{name}")


def row(name: str, runs: Sequence[Found]) -> dict[str, Any]:
    r"""What the table says about a model."""
    right = [100 * one["right"] for one in runs]
    return {
        "model": name,
        "half": 100 * mean(one["half"] for one in runs),
        **spread("right", right),
        "loss": mean_of(runs, "loss"),
        "printed": mean_of(runs, "printed"),
        "seconds": mean_of(runs, "seconds"),
    }


COLUMNS = [
    column("model", "Model"),
    column("half", "Exact after 250 steps", 1, "%"),
    column("right", "Exact after 500", 1, "%"),
    column("low", "lowest", 1),
    column("high", "highest", 1),
    column("printed", "Loss of the training", 3, "nats"),
    column("loss", "On held-out days", 3, "nats"),
]


def report(runs: Runs) -> Report:
    r"""How many dates are translated exactly, and where the decoder looks."""
    right = {name: [100 * one["right"] for one in of] for name, of in runs.items()}
    rows = {name: row(name, of) for name, of in runs.items()}
    whole, one_vector = runs["Encoder and decoder"], runs["One vector"]
    sources, targets = held_out_pairs(split()[1][:2])
    seconds = {name: each["seconds"] for name, each in rows.items()}
    return {
        "values": {
            "steps": STEPS,
            "seconds": seconds["Encoder and decoder"],
            "notebook_seconds": sum(
                seconds[name] for name in ("Encoder and decoder", "One vector", "No source")
            ),
            # Of the wrong translations, those whose year has the right digits in another order.
            "swapped": {
                "one_vector": 100
                * sum(one["swapped"] for one in one_vector)
                / max(1, sum(one["wrong"] for one in one_vector)),
                "whole": 100
                * sum(one["swapped"] for one in whole)
                / max(1, sum(one["wrong"] for one in whole)),
                "whole_wrong": sum(one["wrong"] for one in whole),
            },
            "later": 100 * mean(one["later"] for one in whole),
            "beam": {
                when: {
                    str(width): 100 * mean(one["beams"][at][column] for one in whole)
                    for column, width in enumerate((1, 4))
                }
                for at, when in enumerate(("half", "end"))
            },
            "copied": {
                name: 100 * mean(one["copied"][at] for one in whole)
                for at, name in enumerate(("first", "second", "third", "fourth"))
            },
        },
        "tables": {
            "models": table(COLUMNS, rows.values()),
            "written": table(
                [
                    column("source", "Source"),
                    column("target", "Target"),
                    column("none", "No source"),
                    column("one", "One vector"),
                    column("all", "Attention"),
                ],
                [
                    {
                        "source": source,
                        "target": targets[at],
                        "none": runs["No source"][0]["written"][at],
                        "one": one_vector[0]["written"][at],
                        "all": whole[0]["written"][at],
                    }
                    for at, source in enumerate(sources)
                ],
            ),
            "forms": table(
                [
                    column("form", "Form"),
                    column("one", "One vector", 1, "%"),
                    column("all", "Attention", 1, "%"),
                ],
                [
                    {
                        "form": sources[at],
                        "one": 100 * mean(one["forms"][at] for one in one_vector),
                        "all": 100 * mean(one["forms"][at] for one in whole),
                    }
                    for at in range(len(FORMS))
                ],
            ),
        },
        "figures": {
            "shares": picture(
                "How many held-out dates are translated exactly",
                drawn(right, "Translated exactly (%)", "translation-shares"),
            ),
            "long": picture(
                "Where the decoder looks", looks(whole[0], "Thursday, 5 March 1987", "long")
            ),
            "dots": picture("The day first", looks(whole[0], "5.3.1987", "dots")),
            "slashes": picture("The month first", looks(whole[0], "3/5/1987", "slashes")),
        },
    }


EXPERIMENT = Experiment(
    title="Dates translated by an encoder and a decoder",
    measure=measure_all,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 4},
)
