r"""
How far does counting letters get, and does a table that learns get as far?

The losses over the validation text of Tiny Shakespeare, in windows of 64 letters, with none to six
letters of context. Then a table of pairs is trained by the loop, from three seeds. The result is
results/counting.json, to which the pages refer.
"""

import math
from statistics import mean, stdev

from torch import nn

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.tables import column
from labml_nn.training.counting import BackOff, count_letters, count_pairs
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare
from labml_nn.training.loop import adamw, evaluate, train

SEQ_LEN, STEPS, BATCH_SIZE, ESTIMATES = 64, 2000, 12, 1000
# The longest context that is counted.
MOST = 6
PROMPT, WRITTEN = "ROMEO:\n", 120


def measure(runner: Runner) -> Report:
    r"""Count, train, and let both write."""
    tokenizer, train_tokens, validation_tokens = prepare(tiny_shakespeare(), SEQ_LEN)
    training, validation = tokenizer.decode(train_tokens), tokenizer.decode(validation_tokens)

    rows, samples = [], []
    guessing = BackOff("", 0, tokenizer.symbols)
    samples.append({"model": "guessing", "sample": guessing.write(PROMPT, WRITTEN, seed=1)})
    for n_letters in range(MOST + 1):
        model = BackOff(training, n_letters, tokenizer.symbols)
        places = range(n_letters, len(validation))
        unseen = sum(not model.total[validation[at - n_letters : at]] for at in places)
        row = {
            "letters": n_letters,
            "contexts": sum(len(context) == n_letters for context in model.total),
            "unseen": 100 * unseen / len(places),
            # A part of the training text that is as long as the validation text.
            "training": model.loss(training[: len(validation)], SEQ_LEN),
            "validation": model.loss(validation, SEQ_LEN),
            "unlimited": model.loss(validation, len(validation)),
        }
        rows.append(row)
        name = {0: "letters", 1: "pairs"}.get(n_letters, f"{n_letters} letters of context")
        samples.append({"model": name, "sample": model.write(PROMPT, WRITTEN, seed=1)})

    # The loss of pairs as a few random windows would estimate it.
    pairs = count_pairs(train_tokens, len(tokenizer))
    batches = RandomWindows(validation_tokens, SEQ_LEN, 20 * BATCH_SIZE, seed=1)
    estimates = [-pairs[batches.at(one)].log().mean().item() for one in range(ESTIMATES)]

    # The same table, learned. Zeros make it guess at first.
    learned = []
    for seed in range(1, 4):
        learner = nn.Embedding(len(tokenizer), len(tokenizer))
        nn.init.zeros_(learner.weight)
        windows = RandomWindows(train_tokens, SEQ_LEN, BATCH_SIZE, seed)
        start = evaluate(learner, validation_tokens, SEQ_LEN)
        train(learner, windows.at, [adamw(learner, rate=0.03, weight_decay=0.0)], STEPS)
        learned.append((start, evaluate(learner, validation_tokens, SEQ_LEN)))

    best = min(rows, key=lambda row: row["validation"])
    letters = count_letters(train_tokens, len(tokenizer))
    return {
        "values": {
            "guessing": math.log(len(tokenizer)),
            "letters": -letters[validation_tokens].log().mean().item(),
            "pairs": -pairs[validation_tokens[:-1], validation_tokens[1:]].log().mean().item(),
            "best": best["validation"],
            "best_unlimited": best["unlimited"],
            "estimate_deviation": stdev(estimates),
            "learned": mean(loss for _, loss in learned),
            "learned_highest": max(loss for _, loss in learned),
            "untrained": mean(loss for loss, _ in learned),
        },
        "tables": {
            "contexts": {
                "columns": [
                    column("letters", "Letters of context"),
                    column("contexts", "Different contexts"),
                    column("unseen", "Never seen", 1, "%"),
                    column("training", "Training loss", 3, "nats"),
                    column("validation", "Validation loss", 3, "nats"),
                ],
                "rows": [{name: row[name] for name in row if name != "unlimited"} for row in rows],
            },
            "samples": {
                "columns": [
                    column("model", "Model"),
                    column("sample", "Sample"),
                ],
                "rows": samples,
            },
        },
        "figures": {
            "contexts": {
                "title": "Loss against letters of context",
                "x": {"title": "Letters of context"},
                "y": {"title": "Loss", "unit": "nats"},
                "lines": [
                    {"name": part, "points": [[row["letters"], row[part]] for row in rows]}
                    for part in ("validation", "training")
                ],
            }
        },
    }


EXPERIMENT = Experiment(
    title="Counting letters on Tiny Shakespeare",
    measure=measure,
    small={"STEPS": 2, "ESTIMATES": 2, "WRITTEN": 2, "MOST": 3},
    threads=None,
)
