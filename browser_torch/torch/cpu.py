r"""What the processor can do: the stand-in doesn't know."""

from typing import Any


def get_capabilities() -> dict[str, Any]:
    r"""None that is known."""
    return {}


def is_available() -> bool:
    r"""Yes."""
    return True
