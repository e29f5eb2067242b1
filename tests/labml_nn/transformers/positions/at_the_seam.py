r"""What attention that knows positions must do beside `tests.labml_nn.transformers.seam`."""

import torch

from labml_nn.transformers.mha import causal_mask
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.seam import BATCH_SIZE, D_MODEL, SEQ_LEN_K
from tests.oracles.compare import largest


def check_decoding(make: seam.Make) -> None:
    r"""Queries alone, with the keys so far, give what the whole text gives."""
    module, x = seam.randomised(make()), seam.text()
    whole = seam.attend(module, x, causal_mask(SEQ_LEN_K))
    for end in range(1, SEQ_LEN_K + 1):
        alone = module(query=x[end - 1 : end], key=x[:end], value=x[:end])
        assert largest([alone], [whole[end - 1 : end]]) < 1e-6
    few = module(query=x[-3:], key=x, value=x, mask=causal_mask(SEQ_LEN_K)[-3:])
    assert largest([few], [whole[-3:]]) < 1e-6


def check_distance_alone(make: seam.Make, also_before: int = 19) -> None:
    r"""A text that stands later, after something that no one may see, gives the same."""
    module, x = seam.randomised(make()), seam.text().detach()
    longer = torch.cat([torch.randn(also_before, BATCH_SIZE, D_MODEL, dtype=x.dtype), x])
    mask = causal_mask(len(longer))
    mask[also_before:, :also_before] = False
    moved = seam.attend(module, longer, mask)[also_before:]
    assert largest([moved], [seam.attend(module, x, causal_mask(SEQ_LEN_K))]) < 1e-5


def check_order_matters(make: seam.Make) -> None:
    r"""Keys in another order give something else, which without positions they would not."""
    module, given = seam.randomised(make()), seam.inputs()
    order = [3, 6, 0, 2, 5, 1, 4]
    shuffled = {**given, "key": given["key"][order], "value": given["value"][order]}
    assert largest([module(**shuffled)], [module(**given)]) > 1e-3


POSITIONS = (check_decoding, check_distance_alone, check_order_matters)
