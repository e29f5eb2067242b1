r"""A page that is nowhere in the navigation is named before a site is built."""

from pathlib import Path

from literate.engines.navigation import problems
from tests.literate.projects import write

WARNED = "validation:\n  omitted_files: warn\n"
NAV = "nav:\n  - index.md\n  - Part:\n      - A page: deep/a.md\nextra: [b.md]\n"


def test_a_page_that_the_navigation_lacks_is_named_where_the_project_wants_that(
    tmp_path: Path,
) -> None:
    uris = ["index.md", "deep/a.md", "a.md", "b.md"]
    assert [*problems(tmp_path, uris)] == []
    for text in (NAV, WARNED):
        write(tmp_path, {"mkdocs.yml": text})
        assert [*problems(tmp_path, uris)] == []
    write(tmp_path, {"mkdocs.yml": WARNED + NAV})
    assert [str(one) for one in problems(tmp_path, uris)] == [
        f"mkdocs.yml:3: `nav` lacks a page: add the line `- {uri}` where it should be read."
        for uri in ("a.md", "b.md")
    ]
