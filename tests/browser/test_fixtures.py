r"""The watched page notices what it is there to notice."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser

from tests.browser.conftest import complaints_of

FAULTS = """<!doctype html><link rel=icon href=data:,><title>t</title><p>Text</p>
<script>undefinedName()</script><script>console.error('seen')</script>
<img src='missing.png'><img src='http://elsewhere.example/a.png'>"""


def test_a_page_with_faults_is_complained_of(
    browser: Browser, serve: Callable[[Path], str], tmp_path: Path
) -> None:
    (tmp_path / "index.html").write_text(FAULTS)
    with browser.new_context() as context:
        page = context.new_page()
        complaints = complaints_of(page)
        page.goto(serve(tmp_path), wait_until="networkidle")
    found = [
        "script: undefinedName is not defined",
        "console: seen",
        "answer 404: ",
        "request to another machine: ",
    ]
    assert [one for one in found if not any(said.startswith(one) for said in complaints)] == []
