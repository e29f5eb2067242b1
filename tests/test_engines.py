r"""Both engines build the same site: every page, all rows, formulas and links."""

import shutil
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from filelock import FileLock

from literate.takeaway.feed import FEED
from literate.takeaway.repository import address
from tests.conftest import SITE_URL
from tests.literate.projects import ATTENTION, HOME, SETTINGS, contents, purge, succeed, write
from tests.literate.shown import Shown
from tests.test_repository import copied
from tests.test_site import dead_links, documents_of, is_elsewhere, target

# The attributes that a reader gets something of.
TOLD = ("data-line", "data-shape", "href")
HEADINGS = ("h2", "h3", "h4")


@pytest.fixture(scope="module")
def other(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    r"""
    The site as `make site ENGINE=zensical` builds it. Two processes that test at once wait for each
    other, because both would build in the same folder of the repository.
    """
    folder = tmp_path_factory.mktemp("zensical") / "site"
    with FileLock(tmp_path_factory.getbasetemp().parent / "zensical.lock"):
        succeed(repository, "literate", "zensical", "--site-dir", str(folder), SITE_URL=SITE_URL)
    purge(folder)
    return folder


def pages(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.html"))


def led(page: str, link: str) -> tuple[str, str]:
    r"""Where a link leads: `./#a` and `../b/#a`, on the page `b/`, are two ways to one place."""
    return link if is_elsewhere(link) else target(page, link), urlsplit(link).fragment


def rows(folder: Path, page: str) -> list[dict[str, list]]:
    r"""What a reader gets of each row, without what an engine may do its own way."""
    everything = Shown((folder / page).read_text(encoding="utf-8")).all
    for parent in everything.iter():
        for mark in parent.findall("a[@class='headerlink']"):
            parent.remove(mark)
    found = []
    for row in everything.iter("section"):
        if "row" in row.get("class", "").split():
            parts = list(row.iter())
            told = {key: [one.get(key) for one in parts if key in one.attrib] for key in TOLD}
            told["href"] = [led(page, link) for link in told["href"]]
            # They differ in the white space between elements.
            told["text"] = ["".join("".join(row.itertext()).split())]
            told["headings"] = [(one.tag, one.get("id")) for one in parts if one.tag in HEADINGS]
            told["formulas"] = [one.text for one in row.iter("annotation")]
            found.append(told)
    return found


@pytest.mark.whole
def test_the_rows_of_both_engines_are_the_same(site: Path, other: Path) -> None:
    assert pages(site) == pages(other)
    total = Counter()
    for page in pages(site):
        ours = rows(site, page)
        assert ours == rows(other, page), page
        for row in ours:
            total.update({name: len(all_of_it) for name, all_of_it in row.items()})
            total.update(row["headings"])
    # There was something to compare.
    assert total["data-line"] > 3000 and total["data-shape"] > 100 and total["formulas"] > 20
    assert total["href"] > total["data-line"] + 500
    assert ("h3", "MultiHeadAttention.forward") in total


@pytest.mark.whole
def test_both_engines_say_the_same_of_a_page_and_have_no_dead_links(
    site: Path, other: Path
) -> None:
    ours, theirs = documents_of(site), documents_of(other)
    for page, document in ours.items():
        assert document.canonical == theirs[page].canonical
        for name in ("description", *(one for one in document.stated if one.startswith("og:"))):
            assert document.stated[name] == theirs[page].stated[name], page
    assert dead_links(other, theirs) == []
    assert sum(len(document.links) for document in theirs.values()) > 1000
    maps = [(folder / "sitemap.xml").read_text(encoding="utf-8") for folder in (site, other)]
    assert len({tuple(sorted(one.splitlines())) for one in maps}) == 1


# Another day, another place, and another order of everything that has none.
ELSEWHERE = {"SOURCE_DATE_EPOCH": "86400", "TZ": "Asia/Tokyo", "PYTHONHASHSEED": "3"}
ENGINES = {
    "mkdocs": ("mkdocs", "build", "--strict"),
    "zensical": ("literate", "zensical"),
}

# A site with a page that is measured, a document, and a picture of its own for each page.
SMALL = """
site_name: Case
site_url: https://example.org/
theme: { name: material, font: false }
plugins: [literate]
markdown_extensions: [md_in_html]
nav: [index.md, attention.md, guide.md]
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    r"""A small site by each engine: here, and in another folder on another day."""
    built: dict[str, list[Path]] = {engine: [] for engine in ENGINES}
    for engine, command in ENGINES.items():
        root = tmp_path_factory.mktemp(engine)
        for name, variables in (("here", {}), ("a folder/within another", ELSEWHERE)):
            write(
                root / name,
                {
                    "pkg/__init__.py": HOME,
                    "pkg/attention.py": ATTENTION,
                    "docs/guide.md": "# Guide\n\nSee [scores](../pkg/attention.py#scores).\n",
                    "mkdocs.yml": SMALL,
                    "pyproject.toml": SETTINGS,
                },
            )
            succeed(root / name, *command, **variables)
            built[engine].append(root / name / "site")
    return built


@pytest.mark.parametrize("engine", ENGINES)
def test_a_small_site_has_the_same_bytes_in_another_folder_on_another_day(
    engine: str, small: dict[str, list[Path]]
) -> None:
    here, elsewhere = map(contents, small[engine])
    assert here == elsewhere
    assert "attention/index.html" in here


def test_a_small_site_is_the_same_by_both_engines(small: dict[str, list[Path]]) -> None:
    ours, theirs = (small[engine][0] for engine in ENGINES)
    assert pages(ours) == pages(theirs)
    for page in pages(ours):
        assert rows(ours, page) == rows(theirs, page), page
    shown = rows(ours, "attention/index.html")
    assert sum(len(row["data-line"]) for row in shown) == 8
    assert sum(len(row["data-shape"]) for row in shown) == 4
    said = [documents_of(one) for one in (ours, theirs)]
    for page, document in said[0].items():
        assert document.canonical == said[1][page].canonical
        assert document.stated["description"] == said[1][page].stated["description"]


@pytest.mark.whole
@pytest.mark.parametrize(("engine", "first"), [("mkdocs", "site"), ("zensical", "other")])
def test_in_another_folder_on_another_day_the_same_bytes_are_built(
    engine: str,
    first: str,
    repository: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    before: Path = request.getfixturevalue(first)
    # The repository in another folder, at another depth, with what was measured in the first.
    copy = tmp_path / "a folder" / "within" / "another"
    copied(copy)
    (copy / "node_modules").symlink_to(repository / "node_modules")
    kept = shutil.ignore_patterns("zensical")
    shutil.copytree(repository / ".cache/literate", copy / ".cache/literate", ignore=kept)
    variables = {
        **ELSEWHERE,
        "PYTHONPATH": str(copy),
        "SITE_URL": SITE_URL,
        "REPOSITORY_URL": address(repository) or "",
    }
    said = succeed(copy, *ENGINES[engine], "--site-dir", str(copy.parent / first), **variables)
    assert "measured" not in said
    purge(copy.parent / first)
    # The age of a page is in the history, which the copy has not.
    built = contents(before)
    built.pop(FEED, None)
    assert contents(copy.parent / first) == built
