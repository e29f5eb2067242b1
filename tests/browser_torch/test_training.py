r"""200 steps of training lead to PyTorch's losses."""

import pytest

from tests.browser_torch.worlds import PYTORCH, STAND_IN, run

SAMPLE = ["A learned table of pairs", "One head, with positions"]
OTHERS = [
    "The mean of the past",
    "One head",
    "Many heads",
    "One transformer layer",
    "Four layers",
    "The classic recipe",
    "The modern parts",
]


def check(names: list[str]) -> None:
    r"""The loss of every step."""
    arguments = ("training", "200", "32", *names)
    expected, got = run(PYTORCH, *arguments), run(STAND_IN, *arguments)
    for name in names:
        assert len(expected[name]) == 200
        pairs = zip(got[name], expected[name], strict=True)
        assert max(abs(one - other) for one, other in pairs) <= 1e-5, name
        # It learns something: else any two runs would agree.
        assert expected[name][-1] < expected[name][0] - 0.5


def test_two_models_of_the_course_train_alike() -> None:
    check(SAMPLE)


@pytest.mark.whole
@pytest.mark.parametrize("name", OTHERS)
def test_the_other_models_of_the_course_train_alike(name: str) -> None:
    check([name])
