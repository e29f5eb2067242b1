r"""
What a run has found is kept, so that hours of training survive a stop: and no longer than the code.

An entry says what made it: the fingerprints of all sources, the arguments, the versions. It is read
again only if all of that is the same today, and if what it holds is what was written, by a
checksum. Anything else is as if it weren't there: the run is made again.
"""

import hashlib
import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# A key or a form of files that is new makes everything that was kept before unreadable.
FORM = 1


class Kept:
    r"""A folder of what runs have found."""

    def __init__(self, folder: Path) -> None:
        r"""
        * `folder` is made when the first entry is written
        """
        self.folder = folder

    def get(self, name: str, key: Mapping[str, Any]) -> Any:
        r"""What was found under this key, or None if nothing was, or if it is false."""
        path = self.path(name, key)
        try:
            entry = json.loads(path.read_text(encoding="utf-8"))
            if entry["key"] != key or entry["checksum"] != checksum(entry):
                return None
            return self._with_tensors(path, entry)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def seconds(self, name: str, key: Mapping[str, Any]) -> float:
        r"""How long the run took that has made an entry."""
        return float(json.loads(self.path(name, key).read_text(encoding="utf-8"))["seconds"])

    def put(self, name: str, key: Mapping[str, Any], found: Any, seconds: float = 0.0) -> Any:
        r"""
        Keep what was found in so many seconds; what comes back is what would be read again.
        """
        path = self.path(name, key)
        tensors: list[Any] = []
        plain = _without_tensors(found, tensors)
        entry = {"key": dict(key), "found": plain, "seconds": seconds}
        path.parent.mkdir(parents=True, exist_ok=True)
        if tensors:
            import torch

            beside = _beside(path.with_suffix(".pt"))
            torch.save(tensors, beside)
            entry["found"] = {"tensors": _of_bytes(beside.read_bytes()), "plain": plain}
            beside.replace(path.with_suffix(".pt"))
        # Names are texts in JSON: those that were numbers are so from the first time on.
        entry = json.loads(json.dumps(entry))
        entry["checksum"] = checksum(entry)
        beside = _beside(path)
        beside.write_text(json.dumps(entry, indent=1), encoding="utf-8")
        beside.replace(path)
        return self._with_tensors(path, entry)

    def path(self, name: str, key: Mapping[str, Any]) -> Path:
        r"""The file of an entry: other arguments have another one, other sources the same."""
        arguments = json.dumps(key.get("arguments"), sort_keys=True)
        readable = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60]
        return self.folder / f"{readable}-{_of_bytes(arguments.encode())[:8]}.json"

    def _with_tensors(self, path: Path, entry: Mapping[str, Any]) -> Any:
        r"""The found values, with their tensors from the other file."""
        found = entry["found"]
        if not (isinstance(found, dict) and set(found) == {"tensors", "plain"}):
            return found
        import torch

        content = path.with_suffix(".pt")
        if _of_bytes(content.read_bytes()) != found["tensors"]:
            raise ValueError(f"{content} is not the file that was written")
        return _put_back(found["plain"], torch.load(content, weights_only=True))


def key_of(
    sources: Mapping[str, str], arguments: Sequence[Any], settings: Mapping[str, Any]
) -> dict[str, Any]:
    r"""
    What an entry is of.

    * `sources` are fingerprints by path, `arguments` those of the function
    * `settings` are constants of the module that were changed for this run
    """
    import torch

    return {
        "form": FORM,
        "sources": dict(sources),
        "arguments": [described(one) for one in arguments],
        "settings": {name: described(one) for name, one in settings.items()},
        "torch": str(torch.__version__),
        "python": platform.python_version(),
    }


def described(argument: Any) -> Any:
    r"""An argument as JSON can hold it: tensors, by themselves or in mappings, by their hash."""
    if argument is None or isinstance(argument, str | int | float | bool):
        return argument
    if isinstance(argument, Mapping):
        return {str(name): described(one) for name, one in argument.items()}
    if isinstance(argument, list | tuple | range):
        return [described(one) for one in argument]
    if _is_tensor(argument):
        data = argument.detach().cpu().contiguous()
        return f"tensor {tuple(data.shape)} {_of_bytes(data.numpy().tobytes())}"
    raise TypeError(
        f"a run that is kept can't have a {type(argument).__name__} as argument: its name, a "
        "number or a tensor tells from one day to the next whether it is the same"
    )


def checksum(entry: Mapping[str, Any]) -> str:
    r"""Of a key, what was found, and how long it took: a number changed by hand no longer fits."""
    text = json.dumps([entry["key"], entry["found"], entry["seconds"]], sort_keys=True)
    return _of_bytes(text.encode())


def _of_bytes(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.{os.getpid()}.part")


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "detach") and hasattr(value, "numpy")


def _without_tensors(value: Any, tensors: list[Any]) -> Any:
    r"""The value with numbered places for its tensors, which are added to the list."""
    if _is_tensor(value):
        tensors.append(value.detach())
        return {"tensor": len(tensors) - 1}
    if isinstance(value, Mapping):
        return {name: _without_tensors(one, tensors) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_tensors(one, tensors) for one in value]
    return value


def _put_back(value: Any, tensors: Sequence[Any]) -> Any:
    if isinstance(value, dict):
        if set(value) == {"tensor"}:
            return tensors[value["tensor"]]
        return {name: _put_back(one, tensors) for name, one in value.items()}
    if isinstance(value, list):
        return [_put_back(one, tensors) for one in value]
    return value
