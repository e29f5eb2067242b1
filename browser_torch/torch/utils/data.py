r"""Samples one by one, and in batches."""

import math
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, islice
from typing import Any

from torch._dtypes import float64, int64
from torch._joining import stack
from torch._making import as_tensor, tensor, zeros
from torch._random import Generator, multinomial, randint, randperm
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


class IterableDataset(Dataset):
    r"""Samples one after another."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")


class Subset(Dataset):
    r"""Some samples of another data set, by their numbers."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, list):
            return self.dataset[[self.indices[one] for one in idx]]
        return self.dataset[self.indices[idx]]

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset):
    r"""The samples of several data sets, one set after another."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        self.cumulative_sizes = list(accumulate(len(one) for one in self.datasets))

    def __getitem__(self, idx: int) -> Any:
        if idx < 0:
            idx += len(self)
        place = bisect_right(self.cumulative_sizes, idx)
        before = self.cumulative_sizes[place - 1] if place else 0
        return self.datasets[place][idx - before]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


def random_split(dataset: Any, lengths: Sequence[Any], generator: Any = None) -> list[Subset]:
    r"""Parts of a data set, by their lengths or by their shares of it."""
    total = len(dataset)
    if abs(sum(lengths) - 1) < 1e-9 and sum(lengths) <= 1:
        sizes = [math.floor(total * share) for share in lengths]
        for place in range(total - sum(sizes)):
            sizes[place % len(sizes)] += 1
        lengths = sizes
    if sum(lengths) != total:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = randperm(total, generator=generator).tolist()
    ends = accumulate(lengths)
    return [
        Subset(dataset, order[end - length : end])
        for end, length in zip(ends, lengths, strict=True)
    ]


class Sampler:
    r"""An order of numbers of samples."""

    def __init__(self, data_source: Any = None) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError


class SequentialSampler(Sampler):
    r"""In order."""

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler):
    r"""In an order that is drawn, with or without repetition."""

    def __init__(
        self,
        data_source: Any,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Any = None,
    ) -> None:
        super().__init__(data_source)
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator

    @property
    def num_samples(self) -> int:
        r"""How many are drawn."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        count = len(self.data_source)
        generator = self.generator
        if generator is None:
            # PyTorch draws a seed of its own, so that the order is one draw of the others.
            generator = Generator().manual_seed(int(zeros((), dtype=int64).random_().item()))
        if self.replacement:
            for _ in range(self.num_samples // 32):
                yield from randint(0, count, (32,), generator=generator).tolist()
            rest = self.num_samples % 32
            yield from randint(0, count, (rest,), generator=generator).tolist()
            return
        for _ in range(self.num_samples // count if count else 0):
            yield from randperm(count, generator=generator).tolist()
        if count and self.num_samples % count:
            yield from randperm(count, generator=generator).tolist()[: self.num_samples % count]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler):
    r"""Given numbers, in an order that is drawn."""

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        super().__init__()
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        for place in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[place]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    r"""Numbers drawn with given weights."""

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Any = None,
    ) -> None:
        super().__init__()
        self.weights = as_tensor(weights, dtype=float64)
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        drawn = multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        return iter(drawn.tolist())

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    r"""The numbers of another order, in lists."""

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool) -> None:
        super().__init__()
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        places = iter(self.sampler)
        while batch := list(islice(places, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        count = len(self.sampler)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


class DataLoader:
    r"""Batches of samples, in order, shuffled, or in the order of a sampler."""

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Any = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Any = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        self.dataset, self.drop_last, self.generator = dataset, drop_last, generator
        self.num_workers = num_workers
        in_turn = isinstance(dataset, IterableDataset)
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, "
                    "and drop_last"
                )
            batch_size = None
        if sampler is None and not in_turn:
            random = RandomSampler(dataset, generator=generator)
            sampler = random if shuffle else SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None and not in_turn:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        in_batches = batch_sampler is not None or in_turn and batch_size is not None
        self.collate_fn = collate_fn or (default_collate if in_batches else default_convert)

    def __len__(self) -> int:
        if isinstance(self.dataset, IterableDataset):
            count = len(self.dataset)
            if self.batch_size is None:
                return count
            return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
        return len(self.batch_sampler if self.batch_sampler is not None else self.sampler)

    def __iter__(self) -> Iterator[Any]:
        # PyTorch draws a number for its workers, even where there are none.
        zeros((), dtype=int64).random_(generator=self.generator)
        return self._batches()

    def _batches(self) -> Iterator[Any]:
        if isinstance(self.dataset, IterableDataset):
            samples = iter(self.dataset)
            if self.batch_size is None:
                yield from map(self.collate_fn, samples)
                return
            while batch := list(islice(samples, self.batch_size)):
                if len(batch) == self.batch_size or not self.drop_last:
                    yield self.collate_fn(batch)
        elif self.batch_sampler is not None:
            for places in self.batch_sampler:
                yield self.collate_fn([self.dataset[place] for place in places])
        else:
            for place in self.sampler:
                yield self.collate_fn(self.dataset[place])


def default_convert(sample: Any) -> Any:
    r"""A sample as it is."""
    return sample


class DistributedSampler(Sampler):
    r"""The numbers of the only process: all, in an order that is drawn for each epoch."""

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        super().__init__(dataset)
        self.num_replicas, self.rank = num_replicas or 1, rank or 0
        self.shuffle, self.seed, self.epoch = shuffle, seed, 0
        self.num_samples = -(-len(dataset) // self.num_replicas)
        if drop_last:
            self.num_samples = len(dataset) // self.num_replicas

    def __iter__(self) -> Iterator[int]:
        order = list(range(len(self.data_source)))
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            order = randperm(len(order), generator=generator).tolist()
        whole = self.num_samples * self.num_replicas
        order = (order * (whole // max(len(order), 1) + 1))[:whole]
        return iter(order[self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        r"""Another order for another epoch."""
        self.epoch = epoch


for _file in ("dataloader", "dataset", "distributed", "sampler"):
    # PyTorch's `torch.utils.data.sampler` has the samplers; here each of the names has all.
    sys.modules[f"{__name__}.{_file}"] = sys.modules[__name__]
    globals()[_file] = sys.modules[__name__]
