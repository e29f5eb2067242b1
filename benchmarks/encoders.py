r"""
What does it give to see both sides of a gap, and what is it good for?

Small encoders are trained to fill gaps in Tiny Shakespeare for 600 steps, from three seeds each,
with one thing changed at a time. Then one of them learns to tell questions from statements. The
result is results/encoders.json, to which the pages of labml_nn/encoders refer.
"""

import math
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from copy import deepcopy
from statistics import mean
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import Found, Runs, mark, mean_of, name_rows, numbers, spread
from benchmarks.library.tables import column, low_and_high, table
from benchmarks.pictures import ACCENT, SECOND, new, svg
from labml_nn.encoders.classifier import (
    Classifier,
    Labelled,
    questions,
    side_by_side,
)
from labml_nn.encoders.classifier_experiment import fine_tune, labelled_batches, share_right
from labml_nn.encoders.experiment import (
    D_MODEL,
    SEQ_LEN,
    SIZES,
    guesses,
    held_out_gaps,
    loss_in_gaps,
    masked_batches,
    small_encoder,
)
from labml_nn.encoders.masked_model import BertEncoder, MaskedModel
from labml_nn.encoders.masked_tokens import IGNORED, MaskTokenizer
from labml_nn.encoders.modern_encoder import ModernEncoder, with_rotary
from labml_nn.training.data import prepare, tiny_shakespeare
from labml_nn.training.loop import adamw, train
from labml_nn.transformers.fused_attention import FusedAttention
from labml_nn.transformers.mha import causal_mask
from labml_nn.transformers.models import TransformerLayer
from labml_nn.transformers.rotary import RotaryPositions, inverse_frequencies

SEEDS, STEPS, TUNING_STEPS, EVERY = (1, 2, 3), 600, 120, 20
LINES = ("the k_ng of Engl_nd", "I pray you, _ell me", "what is your n_me, sir?")


class OneSided(nn.Module):
    r"""A model that predicts the next letter: the same encoder, and no position sees the right."""

    def __init__(self, n_vocab: int) -> None:
        super().__init__()
        self.model = MaskedModel(small_encoder(n_vocab), bias=False)
        self.register_buffer("mask", causal_mask(SEQ_LEN), persistent=False)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.model(tokens, self.mask[: len(tokens), : len(tokens)])


def bert(n_vocab: int) -> BertEncoder:
    r"""As on its page, without dropout: in so few steps nothing is learned by heart."""
    return BertEncoder(n_vocab, *SIZES, 4 * D_MODEL, SEQ_LEN, 0.0, FusedAttention)


class PreNorm(BertEncoder):
    r"""BERT's encoder with our usual layers."""

    def __init__(self, n_vocab: int) -> None:
        super().__init__(n_vocab, *SIZES, 4 * D_MODEL, SEQ_LEN, 0.0, FusedAttention)
        for layer in self.layers:
            layer.__class__ = TransformerLayer
        self.last_norm = nn.LayerNorm(D_MODEL)

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.last_norm(super().forward(tokens, mask))


def rotary(n_vocab: int) -> BertEncoder:
    r"""BERT's encoder with rotary positions in the place of its own, which are zero and stay so."""
    encoder = bert(n_vocab)
    nn.init.zeros_(encoder.positions.weight).requires_grad_(False)
    rotate = RotaryPositions(inverse_frequencies(D_MODEL // SIZES[1]), SEQ_LEN)
    for layer in encoder.layers:
        layer.self_attn = with_rotary(layer.self_attn, rotate)
    return encoder


def all_global(n_vocab: int) -> ModernEncoder:
    r"""The modern encoder, all of whose layers see the whole window."""
    encoder = small_encoder(n_vocab)
    encoder.sees_all = [True] * len(encoder.sees_all)
    return encoder


Make = Callable[[int], nn.Module]
# What is trained: the model, and how letters are hidden.
RUNS: dict[str, tuple[Make, dict[str, float]]] = {
    "both sides": (lambda n: MaskedModel(small_encoder(n), bias=False), {}),
    "left side": (OneSided, {}),
    "all hidden": (
        lambda n: MaskedModel(small_encoder(n), bias=False),
        {"masked": 1.0, "replaced": 0.0},
    ),
    "40 % chosen": (lambda n: MaskedModel(small_encoder(n), bias=False), {"rate": 0.4}),
    "BERT": (lambda n: MaskedModel(bert(n)), {}),
    "BERT, pre-norm": (lambda n: MaskedModel(PreNorm(n)), {}),
    "BERT, rotary positions": (lambda n: MaskedModel(rotary(n)), {}),
    "modern, all global": (lambda n: MaskedModel(all_global(n), bias=False), {}),
}
ENCODERS = {
    "BERT": "BERT",
    "BERT, pre-norm": "BERT, pre-norm",
    "BERT, rotary positions": "BERT, rotary positions",
    "modern, all global": "all global",
    "both sides": "modern",
}
OBJECTIVES = {
    "left side": "left side",
    "both sides": "both sides",
    "all hidden": "all hidden",
    "40 % chosen": "40 percent",
}


def words(sentence: str) -> set[str]:
    r"""The words of a sentence."""
    return set(re.findall(r"[a-z']+", sentence.lower()))


def by_counting(taught: Sequence[Labelled], asked: Sequence[Labelled]) -> float:
    r"""The share that is right if words are counted in questions and statements (naive Bayes)."""
    counts = {label: Counter() for label in (False, True)}
    for sentence, label in taught:
        counts[label].update(words(sentence))
    known = len(counts[True] | counts[False])
    total = {label: sum(one.values()) + known for label, one in counts.items()}
    right = 0
    for sentence, label in asked:
        score = sum(
            math.log((counts[True][word] + 1) / total[True])
            - math.log((counts[False][word] + 1) / total[False])
            for word in words(sentence)
        )
        right += (score > 0) == label
    return right / len(asked)


@torch.no_grad()
def by_filling(
    model: MaskedModel, tokenizer: MaskTokenizer, asked: Sequence[Labelled]
) -> dict[str, float]:
    r"""
    The share that is right if the model fills in the mark at the end: the likelier of the two, or
    a question if “?” is likelier than in half of all sentences.
    """
    model.eval()
    index = tokenizer.letters.index
    scores = []
    for sentence, _ in asked:
        logits = model(tokenizer.encode(sentence + "_", gap="_").unsqueeze(1))[-1, 0]
        scores.append((logits[index["?"]] - logits[index["."]]).item())
    labels = torch.tensor([label for _, label in asked])
    found = torch.tensor(scores)
    return {
        "likelier": ((found > 0) == labels).double().mean().item(),
        "median": ((found > found.median()) == labels).double().mean().item(),
    }


def single_gaps(tokens: Tensor, tokenizer: MaskTokenizer) -> tuple[Tensor, Tensor]:
    r"""Each window twice, with a single gap: a model that sees both sides has whole ones."""
    tokens = tokens.repeat(1, 2)
    generator = torch.Generator().manual_seed(2)
    place = torch.randint(1, SEQ_LEN, (1, tokens.shape[1]), generator=generator)
    gap = torch.arange(SEQ_LEN)[:, None] == place
    return tokens.masked_fill(gap, tokenizer.mask), tokens.masked_fill(~gap, IGNORED)


def fill(name: str, seed: int) -> dict[str, Any]:
    r"""Train one model on gaps and measure it."""
    letters, training, validation = prepare(tiny_shakespeare(), SEQ_LEN)
    tokenizer = MaskTokenizer(letters)
    make, shares = RUNS[name]
    torch.manual_seed(seed)
    model = make(len(tokenizer))
    batch_at = masked_batches(training, tokenizer, seed, **shares)
    tokens, inputs, targets = held_out_gaps(validation, tokenizer)
    one, answer = single_gaps(tokens, tokenizer)
    if name == "left side":
        # Without gaps: each letter is predicted from those before it.
        batch_at = next_letters(masked_batches(training, tokenizer, seed, rate=0.0))
        inputs, targets = tokens[:-1], targets[1:]
        one, answer = tokens.repeat(1, 2)[:-1], answer[1:]
    losses: list[float] = []
    started = time.process_time()
    train(
        model,
        batch_at,
        [adamw(model)],
        STEPS,
        after_step=lambda step, loss: losses.append(loss.item()),
    )
    found: dict[str, Any] = {
        "seconds": time.process_time() - started,
        "loss": loss_in_gaps(model, inputs, targets),
        "single": loss_in_gaps(model, one, answer) if name in OBJECTIVES else None,
        "parameters": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "curve": [mean(losses[at : at + EVERY]) for at in range(0, STEPS, EVERY)],
    }
    if name == "40 % chosen":
        found["weights"] = model.state_dict()
        found["guesses"] = [guesses(model, tokenizer, line) for line in LINES]
    return found


def next_letters(batch_at: Callable[[int], tuple[Tensor, Tensor]]) -> Callable:
    r"""The same windows, with the next letter as the target."""
    return lambda step: (batch_at(step)[0][:-1], batch_at(step)[0][1:])


def classify(seed: int, weights: dict[str, Tensor]) -> dict[str, Any]:
    r"""Fine-tune a model that was trained with a seed, with all that is compared."""
    letters, training, validation = prepare(tiny_shakespeare(), SEQ_LEN)
    tokenizer = MaskTokenizer(letters)
    # One order of sentences for each seed, so that the labels are others, too.
    taught = questions(letters.decode(training), SEQ_LEN - 2, seed)
    asked = questions(letters.decode(validation), SEQ_LEN - 2)
    pretrained = MaskedModel(small_encoder(len(tokenizer)), bias=False)
    pretrained.load_state_dict(weights)
    torch.manual_seed(seed)
    untrained = small_encoder(len(tokenizer))
    found: dict[str, Any] = {
        "asked": len(asked),
        "taught": len(taught),
        "filling": by_filling(pretrained, tokenizer, asked),
    }

    def tuned(encoder: nn.Module, n_labels: int, pooling: str = "mean") -> Classifier:
        torch.manual_seed(seed)
        model = Classifier(deepcopy(encoder), tokenizer.pad, pooling=pooling)
        fine_tune(model, labelled_batches(taught[:n_labels], tokenizer, seed), TUNING_STEPS)
        return model

    for n_labels in (100, 1000):
        found[f"counting, {n_labels}"] = by_counting(taught[:n_labels], asked)
        for name, encoder in (("pretrained", pretrained.encoder), ("from scratch", untrained)):
            started = time.process_time()
            model = tuned(encoder, n_labels)
            found["seconds"] = time.process_time() - started
            found[f"{name}, {n_labels}"] = share_right(model, tokenizer, asked)
            if (name, n_labels) == ("pretrained", 1000):
                found["padding"] = without_mask(model, tokenizer, asked)
    first = tuned(pretrained.encoder, 1000, "first")
    found["first token"] = share_right(first, tokenizer, asked)
    frozen = deepcopy(pretrained.encoder).requires_grad_(False)
    found["frozen"] = share_right(tuned(frozen, 1000), tokenizer, asked)
    return found


@torch.no_grad()
def without_mask(
    model: Classifier, tokenizer: MaskTokenizer, asked: Sequence[Labelled]
) -> dict[str, float]:
    r"""What becomes of the answers if padding is visible and counts in the mean."""
    tokens = side_by_side([sentence for sentence, _ in asked], tokenizer)
    before = model(tokens).argmax(dim=-1)
    model.pad = -1
    changed = (model(tokens).argmax(dim=-1) != before).double().mean().item()
    return {"changed": changed, "right": share_right(model, tokenizer, asked)}


def measure(runner: Runner) -> tuple[Runs, list[dict[str, Any]]]:
    r"""All models that fill gaps, and one of them as a classifier, from each seed."""
    filled = runner.runs(fill, RUNS, SEEDS)
    of_seeds = zip(SEEDS, filled["40 % chosen"], strict=True)
    classified = runner.all([(classify, seed, one["weights"]) for seed, one in of_seeds])
    return filled, classified


def bars(filled: Runs, names: dict[str, str], title: str, measured: dict[str, str]) -> str:
    r"""The mean of three seeds, and their range as a line; a colour for each thing measured."""
    figure, (axes,) = new(6.4, 0.5 * len(names) + 1.0)
    for (key, label), colour in zip(measured.items(), (ACCENT, SECOND), strict=False):
        for at, name in enumerate(names):
            mark(
                axes,
                at,
                numbers(filled[name], key),
                colour,
                linestyle="",
                label=label if at == 0 else None,
            )
    if len(measured) > 1:
        axes.legend(frameon=False, fontsize=9)
    axes.set_ylim(-0.5, len(names) - 0.5)
    name_rows(axes, list(names.values()), "Loss in gaps (nats)")
    return svg(figure, title)


def shares(classified: Sequence[Found]) -> str:
    r"""Right answers with 100 and with 1,000 labels; a mark for each seed."""
    figure, (axes,) = new(6.4, 2.8)
    ways = ("counting", "from scratch", "pretrained")
    for at, way in enumerate(ways):
        for shift, n_labels, colour in ((-0.12, 100, SECOND), (0.12, 1000, ACCENT)):
            label = f"{n_labels:,} labels" if at == 0 else None
            right = numbers(classified, f"{way}, {n_labels}")
            mark(axes, at + shift, right, colour, label=label, linestyle="")
    axes.set_ylim(-0.5, len(ways) - 0.5)
    name_rows(axes, ["counting words", *ways[1:]], "Share of right answers")
    axes.tick_params(axis="y", length=3.5)
    axes.legend(frameon=False, fontsize=9)
    return svg(figure, "encoders-shares")


def encoders(filled: Runs, names: dict[str, str], first: str, single: bool) -> dict[str, Any]:
    r"""A row for each of these; with `single`, also the loss in a single gap."""
    rows: list[dict[str, Any]] = []
    for name, title in names.items():
        found = filled[name]
        row = {"name": title, "parameters": found[0]["parameters"]}
        row |= spread("loss", numbers(found, "loss"))
        row["seconds"] = mean_of(found, "seconds")
        if single:
            row["single"] = mean_of(found, "single")
        rows.append(row)
    columns = [
        column("name", first),
        column("parameters", "Parameters"),
        column("loss", "Loss in gaps", 3, "nats"),
        *low_and_high(),
        *([column("single", "Single gaps", 3, "nats")] if single else []),
        column("seconds", "Training", 0, "s"),
    ]
    return table(columns, rows)


def classes(classified: Sequence[Found]) -> dict[str, Any]:
    r"""A row for each way to classify."""
    ways = {
        f"{way}, {n} labels": f"{way}, {n}"
        for n in (100, 1000)
        for way in ("counting", "from scratch", "pretrained")
    }
    ways |= {"first token, 1000 labels": "first token", "frozen, 1000 labels": "frozen"}
    rows = [
        {"way": title, **spread("right", numbers(classified, key))} for title, key in ways.items()
    ]
    return table([column("way", "Classifier"), column("right", "Right", 3), *low_and_high()], rows)


def report(found: tuple[Runs, list[dict[str, Any]]]) -> Report:
    r"""What both kinds of runs have found."""
    filled, classified = found
    curves = {name: ENCODERS[name] for name in ("BERT", "BERT, rotary positions", "both sides")}
    guessed = [
        {"line": line, "guesses": "; ".join(filled["40 % chosen"][0]["guesses"][at])}
        for at, line in enumerate(LINES)
    ]
    return {
        "values": {
            "steps": STEPS,
            "tuning_steps": TUNING_STEPS,
            "asked": classified[0]["asked"],
            "taught": classified[0]["taught"],
            "filling": {
                key: mean(one["filling"][key] for one in classified)
                for key in ("likelier", "median")
            },
            "padding": {
                key: mean(one["padding"][key] for one in classified) for key in ("changed", "right")
            },
            "tuning_seconds": mean(one["seconds"] for one in classified),
        },
        "tables": {
            "encoders": encoders(filled, ENCODERS, "Encoder", single=False),
            "objectives": encoders(filled, OBJECTIVES, "Training", single=True),
            "classes": classes(classified),
            "filled": table([column("line", "Line"), column("guesses", "Guesses")], guessed),
        },
        "figures": {
            "sides": {
                "title": "The loss in gaps",
                "picture": bars(
                    filled,
                    OBJECTIVES,
                    "encoders-sides",
                    {"loss": "15 % of all letters hidden", "single": "a single letter hidden"},
                ),
            },
            "parts": {
                "title": "The loss in gaps with each encoder",
                "picture": bars(filled, ENCODERS, "encoders-parts", {"loss": ""}),
            },
            "shares": {"title": "Right answers", "picture": shares(classified)},
            "curves": {
                "title": "The training loss in gaps",
                "x": {"title": "Step"},
                "y": {"title": "Loss in gaps", "unit": "nats"},
                "lines": [
                    {
                        "name": title,
                        "points": [
                            [EVERY * (at + 1), loss]
                            for at, loss in enumerate(filled[name][0]["curve"])
                        ],
                    }
                    for name, title in curves.items()
                ],
            },
        },
    }


EXPERIMENT = Experiment(
    title="Encoders that fill gaps and classify",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 20, "TUNING_STEPS": 2},
)
