r"""Each function of ours that a run has come by is among the sources of its result."""

import pytest

from benchmarks.__main__ import is_experiment, modules
from benchmarks.reached import among, missed, pairs
from benchmarks.record import ROOT, code_of

EXPERIMENTS = [name for name, tree in modules().items() if is_experiment(tree)]
# It takes seconds, and runs a model of several pages.
SAMPLE = "kv_cache"


@pytest.mark.parametrize(
    "name",
    [one if one == SAMPLE else pytest.param(one, marks=pytest.mark.whole) for one in EXPERIMENTS],
)
def test_what_ran_was_found_before(name: str) -> None:
    of = f"benchmarks.{name}"
    calls = pairs(of, ROOT)
    code = code_of(ROOT)
    known = among(code, of)
    seen, strange = missed(code, of, known, calls)
    assert strange == set()
    # Were one of them not among the sources, it would be named.
    for one in sorted(seen)[:3]:
        assert missed(code, of, known - {one}, calls)[1] == {one}
