r"""Products and powers of matrices that are made of simpler ones."""

from typing import Any

from torch._dtypes import FLOATING, bool_
from torch._elementwise import need_tensor, where
from torch._joining import cat
from torch._making import eye
from torch._products import dot, matmul, outer
from torch._raw import filled
from torch._shapes import wrap_axis
from torch._tensor import Tensor, in_words_of_numpy, method


@method
def inner(input: Tensor, other: Tensor) -> Tensor:
    r"""Products of the last axes."""
    need_tensor("inner", input)
    if not input.shape or not other.shape:
        return input * other
    if input.dtype is not other.dtype:
        raise RuntimeError("both inputs should have same dtype")
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(input.shape)} and {list(other.shape)}"
        )
    columns = other.reshape(-1, other.shape[-1]).t()
    products = matmul(input.reshape(-1, input.shape[-1]), columns)
    return products.reshape((*input.shape[:-1], *other.shape[:-1]))


@method
def vdot(input: Tensor, other: Tensor) -> Tensor:
    r"""The product of two vectors, of which the first is conjugated."""
    need_tensor("vdot", input)
    return dot(input.conj(), other)


def _sum(input: Tensor, product: Tensor, beta: Any, alpha: Any) -> Tensor:
    r"""`beta * input + alpha * product`; with 0 for beta, whatever the input holds."""
    if product.dtype is bool_ and input.dtype is bool_:
        return (input & bool(beta)) | (product & bool(alpha))
    if product.dtype.kind < FLOATING:
        beta, alpha = int(beta), int(alpha)
    scaled = product if alpha == 1 else product * alpha
    if beta == 0:
        return scaled + input.expand(product.shape) * 0 if input.requires_grad else scaled
    return (input if beta == 1 else input * beta) + scaled


@method
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    r"""`beta * input + alpha * mat @ vec`."""
    need_tensor("addmv", input)
    if len(mat.shape) != 2 or len(vec.shape) != 1 or len(input.shape) > 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got {len(input.shape)}, {len(mat.shape)}, "
            f"{len(vec.shape)}"
        )
    return _sum(input, matmul(mat, vec), beta, alpha)


@method
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    r"""`beta * input + alpha * outer(vec1, vec2)`."""
    need_tensor("addr", input)
    for place, one in (("1", vec1), ("2", vec2)):
        if len(one.shape) != 1:
            raise RuntimeError(
                f"addr: Expected 1-D argument vec{place}, but got {len(one.shape)}-D"
            )
    return _sum(input, outer(vec1, vec2), beta, alpha)


@method
def addbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    r"""`beta * input` and the sum of the products of as many matrices."""
    need_tensor("addbmm", input)
    for name, one in (("batch1", batch1), ("batch2", batch2)):
        if len(one.shape) != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    return _sum(input, batch1.bmm(batch2).sum(0), beta, alpha)


def _need_square(name: str, A: Tensor) -> None:
    need_tensor(name, A)
    if len(A.shape) < 2:
        raise RuntimeError(f"linalg.{name}: The input tensor A must have at least 2 dimensions.")
    rows, columns = A.shape[-2:]
    if rows != columns:
        raise RuntimeError(
            f"linalg.{name}: A must be batches of square matrices, but they are {rows} by "
            f"{columns} matrices"
        )


@method
def matrix_power(input: Tensor, n: int) -> Tensor:
    r"""A matrix times itself; by squares, so that a hundred factors are nine products."""
    _need_square("matrix_power", input)
    if n < 0:
        from torch.linalg import inv

        return matrix_power(inv(input), -n)
    if n == 0:
        one = eye(input.shape[-1], dtype=input.dtype)
        return one + 0 * input
    product, square = None, input
    while n:
        if n % 2:
            product = square if product is None else product @ square
        n //= 2
        square = square @ square if n else square
    return product.clone() if product is input else product


@method
def kron(input: Tensor, other: Tensor) -> Tensor:
    r"""Each element of one tensor times the whole other one."""
    need_tensor("kron", input)
    axes = max(len(input.shape), len(other.shape))
    a = (*[1] * (axes - len(input.shape)), *input.shape)
    b = (*[1] * (axes - len(other.shape)), *other.shape)
    wide_a = input.reshape([part for size in a for part in (size, 1)])
    wide_b = other.reshape([part for size in b for part in (1, size)])
    return (wide_a * wide_b).reshape([one * two for one, two in zip(a, b, strict=True)])


@method
@in_words_of_numpy
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    r"""The product of vectors of three numbers that stands at right angles to both."""
    need_tensor("cross", input)
    if len(input.shape) != len(other.shape):
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    if dim is None:
        dim = next((axis for axis, size in enumerate(input.shape) if size == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    axis = wrap_axis(dim, len(input.shape))
    if input.shape[axis] != 3 or other.shape[axis] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {axis} must have length 3. Got {input.shape[axis]} "
            f"and {other.shape[axis]}"
        )
    first = input.roll(-1, axis) * other.roll(-2, axis)
    return first - input.roll(-2, axis) * other.roll(-1, axis)


@method
def renorm(input: Tensor, p: Any, dim: int, maxnorm: Any) -> Tensor:
    r"""Slices along an axis, made no longer than a length."""
    need_tensor("renorm", input)
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    axes = len(input.shape)
    if axes < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {axes} dimensions")
    axis = wrap_axis(dim, axes)
    lengths = input.norm(p, [one for one in range(axes) if one != axis], keepdim=True)
    return input * where(lengths > maxnorm, maxnorm / (lengths + 1e-7), 1.0)


def block_diag(*tensors: Any) -> Tensor:
    r"""Matrices along the diagonal of one that is else 0."""
    given = []
    for place, one in enumerate(tensors):
        if len(one.shape) > 2:
            raise RuntimeError(
                "torch.block_diag: Input tensors must have 2 or fewer dimensions. Input "
                f"{place} has {len(one.shape)} dimensions"
            )
        given.append(one.reshape(1, -1) if len(one.shape) < 2 else one)
    if not given:
        return filled((1, 0), 0, eye(1).dtype)
    width = sum(one.shape[1] for one in given)
    rows, before = [], 0
    for one in given:
        height, own = one.shape
        left = filled((height, before), 0, one.dtype)
        before += own
        right = filled((height, width - before), 0, one.dtype)
        rows.append(cat([left, one, right], 1))
    return cat(rows, 0)


@method
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    r"""A matrix with these elements on its diagonal."""
    need_tensor("diagflat", input)
    return input.reshape(-1).diag(offset)


def powers(x: Tensor, count: int) -> Tensor:
    r"""So many powers of each element, along a new last axis, the lowest first."""
    whole = x if x.dtype.kind >= FLOATING else x.long()
    one = filled((*x.shape, 1), 1, whole.dtype)
    rest = max(0, count - 1)
    higher = whole.unsqueeze(-1).expand((*x.shape, rest)).cumprod(-1)
    return cat([one, higher], -1).narrow(-1, 0, count)


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    r"""Powers of each element, a row for each."""
    if len(x.shape) != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = x.shape[0] if N is None else N
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    out = powers(x, count)
    return out if increasing else out.flip(1)


def chain_matmul(*matrices: Any) -> Tensor:
    r"""The product of several matrices, from the left to the right."""
    given = matrices[0] if len(matrices) == 1 and isinstance(matrices[0], list) else matrices
    if not given:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    out = given[0]
    for one in given[1:]:
        out = out.mm(one)
    return out


@method
def adjoint(input: Tensor) -> Tensor:
    r"""Matrices with rows for columns, conjugated."""
    need_tensor("adjoint", input)
    return _turned("adjoint()", input)


def _turned(name: str, input: Tensor) -> Tensor:
    if len(input.shape) < 2:
        raise RuntimeError(
            f"tensor.{name} is only supported on matrices or batches of matrices. Got "
            f"{len(input.shape)}-D tensor."
        )
    return input.transpose(-2, -1).conj()


def _matrix_only(self: Tensor) -> Tensor:
    if len(self.shape) not in (0, 2):
        raise RuntimeError(
            "tensor.H is only supported on matrices (2-D tensors). Got "
            f"{len(self.shape)}-D tensor."
            + " For batches of matrices, consider using tensor.mH"
            * (len(self.shape) > 2)
        )
    return self.transpose(0, 1).conj() if self.shape else self


Tensor.H = property(_matrix_only)
Tensor.mH = property(lambda self: _turned("mH", self))
