r"""Values and gradients of operations, one after another: ANSWER."""

import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from plain import plain
from torch import Tensor

# Each takes two tensors [3, 4] of float64, the second positive, and gives one of any shape.
CASES: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "add": lambda a, b: a + 2 * b,
    "sub": lambda a, b: 1 - a - b[0],
    "mul": lambda a, b: a * b * a[:, :1],
    "div": lambda a, b: a / b + 1 / b,
    "pow": lambda a, b: b**a + a**3 + b**0.5 + 2**a,
    "exp": lambda a, b: a.exp() + a.expm1() + a.exp2(),
    "log": lambda a, b: b.log() + b.log1p() + b.log2() + b.log10(),
    "roots": lambda a, b: b.sqrt() + b.rsqrt() + b.reciprocal(),
    "waves": lambda a, b: a.sin() * a.cos() + a.tanh() + a.sigmoid() + a.erf() + a.tan(),
    "abs": lambda a, b: a.abs() + a.square() + a.clamp(-0.5, 0.5) + a.sign() + a.floor(),
    "extremes": lambda a, b: torch.maximum(a, b) + torch.minimum(a, b),
    "where": lambda a, b: torch.where(a > 0, a, b * 2),
    "masked": lambda a, b: a.masked_fill(b > 1, 3.0),
    "sums": lambda a, b: a.sum(0) * b.mean(0) + a.sum() + a.prod(1).sum(),
    "variance": lambda a, b: a.var(1) + b.std(1) + a.var(1, correction=0),
    "amax": lambda a, b: a.amax(1) + b.max(1)[0] + a.min(1).values + a.max(),
    "norms": lambda a, b: a.norm() + b.norm(1, 1) + a.norm(3, 0).sum(),
    "logsumexp": lambda a, b: a.logsumexp(1) + b.cumsum(1).sum(1) + b.cumprod(1).sum(1),
    "softmax": lambda a, b: a.softmax(1) * b.log_softmax(0),
    "softmax of columns": lambda a, b: a.softmax(0) * b,
    "views": lambda a, b: a.t().reshape(2, 6) @ b.view(6, 2),
    "permute": lambda a, b: a.view(3, 2, 2).permute(2, 0, 1) * b.view(3, 2, 2).permute(1, 0, 2),
    "expand": lambda a, b: a.unsqueeze(1).expand(3, 5, 4) * b[:, None],
    "flatten": lambda a, b: a.unflatten(1, (2, 2)).flatten(0, 1).squeeze() * b.reshape(6, 2),
    "pieces": lambda a, b: torch.cat([a[:, 1:], b.split(2, 1)[0], a.chunk(2, 1)[1]], 1),
    "stack": lambda a, b: torch.stack([a, b], 1).flip(0).roll(1, 2),
    "triangles": lambda a, b: a.tril() + b.triu(1) + torch.diag(a.diagonal()).sum(),
    "repeat": lambda a, b: a.repeat(2, 1) * b.repeat_interleave(2, 0),
    "windows": lambda a, b: a.unfold(1, 2, 1) * b[:, :3, None],
    "index": lambda a, b: a[[0, 2, 2]] * b[:, [1, 1, 3]].sum() + a[a > 0].sum(),
    "index of both": lambda a, b: a[[0, 1, 1], [2, 3, 3]] * b[..., [0, 2]].sum(),
    "gather": lambda a, b: a.gather(1, torch.tensor([[0, 0], [3, 1], [2, 2]])) * b[:, :2],
    "scatter": lambda a, b: a.scatter(1, torch.tensor([[0], [3], [2]]), b[:, :1]),
    "scatter_add": lambda a, b: a.scatter_add(1, torch.tensor([[0, 0], [3, 1], [2, 2]]), b[:, :2]),
    "index_add": lambda a, b: a.index_add(0, torch.tensor([0, 0]), b[:2], alpha=2),
    "sort": lambda a, b: a.sort(1)[0] * b + a.topk(2, 1)[0].sum(),
    "matmul": lambda a, b: (a @ b.t()) @ (b @ a.t()),
    "matmul of many": lambda a, b: a.view(3, 2, 2) @ b.view(3, 2, 2).transpose(1, 2),
    "matmul broadcast": lambda a, b: a.view(3, 1, 2, 2) @ b.view(1, 3, 2, 2),
    "vectors": lambda a, b: a @ b[0] + torch.dot(a[0], b[0]) + torch.outer(a[0], b[1]).sum(),
    "einsum": lambda a, b: torch.einsum("ij,kj->ik", a, b) + torch.einsum("ij,ij->i", a, b),
    "einsum of three": lambda a, b: torch.einsum("ij,kj,il->kl", a, b, a),
    "linear": lambda a, b: F.linear(a, b, a[0, :3]),
    "layer norm": lambda a, b: F.layer_norm(a, (4,), b[0], b[1]),
    "rms norm": lambda a, b: F.rms_norm(a, (4,), b[0]),
    "gelu": lambda a, b: F.gelu(a) + F.gelu(a, approximate="tanh") + F.silu(a) + F.relu(a),
    "activations": lambda a, b: F.softplus(a) + F.elu(a) + F.leaky_relu(a) + F.logsigmoid(a),
    "glu": lambda a, b: F.glu(a) * F.normalize(b, dim=1)[:, :2],
    "cross entropy": lambda a, b: F.cross_entropy(a, torch.tensor([0, 3, 1])),
    "some targets": lambda a, b: F.cross_entropy(a, torch.tensor([0, -100, 1])) * b,
    "each target": lambda a, b: F.cross_entropy(a, torch.tensor([0, -100, 1]), reduction="none"),
    "several blocks": lambda a, b: a.repeat(87, 70)[:259, :277] @ b.repeat(93, 3)[:277, :11],
    "smoothed": lambda a, b: F.cross_entropy(
        a, torch.tensor([0, -100, 1]), weight=b[0].detach(), label_smoothing=0.1
    ),
    "losses": lambda a, b: F.mse_loss(a, b) + F.l1_loss(a, b) + F.smooth_l1_loss(a, b),
    "divergence": lambda a, b: F.kl_div(a.log_softmax(1), b.softmax(1), reduction="batchmean"),
    "yes or no": lambda a, b: F.binary_cross_entropy_with_logits(a, b.sigmoid()),
    "attention": lambda a, b: F.scaled_dot_product_attention(
        a.view(1, 3, 4), b.view(1, 3, 4), a.view(1, 3, 4), is_causal=True
    ),
    "pad": lambda a, b: F.pad(a, (1, 2, 0, 1), value=2.0) + F.pad(b, (2, 1, 1, 0)),
    "convolution": lambda a, b: F.conv1d(a.view(1, 3, 4), b.view(2, 3, 2), padding=1),
    "embedding": lambda a, b: F.embedding(torch.tensor([2, 0, 2]), a) * b,
    "in place": lambda a, b: (a * 2).mul_(b).add_(a).exp_(),
    "written": lambda a, b: written(a, b),
    "written by index": lambda a, b: written_by_index(a, b),
    "a view in place": lambda a, b: view_in_place(a, b),
    "complex": lambda a, b: complex_product(a, b),
    "second derivative": lambda a, b: second_derivative(a, b),
    "function": lambda a, b: Cube.apply(a) * b,
}


def written(a: Tensor, b: Tensor) -> Tensor:
    r"""Parts of a tensor are overwritten."""
    out = torch.zeros(3, 4, dtype=a.dtype)
    out[0] = a[1]
    out[:, 2] = b[:, 0] * 2
    out[1:, :2] += a[1:, :2]
    return out * b


def written_by_index(a: Tensor, b: Tensor) -> Tensor:
    r"""Elements at places are overwritten."""
    out = a * 1
    out[[0, 2], [1, 3]] = b[0, :2]
    out[out > 1] = 0.5
    return out * out


def view_in_place(a: Tensor, b: Tensor) -> Tensor:
    r"""A view changes, and with it what it is a view of."""
    out = a * 1
    row, column = out[1], out[:, 2]
    row.mul_(b[0])
    column.add_(1)
    return out * b + row


def complex_product(a: Tensor, b: Tensor) -> Tensor:
    r"""Rotations by complex numbers."""
    pairs = torch.view_as_complex(a.reshape(3, 2, 2).contiguous())
    turned = pairs * torch.polar(b[:, :2], b[:, 2:])
    return torch.view_as_real(turned).flatten(1) + turned.abs().sum() + turned.real.sum()


def second_derivative(a: Tensor, b: Tensor) -> Tensor:
    r"""The gradient of a gradient."""
    loss = (a.tanh() * b.exp() / (1 + a.square())).softmax(1).log().sum()
    (first,) = torch.autograd.grad(loss, a, create_graph=True)
    return first.square()


class Cube(torch.autograd.Function):
    r"""A derivative that is written by hand."""

    @staticmethod
    def forward(ctx: Any, a: Tensor) -> Tensor:
        r"""The third power."""
        ctx.save_for_backward(a)
        return a**3

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        r"""Three times the square."""
        (a,) = ctx.saved_tensors
        return 3 * a**2 * gradient


def outcome(function: Callable[[Tensor, Tensor], Any], dtype: torch.dtype) -> Any:
    r"""The value and both gradients."""
    torch.manual_seed(1)
    a = torch.randn(3, 4).to(dtype).requires_grad_()
    b = (torch.rand(3, 4) * 2 + 0.1).to(dtype).requires_grad_()
    out = function(a, b)
    (out * torch.arange(1, out.numel() + 1).view(out.shape) / 7).sum().backward()
    return plain([out, a.grad, b.grad])


if __name__ == "__main__":
    torch.set_num_threads(1)
    answers = {}
    for name, function in CASES.items():
        for dtype in (torch.float64, torch.float32):
            try:
                answers[f"{name}, {dtype}"] = outcome(function, dtype)
            except Exception as error:
                answers[f"{name}, {dtype}"] = f"{type(error).__name__}: {error}"
    Path(sys.argv[1]).write_bytes(pickle.dumps(answers))
