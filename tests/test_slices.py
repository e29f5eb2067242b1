r"""Each slow test is in one slice, and each slice has tests; what can't run says so."""

import re
from collections.abc import Callable

import pytest

from tests import slices
from tests.literate.projects import ROOT, run
from tests.slices import NOTHING, PLACES, SLICES, slice_of


def test_what_is_added_goes_to_the_slice_of_its_folder() -> None:
    assert slice_of("tests/test_of_tomorrow.py::test_it") == "rest"
    assert slice_of("tests/of_tomorrow/test_it.py::test_it") == "rest"
    assert slice_of("tests/wrongline/test_of_tomorrow.py::test_it") == "wrongline"
    places = ("tests/browser/test_it.py::test_it", "tests/browser_torch/test_it.py::test_it")
    assert [slice_of(one)[:-2] for one in places] == ["browser", "stand-in"]


def test_several_slices_share_the_tests_of_a_place() -> None:
    for place, names in PLACES.items():
        found = [slice_of(f"{place}[{number}]") for number in range(90)]
        assert min(found.count(one) for one in names) > 60 // len(names), place


def test_every_place_has_slow_tests() -> None:
    names = [
        f"{path.relative_to(ROOT).as_posix()}::{name}"
        for path in (ROOT / "tests").rglob("test_*.py")
        if "pytest.mark.whole" in (text := path.read_text(encoding="utf-8"))
        for name in re.findall(r"(?m)^def (test_\w+)", text)
    ]
    for place in PLACES:
        assert [one for one in names if one.startswith(place.partition("[")[0])], place


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, list[str]]]:
    r"""A function that plays pytest: what it says of slices. Gives those that were run."""

    def play(*arguments: str, **statuses: int) -> tuple[int, list[str]]:
        asked = []

        def said(name: str, options: list[str]) -> int:
            asked.append(name)
            return statuses.get(name, 0)

        monkeypatch.setattr(slices, "run", said)
        return slices.main(arguments), asked

    return play


def test_one_slice_is_run_or_all_and_the_status_tells_what_failed(answer: Callable) -> None:
    assert answer("lint") == (0, ["lint"])
    assert answer("lint", lint=1) == (1, ["lint"])
    assert answer("lint", lint=NOTHING) == (0, ["lint"])
    status, asked = answer(gpu=1, colab=NOTHING)
    assert (status, sorted(asked)) == (1, SLICES)


def test_what_cannot_run_gives_way_to_the_next_slice(answer: Callable) -> None:
    order = slices.from_today()
    assert sorted(order) == SLICES
    assert answer("today", "--else-next") == (0, order[:1])
    lacking = dict.fromkeys(order[:2], NOTHING)
    assert answer("today", "--else-next", **lacking) == (0, order[:3])
    assert answer("today", "--else-next", **{**lacking, order[2]: 1}) == (1, order[:3])
    # The one after the last is the first.
    assert answer(SLICES[-1], "--else-next", **{SLICES[-1]: NOTHING}) == (
        0,
        [SLICES[-1], SLICES[0]],
    )


def test_a_slice_of_which_everything_is_lacking_has_not_run_and_says_why() -> None:
    nowhere = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": ""}
    done = run(ROOT, "tests.slices", "oldest", "-p", "no:xdist", **nowhere)
    assert done.returncode == 0, done.stderr
    assert "not run: the packages of another environment can't be fetched here" in done.stdout
    assert done.stdout.endswith("slice oldest: not run, for the reasons above\n")
