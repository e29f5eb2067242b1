r"""The table of what is known about the pages: what a row says, and when it is out of date."""

from pathlib import Path

from tests.literate.projects import write
from tests.mutants import proof

PAGE = 'r"""\n---\ntitle: A\nsummary: B.\npaper:\n  title: "C: D"\n  year: 1999\n---\n"""\n'
TEST = "ORACLES: dict = {}\n"
COUNTS = {"made": 5, "killed": 4, "equivalent": 1, "survived": 0}
ROW = {"paper": "C: D (1999)", "oracles": {"one": 2.2e-16, "another": 0.0}, **COUNTS}


def test_all_pages_are_near_their_oracles_and_no_mutant_survives_without_a_reason() -> None:
    rows = proof.recorded()["values"]["pages"]
    assert rows
    for row in rows.values():
        assert max(row["oracles"].values()) < proof.NEAR
        assert row["made"] == row["killed"] + row["equivalent"] > 0


def test_a_row_is_about_the_page_and_the_test_of_today(tmp_path: Path) -> None:
    settings = (
        '[tool.literate]\nsources = { labml_nn = "" }\nlessons = { pages = ["labml_nn/*"] }\n'
    )
    pages = dict.fromkeys(("labml_nn/with.py", "labml_nn/without.py"), PAGE)
    tests = {"tests/labml_nn/test_with.py": TEST, "tests/labml_nn/test_without.py": "ORACLE = 1\n"}
    write(tmp_path, pages | tests | {"pyproject.toml": settings})
    page = Path("labml_nn/with.py")
    assert proof.paper_of(tmp_path / page) == {"title": "C: D", "year": 1999}
    for changed in proof.sources(page):
        assert proof.stale(tmp_path) == [page]
        known = {one: proof.definitions(tmp_path / one) for one in proof.sources(page)}
        proof.save({"with": ROW, "gone": ROW}, known, tmp_path)
        assert proof.stale(tmp_path) == []
        (tmp_path / changed).write_text(f"{(tmp_path / changed).read_text()}ONE = 1\n")
    assert proof.stale(tmp_path) == [page]
    # What no run can tell is no change: the name of a local variable, a note.
    code = "def f(x):\n    {0} = x + 1\n    return {0}\n"
    (tmp_path / page).write_text(PAGE + code.format("y"))
    known = {one: proof.definitions(tmp_path / one) for one in proof.sources(page)}
    proof.save({"with": ROW}, known, tmp_path)
    (tmp_path / page).write_text(PAGE + code.format("other"))
    assert proof.stale(tmp_path) == []
    for changed in (code.replace("1", "2"), "from math import pi as f\n"):
        (tmp_path / page).write_text(PAGE + changed.format("y"))
        assert proof.stale(tmp_path) == [page]
    (tmp_path / page).write_text(PAGE + code.format("y"))
    result = proof.recorded(tmp_path)
    (row,) = result["tables"]["proof"]["rows"]
    facts = {"page": "with", "paper": "C: D (1999)", "oracles": "one; another"}
    assert row == {**facts, "difference": "2e−16", **COUNTS}
    assert result["values"]["total"] == {"pages": 1, "largest": "2e−16", **COUNTS}
    assert proof.shown(0.0) == "0"
