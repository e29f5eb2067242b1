r"""A run that is killed with SIGKILL, and resumed. `make soak` does it fifty times."""

import random
from pathlib import Path

from tests.soak import killed_run


def test_a_run_that_is_killed_and_resumed_ends_with_the_same_bits(tmp_path: Path) -> None:
    made, _ = killed_run(tmp_path, seed=1, steps=600, kills=1, moments=random.Random(2), most=0.2)
    assert made == 1
