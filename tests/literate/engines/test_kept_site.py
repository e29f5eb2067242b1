r"""The site that stands while another one is built."""

from pathlib import Path

from literate.engines.kept_site import KeptSite
from tests.literate.projects import contents, write


def test_a_folder_of_the_author_is_not_taken_for_the_site_that_was_put_aside(
    tmp_path: Path,
) -> None:
    write(tmp_path, {"site/index.html": "new", "site_before/index.html": "mine"})
    before = contents(tmp_path)
    kept_site = KeptSite()
    kept_site.put_back(tmp_path / "site")
    assert contents(tmp_path) == before
