r"""While a site is served: pages that nothing has changed are taken as they are."""

from pathlib import Path

import pytest

from literate import settings, site
from literate.page import kept_pages
from literate.page.page import Page
from literate.problems import LiterateError
from tests.literate.projects import SETTINGS, write

FILES = {
    "pyproject.toml": SETTINGS,
    "pkg/__init__.py": 'r"""\n# Start\n\nSee [twice](a.py#twice).\n"""\n',
    "pkg/a.py": 'r"""\n# A\n\nIt doubles.\n"""\n\n\ndef twice(x):\n    r"""\n    ## Twice\n'
    '    """\n    return 2 * x\n',
    "pkg/b.py": 'r"""\n# B\n\nIt uses the other.\n"""\n\nfrom pkg.a import twice\n\n'
    "four = twice(2)\n",
    "pkg/c.py": 'r"""\n# C\n\nIt is alone.\n"""\n\none = 1\n',
}


@pytest.mark.parametrize(
    ("path", "old", "new", "written"),
    [
        ("pkg/c.py", "alone", "on its own", {"pkg/c.py"}),
        # The page whose definition is used says on which line.
        ("pkg/b.py", "other.\n", "other.\n\nTwice.\n", {"pkg/a.py", "pkg/b.py"}),
        # Pages link to the definition, and name it.
        ("pkg/a.py", "    return", "    # Again.\n    return", {"pkg/a.py"}),
        ("pkg/a.py", "It doubles", "x = 1\n\nIt doubles", {"pkg/a.py"}),
        # The page that uses the definition calls its page by the title.
        ("pkg/a.py", "# A", "# Two", {"pkg/a.py", "pkg/b.py"}),
    ],
    ids=["alone", "a user", "a comment", "a note", "a title"],
)
def test_only_pages_that_have_changed_are_written_again(
    tmp_path: Path, path: str, old: str, new: str, written: set[str]
) -> None:
    write(tmp_path, FILES)
    known = settings.load(tmp_path)
    left = kept_pages.nothing(known)

    def build() -> dict[str, object]:
        site.correct_pages(site.load(known, left.sources), print, left)
        return {name: page for name, (_, _, page) in left.pages.items()}

    first = build()
    assert build() == first and len(first) == 4
    file = tmp_path / path
    file.write_text(FILES[path].replace(old, new))
    second = build()
    assert {name for name, page in second.items() if page is not first[name]} == written
    # A link to what is no longer there is a problem of the other page.
    (tmp_path / "pkg/a.py").write_text(FILES["pkg/a.py"].replace("twice", "double"))
    (tmp_path / "pkg/b.py").write_text(FILES["pkg/c.py"].replace("C", "B"))
    with pytest.raises(LiterateError, match="no `twice` there"):
        build()


def test_a_page_keeps_its_graph_until_there_is_a_new_one() -> None:
    left = kept_pages.KeptPages(None)
    page = Page("a.md", "A", "", "# A", {}, ())
    left.pages["a.py"] = "text", "graph", page
    assert left.page("a.py", "text", "graph") is page
    assert left.page("a.py", "text", None) is page
    assert left.page("a.py", "text", "another graph") is None
    assert left.page("a.py", "another text", None) is None
    # It was written when there was none.
    left.pages["a.py"] = "text", None, page
    assert left.page("a.py", "text", None) is page
    assert left.page("a.py", "text", "graph") is None
