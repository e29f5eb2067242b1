r"""The right attention against two of PyTorch's, and the claims of its page."""

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labml_nn.transformers.mistakes import right_attention
from labml_nn.transformers.mistakes.right_attention import RightAttention

BATCH_SIZE, SEQ_LEN, HEADS, D_K = 3, 7, 5, 2
D_MODEL = HEADS * D_K


def made(dropout_prob: float = 0.0, dtype: torch.dtype = torch.float64) -> RightAttention:
    torch.manual_seed(1)
    return RightAttention(D_MODEL, HEADS, dropout_prob).to(dtype)


def inputs(dtype: torch.dtype = torch.float64) -> Tensor:
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(BATCH_SIZE, SEQ_LEN, D_MODEL, generator=generator, dtype=torch.float64)
    return x.to(dtype).requires_grad_()


def random_mask() -> Tensor:
    r"""In the last row of each sequence all keys, elsewhere some, at least one's own."""
    generator = torch.Generator().manual_seed(3)
    mask = torch.rand(BATCH_SIZE, SEQ_LEN, SEQ_LEN, generator=generator) < 0.4
    return mask | torch.eye(SEQ_LEN, dtype=torch.bool)


def largest_difference(ours: Tensor, theirs: Tensor, module: nn.Module, x: Tensor) -> float:
    r"""Of outputs, and of the gradients of the input and of all weights."""
    generator = torch.Generator().manual_seed(4)
    upward = torch.randn(ours.shape, generator=generator, dtype=ours.dtype)
    leaves = [x, *module.parameters()]
    found = [ours, *torch.autograd.grad(ours, leaves, upward, retain_graph=True)]
    expected = [theirs, *torch.autograd.grad(theirs, leaves, upward)]
    return max((a - b).abs().max().item() for a, b in zip(found, expected, strict=True))


def against_fused(mask: Tensor | None) -> float:
    module, x = made(), inputs()
    q, k, v = (
        layer(x).unflatten(-1, (HEADS, D_K)).transpose(1, 2)
        for layer in (module.query, module.key, module.value)
    )
    causal = torch.ones(SEQ_LEN, SEQ_LEN, dtype=torch.bool).tril()
    allowed = causal if mask is None else mask.unsqueeze(1)
    heads = F.scaled_dot_product_attention(q, k, v, allowed)
    theirs = module.output(heads.transpose(1, 2).flatten(2))
    return largest_difference(module(x, mask), theirs, module, x)


def against_module() -> float:
    module, x = made(), inputs()
    layers = (module.query, module.key, module.value)
    theirs, _ = F.multi_head_attention_forward(
        *(x.transpose(0, 1),) * 3,
        D_MODEL,
        HEADS,
        torch.cat([layer.weight for layer in layers]),
        torch.cat([layer.bias for layer in layers]),
        None,
        None,
        False,
        0.0,
        module.output.weight,
        module.output.bias,
        attn_mask=torch.ones(SEQ_LEN, SEQ_LEN, dtype=torch.bool).triu(1),
    )
    return largest_difference(module(x), theirs.transpose(0, 1), module, x)


ORACLES: dict[str, Callable[[], float]] = {
    "scaled_dot_product_attention": lambda: against_fused(None),
    "scaled_dot_product_attention with a mask": lambda: against_fused(random_mask()),
    "torch.nn.MultiheadAttention": against_module,
}


@pytest.mark.parametrize("oracle", ORACLES)
def test_it_is_what_others_compute(oracle: str) -> None:
    assert ORACLES[oracle]() < 1e-10


def test_a_position_that_may_look_nowhere_gets_zero_from_every_head() -> None:
    module, x, mask = made(), inputs(), random_mask()
    mask[1, 2] = False
    output = module(x, mask)
    assert output[1, 2].equal(module.output.bias)
    gradients = torch.autograd.grad(output.sum(), [x, *module.parameters()])
    assert all(gradient.isfinite().all() for gradient in gradients)


def test_weights_are_dropped_in_training_only() -> None:
    module, x = made(0.5), inputs()
    assert not module(x).equal(module(x))
    plain = made()
    assert module.eval()(x).equal(plain(x))
    assert RightAttention(D_MODEL, HEADS).dropout_prob == 0
    dropped = module.train().drop(torch.ones(100, 100))
    assert dropped.unique().tolist() == [0.0, 2.0]
    assert 0.4 < (dropped == 0).float().mean() < 0.6


@pytest.mark.parametrize(
    ("dtype", "bound"), [(torch.float32, 1e-5), (torch.bfloat16, 0.05), (torch.float16, 0.005)]
)
def test_results_have_the_type_of_the_inputs(dtype: torch.dtype, bound: float) -> None:
    output = made(dtype=dtype)(inputs(dtype))
    assert output.dtype == dtype
    assert (output.double() - made()(inputs())).abs().max() < bound


def test_names_and_shapes_of_the_parameters() -> None:
    shapes = {name: tuple(weight.shape) for name, weight in made().named_parameters()}
    assert shapes == {
        f"{layer}.{kind}": shape
        for layer in ("query", "key", "value", "output")
        for kind, shape in {"weight": (D_MODEL, D_MODEL), "bias": (D_MODEL,)}.items()
    }


@pytest.mark.parametrize(("d_model", "heads"), [(10, 3), (7, 2), (2, 3)])
def test_heads_that_do_not_divide_the_width_are_an_error(d_model: int, heads: int) -> None:
    with pytest.raises(ValueError, match=f"got d_model={d_model} and heads={heads}"):
        RightAttention(d_model, heads)


def test_the_steps_are_what_they_say() -> None:
    module, x = made(), inputs()
    heads = module.split(x)
    assert heads.shape == (BATCH_SIZE, HEADS, SEQ_LEN, D_K)
    assert heads[1, 2, 3].equal(x[1, 3, 2 * D_K : 3 * D_K])
    assert module.merge(heads).equal(x)
    assert module.scale(torch.tensor(3.0)).item() == pytest.approx(3 / math.sqrt(D_K))
    assert module.allowed(3).tolist() == [[True, False, False], [True, True, False], [True] * 3]


def test_the_mask_is_made_where_the_weights_are() -> None:
    module, x = made().to("meta"), inputs().to("meta")
    assert module.allowed(SEQ_LEN).is_meta
    assert module(x).is_meta


def test_the_example_hides_the_last_position() -> None:
    torch.manual_seed(5)
    causal, masked = right_attention.example()
    assert causal.shape == masked.shape == (3, 7, 10)
