r"""What programs read of a site."""

from pathlib import Path

from literate.page.links import Links
from literate.page.page import Page
from literate.takeaway.twin import guide


def test_a_package_without_results_is_not_said_to_have_numbers() -> None:
    home = Page(uri="index.md", title="A package", summary="", markdown="", files={}, problems=())
    said = guide([home], Links({}, {}, Path(), "docs"), "Site")
    assert said.startswith("# Site\n\nEach page is") and "number" not in said
