r"""PyTorch's attention with the parameters of a way, and a way called as other attentions are."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call

from labml_nn.transformers.mha import causal_mask
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.seam import D_MODEL, HEADS, SEQ_LEN_K
from tests.oracles.compare import difference

# Which position sees which, if none looks ahead.
CAUSAL = causal_mask(SEQ_LEN_K)[..., 0]
Layers = Sequence[nn.Linear | dict[str, Tensor]]


def sequences() -> Tensor:
    r"""Batch first, with a gradient."""
    return seam.text().detach().transpose(0, 1).contiguous().requires_grad_()


def by_pytorch(x: Tensor, layers: Layers, visible: Tensor) -> tuple[Tensor, Tensor]:
    r"""Output and weights of PyTorch's attention, whose mask is true where it must not look. The
    layers make queries, keys, values and the output.
    """
    other = nn.MultiheadAttention(D_MODEL, HEADS, batch_first=True, dtype=x.dtype)
    given = [dict(one.named_parameters()) if isinstance(one, nn.Linear) else one for one in layers]
    parameters = {
        "in_proj_weight": torch.cat([one["weight"] for one in given[:3]]),
        "in_proj_bias": torch.cat([one["bias"] for one in given[:3]]),
        "out_proj.weight": given[3]["weight"],
        "out_proj.bias": given[3]["bias"],
    }
    hidden = ~visible.expand(len(x), HEADS, x.shape[1], x.shape[1]).flatten(end_dim=1)
    options = {"attn_mask": hidden, "average_attn_weights": False}
    return functional_call(other, parameters, (x, x, x), options)


def from_pytorch(way: nn.Module, layers: Layers, visible: Tensor = CAUSAL) -> float:
    r"""In outputs and gradients."""
    x = sequences()
    variables = [x, *way.parameters()]
    return difference(way(x), by_pytorch(x, layers, visible)[0], variables, variables)


class SequenceFirst(nn.Module):
    r"""A way at the seam. The mask goes to a way that takes one."""

    def __init__(self, way: nn.Module, output: str, takes_mask: bool = False) -> None:
        super().__init__()
        self.way, self.output, self.takes_mask = way, way.get_submodule(output), takes_mask
        self.dropout = next((m for m in way.modules() if isinstance(m, nn.Dropout)), None)
        self.attn = None

    def forward(self, *, query: Tensor, mask: Tensor | None = None, **_: Tensor) -> Tensor:
        x = query.transpose(0, 1)
        if not self.takes_mask:
            return self.way(x).transpose(0, 1)
        x, weights = self.way(x, None if mask is None else mask.permute(2, 0, 1).unsqueeze(1))
        self.attn = weights.detach().permute(2, 3, 0, 1)
        return x.transpose(0, 1)
