r"""The table of what is known about the pages: it is of today's sources, and complete."""

import json
from pathlib import Path

import pytest

from tests import proof
from tests.literate.projects import write

PAGE = 'r"""\n---\ntitle: A\nsummary: B.\npaper:\n  title: "C: D"\n  year: 1999\n---\n"""\n'
TEST = "ORACLES: dict = {}\n"
COUNTS = {"made": 5, "killed": 4, "equivalent": 1, "survived": 0}
ROW = {"paper": "C: D (1999)", "oracles": {"one": 2.2e-16, "another": 0.0}, **COUNTS}


def test_each_page_with_oracles_has_a_row_of_todays_sources() -> None:
    assert proof.stale() == [], "run .venv/bin/python -m tests.proof"
    rows = proof.recorded()["values"]["pages"].keys()
    assert rows == {proof.row_name(page) for page in proof.pages()}


def test_all_pages_are_near_their_oracles_and_no_mutant_survives_without_a_reason() -> None:
    rows = proof.recorded()["values"]["pages"]
    for row in rows.values():
        assert max(row["oracles"].values()) < proof.NEAR
        assert row["made"] == row["killed"] + row["equivalent"] >= 18


@pytest.fixture
def root(tmp_path: Path) -> Path:
    r"""A repository of two pages, of which one has oracles."""
    pages = dict.fromkeys(("labml_nn/with.py", "labml_nn/without.py"), PAGE)
    tests = {"tests/labml_nn/test_with.py": TEST, "tests/labml_nn/test_without.py": "ORACLE = 1\n"}
    write(tmp_path, pages | tests)
    return tmp_path


def save(root: Path) -> None:
    r"""The result of the one page, as it is now, and of one that is gone."""
    page = proof.pages(root)[0]
    known = {one: proof.fingerprint(root / one) for one in proof.sources(page)}
    proof.save({"with": ROW, "gone": ROW}, known, root)


def test_a_page_is_old_when_it_is_new_or_has_changed_or_its_test_has(root: Path) -> None:
    page = Path("labml_nn/with.py")
    assert proof.stale(root) == [page]
    save(root)
    assert proof.stale(root) == []
    (root / page).write_text(PAGE + "ONE = 1\n")
    assert proof.stale(root) == [page]
    save(root)
    (root / "tests/labml_nn/test_with.py").write_text(TEST + "ONE = 1\n")
    assert proof.stale(root) == [page]


def test_a_row_has_the_largest_difference_who_it_is_from_and_the_paper(root: Path) -> None:
    save(root)
    result = json.loads((root / "results/proof.json").read_text())
    assert result["tables"]["proof"]["rows"] == [
        {
            "page": "with",
            "paper": "C: D (1999)",
            "oracles": "one; another",
            "difference": "2e−16",
            **COUNTS,
        }
    ]
    assert result["values"]["total"] == {"pages": 1, "largest": "2e−16", **COUNTS}
    assert proof.paper_of(root / "labml_nn/with.py") == {"title": "C: D", "year": 1999}


@pytest.mark.parametrize(
    ("difference", "expected"), [(0.0, "0"), (3.4e-14, "3e−14"), (2.2e-6, "2e−6")]
)
def test_a_difference_is_shown_by_its_size(difference: float, expected: str) -> None:
    assert proof.shown(difference) == expected
