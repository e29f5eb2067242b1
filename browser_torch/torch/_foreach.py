r"""Operations on lists of tensors."""

from collections.abc import Callable
from typing import Any

from torch._tensor import Tensor


def _each(name: str) -> Callable[..., list[Tensor]]:
    r"""A method of tensors, for each of a list; further lists go along with it."""

    def function(tensors: Any, *others: Any, **options: Any) -> list[Tensor]:
        results = []
        for place, one in enumerate(tensors):
            args = [given[place] if isinstance(given, (list, tuple)) else given for given in others]
            if name.startswith(("addcdiv", "addcmul")) and len(args) == 3:
                results.append(getattr(one, name)(*args[:2], value=args[2], **options))
            else:
                results.append(getattr(one, name)(*args, **options))
        return results

    function.__name__ = f"_foreach_{name}"
    return function


NAMES = ("abs", "add", "addcdiv", "addcmul", "copy", "div", "exp", "lerp", "mul", "neg", "norm",
         "pow", "sqrt", "sub", "zero")  # fmt: skip
FUNCTIONS = {
    f"_foreach_{_method}": _each(_method)
    for _name in NAMES
    for _method in (_name, f"{_name}_")
    if hasattr(Tensor, _method)
}
