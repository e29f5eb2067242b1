r"""Linear algebra on small matrices, by numbers of Python."""

import math
from typing import Any

from torch import _matrices
from torch._absent import absent
from torch._dtypes import FLOATING, finfo, int64, scalar_name
from torch._joining import stack
from torch._making import as_tensor, eye, tensor, zeros_like
from torch._raw import filled
from torch._reductions import named_results
from torch._reductions import norm as _norm
from torch._shapes import broadcast, wrap_axis
from torch._tape import NUMBER, Node, needs_record, record_result
from torch._tensor import Tensor, alias_of, in_words_of_numpy, method

Rows = list[list[float]]


def _need_matrix(name: str, one: Tensor) -> None:
    if one.dtype.kind < FLOATING:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got "
            f"{scalar_name(one.dtype)}"
        )
    if len(one.shape) < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")


def _need_square(name: str, one: Tensor) -> None:
    _need_matrix(name, one)
    if one.shape[-1] != one.shape[-2]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {one.shape[-2]} by "
            f"{one.shape[-1]} matrices"
        )


def _batched(function: Any, one: Tensor) -> Any:
    r"""A function of a matrix, for each matrix."""
    if len(one.shape) == 2:
        return function(one)
    if not one.numel():
        # Of what is empty only the shape matters.
        found = function(filled(one.shape[-2:], 1, one.dtype).tril().triu())
        lead = one.shape[:-2]
        if isinstance(found, tuple):
            return tuple(filled((*lead, *part.shape), 0, part.dtype) for part in found)
        return filled((*lead, *found.shape), 0, found.dtype)
    flat = [function(part) for part in one.reshape(-1, *one.shape[-2:])]
    lead = one.shape[:-2]
    if isinstance(flat[0], tuple):
        return tuple(
            stack(list(parts)).reshape(*lead, *parts[0].shape) for parts in zip(*flat, strict=True)
        )
    return stack(flat).reshape(*lead, *flat[0].shape)


def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    r"""The triangle whose product with its transpose is the matrix."""
    _need_square("linalg.cholesky", A)

    def of_one(one: Tensor) -> Tensor:
        matrix: Rows = one.detach().double().tolist()
        size = len(matrix)
        triangle = [[0.0] * size for _ in range(size)]
        for i in range(size):
            for j in range(i + 1):
                rest = matrix[i][j] - sum(triangle[i][k] * triangle[j][k] for k in range(j))
                if i == j:
                    if not rest > 0:
                        raise LinAlgError(
                            f"linalg.cholesky: The factorization could not be completed because "
                            f"the input is not positive-definite (the leading minor of order "
                            f"{i + 1} is not positive-definite)."
                        )
                    triangle[i][i] = math.sqrt(rest)
                else:
                    triangle[i][j] = rest / triangle[j][j]
        return tensor(triangle, dtype=one.dtype).view(size, size)

    made = _batched(of_one, A)

    def backward(gradient: Tensor, L: Tensor) -> tuple[Tensor]:
        # Murray's formula (2016): the triangle of a product, with half of its diagonal.
        inside = (L.mT @ gradient).tril()
        inside = inside - 0.5 * inside.diagonal(0, -2, -1).diag_embed()
        turned = inv(L)
        whole = turned.mT @ inside @ turned
        return (0.5 * (whole + whole.mT),)

    made = record_result(made, (A,), backward, "LinalgCholeskyEx")
    return made.mT if upper else made


class _LinAlgError(RuntimeError):
    r"""A matrix that can't be factored or inverted."""


LinAlgError = _LinAlgError


def solve_triangular(
    A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Tensor:
    r"""Solves `A X = B` for a triangle."""
    _need_square("linalg.solve_triangular", A)
    if not left:
        solved = solve_triangular(
            A.mT, B.mT, upper=not upper, left=True, unitriangular=unitriangular
        )
        return solved.mT
    if len(A.shape) > 2 or len(B.shape) > 2:
        lead = broadcast(A.shape[:-2], B.shape[:-2])
        first = A.expand(*lead, *A.shape[-2:]).reshape(-1, *A.shape[-2:])
        second = B.expand(*lead, *B.shape[-2:]).reshape(-1, *B.shape[-2:])
        parts = [
            solve_triangular(a, b, upper=upper, unitriangular=unitriangular)
            for a, b in zip(first, second, strict=True)
        ]
        return stack(parts).view(*lead, *B.shape[-2:])
    size = A.shape[-1]
    if B.shape[-2] != size:
        raise RuntimeError(
            f"linalg.solve_triangular: Incompatible shapes of A and B for the equation AX = B "
            f"({A.shape[-2]}x{size} and {B.shape[-2]}x{B.shape[-1]})"
        )
    rows: dict[int, Tensor] = {}
    for i in range(size - 1, -1, -1) if upper else range(size):
        row = B[i]
        if rows:
            known = sorted(rows)
            row = row - A[i, known[0] : known[-1] + 1] @ stack([rows[k] for k in known])
        rows[i] = row + 0 * A[i, i] if unitriangular else row / A[i, i]
    return stack([rows[i] for i in range(size)])


def _inverse_rows(matrix: Rows) -> Rows:
    size = len(matrix)
    rows = [[*row, *(1.0 * (i == j) for j in range(size))] for i, row in enumerate(matrix)]
    for column in range(size):
        pivot = max(range(column, size), key=lambda row: abs(rows[row][column]))
        if rows[pivot][column] == 0:
            raise LinAlgError(
                "linalg.inv: The diagonal element "
                f"{column + 1} is zero, the inversion could not be completed because the input "
                "matrix is singular."
            )
        rows[column], rows[pivot] = rows[pivot], rows[column]
        factor = rows[column][column]
        rows[column] = [value / factor for value in rows[column]]
        for row in range(size):
            factor = rows[row][column]
            if row != column and factor:
                pairs = zip(rows[row], rows[column], strict=True)
                rows[row] = [value - factor * other for value, other in pairs]
    return [row[size:] for row in rows]


def inv(A: Tensor) -> Tensor:
    r"""The inverse of a matrix."""
    _need_square("linalg.inv", A)

    def of_one(one: Tensor) -> Tensor:
        rows = _inverse_rows(one.detach().double().tolist())
        return tensor(rows, dtype=one.dtype).view(one.shape)

    def backward(gradient: Tensor, inverse: Tensor) -> tuple[Tensor]:
        return (-(inverse.mT @ gradient @ inverse.mT),)

    return record_result(_batched(of_one, A), (A,), backward, "LinalgInvEx")


def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    r"""Solves `A X = B`, or `X A = B`."""
    _need_square("linalg.solve", A)
    if A.dtype is not B.dtype:
        raise RuntimeError(
            f"linalg.solve: Expected A and B to have the same dtype, but found A of type "
            f"{scalar_name(A.dtype)} and B of type {scalar_name(B.dtype)} instead"
        )
    inverse = inv(A.double())
    # A right side with one axis less is a batch of vectors.
    vector = len(B.shape) == 1 or len(B.shape) == len(A.shape) - 1 and B.shape == A.shape[:-1]
    right = (B.unsqueeze(-1) if vector else B).double()
    if right.shape[-2 if left else -1] != A.shape[-1]:
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation "
            f"{'AX = B' if left else 'XA = B'} ({A.shape[-2]}x{A.shape[-1]} and "
            f"{right.shape[-2]}x{right.shape[-1]})"
        )
    out = inverse @ right if left else right @ inverse
    return (out.squeeze(-1) if vector else out).to(B.dtype)


def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor:
    r"""The inverse of a matrix, from its triangle."""
    wide = L.double()
    return inv(wide.mT @ wide if upper else wide @ wide.mT).to(L.dtype)


def _svd(A: Tensor, full: bool) -> tuple[Tensor, Tensor, Tensor]:
    r"""By Jacobi's rotations of columns, until all are at right angles."""
    m, n = A.shape
    if not bool(A.isfinite().all()):
        # Infinite numbers have no singular values.
        k = min(m, n)
        shapes = ((m, m if full else k), (k,), (n if full else k, n))
        return tuple(filled(shape, math.nan, A.dtype) for shape in shapes)
    if m < n:
        u, s, vh = _svd(A.t().contiguous(), full)
        return vh.t(), s, u.t()
    columns = [list(column) for column in zip(*A.detach().double().tolist(), strict=True)]
    turned = [[1.0 * (i == j) for j in range(n)] for i in range(n)]
    for _ in range(60):
        largest = 0.0
        for p in range(n):
            for q in range(p + 1, n):
                largest = max(largest, _rotate(columns, turned, p, q))
        if largest == 0:
            break
    sizes = [math.sqrt(sum(value * value for value in column)) for column in columns]
    order = sorted(range(n), key=lambda i: -sizes[i])
    small = 1e-12 * max(sizes, default=0.0)
    left = [[value / sizes[i] for value in columns[i]] for i in order if sizes[i] > small]
    d = A.dtype
    return (
        tensor(_completed(left, m, m if full else n), dtype=d).view(-1, m).t(),
        tensor([sizes[i] for i in order], dtype=d),
        tensor([turned[i] for i in order], dtype=d).view(n, n),
    )


def _completed(rows: Rows, size: int, count: int) -> Rows:
    r"""Rows at right angles to each other, and more of them, up to a number."""
    rows = list(rows)
    for axis in range(size):
        if len(rows) == count:
            break
        row = [1.0 * (axis == place) for place in range(size)]
        for _ in range(2):
            for other in rows:
                part = sum(x * y for x, y in zip(row, other, strict=True))
                row = [x - part * y for x, y in zip(row, other, strict=True)]
        length = math.sqrt(sum(value * value for value in row))
        if length > 0.5 / math.sqrt(size):
            rows.append([value / length for value in row])
    return rows


def _rotate(columns: Rows, turned: Rows, p: int, q: int) -> float:
    a = sum(value * value for value in columns[p])
    b = sum(value * value for value in columns[q])
    both = sum(x * y for x, y in zip(columns[p], columns[q], strict=True))
    if abs(both) <= 1e-15 * math.sqrt(a * b):
        return 0.0
    slope = (b - a) / (2 * both)
    tangent = (1 if slope >= 0 else -1) / (abs(slope) + math.sqrt(1 + slope * slope))
    cosine = 1 / math.sqrt(1 + tangent * tangent)
    sine = cosine * tangent
    for rows in (columns, turned):
        pairs = list(zip(rows[p], rows[q], strict=True))
        rows[p] = [cosine * x - sine * y for x, y in pairs]
        rows[q] = [sine * x + cosine * y for x, y in pairs]
    return abs(both)


def svd(A: Tensor, full_matrices: bool = True, *, driver: Any = None) -> tuple[Tensor, ...]:
    r"""Rotation, stretching, rotation."""
    _need_matrix("linalg.svd", A)
    if bool(A.isnan().any()):
        raise _LinAlgError(
            "linalg.svd: The algorithm failed to converge because the input matrix contained "
            "non-finite values."
        )
    m, n = A.shape[-2:]
    k = min(m, n)
    if A.numel():
        U, S, Vh = _batched(lambda one: _svd(one, full_matrices), A.detach())
    else:
        lead = A.shape[:-2]
        U = eye(m, m if full_matrices else k, dtype=A.dtype).expand(*lead, -1, -1).clone()
        S = filled((*lead, k), 0, A.dtype)
        Vh = eye(n if full_matrices else k, n, dtype=A.dtype).expand(*lead, -1, -1).clone()
    if not needs_record((A,)):
        return U, S, Vh

    def backward(gradients: list[Tensor | None]) -> tuple[Tensor]:
        return (_svd_backward(U, S, Vh, gradients),)

    parts = (alias_of(U), alias_of(S), alias_of(Vh))
    node = Node((A,), backward, "LinalgSvd", (NUMBER,), 3)
    for slot, one in enumerate(parts):
        one._node, one._slot, one.requires_grad = node, slot, True
    return parts


def _svd_backward(U: Tensor, S: Tensor, Vh: Tensor, gradients: list[Tensor | None]) -> Tensor:
    r"""The gradient of a matrix; vectors beside its rank have none, as in PyTorch."""
    of_u, of_s, of_vh = gradients
    k = S.shape[-1]
    u, vh = U.narrow(-1, 0, k), Vh.narrow(-2, 0, k)
    inside = (of_s if of_s is not None else zeros_like(S)).diag_embed()
    squares = S * S
    gaps = squares.unsqueeze(-2) - squares.unsqueeze(-1)
    gaps = gaps + eye(k, dtype=S.dtype)
    outside: Any = 0
    if of_u is not None:
        own = of_u.narrow(-1, 0, k)
        both = u.mT @ own
        inside = inside + (both - both.mT) / gaps * S.unsqueeze(-2)
        if u.shape[-2] > k:
            outside = ((own - u @ both) / S.unsqueeze(-2)) @ vh
    if of_vh is not None:
        own = of_vh.narrow(-2, 0, k)
        both = vh @ own.mT
        inside = inside + S.unsqueeze(-1) * ((both - both.mT) / gaps)
        if vh.shape[-1] > k:
            outside = outside + u @ ((own - own @ vh.mT @ vh) / S.unsqueeze(-1))
    return u @ inside @ vh + outside


def svd_of_torch(input: Tensor, some: bool = True, compute_uv: bool = True) -> tuple[Tensor, ...]:
    r"""What `torch.svd` gives: the second rotation is not transposed."""
    if not compute_uv:
        shapes = [(*input.shape[:-2], size, size) for size in input.shape[-2:]]
        return filled(shapes[0], 0, input.dtype), svdvals(input), filled(shapes[1], 0, input.dtype)
    U, S, Vh = svd(input, full_matrices=not some)
    return U, S, Vh.mT


svd_of_torch.__name__ = "svd"


def svdvals(A: Tensor, *, driver: Any = None) -> Tensor:
    r"""How much a matrix stretches."""
    return svd(A, full_matrices=False)[1]


def matrix_rank(
    A: Tensor,
    tol: Any = None,
    hermitian: bool = False,
    *,
    atol: Any = None,
    rtol: Any = None,
) -> Tensor:
    r"""How many directions a matrix keeps: those beyond `atol` and `rtol` of the largest."""
    _need_matrix("linalg.matrix_rank", A)
    values = svdvals(A.detach())
    if not values.shape[-1]:
        return filled(values.shape[:-1], 0, int64)
    atol = tol if tol is not None else atol
    if rtol is None:
        rtol = 0.0 if atol is not None else max(A.shape[-2:]) * finfo(A.dtype).eps
    largest = values.amax(-1)
    limit = largest * rtol
    if atol is not None:
        limit = limit.maximum(as_tensor(atol, dtype=limit.dtype).expand(limit.shape))
    return (values > limit.unsqueeze(-1)).sum(-1)


def det(A: Tensor) -> Tensor:
    r"""By how much a matrix changes volumes."""
    _need_square("linalg.det", A)
    if A.shape[-1] == 0:
        return A.sum((-2, -1)) + 1
    if A.shape[-1] == 1:
        return A[..., 0, 0]
    total = None
    for column in range(A.shape[-1]):
        others = [one for one in range(A.shape[-1]) if one != column]
        part = A[..., 0, column] * det(A[..., 1:, :][..., others]) * (-1) ** column
        total = part if total is None else total + part
    return total


@in_words_of_numpy
def vector_norm(
    x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    r"""The length of a vector."""
    return _norm(x, ord, dim, keepdim, dtype)


@in_words_of_numpy
def norm(
    A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
) -> Tensor:
    r"""The length of a vector, or the size of a matrix."""
    if dim is not None:
        axes = 1 if isinstance(dim, int) else len(dim)
    else:
        axes = len(A.shape)
    if ord is not None and dim is None and axes not in (1, 2):
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{axes}D."
        )
    if isinstance(ord, str) or ord is not None and axes == 2:
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    return _norm(A, 2 if ord is None else ord, dim, keepdim, dtype)


def matrix_norm(
    A: Tensor,
    ord: Any = "fro",
    dim: Any = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    r"""The size of a matrix: of all its numbers, or how much it stretches at most."""
    _need_matrix("linalg.matrix_norm", A)
    A = A if dtype is None else A.to(dtype)
    if isinstance(dim, int) or len(dim) != 2:
        raise RuntimeError("linalg.matrix_norm: dim must be a 2-tuple.")
    rows, columns = (wrap_axis(axis, len(A.shape)) for axis in dim)
    if rows == columns:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got ({dim[0]}, {dim[1]})")
    if ord == "fro":
        return _norm(A, 2, (rows, columns), keepdim)
    if ord in ("nuc", 2, -2):
        values = svdvals(A.movedim((rows, columns), (-2, -1)))
        if ord == "nuc":
            out = values.sum(-1)
        else:
            out = values.amax(-1) if ord == 2 else values.amin(-1)
        if not keepdim:
            return out
        for axis in sorted((rows, columns)):
            out = out.unsqueeze(axis)
        return out
    if ord in (1, -1, math.inf, -math.inf):
        along, over = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = A.abs().sum(along, keepdim=True)
        out = sums.amax(over, keepdim=True) if ord > 0 else sums.amin(over, keepdim=True)
        return out if keepdim else out.squeeze((rows, columns))
    raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")


_Slogdet = named_results("slogdet", "sign logabsdet")


def slogdet(A: Tensor) -> Any:
    r"""The sign of the determinant, and the logarithm of its size."""
    found = det(A)
    return _Slogdet(found.sign(), found.abs().log())


def logdet_of_torch(input: Tensor) -> Tensor:
    r"""The logarithm of the determinant, as `torch` itself has it."""
    return det(input).log()


def matmul(input: Tensor, other: Tensor) -> Tensor:
    r"""Matrix products over the last two axes."""
    return input @ other


def matrix_power(A: Tensor, n: int) -> Tensor:
    r"""A matrix times itself."""
    return _matrices.matrix_power(A, n)


def matrix_exp(A: Tensor) -> Tensor:
    r"""The sum of all powers, each over its factorial: of a small part, which is then squared."""
    _need_square("linalg.matrix_exp", A)
    wide = A.double()
    size = float(wide.detach().abs().sum(-1).max()) if A.numel() else 0.0
    halvings = max(0, math.ceil(math.log2(size)) + 2) if 0 < size < math.inf else 0
    part = wide / 2**halvings
    total = eye(A.shape[-1], dtype=wide.dtype) + 0 * wide
    term = total
    for step in range(1, 16):
        term = term @ part / step
        total = total + term
    for _ in range(halvings):
        total = total @ total
    return total.to(A.dtype)


def multi_dot(tensors: Any) -> Tensor:
    r"""The product of several matrices; the first and the last may be vectors."""
    given = list(tensors)
    if len(given) < 2:
        raise RuntimeError("multi_dot(): expected at least 2 tensors but got " + str(len(given)))
    out = given[0]
    for one in given[1:]:
        out = out @ one
    return out


def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    r"""The product of vectors of three numbers that stands at right angles to both."""
    return _matrices.cross(input, other, dim)


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    r"""Products of vectors along an axis."""
    return (x.conj() * y).sum(dim)


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    r"""The diagonals of matrices."""
    return A.diagonal(offset, dim1, dim2)


def vander(x: Tensor, N: int | None = None) -> Tensor:
    r"""Powers of each element, the lowest first."""
    count = x.shape[-1] if N is None and x.shape else N
    if count is None or count <= 1:
        raise RuntimeError("N must be greater than 1.")
    return _matrices.powers(x if x.shape else x.unsqueeze(0), count)


for _function, _name in (
    (det, "det"),
    (slogdet, "slogdet"),
    (logdet_of_torch, "logdet"),
    (matrix_exp, "matrix_exp"),
    (inv, "inverse"),
    (svd_of_torch, "svd"),
    (cholesky, "cholesky"),
    (cholesky_inverse, "cholesky_inverse"),
):
    method(_function, _name)


__getattr__ = absent("module 'torch.linalg'", lambda: list(globals()), {})
