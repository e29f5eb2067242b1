r"""The style sheet of the pages is written in parts, and reaches a browser as one file."""

from literate.page.scripts import SHEET, joined


def test_the_style_sheet_has_each_of_its_parts_once() -> None:
    whole = joined(SHEET)
    parts = [path.read_text(encoding="utf-8") for path in sorted(SHEET.with_suffix("").iterdir())]
    assert [whole.count(part) for part in parts] == [1] * len(parts)
    assert len(whole) == sum(map(len, parts)) + len(parts) - 1
    assert "@import" not in whole
