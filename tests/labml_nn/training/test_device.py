from unittest.mock import Mock

import pytest
import torch

from labml_nn.training.device import autocast, choose_device, choose_precision

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


def test_auto_prefers_cuda_to_mps_to_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    # No machine has all three, so nothing is put there.
    asked = []
    monkeypatch.setattr(torch, "zeros", lambda size, device: asked.append(device) or torch.ones(1))
    for cuda, mps in ((True, True), (True, False), (False, True), (False, False)):
        monkeypatch.setattr(torch.cuda, "is_available", lambda cuda=cuda: cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda mps=mps: mps)
        choose_device("auto")
    assert asked == ["cuda", "cuda", "mps", "cpu"]


@pytest.mark.parametrize("name", ["cuda:99", "no such thing", "cpu:x"])
def test_a_device_that_cannot_be_used_is_refused_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    assert choose_device("cpu") == CPU
    with pytest.raises(ValueError, match=rf"^the device '{name}' cannot be used here: .*$"):
        choose_device(name)
    # Of a long complaint the first line is told.
    complaint = Mock(side_effect=RuntimeError("no driver\nCompile with TORCH_USE_CUDA_DSA\n"))
    monkeypatch.setattr(torch, "zeros", complaint)
    with pytest.raises(ValueError, match=f"^the device '{name}' cannot be used here: no driver$"):
        choose_device(name)


def test_a_cpu_gets_bfloat16_if_it_is_known_to_have_instructions_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = []
    # The last is what an ARM has. The page offers it no more than an Apple GPU.
    no = {"avx2": True, "avx512_bf16": False}
    for able in ({"avx512_bf16": True}, {"amx_bf16": True}, no, {"bf16": True}):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda able=able: able, raising=False)
        found.append(choose_precision("auto", CPU))
    assert found == 2 * [torch.bfloat16] + 2 * [torch.float32]
    monkeypatch.delattr(torch.cpu, "get_capabilities")
    assert choose_precision("auto", CPU) is torch.float32


def test_a_gpu_before_ampere_gets_float16(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for capability in ((7, 5), (8, 0), (12, 0)):
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device, c=capability: c)
        found.append(choose_precision("auto", CUDA))
    assert found == [torch.float16, torch.bfloat16, torch.bfloat16]


def test_an_apple_gpu_gets_float32_and_anyone_what_is_asked_for() -> None:
    assert choose_precision("auto", torch.device("mps")) is torch.float32
    assert choose_precision("bfloat16", CPU) is torch.bfloat16
    assert choose_precision("float32", CUDA) is torch.float32
    assert choose_precision("float16", CUDA) is torch.float16
    for name, reason in (("float8", "unknown"), ("float16", "CUDA GPU")):
        with pytest.raises(ValueError, match=reason):
            choose_precision(name, CPU)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_autocast_computes_products_in_the_precision(dtype: torch.dtype) -> None:
    a = torch.randn(3, 5)
    with autocast(CPU, dtype):
        assert (a @ a.T).dtype is dtype
        assert a.softmax(0).dtype is torch.float32
