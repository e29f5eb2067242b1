r"""PyTorch's own samples for its scaled dot-product attention, which its tests run through."""

from dataclasses import dataclass
from unittest.mock import patch

import torch
from torch import Tensor

# Otherwise nobody in the process could set the flags of PyTorch's backends any more, and training
# does.
with patch("torch.backends.disable_global_flags"):
    from torch.testing._internal.common_methods_invocations import op_db


@dataclass(frozen=True)
class Sample:
    r"""Query, key and value as `[batch_size, heads, seq_len, d_k]`, and what else is asked for."""

    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None
    is_causal: bool
    dropout_prob: float


def read() -> tuple[Sample, ...]:
    r"""All of them, in double precision; heads and batch are axes of length one where missing."""
    state = torch.random.get_rng_state()
    torch.manual_seed(1)
    info = next(one for one in op_db if one.name == "nn.functional.scaled_dot_product_attention")
    found = []
    for one in info.sample_inputs("cpu", torch.float64):
        tensors = [one.input, *one.args]
        if {t.dim() for t in tensors} == {3}:
            tensors = [t.unsqueeze(1) for t in tensors]
        batch_size = max(t.shape[0] for t in tensors if t.dim() == 4)
        query, key, value = (
            t if t.dim() == 4 else t.expand(batch_size, *t.shape).contiguous() for t in tensors
        )
        more = one.kwargs
        found.append(
            Sample(
                query,
                key,
                value,
                more.get("attn_mask"),
                more.get("is_causal", False),
                more.get("dropout_p", 0.0),
            )
        )
    torch.random.set_rng_state(state)
    return tuple(found)


SAMPLES = read()


def samples() -> tuple[Sample, ...]:
    r"""All of them."""
    return SAMPLES
