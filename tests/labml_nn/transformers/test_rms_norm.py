import pytest
import torch
from torch import nn
from transformers.models.llama import modeling_llama

from labml_nn.transformers.rms_norm import RMSNorm, rms_norm
from tests.labml_nn.transformers.seam import equals
from tests.oracles import hugging_face, onnx_cases
from tests.oracles.compare import difference, largest


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("scale", [1e-2, 1e4])
def test_squares_of_16_bit_numbers_neither_overflow_nor_vanish(
    dtype: torch.dtype, scale: float
) -> None:
    x = (scale * torch.ones(3, 8)).to(dtype)
    found = rms_norm(x)
    assert found.dtype is dtype
    torch.testing.assert_close(found, torch.ones(3, 8).to(dtype), rtol=0.01, atol=0)


def test_at_the_start_it_is_that_of_pytorch_with_the_same_smallest_size() -> None:
    small = 1e-3 * torch.randn(7, 3, 5, dtype=torch.float64)
    expected = nn.RMSNorm(5, 1e-6).double()(small)
    torch.testing.assert_close(RMSNorm(5).double()(small), expected, rtol=1e-10, atol=0)
    torch.testing.assert_close(rms_norm(small), expected, rtol=1e-10, atol=0)


def distance_to(other: nn.Module, eps: float) -> float:
    x = torch.randn(7, 3, 5, dtype=torch.float64, requires_grad=True)
    module, theirs = RMSNorm(5, eps).double(), other.double()
    module.gain.data.copy_(theirs.weight.data)
    return difference(module(x), theirs(x), [x, module.gain], [x, theirs.weight])


def distance_to_torch() -> float:
    return max(distance_to(hugging_face.randomise(nn.RMSNorm(5, eps)), eps) for eps in (1e-6, 0.1))


def distance_to_llama() -> float:
    r"""From Llama's, made to use 64 bits."""
    with hugging_face.in_double(modeling_llama):
        return max(distance_to(hugging_face.llama_norm(5, eps), eps) for eps in (1e-6, 0.1))


def said(case: onnx_cases.Case, dtype: torch.dtype) -> torch.Tensor:
    r"""A case of ONNX's. Several axes are normalised as one."""
    x, gain = (case.inputs[name].to(dtype) for name in ("X", "scale"))
    axis, eps = case.attributes.get("axis", -1), case.attributes.get("epsilon", 1e-5)
    module = RMSNorm(gain.numel(), eps).to(dtype)
    module.gain.data.copy_(gain.flatten())
    return module(x.flatten(start_dim=axis)).view(x.shape)


ONNX = onnx_cases.cases("RMSNormalization")


def distance_to_onnx() -> float:
    return max(
        largest([said(case, torch.float64)], [onnx_cases.norm_in_double(case)]) for case in ONNX
    )


ORACLES = {
    "torch.nn.RMSNorm": distance_to_torch,
    "Hugging Face Llama": distance_to_llama,
    "ONNX RMSNormalization": distance_to_onnx,
}
test_it_is_what_others_compute = equals(ORACLES)


def test_it_gives_what_all_cases_of_onnx_say() -> None:
    assert len(ONNX) == 19
    assert all(onnx_cases.near(case, "Y", said(case, torch.float32)) for case in ONNX)
