r"""The layers under the names of the files in which PyTorch keeps them."""

import sys

from torch import nn

for _file in (
    "activation batchnorm container conv dropout embedding linear loss module normalization "
    "padding pixelshuffle pooling rnn sparse transformer upsampling utils"
).split():
    # PyTorch's `torch.nn.modules.linear` has `Linear`; here each of the names has all layers.
    sys.modules[f"{__name__}.{_file}"] = nn
    globals()[_file] = nn


def __getattr__(name: str) -> object:
    return getattr(nn, name)
