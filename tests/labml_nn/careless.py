from torch import Tensor

from labml_nn.transformers.basic.autoregressive_experiment import AutoregressiveTransformer
from labml_nn.transformers.basic.comparison_experiment import put_in_place
from labml_nn.transformers.mha import MultiHeadAttention


def with_mask(model: AutoregressiveTransformer, mask: Tensor) -> AutoregressiveTransformer:
    r"""The same model and weights under another mask.

    Its own attention refuses any but the causal one, so it gets the general one.
    """
    own = model.encoder.layers[0].self_attn
    weights = [layer.self_attn.state_dict() for layer in model.encoder.layers]
    made = {"self_attn": lambda: MultiHeadAttention(own.query.heads, own.d_model, own.dropout.p)}
    put_in_place(model, made)
    for layer, state in zip(model.encoder.layers, weights, strict=True):
        layer.self_attn.load_state_dict(state)
    model.mask = mask.view_as(model.mask)
    return model
