from unittest.mock import Mock

import torch

from labml_nn.training.to_device import to_device


def test_what_is_there_already_stays_as_it_is() -> None:
    batch = torch.zeros(2), torch.ones(2)
    moved = to_device(lambda step: batch, torch.device("cpu"), 3)
    assert all(one is other for one, other in zip(moved, batch, strict=True))


def test_a_gpu_fetches_from_pinned_memory_and_nobody_waits() -> None:
    batch = Mock(is_cuda=False), Mock(is_cuda=False)
    device = torch.device("cuda")
    moved = to_device(lambda step: batch, device, 0)
    pinned = [one.pin_memory.return_value for one in batch]
    assert list(moved) == [one.to.return_value for one in pinned]
    for one in pinned:
        one.to.assert_called_once_with(device=device, non_blocking=True)
