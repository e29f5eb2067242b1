r"""The watched page notices what it is there to notice."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import complaints_of


@pytest.mark.parametrize(
    ("element", "complaint"),
    [
        ("<script>undefinedName()</script>", "script: undefinedName is not defined"),
        ("<script>console.error('seen')</script>", "console: seen"),
        ("<img src='missing.png'>", "answer 404: "),
        ("<img src='http://elsewhere.example/a.png'>", "request to another machine: "),
    ],
    ids=["script", "console", "missing", "elsewhere"],
)
def test_a_page_with_a_fault_is_complained_of(
    element: str,
    complaint: str,
    browser: Browser,
    serve: Callable[[Path], str],
    tmp_path: Path,
) -> None:
    (tmp_path / "index.html").write_text(
        f"<!doctype html><link rel=icon href=data:,><title>t</title><p>Text</p>{element}"
    )
    with browser.new_context() as context:
        page = context.new_page()
        complaints = complaints_of(page)
        page.goto(serve(tmp_path), wait_until="networkidle")
    assert any(one.startswith(complaint) for one in complaints), complaints
