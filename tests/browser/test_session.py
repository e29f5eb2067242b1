r"""A session of Python in somebody's docstring: what is copied runs."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.literate.projects import KATEX, succeed, write

SESSION = '''"""# Doubling

>>> def double(value):
...     if value is None:
...         return 0
...
...     return 2 * value
...
>>> double(4)
8
>>> print("two\\\\nlines")
two
lines
>>> double("a" * 2,
...        1)
Traceback (most recent call last):
    ...
TypeError: double() takes 1 positional argument but 2 were given
"""
'''
TYPED = """def double(value):
    if value is None:
        return 0
    return 2 * value
double(4)
print("two\\nlines")
double("a" * 2,
       1)
"""


def test_the_button_of_a_session_copies_what_was_typed(
    browser: Browser, serve: Callable[[Path], str], tmp_path: Path
) -> None:
    files = {
        "pyproject.toml": f'[tool.literate]\nsources = {{ pkg = "" }}\nkatex = "{KATEX}"\n'
        "strict = false\n",
        "mkdocs.yml": "site_name: Case\ntheme: { name: material, font: false }\n"
        "plugins: [literate]\n",
        "docs/.keep": "",
        "pkg/__init__.py": SESSION,
    }
    write(tmp_path, files)
    succeed(tmp_path, "mkdocs", "build")
    with browser.new_context(permissions=["clipboard-read", "clipboard-write"]) as context:
        page = context.new_page()
        page.goto(serve(tmp_path / "site"))
        button = page.get_by_role("button", name="Copy without prompts")
        button.click()
        expect(button).not_to_have_text("Copy")
        assert page.evaluate("navigator.clipboard.readText()") == TYPED
        # And what is selected by hand has no prompts either.
        page.evaluate(
            "getSelection().selectAllChildren(document.querySelector('.note code.block'))"
        )
        assert ">>>" not in page.evaluate("getSelection().toString()")
