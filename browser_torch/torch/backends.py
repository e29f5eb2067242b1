r"""Libraries that PyTorch can compute with: none of them is here."""

from types import SimpleNamespace


def _absent(**settings: object) -> SimpleNamespace:
    return SimpleNamespace(is_available=lambda: False, is_built=lambda: False, **settings)


mps = _absent()
cuda = _absent(matmul=SimpleNamespace(allow_tf32=False, fp32_precision="none"))
cudnn = _absent(allow_tf32=False, deterministic=False, benchmark=False)
mkl = openmp = _absent()
mkldnn = _absent(matmul=SimpleNamespace(fp32_precision="none"))
cpu = SimpleNamespace(get_cpu_capability=lambda: "DEFAULT")
