r"""Numbers can be compared in the block, whatever a training script has set, and it stays set."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from labml_nn.transformers.mistakes.undisturbed import example, no_autocast, undisturbed

LAYER = nn.Linear(3, 5)
PLACES = (torch.backends.cuda.matmul, torch.backends.mkldnn.matmul)


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    before = torch.get_float32_matmul_precision()
    yield
    torch.set_float32_matmul_precision(before)


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
def test_products_have_all_digits_and_the_setting_comes_back(precision: str, fails: bool) -> None:
    torch.set_float32_matmul_precision(precision)
    try:
        with undisturbed(LAYER):
            assert torch.get_float32_matmul_precision() == "highest"
            if fails:
                raise KeyError
    except KeyError:
        pass
    assert torch.get_float32_matmul_precision() == precision


@pytest.mark.skipif(not hasattr(PLACES[0], "fp32_precision"), reason="the names came with 2.9")
def test_so_does_the_setting_by_its_new_names() -> None:
    before = [place.fp32_precision for place in PLACES]
    PLACES[0].fp32_precision = "tf32"
    try:
        with undisturbed(LAYER):
            assert [place.fp32_precision for place in PLACES] == ["ieee", "ieee"]
        assert [place.fp32_precision for place in PLACES] == ["tf32", before[1]]
    finally:
        PLACES[0].fp32_precision = before[0]


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


def test_what_is_made_in_the_block_is_where_the_weights_are() -> None:
    with undisturbed(nn.Linear(3, 5, device="meta")) as device:
        assert torch.ones(7).device == device == torch.device("meta")
    assert torch.ones(7).device.type == "cpu"
    with torch.device("meta"), undisturbed(LAYER) as device:
        assert torch.ones(7).device == device == torch.device("cpu")
    # Without weights, where PyTorch makes its tensors.
    with torch.device("meta"), undisturbed(nn.Identity()) as device:
        assert device == torch.device("meta")


def test_the_example_rounds_outside_the_block_alone() -> None:
    torch.manual_seed(1)
    exact, outside, inside = example()
    assert exact.shape == (3, 5)
    assert 1e-4 < outside < 1e-2
    assert inside == 0
