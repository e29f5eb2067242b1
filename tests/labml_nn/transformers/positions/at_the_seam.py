r"""What attention that knows positions must do beside `tests.labml_nn.transformers.seam`."""

from labml_nn.transformers.mha import causal_mask
from tests.labml_nn.transformers import seam
from tests.labml_nn.transformers.seam import SEQ_LEN_K
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
