r"""
What several pages say together. What each of them owes its reader is held by `literate check`, and
by every build of the site.
"""

import re
from pathlib import Path

from literate.reading.lessons import joined
from literate.reading.source import read

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "labml_nn").rglob("*.py"))


def test_a_line_of_a_program_of_the_course_has_one_idea() -> None:
    programs = sorted((ROOT / "docs/course").glob("*.py"))
    assert len(programs) > 10
    assert [path.name for path in programs if [*joined(read(path).tree)]] == []


def test_what_did_not_help_is_a_list_of_runs_that_pages_lead_to() -> None:
    text = (ROOT / "docs/what_did_not_help.md").read_text(encoding="utf-8")
    entries = re.split(r"(?m)^\d+\. ", text)[1:]
    assert entries
    assert [one for one in entries if "../results/" not in one] == []
    pages = {path: (ROOT / path).read_text(encoding="utf-8") for path in PAGES}
    linking = [path for path, page in pages.items() if "docs/what_did_not_help.md" in page]
    assert linking
    # A page that says to be in the list is in it.
    said = [path for path, page in pages.items() if "These are entries of [a list]" in page]
    assert [path for path in said if f"{path})" not in text and f"{path}#" not in text] == []
