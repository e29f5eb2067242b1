r"""Each function of ours that a run has come by is among the sources of its result."""

import pytest

from benchmarks.__main__ import is_experiment, modules
from benchmarks.reached import missed, pairs
from benchmarks.record import ROOT, code_of

EXPERIMENTS = [name for name, tree in modules().items() if is_experiment(tree)]
# These take seconds.
FAST = {"counting", "kv_cache"}


@pytest.mark.parametrize(
    "name",
    [one if one in FAST else pytest.param(one, marks=pytest.mark.whole) for one in EXPERIMENTS],
)
def test_what_ran_was_found_before(name: str) -> None:
    of = f"benchmarks.{name}"
    calls = pairs(of, ROOT)
    code = code_of(ROOT)
    seen, strange = missed(code, of, calls)
    assert strange == set()
    assert f"benchmarks/{name}.py:measure" in seen
    # A definition that the sources lack is missed.
    hidden = f"benchmarks/{name}.py:report"
    if hidden in seen:
        left = code.sources(of)
        path, _, named = hidden.partition(":")
        left[path] = " ".join(one for one in left[path].split() if not one.startswith(f"{named}:"))
        assert named not in left[path].split()
