r"""
Is any attention slower than PyTorch's kernel, given the same projections?

Each page that has an attention for the small transformer says so in `in_transformer`, and is found
by that. One step forward and backward of a sequence under a causal mask is measured beside the same
step in which the page's own projections go straight to scaled_dot_product_attention: told that it
is causal, or with the mask or the numbers that the page adds, made beforehand, whichever is the
first that gives the same: the result, the gradient of what went in, and those of all parameters. A
page for which none does computes what the kernel cannot, and is listed without numbers. So it is
with Transformer-XL: what it adds to the scores depends on the queries and is learned, and nothing
is learned from numbers that were made beforehand.

What is measured is the everyday path: dropout, and weights that are kept for a look, are off. The
pages of `ways` have none: each is there to be read, spells attention out in steps, and sends those
who need it fast to the others. They are listed without numbers; ways.py has theirs.

Both have their turns in each round, the one first and then the other. The ratio of times is the
median over the rounds, of which there are more where it is close to the bar; that of memory is of
the most that PyTorch's allocator has handed out at any moment of the step. The bar for both is
1.05.

The results are written to results/seam.json with --write.
"""

import argparse
import ast
import importlib
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import accumulate
from operator import itemgetter
from pathlib import Path

# As `python benchmarks/seam.py` from a checkout, nothing needs to be installed.
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.nn.functional import scaled_dot_product_attention  # noqa: E402
from torch.profiler import ProfilerActivity, profile  # noqa: E402

from benchmarks import record  # noqa: E402
from labml_nn.transformers.memory.flash import FlashAttention  # noqa: E402
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask  # noqa: E402

HEADS, D_MODEL, D_FF = 8, 512, 2048
LENGTHS = (256, 512, 1024, 2048, 4096)
QUICK = (64, 128)
BAR = 1.05
# Rounds. A machine drifts while a long step is made, so more are made until the median is at least
# two of its standard errors away from the bar, or there are enough of them.
FEWEST, MOST = 7, 60
# Pages whose `in_transformer` shows something on purpose that is not for every day: a single head,
# and tiles one after the other. For every day there is what they have without options.
EVERYDAY: dict[str, Callable[[int, int, float], nn.Module]] = {
    "labml_nn.transformers.mha": MultiHeadAttention,
    "labml_nn.transformers.memory.flash": FlashAttention,
}
# Attention in steps, to be read.
SPELLED_OUT = "labml_nn.transformers.ways."

Attend = Callable[[Tensor], Tensor]


def pages() -> list[str]:
    r"""The modules that have a function `in_transformer`."""
    found = []
    for path in sorted((ROOT / "labml_nn" / "transformers").rglob("*.py")):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        if any(getattr(one, "name", "") == "in_transformer" for one in body):
            found.append(".".join(path.relative_to(ROOT).with_suffix("").parts))
    return found


def attention_of(page: str, seq_len: int) -> nn.Module | None:
    r"""The attention of a page, without dropout, or none if it is about something else."""
    if page in EVERYDAY:
        return EVERYDAY[page](HEADS, D_MODEL, 0.0)
    parts = importlib.import_module(page).in_transformer(
        d_model=D_MODEL, heads=HEADS, d_ff=D_FF, seq_len=seq_len, dropout_prob=0.0
    )
    return parts["self_attn"]() if "self_attn" in parts else None


def projected(module: nn.Module, x: Tensor) -> list[Tensor]:
    r"""Queries, which are scaled, keys and values: heads first, as the kernel takes them."""
    if hasattr(module, "project"):
        made = module.project(x, x, x)
    else:
        made = (module.query(x) / module.d_k**0.5, module.key(x), module.value(x))
    return [one.permute(1, 2, 0, 3) for one in made]


def finished(module: nn.Module, x: Tensor, heads: Tensor) -> Tensor:
    r"""What the page does with the heads, side by side again."""
    joined = heads.permute(2, 0, 1, 3).flatten(start_dim=2)
    if hasattr(module, "gated_output"):
        return module.gated_output(joined * module.gate(x).sigmoid())
    return module.output(joined)


def candidates(module: nn.Module, x: Tensor) -> Iterator[tuple[str, Attend]]:
    r"""Ways to give the kernel what the page asks for, the fastest first."""

    def straight(**more: Tensor | bool) -> Attend:
        def attend(x: Tensor) -> Tensor:
            query, key, value = projected(module, x)
            if query.shape[1] != key.shape[1]:
                more["enable_gqa"] = True
            heads = scaled_dot_product_attention(query, key, value, scale=1.0, **more)
            return finished(module, x, heads)

        return attend

    yield "told that it is causal", straight(is_causal=True)
    mask = module.prepare_mask(causal_mask(len(x)), x.shape, x.shape).permute(2, 3, 0, 1)
    yield "with a mask", straight(attn_mask=mask.contiguous())
    if hasattr(module, "get_bias"):
        query, key, _ = (one.permute(2, 0, 1, 3) for one in projected(module, x))
        bias = module.get_bias(query, key)
        if bias is not None:
            added = bias.detach().permute(2, 3, 0, 1).masked_fill(~mask, -torch.inf)
            yield "with numbers that are added", straight(attn_mask=added.contiguous())


def with_gradients(attend: Attend, module: nn.Module, x: Tensor) -> list[Tensor]:
    r"""The output, and the gradients of what goes in and of all parameters."""
    x = x.detach().requires_grad_()
    output = attend(x)
    # Each number of the output counts differently.
    weights = torch.randn(output.shape, generator=torch.Generator().manual_seed(2))
    inputs, total = [x, *module.parameters()], (output * weights).sum()
    return [output, *torch.autograd.grad(total, inputs, materialize_grads=True)]


def alike(found: list[Tensor], expected: list[Tensor]) -> bool:
    r"""Whether all numbers are the same, but for rounding."""
    shapes = [[one.shape for one in tensors] for tensors in (found, expected)]
    return shapes[0] == shapes[1] and all(
        torch.allclose(one, other, rtol=1e-3, atol=1e-4 * (1 + other.detach().abs().max().item()))
        for one, other in zip(found, expected, strict=True)
    )


def reference(module: nn.Module, x: Tensor) -> tuple[str, Attend] | None:
    r"""The first of these ways that computes what the page does, gradients too."""
    mask = causal_mask(len(x))
    expected = with_gradients(lambda x: module(query=x, key=x, value=x, mask=mask), module, x)
    tried = candidates(module, x)
    while True:
        # What a page doesn't have, or has in another shape, the kernel can't be given.
        try:
            name, attend = next(tried)
            found = with_gradients(attend, module, x)
        except StopIteration:
            return None
        except (AttributeError, RuntimeError, TypeError, ValueError):
            return None
        if alike(found, expected):
            return name, attend


def pair(page: str, seq_len: int) -> tuple[str, Attend, Attend] | None:
    r"""How the page is compared, the page, and the kernel."""
    torch.manual_seed(1)
    module = attention_of(page, seq_len)
    x = torch.randn(seq_len, 1, D_MODEL)
    found = None if module is None else reference(module, x)
    if module is None or found is None:
        return None
    mask = causal_mask(seq_len)
    return found[0], lambda x: module(query=x, key=x, value=x, mask=mask), found[1]


def without_numbers(page: str) -> str:
    r"""Why a page stands beside no kernel."""
    if page.startswith(SPELLED_OUT):
        return "left out: in steps, to be read"
    return "not able to compute it"


def step(attend: Attend, x: Tensor) -> None:
    r"""Forward and backward once."""
    attend(x).sum().backward()


def ratio_of_times(
    ours: Attend, theirs: Attend, seq_len: int, seconds: float, clock: Callable[[], float]
) -> tuple[float, float]:
    r"""How much longer ours takes, and how long theirs does."""
    x = torch.randn(seq_len, 1, D_MODEL, requires_grad=True)
    order = [("ours", ours), ("theirs", theirs)]
    taken: dict[str, list[float]] = {"ours": [], "theirs": []}
    end = time.perf_counter() + seconds
    ratios: list[float] = []
    while len(ratios) < FEWEST or time.perf_counter() < end or is_open(ratios):
        for name, attend in order:
            start = clock()
            step(attend, x)
            taken[name].append(clock() - start)
        order.reverse()
        # The first round warms up.
        both = list(zip(taken["ours"], taken["theirs"], strict=True))[1:]
        ratios = [a / b for a, b in both]
    return statistics.median(ratios), statistics.median(taken["theirs"][1:])


def is_open(ratios: list[float]) -> bool:
    r"""Whether more rounds could tell on which side of the bar the ratio is."""
    if len(ratios) >= MOST:
        return False
    # That of a median, if the ratios spread as errors do; a few odd rounds don't count.
    lower, _, upper = statistics.quantiles(ratios, n=4)
    error = 1.253 * (upper - lower) / 1.349 / len(ratios) ** 0.5
    return abs(statistics.median(ratios) - BAR) < 2 * error


@contextmanager
def errors_hidden() -> Iterator[None]:
    r"""The profiler reports each start and stop, past Python's own streams."""
    sys.stderr.flush()
    kept = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def extra_bytes(attend: Attend, seq_len: int) -> int:
    r"""The most that PyTorch holds at any moment of a step, beyond what it held before."""
    # Gradients of the weights are there from the first step on, and are only added to.
    x = torch.randn(seq_len, 1, D_MODEL, requires_grad=True)
    step(attend, x)
    with errors_hidden(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        step(attend, x.detach().requires_grad_())
    events = seen.profiler.kineto_results.events()
    changes = [(one.start_ns(), one.nbytes()) for one in events if one.name() == "[memory]"]
    return max(accumulate(size for _, size in sorted(changes, key=itemgetter(0))))


def write(rows: list[dict[str, object]], lengths: tuple[int, ...], measured: list[str]) -> None:
    r"""The results, as a table and two figures."""
    columns = [{"name": "page", "title": "Page"}, {"name": "with", "title": "The kernel is"}]
    for kind, title in (("time", "Time"), ("memory", "Memory")):
        columns += [
            {"name": f"{kind}_{one}", "title": f"{title}, {one:,}", "digits": 2} for one in lengths
        ]

    def figure(kind: str, title: str) -> dict[str, object]:
        lines = [
            {"name": row["page"], "points": [[one, row[f"{kind}_{one}"]] for one in lengths]}
            for row in rows
            if f"{kind}_{lengths[0]}" in row
        ]
        return {
            "title": title,
            "x": {"title": "Positions", "scale": "log"},
            "y": {"title": "Of the kernel's"},
            "lines": lines,
        }

    ratios = [value for row in rows for value in row.values() if isinstance(value, float)]
    record.write(
        "seam",
        title="Each attention beside the kernel, given the same projections",
        command="python benchmarks/seam.py --write",
        sources=[f"{page.replace('.', '/')}.py" for page in measured]
        + ["labml_nn/transformers/fast_attention.py"],
        values={"bar": BAR, "worst": max(ratios, default=0.0)},
        tables={"seam": {"columns": columns, "rows": rows}},
        figures={
            "time": figure("time", "Time, forward and backward"),
            "memory": figure("memory", "Memory, forward and backward"),
        },
    )


def main() -> int:
    r"""Print the table, and write it if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pages", nargs="*", help="only pages with such a word in their names")
    parser.add_argument("--quick", action="store_true", help="small sizes: does it run at all?")
    parser.add_argument("--lengths", type=int, nargs="+", default=None, help="positions")
    parser.add_argument("--seconds", type=float, default=200.0, help="for all times together")
    parser.add_argument("--threads", type=int, default=0, help="0 stands for all")
    parser.add_argument("--process-time", action="store_true", help="count the processor's time")
    parser.add_argument("--write", action="store_true", help="write results/seam.json")
    arguments = parser.parse_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    lengths = tuple(arguments.lengths or (QUICK if arguments.quick else LENGTHS))
    clock = time.process_time if arguments.process_time else time.perf_counter
    seconds = 0.1 if arguments.quick else arguments.seconds

    chosen = [
        page for page in pages() if not arguments.pages or any(w in page for w in arguments.pages)
    ]
    attentions = [page for page in chosen if attention_of(page, min(lengths)) is not None]
    comparable = [
        page
        for page in attentions
        if not page.startswith(SPELLED_OUT) and pair(page, min(lengths)) is not None
    ]
    share = seconds / max(1, len(comparable) * len(lengths))
    print(f"{torch.get_num_threads()} threads, {HEADS} heads, {D_MODEL} features\n")
    print(f"{'page':40}{'positions':>10}{'time':>9}{'memory':>9}{'kernel':>12}")
    rows: list[dict[str, object]] = []
    for page in attentions:
        name = page.removeprefix("labml_nn.transformers.").replace(".", "/")
        row: dict[str, object] = {"page": name, "with": without_numbers(page)}
        for seq_len in lengths if page in comparable else ():
            found = pair(page, seq_len)
            assert found is not None
            row["with"], ours, theirs = found
            ratio, taken = ratio_of_times(ours, theirs, seq_len, share, clock)
            memory = extra_bytes(ours, seq_len) / extra_bytes(theirs, seq_len)
            row[f"time_{seq_len}"], row[f"memory_{seq_len}"] = ratio, memory
            mark = "" if max(ratio, memory) <= BAR else "  above the bar"
            print(
                f"{name:40}{seq_len:>10,}{ratio:>9.3f}{memory:>9.3f}{taken * 1e3:>9.1f} ms{mark}",
                flush=True,
            )
        rows.append(row)
        print(f"{name:40}  the kernel is {row['with']}")
    if arguments.write:
        write(rows, lengths, attentions)
    return 0


if __name__ == "__main__":
    sys.exit(main())
