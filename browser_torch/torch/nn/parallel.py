r"""Without GPUs a module is called as it is."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch.nn.module import Module


class DataParallel(Module):
    r"""The module itself: there is no GPU among which a batch could be split."""

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[int] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        r"""What the module computes."""
        return self.module(*inputs, **kwargs)


class DistributedDataParallel(DataParallel):
    r"""The module itself: a page has one process."""

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, **options: Any
    ) -> None:
        super().__init__(module)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        r"""Nothing is exchanged anyway."""
        yield
