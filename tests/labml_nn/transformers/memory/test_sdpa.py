import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from labml_nn.transformers.memory.sdpa import each_backend, spelled_out, weights_of_newest_query
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import difference, largest

BATCH_SIZE, HEADS, SEQ_LEN_Q, SEQ_LEN_K, D_K, D_V = 3, 6, 7, 11, 5, 13


def vectors(key_heads: int = HEADS, d_v: int = D_V) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    shapes = (
        (BATCH_SIZE, HEADS, SEQ_LEN_Q, D_K),
        (BATCH_SIZE, key_heads, SEQ_LEN_K, D_K),
        (BATCH_SIZE, key_heads, SEQ_LEN_K, d_v),
    )
    return [torch.randn(s, generator=generator).double().requires_grad_() for s in shapes]


def visible(idle: bool = True) -> Tensor:
    r"""One query sees nothing, or none."""
    shape = (BATCH_SIZE, 1, SEQ_LEN_Q, SEQ_LEN_K)
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(2)) < 0.5
    mask[..., 1] = True
    mask[1, 0, 2] &= not idle
    return mask


def added() -> Tensor:
    r"""Any numbers, some of them minus infinity, and one row of nothing else."""
    numbers = torch.randn(HEADS, SEQ_LEN_Q, SEQ_LEN_K, generator=torch.Generator().manual_seed(3))
    return numbers.double().masked_fill(~visible()[1], -math.inf)


OPTIONS: list[dict[str, object]] = [
    {},
    {"attn_mask": visible()},
    {"attn_mask": added()},
    {"is_causal": True},
    {"scale": 0.3},
    {"attn_mask": visible(), "scale": -2.0},
]


def from_pytorch(options: dict[str, object], key_heads: int) -> float:
    parts, grouped = vectors(key_heads), key_heads != HEADS
    theirs = F.scaled_dot_product_attention(*parts, **options, enable_gqa=grouped)
    return difference(spelled_out(*parts, **options, enable_gqa=grouped), theirs, parts, parts)


ORACLES = {
    "F.scaled_dot_product_attention": lambda: max(
        from_pytorch(options, key_heads) for options in OPTIONS for key_heads in (1, 2, 3, 6)
    ),
}
test_it_equals_what_others_compute = equals(ORACLES)


def test_fewer_heads_of_keys_are_refused_unless_asked_for() -> None:
    with pytest.raises(RuntimeError, match="size of tensor"):
        spelled_out(*vectors(2))


def test_the_newest_query_sees_the_first_key_alone() -> None:
    assert weights_of_newest_query(4).tolist() == [1, 0, 0, 0]


def test_each_backend_that_runs_gives_the_same_and_values_of_another_width_leave_the_tiles() -> (
    None
):
    parts = [part.detach() for part in vectors(d_v=D_K)]
    found = each_backend(*parts, True)
    assert found.keys() >= {"MATH", "FLASH_ATTENTION"}
    for result in found.values():
        assert largest([result], [spelled_out(*parts, is_causal=True)]) < 1e-10
    assert list(each_backend(*(part.detach() for part in vectors()), True)) == ["MATH"]
