r"""Numbers can be compared in the block, whatever a training script has set, and it stays set."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from wrongline.in_place import borrowed
from wrongline.undisturbed import example, no_autocast, undisturbed

LAYER = nn.Linear(3, 5)


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    before = torch.get_float32_matmul_precision()
    yield
    torch.set_float32_matmul_precision(before)


def set_to(kind: Any) -> str | bool:
    r"""The precision of a kind of operation, by its newer name or by its older one."""
    return kind.fp32_precision if hasattr(kind, "fp32_precision") else kind.allow_tf32


def product() -> Tensor:
    return F.linear(torch.ones(7, 3) / 3, LAYER.weight, LAYER.bias)


def test_autocast_is_off_in_the_block_whoever_enters_it_and_on_again_after_it() -> None:
    exact = product()
    with torch.autocast("cpu", torch.bfloat16):
        assert product().dtype == torch.bfloat16
        with undisturbed(LAYER):
            assert product().equal(exact)
            with torch.autocast("cpu", torch.bfloat16) as entered:
                assert isinstance(entered, torch.autocast)
                assert product().equal(exact)
        assert product().dtype == torch.bfloat16
    assert product().equal(exact)


def test_an_error_under_autocast_is_not_swallowed() -> None:
    put_back = no_autocast()
    try:
        with pytest.raises(KeyError), torch.autocast("cpu", torch.bfloat16):
            raise KeyError
    finally:
        put_back()


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("precision", ["medium", "high", "highest"])
def test_products_are_those_of_float32_and_the_setting_comes_back(
    precision: str, fails: bool
) -> None:
    torch.set_float32_matmul_precision(precision)
    kind = torch.backends.cuda.matmul
    known = set_to(kind)
    try:
        with undisturbed(LAYER):
            assert set_to(kind) in ("ieee", False)
            if fails:
                raise KeyError
    except KeyError:
        pass
    assert torch.get_float32_matmul_precision() == precision
    assert set_to(kind) == known


@pytest.mark.skipif(not hasattr(torch.backends.cudnn, "conv"), reason="they came with 2.9")
@pytest.mark.parametrize("inherited", [False, True])
def test_so_do_settings_of_single_operations(inherited: bool) -> None:
    kinds = [(torch.backends.cuda, "matmul"), (torch.backends.mkldnn, "matmul")]
    for library in (torch.backends.cudnn, torch.backends.mkldnn):
        kinds += [(library, "conv"), (library, "rnn")]
    places = [getattr(library, kind) for library, kind in kinds]
    before = [place.fp32_precision for place in places]
    if not inherited:
        places[0].fp32_precision = "tf32"
    known = [place.fp32_precision for place in places]
    try:
        with undisturbed(LAYER):
            assert [place.fp32_precision for place in places] == ["ieee"] * 6
        assert [place.fp32_precision for place in places] == known
    finally:
        for place, precision in zip(places, before, strict=True):
            place.fp32_precision = precision


def test_before_version_2_9_there_are_two_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    products, others = SimpleNamespace(allow_tf32=True), SimpleNamespace(allow_tf32=True)
    monkeypatch.setattr(torch.backends.cuda, "matmul", products)
    monkeypatch.setattr(torch.backends, "cudnn", others)
    with undisturbed(LAYER):
        assert (products.allow_tf32, others.allow_tf32) == (False, False)
    assert (products.allow_tf32, others.allow_tf32) == (True, True)


def test_random_numbers_are_the_same_each_time_and_leave_no_trace() -> None:
    drawn = []
    for seed in (3, 7):
        torch.manual_seed(seed)
        first = torch.rand(3)
        torch.manual_seed(seed)
        with undisturbed(LAYER):
            drawn.append(torch.rand(5))
        assert torch.rand(3).equal(first)
    assert drawn[0].equal(drawn[1])


def test_those_of_every_gpu_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = []

    def fork(devices: Iterable[int]) -> AbstractContextManager[None]:
        kept.extend(devices)
        return nullcontext()

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    monkeypatch.setattr(torch.random, "fork_rng", fork)
    with undisturbed(LAYER):
        assert kept == [0, 1, 2]


def test_the_block_gets_the_device_of_the_first_weight_or_buffer() -> None:
    with undisturbed(nn.Linear(3, 5, device="meta")) as device, device:
        assert torch.ones(7).device == device == torch.device("meta")
    assert torch.ones(7).device.type == "cpu"
    buffers = nn.Module()
    buffers.register_buffer("table", torch.empty(3, device="meta"))
    with undisturbed(buffers) as device:
        assert device == torch.device("meta")
    # Without any, where PyTorch makes its tensors.
    with torch.device("meta"), undisturbed(nn.Identity()) as device:
        assert device == torch.device("meta")


CASTS: dict[str, Callable[[Tensor], Tensor]] = {
    "half": Tensor.half,
    "bfloat16": Tensor.bfloat16,
    "to": lambda x: x.to(torch.float16),
    "to, by name": lambda x: x.to(dtype=torch.bfloat16),
    "type": lambda x: x.type(torch.bfloat16),
    "a new tensor": lambda x: x + torch.zeros(1, dtype=torch.float16),
}


@pytest.mark.parametrize("cast", CASTS.values(), ids=CASTS)
def test_casts_to_16_bits_change_nothing_and_others_do(cast: Callable[[Tensor], Tensor]) -> None:
    x = product()
    with undisturbed(LAYER):
        assert cast(x).equal(x)
        assert cast(x).dtype == torch.float32
        assert x.to(torch.float64).dtype == torch.float64
        assert nn.Linear(3, 5).to(torch.bfloat16).weight.dtype == torch.float32


def test_a_borrowed_module_has_32_bits_and_yours_stays_as_it_is() -> None:
    layer = nn.Linear(3, 5).bfloat16()
    layer.kept = layer(torch.ones(7, 3, dtype=torch.bfloat16))
    before = layer.weight.detach().clone()
    with borrowed(layer):
        assert layer.weight.dtype == torch.float32
        assert layer.weight.equal(before.float())
    assert layer.weight.dtype == torch.bfloat16
    assert layer.weight.equal(before)
    # What was computed before has its history still.
    layer.kept.sum().backward()
    assert layer.weight.grad.dtype == torch.bfloat16


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_new_tensors_have_32_bits_and_the_callers_default_comes_back(dtype: torch.dtype) -> None:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with undisturbed(LAYER):
            assert torch.ones(3).dtype == torch.float32
        assert torch.ones(3).dtype == dtype
    finally:
        torch.set_default_dtype(before)


def test_the_example_rounds_outside_the_block_alone() -> None:
    torch.manual_seed(1)
    exact, outside, inside = example()
    assert exact.shape == (3, 5)
    assert 1e-4 < outside < 1e-2
    assert inside == 0
