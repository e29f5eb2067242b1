r"""
What does a text that is packed beside another one learn from it that it shouldn't?

Two texts of labml_nn/transformers/memory/attention_sinks.py stand in one window. Each tells numbers
of names and asks for them, and the right answer to a name that its own text hasn't told is “none”,
whatever the other text says. A model of one layer is trained on such windows from three seeds, with
the mask and the positions of labml_nn/fine_tuning/packing.py and without; and the weights of the
first way are used with a plain causal mask, too. The result is results/packing.json.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.ranges import Runs, mean_of, numbers, spread
from benchmarks.library.tables import column, low_and_high, table
from labml_nn.fine_tuning.packing import PackedTransformer
from labml_nn.training import loop
from labml_nn.transformers.basic.autoregressive_model import AutoregressiveTransformer
from labml_nn.transformers.memory.attention_sinks import lookups

SEEDS, STEPS, BATCH, TESTS = (1, 2, 3), 400, 32, 1000
D_MODEL, SEQ_LEN, NAMES, NUMBERS = 64, 32, 16, 4
N_VOCAB = 1 + NAMES + NAMES * NUMBERS
WAYS = ("as on the page", "neither mask nor restart")


def windows(batch_size: int) -> tuple[Tensor, Tensor, int]:
    r"""Two texts one after the other, their answers, and where the second one begins."""
    first = int(torch.randint(8, SEQ_LEN - 7, ()))
    texts = [lookups(one, batch_size, NAMES, NUMBERS) for one in (first, SEQ_LEN - first)]
    tokens, answers = (torch.cat(both) for both in zip(*texts, strict=True))
    return tokens, answers, first


def told_beside(tokens: Tensor, answers: Tensor, first: int) -> Tensor:
    r"""Which questions of the second text ask for a name that only the first one has told?"""
    told = F.one_hot((tokens[:first] - 1 - NAMES).clamp(min=0) // NUMBERS, NAMES)
    told = (told * (tokens[:first] > NAMES)[..., None]).amax(dim=0)
    asked = (tokens - 1).clamp(0, NAMES - 1)
    beside = told.gather(-1, asked.t()).t() > 0
    return beside & (answers == NUMBERS) & (torch.arange(SEQ_LEN)[:, None] > first)


@torch.no_grad()
def trained(way: str, seed: int) -> dict[str, float]:
    r"""The shares of right answers of one model."""
    torch.manual_seed(seed)
    plain = AutoregressiveTransformer(N_VOCAB, D_MODEL, 1, 1, 4 * D_MODEL, SEQ_LEN)
    sizes = {"d_model": D_MODEL, "heads": 1, "n_layers": 1, "d_ff": 4 * D_MODEL}
    packed = PackedTransformer(0, n_vocab=N_VOCAB, seq_len=SEQ_LEN, **sizes)
    packed.load_state_dict(plain.state_dict())
    model = packed if way == WAYS[0] else plain
    with torch.enable_grad():
        loop.train(model, lambda _: windows(BATCH)[:2], [loop.adamw(model)], STEPS)
    # The same weights without the page's mask and positions.
    plain.load_state_dict(model.state_dict())
    right: dict[str, list[Tensor]] = {"beside": [], "alone": [], "all": [], "plain": []}
    torch.manual_seed(0)
    for one in (model, plain):
        one.eval()
    for _ in range(20):
        tokens, answers, first = windows(TESTS // 20)
        those = told_beside(tokens, answers, first)
        together = model(tokens).argmax(dim=-1) == answers
        alone = model(tokens[first:]).argmax(dim=-1) == answers[first:]
        right["beside"].append(together[those])
        right["alone"].append(alone[those[first:]])
        right["all"].append(together[answers >= 0])
        right["plain"].append((plain(tokens).argmax(dim=-1) == answers)[those])
    return {name: torch.cat(found).double().mean().item() for name, found in right.items()}


def measure(runner: Runner) -> Runs:
    r"""Both ways, from each seed."""
    return runner.runs(trained, WAYS, SEEDS)


def report(runs: Runs) -> Report:
    r"""A row for each way."""
    rows = [
        {
            "way": way,
            **spread("beside", numbers(found, "beside")),
            "plain": mean_of(found, "plain"),
            "alone": mean_of(found, "alone"),
            "all": mean_of(found, "all"),
        }
        for way, found in runs.items()
    ]
    columns = [
        column("way", "Trained"),
        column("beside", "Told beside", 2),
        *low_and_high(2),
        column("plain", "The same weights, causal mask", 2),
        column("alone", "The second text alone", 2),
        column("all", "All questions", 2),
    ]
    return {
        "values": {"steps": STEPS, "seq_len": SEQ_LEN, "seeds": len(SEEDS)},
        "tables": {"ways": table(columns, rows)},
    }


EXPERIMENT = Experiment(
    title="Two texts in one window",
    measure=measure,
    report=report,
    small={"SEEDS": (1, 2), "STEPS": 3, "TESTS": 60},
)
