r"""
What does each attention cost: parameters, cache, multiplications?

One row for each page about attention. A module is made with the same sizes everywhere, its
parameters are counted, and so are the FLOPs of one forward pass, as PyTorch counts them: matrix
products only. What a model that writes has to keep is measured, too: where a page has a cache or a
state of its own, that is asked for its size; elsewhere it is what the projections to keys and
values give, as in `kv_cache.py`. Measured with 64 tokens and with 65, it tells what one token adds.

Losses are those of two other results, families.json and extrapolation.json. Nothing here depends on
how busy the machine is.

The result is results/compare.json.
"""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from benchmarks.families import VARIANTS
from benchmarks.library.experiment import Experiment, Report, Runner
from benchmarks.library.tables import column
from benchmarks.record import ROOT
from labml_nn.transformers.fused_attention import FusedAttention
from labml_nn.transformers.kv_cache import CachedAttention
from labml_nn.transformers.memory.absorbed_attention import AbsorbedLatentAttention
from labml_nn.transformers.memory.attention_sinks import (
    RollingSinkAttention,
    SinkAttention,
)
from labml_nn.transformers.memory.flash import TiledAttention
from labml_nn.transformers.memory.flash_backward import FlashAttention
from labml_nn.transformers.memory.flex import FlexAttention, alibi
from labml_nn.transformers.memory.grouped_query import GroupedQueryAttention
from labml_nn.transformers.memory.latent_attention import LatentAttention
from labml_nn.transformers.memory.learned_sink import LearnedSinkAttention
from labml_nn.transformers.memory.sliding_window import (
    RollingAttention,
    SlidingWindowAttention,
)
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from labml_nn.transformers.modern.attention import ModernAttention
from labml_nn.transformers.positions.alibi import AlibiAttention
from labml_nn.transformers.positions.rotary_attention import RotaryAttention
from labml_nn.transformers.positions.rotary_scaling import scaled_rotary
from labml_nn.transformers.positions.shaw_relative import ShawAttention
from labml_nn.transformers.positions.transformer_xl import TransformerXLAttention
from labml_nn.transformers.rotary import RotaryPositions, inverse_frequencies
from labml_nn.transformers.variants.cross_attention import CrossAttention
from labml_nn.transformers.variants.delta_rule import DeltaRuleAttention
from labml_nn.transformers.variants.differential_attention import (
    DifferentialAttention,
)
from labml_nn.transformers.variants.gated_attention import GatedAttention
from labml_nn.transformers.variants.linear_attention import LinearAttention
from labml_nn.transformers.variants.query_key_norm import QueryKeyNormAttention
from labml_nn.transformers.variants.soft_cap import SoftCapAttention
from labml_nn.transformers.ways.batch_first import BatchFirstAttention
from labml_nn.transformers.ways.folded_heads import NarrowSelfAttention
from labml_nn.transformers.ways.one_head_at_a_time import OneHeadAtATime
from literate.reading.front_matter import of_source
from literate.reading.source import read

HEADS, D_MODEL, SEQ_LEN = 4, 64, 64
D_K = D_MODEL // HEADS
FOLDER = "labml_nn/transformers"

Call = Callable[[Any, Tensor, Tensor], Any]
Kept = Callable[[Any, int], Iterable[Tensor]]


def tokens(n: int) -> Tensor:
    r"""So many vectors of one sequence."""
    return torch.randn(n, 1, D_MODEL)


def at_the_seam(attention: nn.Module, x: Tensor, mask: Tensor) -> Any:
    r"""A call as of multi-head attention."""
    return attention(query=x, key=x, value=x, mask=mask)


def batch_first(attention: nn.Module, x: Tensor, mask: Tensor) -> Any:
    r"""The same where the batch is the first axis, and the mask has none for it."""
    return attention(x.transpose(0, 1), mask.squeeze(-1))


def hides_the_future(attention: nn.Module, x: Tensor, mask: Tensor) -> Any:
    r"""The batch first, and the causal mask inside."""
    return attention(x.transpose(0, 1))


# The layers that make keys and values, by the names that they have in the pages.
MAKES_KEYS = re.compile(r"((^|\.)(key|value)(\.linear)?|^W_[kv])$")


def projected(attention: nn.Module, n: int, call: Call = at_the_seam) -> list[Tensor]:
    r"""The keys and values of `n` tokens, before heads that share them are repeated."""
    kept: list[Tensor] = []
    layers = [layer for name, layer in attention.named_modules() if MAKES_KEYS.search(name)]
    hooks = [
        layer.register_forward_hook(lambda layer, inputs, output: kept.append(output))
        for layer in layers
        if isinstance(layer, nn.Linear)
    ]
    call(attention, tokens(n), causal_mask(n))
    for hook in hooks:
        hook.remove()
    return kept


def cached(attention: CachedAttention, n: int) -> list[Tensor | None]:
    r"""What the page's own cache holds after `n` tokens, one after the other."""
    attention.key.cache = attention.value.cache = None
    for one in tokens(n).split(1):
        attention(query=one, key=one, value=one)
    return [attention.key.cache, attention.value.cache]


def rolled(attention: SlidingWindowAttention, n: int) -> list[Tensor | None]:
    r"""The slots of the page's rolling cache after `n` tokens."""
    rolling = RollingAttention(HEADS, D_MODEL, window=attention.window)
    for one in tokens(n).split(1):
        rolling(query=one, key=one, value=one)
    return [rolling.key.slots, rolling.value.slots]


def rolled_behind_sinks(attention: SinkAttention, n: int) -> list[Tensor | None]:
    r"""The sinks and the slots of the page's rolling cache after `n` tokens."""
    sizes = {"window": attention.window, "n_sinks": attention.n_sinks}
    rolling = RollingSinkAttention(HEADS, D_MODEL, **sizes)
    for one in tokens(n).split(1):
        rolling(query=one, key=one, value=one)
    return [part for made in (rolling.key, rolling.value) for part in (*made.sinks, made.slots)]


def latents(attention: AbsorbedLatentAttention, n: int) -> tuple[Tensor, ...]:
    r"""The cache of absorbed attention after `n` tokens."""
    attention.cache = None
    at_the_seam(attention, tokens(n), causal_mask(n))
    kept, attention.cache = attention.cache, None
    return kept or ()


def remembered(attention: CrossAttention, n: int) -> list[Tensor]:
    r"""The memory is complete before the first token is written, and stays as it is."""
    memory = attention.remember(tokens(SEQ_LEN))
    return [memory.key, memory.value]


@dataclass(frozen=True)
class Entry:
    r"""
    A page and how its attention is made, called and asked for what it keeps.

    * `code` is the class, or function, of the page that is compared
    * `loss` is its row in families.json, `positions` that in extrapolation.json
    * `way` is its line in the figures of ways.json
    * `remark` says what was chosen, or why something isn't measured
    """

    page: str
    code: str
    make: Callable[[], nn.Module] | None = None
    call: Call = at_the_seam
    kept: Kept | None = None
    positions: str = ""
    way: str = ""
    remark: str = ""


def rotary() -> RotaryPositions:
    r"""For one position more than those of the forward pass."""
    return RotaryPositions(inverse_frequencies(D_K), SEQ_LEN + 1)


def scaled() -> nn.Module:
    r"""Rotary attention for texts four times as long as in training."""
    return RotaryAttention(
        HEADS, D_MODEL, 0.0, rotary=scaled_rotary("yarn", D_K, 4 * SEQ_LEN, SEQ_LEN)
    )


def plain(kind: Callable[..., nn.Module], **options: Any) -> Callable[[], nn.Module]:
    r"""Makes the attention with the common sizes, and without dropout."""
    return lambda: kind(HEADS, D_MODEL, dropout_prob=0.0, **options)


WINDOW = {"window": SEQ_LEN // 4}
LATENT = {"d_latent": D_MODEL // 4, "d_rotary": 8, "max_len": SEQ_LEN + 1}

ENTRIES = [
    Entry("mha", "MultiHeadAttention", plain(MultiHeadAttention), positions="sines",
          way="sequence first"),
    Entry("fused_attention", "FusedAttention", plain(FusedAttention), way="PyTorch's kernel"),
    Entry("kv_cache", "CachedAttention", plain(CachedAttention), kept=cached),
    Entry("ways/one_head_at_a_time", "OneHeadAtATime", lambda: OneHeadAtATime(HEADS, D_MODEL),
          hides_the_future, partial(projected, call=hides_the_future), way="one head at a time"),
    Entry("ways/batch_first", "BatchFirstAttention",
          lambda: BatchFirstAttention(D_MODEL, HEADS, 0.0), batch_first,
          partial(projected, call=batch_first), way="batch first"),
    Entry("ways/folded_heads", "NarrowSelfAttention", plain(NarrowSelfAttention, causal=True),
          hides_the_future, partial(projected, call=hides_the_future), way="folded heads"),
    Entry("ways/side_by_side", "attend", remark="calls the four others; nothing of its own"),
    Entry("positions/shaw_relative", "ShawAttention", plain(ShawAttention), positions="Shaw"),
    Entry("positions/transformer_xl", "TransformerXLAttention", plain(TransformerXLAttention),
          positions="Transformer-XL"),
    Entry("positions/alibi", "AlibiAttention", plain(AlibiAttention), positions="ALiBi"),
    Entry("positions/rotary_pairs", "rotate_neighbours", remark="a rotation, no attention"),
    Entry("positions/rotary_attention", "RotaryAttention",
          lambda: RotaryAttention(HEADS, D_MODEL, 0.0, rotary=rotary()), positions="rotary"),
    Entry("positions/rotary_scaling", "scaled_rotary", scaled, positions="rotary, YaRN",
          remark="rotary attention with YaRN, for 256 positions"),
    Entry("positions/extrapolation", "make_model", remark="measures the others"),
    Entry("memory/sdpa", "spelled_out", remark="a function of given keys and values"),
    Entry("memory/flash", "TiledAttention", plain(TiledAttention, size=SEQ_LEN // 2),
          remark="four tiles, of which one is hidden"),
    Entry("memory/flash_backward", "FlashAttention", plain(FlashAttention, size=SEQ_LEN // 2),
          remark="four tiles, of which one is hidden"),
    Entry("memory/score_functions", "attend", remark="a function of given keys and values"),
    Entry("memory/flex", "FlexAttention", plain(FlexAttention, score_mod=alibi(HEADS)),
          remark="all scores at once, with ALiBi"),
    Entry("memory/grouped_query", "GroupedQueryAttention",
          plain(GroupedQueryAttention, key_heads=1), remark="one head of keys"),
    Entry("memory/sliding_window", "SlidingWindowAttention",
          plain(SlidingWindowAttention, **WINDOW), kept=rolled,
          remark="a window of 16; the cache has 16 slots"),
    Entry("memory/attention_sinks", "SinkAttention",
          plain(SinkAttention, **WINDOW, n_sinks=1), kept=rolled_behind_sinks,
          remark="a window of 16 and one sink; the cache has 17 slots"),
    Entry("memory/learned_sink", "LearnedSinkAttention", plain(LearnedSinkAttention)),
    Entry("memory/latent_attention", "LatentAttention", plain(LatentAttention, **LATENT),
          kept=lambda attention, n: attention.get_latents(tokens(n)),
          remark="latents of 16 features, 8 rotated"),
    Entry("memory/absorbed_attention", "AbsorbedLatentAttention",
          plain(AbsorbedLatentAttention, **LATENT), kept=latents,
          remark="latents of 16 features, 8 rotated"),
    Entry("variants/query_key_norm", "QueryKeyNormAttention", plain(QueryKeyNormAttention)),
    Entry("variants/soft_cap", "SoftCapAttention", plain(SoftCapAttention, cap=5.0),
          remark="a cap of 5"),
    Entry("variants/gated_attention", "GatedAttention", plain(GatedAttention)),
    Entry("variants/differential_attention", "DifferentialAttention",
          lambda: DifferentialAttention(HEADS // 2, D_MODEL, 0.0), remark="two differences"),
    Entry("variants/linear_attention", "LinearAttention", plain(LinearAttention),
          kept=lambda attention, n: attention.extend(tokens(n))[1],
          remark="as in training, with all weights; writing keeps a state"),
    Entry("variants/delta_rule", "DeltaRuleAttention", plain(DeltaRuleAttention),
          kept=lambda attention, n: [attention.extend(*[tokens(n)] * 3)[1]],
          remark="in one chunk; writing keeps a state"),
    Entry("variants/cross_attention", "CrossAttention", plain(CrossAttention),
          lambda attention, x, mask: attention(query=x, key=x, value=x), remembered,
          remark="a memory of 64 positions, without a mask"),
    Entry("modern/attention", "ModernAttention",
          lambda: ModernAttention(HEADS, D_MODEL, rotary(), first=True),
          lambda attention, x, mask: attention(x, None),
          partial(projected, call=lambda attention, x, mask: attention(x, None)),
          remark="the first layer"),
]  # fmt: skip


def size(kept: Iterable[Tensor | None]) -> int:
    r"""The bytes of what is kept."""
    return sum(one.numel() * one.element_size() for one in kept if one is not None)


@torch.no_grad()
def measured(entry: Entry) -> dict[str, int | None]:
    r"""The numbers of one page; none for a page without a module."""
    if entry.make is None:
        return dict.fromkeys(("parameters", "token", "kept", "flops"))
    torch.manual_seed(1)
    attention = entry.make().eval()
    kept = entry.kept or projected
    # The kernel for CPUs counts as nothing, so it does its products one by one.
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        entry.call(attention, tokens(SEQ_LEN), causal_mask(SEQ_LEN))
    now, later = (size(kept(attention, n)) for n in (SEQ_LEN, SEQ_LEN + 1))
    return {
        "parameters": sum(one.numel() for one in attention.parameters()),
        "token": later - now,
        "kept": now,
        "flops": counter.get_total_flops(),
    }


def losses(name: str, key: str, column: str) -> dict[str, float]:
    r"""The losses of another result, by the names of its rows."""
    table = json.loads((ROOT / f"results/{name}.json").read_text())["tables"]["losses"]
    return {row[key]: row[column] for row in table["rows"]}


def measure(runner: Runner) -> Report:
    r"""Measure all, and put it beside the losses of other results."""
    variants = {page or "mha": row for row, page in VARIANTS.items()}
    of_variants = losses("families", "attention", "loss")
    of_positions = losses("extrapolation", "positions", "at64")
    rows = []
    for entry in ENTRIES:
        path = f"{FOLDER}/{entry.page}.py"
        rows.append(
            {
                "attention": of_source(read(ROOT / path, path))[0].title,
                "page": path,
                "code": entry.code,
                **measured(entry),
                "variants": of_variants.get(variants.get(entry.page, "")),
                "positions": of_positions.get(entry.positions),
                "remark": entry.remark,
            }
        )
    curves = [
        {"page": f"{FOLDER}/{entry.page}.py", "line": line, "run": run, "figure": figure}
        for entry in ENTRIES
        for line, run, figures in (
            (entry.positions, "extrapolation", ("lengths", "positions")),
            (entry.way, "ways", ("time", "memory")),
        )
        if line
        for figure in figures
    ]
    return {
        "values": {"d_model": D_MODEL, "heads": HEADS, "positions": SEQ_LEN, "bytes": 4},
        "tables": {
            "attentions": {
                "columns": [
                    column("attention", "Attention"),
                    column("page", "Page"),
                    column("parameters", "Parameters"),
                    column("token", "Cache, one token", unit="bytes"),
                    column("kept", "Cache, 64 tokens", unit="bytes"),
                    column("flops", "Forward pass", unit="FLOPs"),
                    column("variants", "Loss among variants", 3),
                    column("positions", "Loss among positions", 3),
                    column("code", "Code"),
                    column("remark", "Remark"),
                ],
                "rows": rows,
            },
            "curves": {
                "columns": [
                    column("page", "Page"),
                    column("line", "Line"),
                    column("run", "Result"),
                    column("figure", "Figure"),
                ],
                "rows": curves,
            },
        },
    }


EXPERIMENT = Experiment(
    title="All attentions: parameters, cache, FLOPs and loss",
    measure=measure,
)
