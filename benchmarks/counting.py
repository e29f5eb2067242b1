r"""
How far does counting letters get, and does a table that learns get as far?

The losses over the validation text of Tiny Shakespeare, in windows of 64 letters, with none to six
letters of context. Then a table of pairs is trained by the loop, from three seeds. The result is
results/counting.json, to which the pages refer.
"""

import math
import sys
from pathlib import Path
from statistics import mean, stdev

# As `python benchmarks/counting.py` from a checkout, nothing needs to be installed.
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from torch import nn  # noqa: E402

from benchmarks.record import write  # noqa: E402
from labml_nn.training.counting import BackOff, count_letters, count_pairs  # noqa: E402
from labml_nn.training.data import RandomWindows, prepare, tiny_shakespeare  # noqa: E402
from labml_nn.training.loop import adamw, evaluate, train  # noqa: E402

SEQ_LEN, STEPS, BATCH_SIZE, ESTIMATES = 64, 2000, 12, 1000
PROMPT, WRITTEN = "ROMEO:\n", 120


def main() -> None:
    r"""Count, train, and write down what came out."""
    tokenizer, train_tokens, validation_tokens = prepare(tiny_shakespeare(), SEQ_LEN)
    training, validation = tokenizer.decode(train_tokens), tokenizer.decode(validation_tokens)

    rows, samples = [], []
    guessing = BackOff("", 0, tokenizer.symbols)
    samples.append({"model": "guessing", "sample": guessing.write(PROMPT, WRITTEN, seed=1)})
    for n_letters in range(7):
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
        print(row, flush=True)
        name = {0: "letters", 1: "pairs"}.get(n_letters, f"{n_letters} letters of context")
        samples.append({"model": name, "sample": model.write(PROMPT, WRITTEN, seed=1)})

    # The loss of pairs as a few random windows would estimate it.
    pairs = count_pairs(train_tokens, len(tokenizer))
    batches = RandomWindows(validation_tokens, SEQ_LEN, 20 * BATCH_SIZE, seed=1)
    estimates = [-pairs[batches.at(one)].log().mean().item() for one in range(ESTIMATES)]

    # The same table, learned. Zeros make it guess at first.
    learned = []
    for seed in range(1, 4):
        table = nn.Embedding(len(tokenizer), len(tokenizer))
        nn.init.zeros_(table.weight)
        windows = RandomWindows(train_tokens, SEQ_LEN, BATCH_SIZE, seed)
        start = evaluate(table, validation_tokens, SEQ_LEN)
        train(table, windows.at, [adamw(table, rate=0.03, weight_decay=0.0)], STEPS)
        learned.append((start, evaluate(table, validation_tokens, SEQ_LEN)))
        print(f"learned table, seed {seed}: {learned[-1]}", flush=True)

    best = min(rows, key=lambda row: row["validation"])
    letters = count_letters(train_tokens, len(tokenizer))
    path = write(
        "counting",
        title="Counting letters on Tiny Shakespeare",
        command="python benchmarks/counting.py",
        sources=[f"labml_nn/training/{page}.py" for page in ("counting", "data", "loop")],
        values={
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
        tables={
            "contexts": {
                "columns": [
                    {"name": "letters", "title": "Letters of context"},
                    {"name": "contexts", "title": "Different contexts"},
                    {"name": "unseen", "title": "Never seen", "unit": "%", "digits": 1},
                    {"name": "training", "title": "Training loss", "unit": "nats", "digits": 3},
                    {"name": "validation", "title": "Validation loss", "unit": "nats", "digits": 3},
                ],
                "rows": [{name: row[name] for name in row if name != "unlimited"} for row in rows],
            },
            "samples": {
                "columns": [
                    {"name": "model", "title": "Model"},
                    {"name": "sample", "title": "Sample"},
                ],
                "rows": samples,
            },
        },
        figures={
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
    )
    print(path)


if __name__ == "__main__":
    main()
