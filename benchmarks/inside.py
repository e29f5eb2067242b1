r"""
Inside a small transformer: what can be read after each layer, and what do the matrices of its heads
tell?

The classic model with its recorded weights, and three seeds that are trained for 1,000 steps. A
tuned lens is trained for each of them. It takes four minutes of one core, two of them for the
models.

The result is results/inside.json, to which two pages of labml_nn/inside refer.
"""

import time
from collections.abc import Mapping
from functools import partial
from statistics import mean
from typing import Any

import torch
from torch import Tensor

from benchmarks.library.charts import axis, line, line_chart, picture
from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.tables import column, table
from benchmarks.pictures import heat_map, new, svg
from benchmarks.record import ROOT
from labml_nn.inside import logit_lens as lens
from labml_nn.inside import matrices
from labml_nn.training.counting import count_pairs
from labml_nn.training.data import (
    RandomWindows,
    fixed_windows,
    prepare,
    tiny_shakespeare,
)
from labml_nn.training.loop import adamw, train
from labml_nn.training.trained import load
from labml_nn.transformers.basic.autoregressive_model import (
    AutoregressiveTransformer,
)
from labml_nn.transformers.fused_attention import FusedAttention

SEEDS, STEPS, TUNING, SEQ_LEN, HEADS, N_LAYERS = (1, 2, 3), 1000, 300, 64, 4, 4
WEIGHTS = "results/weights/classic.safetensors"
TOKENIZER, TRAINING, VALIDATION = prepare(tiny_shakespeare(), SEQ_LEN)
N_VOCAB = len(TOKENIZER)
READINGS = ["embedding", *(f"layer {n + 1}" for n in range(N_LAYERS))]
PREFIX, LINE = "my lor", "What is the matter, my lord?"
# The validation windows, all of them; and every sixteenth for what takes more memory.
WINDOWS = fixed_windows(VALIDATION, SEQ_LEN)[0]
SOME = WINDOWS[0][:, ::16]


def classic() -> AutoregressiveTransformer:
    r"""The classic model as the site has it."""
    model = AutoregressiveTransformer(N_VOCAB)
    load(model, (ROOT / WEIGHTS).read_bytes())
    return model.eval()


def trained(seed: int) -> dict[str, Any]:
    r"""The weights of a model of 1,000 steps, and the processor's seconds."""
    start = time.process_time()
    torch.manual_seed(seed)
    model = AutoregressiveTransformer(N_VOCAB, attention=FusedAttention)
    batches = RandomWindows(TRAINING, SEQ_LEN, 12, seed)
    train(model, batches.at, [adamw(model)], STEPS)
    return {"weights": model.state_dict(), "seconds": time.process_time() - start}


def with_weights(weights: Mapping[str, Tensor]) -> AutoregressiveTransformer:
    r"""A model that was trained."""
    model = AutoregressiveTransformer(N_VOCAB)
    model.load_state_dict(weights)
    return model.eval()


def tuned_lens(model: AutoregressiveTransformer, seed: int) -> lens.TunedLens:
    r"""Trained on the training text, the model left as it is."""
    tuned = lens.TunedLens(N_LAYERS, 128)
    batches = RandomWindows(TRAINING, SEQ_LEN, 12, seed)

    def gradients(tuned: lens.TunedLens, inputs: Tensor, _: Tensor) -> Tensor:
        loss = lens.tuned_loss(model, tuned, inputs)
        loss.backward()
        return loss.detach()

    model.requires_grad_(False)
    optimizer = torch.optim.Adam(tuned.parameters(), lr=3e-3)
    train(tuned, batches.at, [optimizer], TUNING, gradients=gradients)
    return tuned


@torch.no_grad()
def readings(model: AutoregressiveTransformer, tuned: lens.TunedLens) -> dict[str, list[float]]:
    r"""After each layer: losses of three kinds of reading, and what becomes of the guesses."""
    found: dict[str, list[Tensor]] = {}
    for inputs, targets in zip(*(one.split(249, dim=1) for one in WINDOWS), strict=True):
        streams = lens.residual_streams(model, inputs)
        logits = lens.logit_lens(model, streams)
        guesses, settled = logits.argmax(dim=-1), lens.settled(logits)
        each = {
            "raw": lens.losses(model.generator(streams), targets),
            "lens": lens.losses(logits, targets),
            "tuned": lens.losses(lens.logit_lens(model, tuned(streams)), targets),
            "right": (guesses == targets).float().mean(dim=(1, 2)),
            "agrees": (guesses == guesses[-1]).float().mean(dim=(1, 2)),
            "settled": torch.stack([(settled <= n).float().mean() for n in range(N_LAYERS + 1)]),
        }
        for name, one in each.items():
            found.setdefault(name, []).append(one)
    return {name: torch.stack(one).mean(dim=0).tolist() for name, one in found.items()}


def centred(scores: Tensor, mask: Tensor) -> Tensor:
    r"""Scores less their mean over the keys that a query sees, which changes no weight."""
    seen = mask[..., None].to(scores.dtype)
    means = (scores * seen).sum(dim=1, keepdim=True) / seen.sum(dim=1, keepdim=True)
    return (scores - means) * seen


def explained(whole: Tensor, part: Tensor) -> float:
    r"""The share of the variance of what is centred that a part explains."""
    return 1 - ((whole - part).square().sum() / whole.square().sum()).item()


def correlation(x: Tensor, y: Tensor) -> float:
    r"""Of the numbers of two tensors."""
    return torch.corrcoef(torch.stack([x.flatten(), y.flatten()]))[0, 1].item()


def ranks(numbers: list[float]) -> Tensor:
    r"""The place of each number in their order."""
    return torch.tensor(numbers).argsort().argsort().float()


def gathered(attn: Tensor, x: Tensor) -> Tensor:
    r"""The average of what each head takes from the positions, with its weights."""
    return torch.einsum("ijbh,jbhm->ibhm", attn, x)


@torch.no_grad()
def heads(model: AutoregressiveTransformer) -> dict[str, object]:
    r"""What the matrices leave out, layer by layer, and what the composition scores tell."""
    streams, mask = lens.residual_streams(model, SOME), model.mask
    letters = model.embed.tokens(SOME)
    places = streams[0] - letters
    unembed = model.generator.projection.weight * model.encoder.norm.weight
    unembed = unembed - unembed.mean(dim=0)
    found: dict[str, list[float]] = {"no biases": [], "letters": [], "added": []}
    parts: dict[str, float] = {}
    offsets: list[list[float]] = []
    scores, effects, written = {}, {}, []
    for n, layer in enumerate(model.encoder.layers):
        x, attention, norm = streams[n], layer.self_attn, layer.norm_self_attn
        z = norm(x)
        qk, ov = matrices.qk_matrices(attention), matrices.ov_matrices(attention)
        query, key = attention.query(z), attention.key(z)
        whole = centred(attention.get_scores(query / attention.d_k**0.5, key), mask)

        def scored(one: Tensor, other: Tensor, qk: Tensor = qk) -> Tensor:
            return centred(torch.einsum("ibm,hmn,jbn->ijbh", one, qk, other), mask)

        of = {
            name: matrices.normalised_part(norm, part, x)
            for name, part in (("letter", letters), ("position", places))
        }
        found["no biases"].append(explained(whole, scored(z, z)))
        found["letters"].append(explained(whole, scored(of["letter"], of["letter"])))
        if n == 0:
            for looks, one in of.items():
                for seen, other in of.items():
                    parts[f"{looks} for {seen}"] = explained(whole, scored(one, other))

        attention(query=z, key=z, value=z, mask=mask)
        if n == 0:
            by_head = attention.attn.mean(dim=2)[16:]
            offsets = [
                torch.diagonal(by_head, 16 - back).mean(dim=-1).tolist() for back in range(6)
            ]
        # What each head adds to the logits, and what the table of letters says that it adds.
        to_logits = unembed @ ov
        added = [
            gathered(attention.attn, torch.einsum("hvm,jbm->jbhv", to_logits, one))
            for one in (z, of["letter"])
        ]
        added = [one - one.mean(dim=(0, 1)) for one in added]
        found["added"].append(explained(*added))

        # How much of the variance of the scores comes in through the keys from each earlier head.
        for earlier, (heads_ov, pieces) in enumerate(written):
            pairs = matrices.composition(qk * norm.weight, heads_ov)
            for one in range(HEADS):
                piece = matrices.normalised_part(norm, pieces[:, :, one], x)
                share = centred(torch.einsum("ibm,hmn,jbn->ijbh", z, qk, piece), mask).square().sum(
                    dim=(0, 1, 2)
                ) / whole.square().sum(dim=(0, 1, 2))
                for two in range(HEADS):
                    scores[earlier, one, n, two] = pairs[two, one].item()
                    effects[earlier, one, n, two] = share[two].item()
        written.append((ov, gathered(attention.attn, torch.einsum("hom,jbm->jbho", ov, z))))

    # The same with random matrices of the same rank, which know nothing of each other.
    generator = torch.Generator().manual_seed(1)
    draw = partial(torch.randn, generator=generator)
    random = [draw(16, 128, 32) @ draw(16, 32, 128) for _ in range(2)]
    order = [ranks(list(one.values())) for one in (scores, effects)]
    layers = {(earlier, later) for earlier, _, later, _ in scores}
    within = [
        correlation(
            *(
                ranks([one[key] for key in scores if (key[0], key[2]) == pair])
                for one in (scores, effects)
            )
        )
        for pair in sorted(layers)
    ]
    pairs = count_pairs(TRAINING, N_VOCAB).log()
    direct = direct_path(model).log_softmax(dim=-1)
    common = common_letters(48)
    inner = [one[common][:, common] for one in (direct, pairs)]
    return {
        "shares": found,
        "parts": parts,
        "offsets": offsets,
        "composition": mean(scores.values()),
        "highest": max(scores.values()),
        "random": matrices.composition(*random).mean().item(),
        "rank_correlation": correlation(*order),
        "rank_correlation_within": mean(within),
        "direct": correlation(*(one - one.mean(dim=-1, keepdim=True) for one in inner)),
        "same_guess": (direct.argmax(dim=-1) == pairs.argmax(dim=-1))[common].float().mean().item(),
    }


def direct_path(model: AutoregressiveTransformer) -> Tensor:
    r"""Logits from the embedding of each letter, past all layers, without positions."""
    return lens.logit_lens(model, model.embed.tokens(torch.arange(N_VOCAB)))


def common_letters(n: int) -> Tensor:
    r"""The `n` most frequent letters of the training text, in the order of their numbers."""
    return TRAINING.bincount(minlength=N_VOCAB).topk(n).indices.sort().values


def shown(symbol: str) -> str:
    r"""A letter as it can be seen."""
    return {"\n": "↵", " ": "␣"}.get(symbol, symbol)


@torch.no_grad()
def best(model: AutoregressiveTransformer, text: str) -> tuple[list[list[float]], list[list[str]]]:
    r"""For each reading and position, the likeliest letter and its probability."""
    tokens = TOKENIZER.encode(text).unsqueeze(1)
    logits = lens.logit_lens(model, lens.residual_streams(model, tokens))[:, :, 0]
    top = logits.softmax(dim=-1).max(dim=-1)
    letters = [[shown(TOKENIZER.symbols[one]) for one in row] for row in top.indices.tolist()]
    return top.values.tolist(), letters


def pictures(model: AutoregressiveTransformer) -> dict[str, object]:
    r"""Of the classic model."""
    probabilities, letters = best(model, LINE)
    likeliest, (axes,) = new(8.4, 2.2)
    heat_map(axes, probabilities, READINGS, [shown(one) for one in LINE])
    for patch in axes.patches:
        # So pale that a letter can be read on it.
        patch.set_alpha(0.6 * patch.get_alpha())
    for i, row in enumerate(letters):
        for j, letter in enumerate(row):
            axes.text(j + 0.5, i + 0.5, letter, ha="center", va="center", family="monospace")
    axes.xaxis.tick_top()

    common = common_letters(22)
    names = [shown(TOKENIZER.symbols[one]) for one in common.tolist()]
    with torch.no_grad():
        direct = direct_path(model).softmax(dim=-1)
        _, added = matrices.letter_tables(model, 0)
    pairs = count_pairs(TRAINING, N_VOCAB)
    bigrams, both = new(8.4, 4.2, 2)
    for one, title, axes in zip((pairs, direct), ("counted", "direct path"), both, strict=True):
        heat_map(axes, one[common][:, common].tolist(), names, names)
        axes.set_title(title)
    second_head, (axes,) = new(5.2, 5.2)
    heat_map(axes, added[1][common][:, common].tolist(), names, names)
    axes.set(xlabel="what may follow", ylabel="what the head looks at")

    # The scores of positions alone, each row less its mean over what a query sees.
    layer, n = model.encoder.layers[0], 16
    with torch.no_grad():
        places = model.embed(torch.zeros(n, 1, dtype=torch.long))
        places = places - model.embed.tokens(torch.zeros(n, 1, dtype=torch.long))
        z = matrices.normalised_part(layer.norm_self_attn, places, places)
        qk = matrices.qk_matrices(layer.self_attn)
        scores = centred(torch.einsum("ibm,hmn,jbn->ijbh", z, qk, z), model.mask[:n, :n])
    where, both = new(8.4, 2.4, HEADS)
    for head, axes in enumerate(both):
        heat_map(axes, scores[:, :, 0, head].tolist())
        axes.set(xticks=[], yticks=[], title=f"head {head + 1}")
    drawn = {
        "line": ("The likeliest letter after each layer; darker is more probable", likeliest),
        "bigrams": ("Which letter follows which: counted, and on the direct path", bigrams),
        "added": ("What the second head of the first layer adds to the logits", second_head),
        "places": ("Scores of positions for positions in the first layer", where),
    }
    return {
        name: picture(title, svg(figure, f"inside-{name}"))
        for name, (title, figure) in drawn.items()
    }


def means(found: list) -> object:
    r"""Of numbers in lists and mappings of the same form."""
    if isinstance(found[0], dict):
        return {name: means([one[name] for one in found]) for name in found[0]}
    if isinstance(found[0], list):
        return [means(list(one)) for one in zip(*found, strict=True)]
    return mean(found)


def numbered(found: object) -> object:
    r"""The same with a mapping from numbers, counted from zero, in the place of each list."""
    if isinstance(found, list):
        found = {str(n): one for n, one in enumerate(found)}
    if isinstance(found, dict):
        return {name: numbered(one) for name, one in found.items()}
    return found


def looked_into(model: AutoregressiveTransformer, seed: int) -> dict[str, Any]:
    r"""All that is read in one model, and the processor's seconds for its tuned lens."""
    begun = time.process_time()
    tuned = tuned_lens(model, seed)
    seconds = time.process_time() - begun
    return {"lens": readings(model, tuned), "heads": heads(model), "seconds": seconds}


def of_the_classic() -> dict[str, Any]:
    r"""What is read in the recorded model."""
    return looked_into(classic(), 1)


def of_a_seed(seed: int, weights: Mapping[str, Tensor]) -> dict[str, Any]:
    r"""What is read in a model that was trained here."""
    return looked_into(with_weights(weights), seed)


def measure(runner: Runner) -> dict[str, Any]:
    r"""Train three models, and look into all four."""
    models = runner.all([(trained, seed) for seed in SEEDS])
    jobs = [(of_a_seed, seed, one["weights"]) for seed, one in zip(SEEDS, models, strict=True)]
    classic_one, *others = runner.all([(of_the_classic,), *jobs])
    seeds = {str(seed): one for seed, one in zip(SEEDS, others, strict=True)}
    return {
        "models": {"classic": classic_one, **seeds},
        "seconds": [one["seconds"] for one in models],
    }


def values_of(found: dict[str, Any]) -> dict[str, Any]:
    r"""All that was read in each model, and what a head adds for two pairs of letters."""
    of_lens = {name: one["lens"] for name, one in found["models"].items()}
    of_heads = {name: one["heads"] for name, one in found["models"].items()}
    tuning = [one["seconds"] for one in found["models"].values()]
    with torch.no_grad():
        table_of_head = matrices.letter_tables(classic(), 0)[1][1]
    return {
        "lens": numbered(of_lens),
        "heads": numbered(of_heads),
        "mean": numbered(shares_of(found)),
        "added": {
            pair: table_of_head[tuple(TOKENIZER.encode(pair).tolist())].item()
            for pair in ("ig", "ad")
        },
        "seconds": {
            "training": mean(found["seconds"]),
            "tuning": mean(tuning),
        },
    }


def lens_of(found: dict[str, Any]) -> dict[str, Any]:
    r"""The mean of what the lenses read in the models of the three seeds."""
    return means([found["models"][str(seed)]["lens"] for seed in SEEDS])


def shares_of(found: dict[str, Any]) -> dict[str, Any]:
    r"""The mean of what the matrices of the heads tell in the models of the three seeds."""
    return means([found["models"][str(seed)]["heads"] for seed in SEEDS])


def tables_of(found: dict[str, Any]) -> dict[str, Any]:
    r"""What the lenses read after each layer, and what the matrices of the heads tell."""
    mine = lens_of(found)
    shares = shares_of(found)
    probabilities, letters = best(classic(), PREFIX)
    rows = [
        {
            "reading": reading,
            **{key: mine[key][n] for key in ("raw", "lens", "tuned", "right", "settled")},
        }
        for n, reading in enumerate(READINGS)
    ]
    return {
        "readings": table(
            [
                column("reading", "Read after"),
                column("raw", "No normalisation", 3, "nats"),
                column("lens", "Logit lens", 3, "nats"),
                column("tuned", "Tuned lens", 3, "nats"),
                column("right", "Right guesses", 2),
                column("settled", "Guesses that have settled", 2),
            ],
            rows,
        ),
        "example": table(
            [
                column("reading", "Read after"),
                column("letter", "Likeliest letter"),
                column("p", "Probability", 2),
            ],
            [
                {"reading": reading, "letter": letters[n][-1], "p": probabilities[n][-1]}
                for n, reading in enumerate(READINGS)
            ],
        ),
        "layers": table(
            [
                column("layer", "Layer"),
                column("biases", "Scores, by QK", 3),
                column("letters", "Scores, by letters alone", 3),
                column("added", "What is added, by letters alone", 3),
            ],
            [
                {
                    "layer": READINGS[n + 1],
                    "biases": shares["shares"]["no biases"][n],
                    "letters": shares["shares"]["letters"][n],
                    "added": shares["shares"]["added"][n],
                }
                for n in range(N_LAYERS)
            ],
        ),
        "parts": table(
            [
                column("part", "Which looks for which"),
                column("share", "Share of the variance", 2),
            ],
            [{"part": key, "share": one} for key, one in shares["parts"].items()],
        ),
    }


def figures_of(found: dict[str, Any]) -> dict[str, Any]:
    r"""The loss after each layer, and pictures of the recorded model."""
    mine = lens_of(found)
    losses = line_chart(
        "The loss after each layer",
        x=axis("Layers"),
        y=axis("Loss", unit="nats"),
        lines=[
            line("no normalisation", enumerate(mine["raw"])),
            line("logit lens", enumerate(mine["lens"])),
            line("tuned lens", enumerate(mine["tuned"])),
        ],
    )
    return pictures(classic()) | {"losses": losses}


def report(found: dict[str, Any]) -> Report:
    r"""Losses after each layer, and what the matrices of the heads tell."""
    return {"values": values_of(found), "tables": tables_of(found), "figures": figures_of(found)}


EXPERIMENT = Experiment(
    title="Reading a small transformer layer by layer and head by head",
    measure=measure,
    report=report,
    reads=[WEIGHTS],
    small={"SEEDS": (1, 2), "STEPS": 2, "TUNING": 2},
)
