from torch import Tensor

from labml_nn.transformers.basic.autoregressive_experiment import AutoregressiveTransformer


def with_mask(model: AutoregressiveTransformer, mask: Tensor) -> AutoregressiveTransformer:
    r"""The same model and weights under another mask than the causal one."""
    model.mask = mask.view_as(model.mask)
    return model
