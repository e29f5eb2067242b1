r"""Several processes: here there is one, and what is exchanged with nobody stays as it is."""

from collections.abc import Callable
from enum import IntEnum
from typing import Any

from torch._absent import absent


class ReduceOp(IntEnum):
    r"""What becomes of the tensors of all processes."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4


class _World:
    r"""Whether the group of the only process has been made."""

    made = False


def is_available() -> bool:
    r"""No."""
    return False


def is_initialized() -> bool:
    r"""Whether the group has been made."""
    return _World.made


def init_process_group(
    backend: Any = None,
    init_method: Any = None,
    timeout: Any = None,
    world_size: int = -1,
    rank: int = -1,
    store: Any = None,
    group_name: str = "",
    pg_options: Any = None,
    device_id: Any = None,
) -> None:
    r"""Makes the group of one process."""
    if world_size not in (-1, 1) or rank not in (-1, 0):
        raise NotImplementedError("a page has one process: use world_size=1 and rank=0.")
    _World.made = True


def destroy_process_group(group: Any = None) -> None:
    r"""Ends the group."""
    _need_group()
    _World.made = False


def _need_group() -> None:
    if not _World.made:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call "
            "init_process_group."
        )


def get_rank(group: Any = None) -> int:
    r"""The number of this process."""
    _need_group()
    return 0


def get_world_size(group: Any = None) -> int:
    r"""How many processes there are."""
    _need_group()
    return 1


def get_backend(group: Any = None) -> str:
    r"""What would carry tensors."""
    _need_group()
    return "gloo"


class _Done:
    r"""What has been exchanged already."""

    def wait(self, timeout: Any = None) -> bool:
        r"""Nothing to wait for."""
        return True

    def is_completed(self) -> bool:
        r"""Yes."""
        return True


def _alone(name: str) -> Callable[..., Any]:
    def function(
        tensor: Any = None,
        op: Any = ReduceOp.SUM,
        group: Any = None,
        async_op: bool = False,
        *,
        src: int = 0,
        dst: int = 0,
        device_ids: Any = None,
    ) -> Any:
        r"""The tensor of the only process is that of all."""
        _need_group()
        return _Done() if async_op else None

    function.__name__ = name
    return function


all_reduce, reduce, barrier = _alone("all_reduce"), _alone("reduce"), _alone("barrier")


def broadcast(
    tensor: Any, src: int = 0, group: Any = None, async_op: bool = False, **options: Any
) -> Any:
    r"""The tensor of the only process is that of all."""
    _need_group()
    return _Done() if async_op else None


def all_gather(tensor_list: Any, tensor: Any, group: Any = None, async_op: bool = False) -> Any:
    r"""The list of one tensor."""
    _need_group()
    tensor_list[0].copy_(tensor)
    return _Done() if async_op else None


def _into(output: Any, input: Any, group: Any = None, async_op: bool = False) -> Any:
    _need_group()
    output.copy_(input.view(output.shape))
    return _Done() if async_op else None


def all_gather_into_tensor(
    output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False
) -> Any:
    r"""A copy."""
    return _into(output_tensor, input_tensor, group, async_op)


def reduce_scatter_tensor(
    output: Any, input: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Any:
    r"""A copy."""
    return _into(output, input, group, async_op)


_INSTEAD = dict.fromkeys(
    ("rpc", "fsdp", "launch", "checkpoint"), "one process, and the module itself"
)
__getattr__ = absent("module 'torch.distributed'", lambda: list(globals()), _INSTEAD)
