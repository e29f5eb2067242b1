r"""What the stand-in lacks says so, and names what can be used."""

from collections.abc import Callable
from difflib import get_close_matches
from typing import NoReturn

OTHERS = "other functions that are there: dir() lists them"

# What takes the place of functions of `torch` and of methods of tensors.
_PLACES = """
affine_grid_generator: nn.functional.affine_grid
are_deterministic_algorithms_enabled: nothing: everything is deterministic here
as_strided_scatter: as_strided and copy_, on a clone
binomial: bernoulli, and a sum
chalf: cfloat
cholesky_solve: linalg.solve_triangular twice
complex32: complex64
cond: if and else: nothing is compiled here
conj_physical: conj
dequantize: round and clamp
eig: linalg.svd, for a symmetric matrix
embedding_bag: nn.functional.embedding_bag
export: the module itself
fft: einsum with a matrix of sines and cosines
fill: full_like
float8_e4m3fn: bfloat16
float8_e5m2: bfloat16
frexp: log2 and floor
frobenius_norm: linalg.matrix_norm
from_dlpack: tolist and tensor
fx: the module itself
gradient: diff
grid_sampler: nn.functional.grid_sample
grid_sampler_2d: nn.functional.grid_sample
gru: nn.GRU
gru_cell: nn.GRUCell
hamming_window: cos of arange
hann_window: cos of arange
histogram: histc
hub: weights that are there
istft: einsum with a matrix of sines and cosines
lobpcg: linalg.svd
lstm: nn.LSTM
lstm_cell: nn.LSTMCell
lstsq: linalg.solve(A.mT @ A, A.mT @ B)
lu: linalg.solve
lu_solve: linalg.solve
map_: where, or operations on whole tensors
masked: masked_fill and where
matrix_rank: linalg.matrix_rank
nanmedian: median
nanquantile: quantile
native_batch_norm: batch_norm
native_dropout: dropout
native_group_norm: group_norm
native_layer_norm: layer_norm
nested: tensors that are padded, and a mask
nextafter: finfo
nonzero_static: nonzero
nuclear_norm: linalg.matrix_norm
pca_lowrank: linalg.svd
pinverse: linalg.inv, or linalg.solve
polygamma: digamma
qr: nn.init.orthogonal_ for a matrix of rows at right angles
quantize_per_tensor: round and clamp
range: arange
reinforce: distributions and log_prob
rnn_relu: nn.RNN
rnn_tanh: nn.RNN
set_default_tensor_type: set_default_dtype
solve: linalg.solve
sparse: tensors with zeros
sparse_coo_tensor: tensors with zeros
sparse_csr_tensor: tensors with zeros
sparse_mask: where
special: the functions of torch itself
stft: unfold, and einsum with a matrix of sines and cosines
storage: untyped_storage, or tolist
svd_lowrank: linalg.svd
symeig: linalg.svd, for a symmetric matrix
to_padded_tensor: nn.utils.rnn.pad_sequence
to_sparse: the tensor itself
to_sparse_coo: the tensor itself
to_sparse_csr: the tensor itself
triangular_solve: linalg.solve_triangular
uint16: int32
uint32: int64
uint64: int64
unsafe_chunk: chunk
unsafe_split: split
while_loop: while: nothing is compiled here
""".strip()
INSTEAD = dict(line.split(": ", 1) for line in _PLACES.split("\n"))


class _Absent(AttributeError):
    r"""The sentence is made when somebody reads it: `hasattr` asks often, and reads nothing."""

    def __init__(
        self, owner: str, name: str, known: Callable[[], list[str]], instead: dict[str, str]
    ) -> None:
        super().__init__(owner, name)
        self.owner, self.known, self.instead = owner, known, instead
        self.wanted = name

    def __str__(self) -> str:
        use = self.instead.get(self.wanted)
        if use is None:
            names = [one for one in self.known() if one[0] != "_"]
            use = next(iter(get_close_matches(self.wanted, names, 1, 0.75)), OTHERS)
        return (
            f"{self.owner} has no attribute '{self.wanted}' in the browser, whatever PyTorch has; "
            f"use {use}."
        )


# A reader sees the error under the name that PyTorch gives it.
_Absent.__name__ = _Absent.__qualname__ = "AttributeError"
_Absent.__module__ = "builtins"


def absent(
    owner: str, known: Callable[[], list[str]], instead: dict[str, str]
) -> Callable[[str], NoReturn]:
    r"""A `__getattr__` for names that aren't there: `known` gives those that are."""

    def missing(name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(f"{owner} has no attribute '{name}'")
        raise _Absent(owner, name, known, instead)

    return missing
