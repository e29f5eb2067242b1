r"""A page that is nowhere in the navigation is named before a site is built."""

from pathlib import Path

import pytest

from literate.engines.navigation import missing_features, problems
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


@pytest.mark.parametrize(
    ("chosen", "pages", "missing"),
    [
        ([], 50, ["toc.integrate"]),
        ([], 51, ["navigation.prune", "toc.integrate"]),
        (["navigation.prune", "toc.integrate"], 51, []),
        # What its author has chosen instead, and what Material can't do together.
        (["navigation.expand", "toc.follow"], 51, []),
        (["navigation.indexes"], 1, []),
    ],
)
def test_material_does_what_no_project_has_to_say(
    chosen: list[str], pages: int, missing: list[str]
) -> None:
    assert missing_features(chosen, pages) == missing
