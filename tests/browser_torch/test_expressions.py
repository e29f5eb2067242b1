r"""What a reader may type gives PyTorch's values, PyTorch's errors, and is printed alike."""

import re

from tests.browser_torch.compare import depends_on_the_build, difference, same_error
from tests.browser_torch.worlds import PYTORCH, STAND_IN, run

# Printed with its noise: a singular value that is 0 but for the last digits.
NOISE = {"torch.linalg.svdvals(a)"}


def as_printed(text: str) -> str:
    r"""Without what differs by nature: addresses, and how many operations are one in PyTorch."""
    return re.sub(r",\s*grad_fn=<\w+>|0x[0-9a-f]+", "", text)


def test_lines_give_what_pytorch_gives() -> None:
    expected, got = run(PYTORCH, "expressions"), run(STAND_IN, "expressions")
    expected = {line: one for line, one in expected.items() if not depends_on_the_build(got[line])}
    wrong = {}
    for line, known in expected.items():
        own = got[line]
        if own[0] != known[0] or own[0] == "error" and not same_error(own, known):
            wrong[line] = own, known
        elif own[0] == "ok" and difference(own[1], known[1])[0] > 1e-5:
            wrong[line] = own[1], known[1]
        elif own[0] == "ok" and line not in NOISE and as_printed(own[2]) != as_printed(known[2]):
            wrong[line] = own[2], known[2]
    assert wrong == {}
    # Most errors are in PyTorch's own words, too.
    errors = [line for line, known in expected.items() if known[0] == "error"]
    assert sum(got[line][2] == expected[line][2] for line in errors) >= 0.9 * len(errors)
