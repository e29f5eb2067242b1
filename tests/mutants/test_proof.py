r"""The table of what is known about the pages: it is of today's sources, and complete."""

import fnmatch
import tomllib
from pathlib import Path

from tests.literate.projects import write
from tests.mutants import proof

PAGE = 'r"""\n---\ntitle: A\nsummary: B.\npaper:\n  title: "C: D"\n  year: 1999\n---\n"""\n'
TEST = "ORACLES: dict = {}\n"
COUNTS = {"made": 5, "killed": 4, "equivalent": 1, "survived": 0}
ROW = {"paper": "C: D (1999)", "oracles": {"one": 2.2e-16, "another": 0.0}, **COUNTS}


def test_each_page_with_oracles_has_a_row_of_todays_sources() -> None:
    assert proof.stale() == [], "run .venv/bin/python -m tests.mutants.proof"
    rows = proof.recorded()["values"]["pages"].keys()
    assert rows == {proof.row_name(page) for page in proof.pages()}


def test_a_lesson_without_oracles_says_why_and_no_reason_is_left_over() -> None:
    reasons = proof.without()
    assert [page for page, why in reasons.items() if why is None] == []
    (entries,) = tomllib.loads((proof.ROOT / proof.REASONS).read_text()).values()
    assert {entry["reason"] for entry in entries} == set(reasons.values())
    names = [page.relative_to("labml_nn").as_posix() for page in proof.lessons()]
    for pattern in (pattern for entry in entries for pattern in entry["pages"]):
        assert fnmatch.filter(names, pattern), pattern
    rows = proof.recorded()["tables"]["without"]["rows"]
    assert {row["page"]: row["why"] for row in rows} == reasons, "run make proof"


def test_all_pages_are_near_their_oracles_and_no_mutant_survives_without_a_reason() -> None:
    rows = proof.recorded()["values"]["pages"]
    for row in rows.values():
        assert max(row["oracles"].values()) < proof.NEAR
        assert row["made"] == row["killed"] + row["equivalent"] >= 18


def test_a_row_is_about_the_page_and_the_test_of_today(tmp_path: Path) -> None:
    pages = dict.fromkeys(("labml_nn/with.py", "labml_nn/without.py"), PAGE)
    tests = {"tests/labml_nn/test_with.py": TEST, "tests/labml_nn/test_without.py": "ORACLE = 1\n"}
    write(tmp_path, pages | tests)
    page = Path("labml_nn/with.py")
    assert proof.paper_of(tmp_path / page) == {"title": "C: D", "year": 1999}
    for changed in proof.sources(page):
        assert proof.stale(tmp_path) == [page]
        known = {one: proof.fingerprint(tmp_path / one) for one in proof.sources(page)}
        proof.save({"with": ROW, "gone": ROW}, known, tmp_path)
        assert proof.stale(tmp_path) == []
        (tmp_path / changed).write_text(f"{(tmp_path / changed).read_text()}ONE = 1\n")
    assert proof.stale(tmp_path) == [page]
    result = proof.recorded(tmp_path)
    (row,) = result["tables"]["proof"]["rows"]
    facts = {"page": "with", "paper": "C: D (1999)", "oracles": "one; another"}
    assert row == {**facts, "difference": "2e−16", **COUNTS}
    assert result["values"]["total"] == {"pages": 1, "largest": "2e−16", **COUNTS}
    assert proof.shown(0.0) == "0"
