import pytest
import torch

from labml_nn.training.fast.one_projection import OneProjectionAttention, from_three
from labml_nn.transformers.mha import MultiHeadAttention, causal_mask
from tests.labml_nn.transformers.seam import equals
from tests.oracles.compare import difference

SEQ_LEN, BATCH_SIZE, HEADS, D_MODEL = 7, 3, 2, 22


def pair() -> tuple[MultiHeadAttention, OneProjectionAttention]:
    torch.manual_seed(1)
    three = MultiHeadAttention(HEADS, D_MODEL, dropout_prob=0.0).double()
    return three, from_three(three).double()


def from_three_projections(masked: bool) -> float:
    r"""How far results and gradients are from those of multi-head attention."""
    (three, one), mask = pair(), causal_mask(SEQ_LEN) if masked else None
    x = torch.randn(SEQ_LEN, BATCH_SIZE, D_MODEL, dtype=torch.float64, requires_grad=True)
    mine = one(query=x, key=x, value=x, mask=mask)
    theirs = three(query=x, key=x, value=x, mask=mask)
    return difference(mine, theirs, [x, one.output.bias], [x, three.output.bias])


ORACLES = {
    "multi-head attention": lambda: from_three_projections(masked=False),
    "multi-head attention, with a mask": lambda: from_three_projections(masked=True),
}
test_it_is_multi_head_attention_with_its_gradients = equals(ORACLES, 1e-12)


def test_another_sequence_of_keys_is_refused() -> None:
    _, one = pair()
    x, y = torch.randn(2, SEQ_LEN, BATCH_SIZE, D_MODEL, dtype=torch.float64)
    with pytest.raises(ValueError, match="the same tensor"):
        one(query=x, key=y, value=y)


def test_dropout_acts_in_training_only() -> None:
    one, x = OneProjectionAttention(HEADS, D_MODEL, 1.0), torch.randn(SEQ_LEN, 1, D_MODEL)
    output = one(query=x, key=x, value=x)
    torch.testing.assert_close(output, one.output.bias.expand_as(output))
    assert not torch.allclose(one.eval()(query=x, key=x, value=x), output)
    assert OneProjectionAttention(HEADS, D_MODEL).dropout_prob == 0.1
