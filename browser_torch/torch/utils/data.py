r"""Samples one by one, and in batches."""

from collections.abc import Iterator
from typing import Any

from torch._joining import stack
from torch._making import tensor
from torch._random import randperm
from torch._tensor import Tensor


class Dataset:
    r"""Samples by number."""

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError


class TensorDataset(Dataset):
    r"""Tensors whose rows belong together."""

    def __init__(self, *tensors: Tensor) -> None:
        if any(len(one) != len(tensors[0]) for one in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: int) -> tuple[Tensor, ...]:
        return tuple(one[index] for one in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])


def default_collate(batch: list[Any]) -> Any:
    r"""Samples as tensors of one more axis."""
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(batch)
    if isinstance(first, (int, float)):
        return tensor(batch)
    if isinstance(first, (tuple, list)):
        return [default_collate(list(part)) for part in zip(*batch, strict=True)]
    if isinstance(first, dict):
        return {name: default_collate([one[name] for one in batch]) for name in first}
    return batch


class DataLoader:
    r"""Batches of samples, in order or shuffled."""

    def __init__(
        self,
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,
        *,
        drop_last: bool = False,
        collate_fn: Any = None,
        generator: Any = None,
        num_workers: int = 0,
    ) -> None:
        self.dataset, self.batch_size, self.shuffle = dataset, batch_size, shuffle
        self.drop_last, self.generator = drop_last, generator
        self.collate_fn = collate_fn or default_collate

    def __len__(self) -> int:
        count = len(self.dataset)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        count = len(self.dataset)
        shuffled = randperm(count, generator=self.generator).tolist() if self.shuffle else None
        order = shuffled or list(range(count))
        for batch in range(len(self)):
            places = order[batch * self.batch_size : (batch + 1) * self.batch_size]
            yield self.collate_fn([self.dataset[place] for place in places])
