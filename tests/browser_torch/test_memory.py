r"""Memory that is used again says nothing of what was there before."""

from typing import Any

import pytest

from tests.browser_torch.compare import difference
from tests.browser_torch.test_expressions import as_printed
from tests.browser_torch.worlds import STAND_IN, run


@pytest.mark.parametrize("program", [("expressions",), ("step", "3", "16")])
def test_results_do_not_depend_on_what_was_left_in_memory(program: tuple[str, ...]) -> None:
    clean = run(STAND_IN, *program)
    littered = run(STAND_IN, "littered", *program)
    assert clean.keys() == littered.keys()
    differ = {name: clean[name] for name in clean if not _same(clean[name], littered[name])}
    differ.pop("seconds", None)
    assert differ == {}


def _same(one: Any, other: Any) -> bool:
    r"""Whether two answers of a program are the same, to the last bit."""
    if not isinstance(one, tuple) or one[0] != other[0]:
        return one == other
    if one[0] == "ok" and difference(one[1], other[1])[0]:
        return False
    return as_printed(str(one[-1])) == as_printed(str(other[-1]))
