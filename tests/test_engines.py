r"""Both engines build the same site: every page, all rows, formulas and links."""

import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from literate.takeaway.repository import address
from tests.conftest import SITE_URL
from tests.test_repository import files
from tests.test_site import dead_links, documents_of, is_elsewhere, target

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}


@dataclass
class Row:
    r"""What a reader gets of a row, without what an engine may do its own way."""

    texts: list[str] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)
    shapes: list[str] = field(default_factory=list)
    headings: list[tuple[str, str]] = field(default_factory=list)
    formulas: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)


class Rows(HTMLParser):
    r"""The rows of a page, and the headings of all of it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.rows: list[Row] = []
        self.titles: list[str] = []
        self._open: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        classes = values.get("class", "").split()
        if tag == "section" and "row" in classes:
            self.rows.append(Row())
        mark = "row" if tag == "section" and "row" in classes else tag
        self._open += [] if tag in VOID else ["headerlink" if "headerlink" in classes else mark]
        if "row" not in self._open or "headerlink" in classes:
            return
        row = self.rows[-1]
        row.numbers += [values["data-line"]] if "data-line" in values else []
        row.shapes += [values["data-shape"]] if "data-shape" in values else []
        row.links += [values["href"]] if "href" in values else []
        if tag in ("h2", "h3", "h4"):
            row.headings.append((tag, values.get("id", "")))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if "h1" in self._open and "headerlink" not in self._open:
            self.titles.append(data)
        if "row" not in self._open or "headerlink" in self._open:
            return
        self.rows[-1].texts.append(data)
        if self._open[-1] == "annotation":
            self.rows[-1].formulas.append(data)


@pytest.fixture(scope="module")
def other(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    r"""The site as `make site ENGINE=zensical` builds it."""
    folder = tmp_path_factory.mktemp("zensical") / "site"
    built = subprocess.run(
        [sys.executable, "-m", "literate", "zensical", "--site-dir", str(folder)],
        cwd=repository,
        env={**os.environ, "SITE_URL": SITE_URL},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def pages(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.html"))


def led(page: str, links: list[str]) -> list[tuple[str, str]]:
    r"""Where links lead: `./#a` and `../b/#a`, on the page `b/`, are two ways to one place."""
    return [
        (link if is_elsewhere(link) else target(page, link), urlsplit(link).fragment)
        for link in links
    ]


def test_both_engines_build_the_same_pages(site: Path, other: Path) -> None:
    assert pages(site) == pages(other)
    assert len(pages(site)) > 50


def test_the_rows_of_both_engines_are_the_same(site: Path, other: Path) -> None:
    totals = Row()
    for page in pages(site):
        ours, theirs = Rows(site / page), Rows(other / page)
        assert ours.titles == theirs.titles, page
        assert len(ours.rows) == len(theirs.rows), page
        for one, two in zip(ours.rows, theirs.rows, strict=True):
            # They differ in the white space between elements.
            assert "".join("".join(one.texts).split()) == "".join("".join(two.texts).split())
            assert (one.numbers, one.shapes) == (two.numbers, two.shapes), page
            assert (one.headings, one.formulas) == (two.headings, two.formulas), page
            assert led(page, one.links) == led(page, two.links), page
            totals.numbers += one.numbers
            totals.shapes += one.shapes
            totals.headings += one.headings
            totals.formulas += one.formulas
            totals.links += one.links
    # There was something to compare.
    assert len(totals.numbers) > 3000
    assert len(totals.shapes) > 100
    assert len(totals.formulas) > 20
    assert ("h3", "MultiHeadAttention.forward") in totals.headings
    assert len([link for link in totals.links if not link.startswith("#L")]) > 500


def test_the_other_engine_s_links_lead_to_files_and_anchors(other: Path) -> None:
    documents = documents_of(other)
    assert dead_links(other, documents) == []
    assert sum(len(document.links) for document in documents.values()) > 1000


def test_both_engines_say_the_same_of_a_page(site: Path, other: Path) -> None:
    ours, theirs = documents_of(site), documents_of(other)
    for page, document in ours.items():
        assert document.canonical == theirs[page].canonical
        for name in ("description", *(one for one in document.stated if one.startswith("og:"))):
            assert document.stated[name] == theirs[page].stated[name], page


def test_both_site_maps_name_the_same_pages(site: Path, other: Path) -> None:
    maps = [(folder / "sitemap.xml").read_text(encoding="utf-8") for folder in (site, other)]
    assert len({tuple(sorted(one.splitlines())) for one in maps}) == 1


@pytest.fixture(scope="module")
def copy(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    r"""The repository in another folder, at another depth, with what was measured in the first."""
    folder = tmp_path_factory.mktemp("copy") / "a folder" / "within" / "another"
    for path in files():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(repository / path, folder / path)
    (folder / "node_modules").symlink_to(repository / "node_modules")
    kept = shutil.ignore_patterns("zensical")
    shutil.copytree(repository / ".cache/literate", folder / ".cache/literate", ignore=kept)
    return folder


@pytest.mark.parametrize(
    ("engine", "first"),
    [(["mkdocs", "build", "--strict"], "site"), (["literate", "zensical"], "other")],
    ids=["mkdocs", "zensical"],
)
def test_in_another_folder_on_another_day_the_same_bytes_are_built(
    engine: list[str], first: str, copy: Path, repository: Path, request: pytest.FixtureRequest
) -> None:
    before: Path = request.getfixturevalue(first)
    built = subprocess.run(
        [sys.executable, "-m", *engine, "--site-dir", str(copy.parent / first)],
        cwd=copy,
        env={
            **os.environ,
            "PYTHONPATH": str(copy),
            "NO_MKDOCS_2_WARNING": "1",
            "SITE_URL": SITE_URL,
            "REPOSITORY_URL": address(repository) or "",
            "SOURCE_DATE_EPOCH": "86400",
            "TZ": "Asia/Tokyo",
            "PYTHONHASHSEED": "3",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    assert "measured" not in built.stderr
    assert contents(copy.parent / first) == contents(before)


def contents(folder: Path) -> dict[str, str]:
    r"""A hash of each file, by its path."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }
