r"""Libraries that PyTorch can compute with: none of them is here."""

from types import SimpleNamespace


def _absent(**settings: object) -> SimpleNamespace:
    return SimpleNamespace(is_available=lambda: False, is_built=lambda: False, **settings)


def _any() -> SimpleNamespace:
    return SimpleNamespace(fp32_precision="none")


mps = _absent()
cuda = _absent(matmul=SimpleNamespace(allow_tf32=False, fp32_precision="none"))
cudnn = _absent(allow_tf32=False, deterministic=False, benchmark=False, conv=_any(), rnn=_any())
mkl = openmp = _absent()
mkldnn = _absent(matmul=_any(), conv=_any(), rnn=_any())
cpu = SimpleNamespace(get_cpu_capability=lambda: "DEFAULT")
