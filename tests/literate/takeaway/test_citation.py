r"""How a page is cited, and the feed of new pages."""

import subprocess
from pathlib import Path
from xml.etree import ElementTree

from literate.page.page import Page
from literate.takeaway.citation import of_page, project
from literate.takeaway.feed import days, feed

ABOUT = {
    "title": "A & B",
    "version": "1.2",
    "authors": [{"family-names": "Doe", "given-names": "Jo"}, {"name": "The authors"}],
}
ATOM = "{http://www.w3.org/2005/Atom}"


def test_the_entry_of_a_page_names_authors_site_version_and_address(tmp_path: Path) -> None:
    assert of_page("50 % of_it", "https://a.org/b/", ABOUT) == (
        "@misc{50-of-it,\n"
        "  author = {Doe, Jo and {The authors}},\n"
        "  title = {50 \\% of\\_it},\n"
        "  howpublished = {A \\& B, version 1.2},\n"
        "  url = {https://a.org/b/},\n}\n"
    )
    assert "url" not in of_page("A", "", ABOUT)
    # A project that doesn't ask to be cited has none.
    assert of_page("A", "https://a.org/", project(tmp_path)) == ""


def test_the_feed_has_the_newest_pages_first(tmp_path: Path) -> None:
    pages = [Page(f"p/{name}.md", f"<{name}>", f"{name} & more", "", {}, ()) for name in "abc"]
    paths = {one.uri: one.uri.replace(".md", ".py") for one in pages}
    came = {"p/a.py": "2026-01-03T00:00:00+00:00", "p/b.py": "2026-02-01T00:00:00+00:00"}
    root = ElementTree.fromstring(feed(pages, paths, came, "https://a.org/s", "Site"))
    entries = root.findall(f"{ATOM}entry")
    assert [one.findtext(f"{ATOM}title") for one in entries] == ["<b>", "<a>"]
    assert entries[0].findtext(f"{ATOM}id") == "https://a.org/s/p/b/"
    assert root.findtext(f"{ATOM}title") == "Site"
    assert root.findtext(f"{ATOM}updated") == came["p/b.py"]
    # Nothing is known of the days, or of the address.
    assert feed(pages, paths, {}, "https://a.org/s", "") == feed(pages, paths, came, "", "") == ""


def test_a_page_is_as_old_as_the_commit_that_brought_it(tmp_path: Path) -> None:
    assert days(tmp_path) == {}
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")

    def git(*command: str, when: str = "") -> None:
        told = {"GIT_COMMITTER_DATE": when, "PATH": "/usr/bin:/bin:/usr/local/bin"}
        subprocess.run(["git", *who, *command], cwd=tmp_path, check=True, env=told)

    git("init", "-q")
    for number, text in enumerate(("1", "2"), start=1):
        (tmp_path / "a.py").write_text(text, encoding="utf-8")
        (tmp_path / f"new{number}.py").write_text(text, encoding="utf-8")
        git("add", ".")
        git("commit", "-q", "-m", text, when=f"2026-0{number}-05T00:00:00+00:00")
    # A file that is moved comes to its place on that day, and its name may have any letters.
    (tmp_path / "new2.py").rename(tmp_path / "caf\N{LATIN SMALL LETTER E WITH ACUTE}.py")
    git("add", "--all")
    git("commit", "-q", "-m", "3", when="2026-03-05T00:00:00+00:00")
    found = {name: when[:10] for name, when in days(tmp_path).items()}
    first, second, third = "2026-01-05", "2026-02-05", "2026-03-05"
    assert found == {"a.py": first, "new1.py": first, "new2.py": second, "café.py": third}
