r"""The right attention against PyTorch's."""

import pytest
import torch
from torch import nn

from labml_nn.transformers.mistakes.right_attention import RightAttention


def against_pytorch() -> float:
    torch.manual_seed(1)
    ours = RightAttention(15, 5).double()
    theirs = nn.MultiheadAttention(15, 5, batch_first=True).double()
    three = (ours.query, ours.key, ours.value)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([one.weight for one in three]))
        theirs.in_proj_bias.copy_(torch.cat([one.bias for one in three]))
        theirs.out_proj.load_state_dict(ours.output.state_dict())
    x = torch.randn(2, 7, 15).double()
    hidden = torch.ones(7, 7, dtype=torch.bool).triu(1)
    return (ours(x) - theirs(x, x, x, attn_mask=hidden)[0]).abs().max().item()


ORACLES = {"PyTorch": against_pytorch}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_is_what_others_compute(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-12


def test_a_width_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="heads=3, d_model=10"):
        RightAttention(10, 3)
