r"""The whole website, as files: every link leads somewhere, nothing comes from another host."""

import subprocess
import sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from literate.settings import load
from literate.site import load as load_site
from literate.site import measurements


class Document(HTMLParser):
    r"""The ids, the links, what is loaded, and the link to the next page."""

    # What a browser loads by itself.
    LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src"}

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.next = ""
        self.headings = 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.ids += [values["id"]] if "id" in values else []
        self.headings += tag == "h1"
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
            if "md-footer__link--next" in values.get("class", ""):
                self.next = values["href"]
        if tag in self.LOADED and self.LOADED[tag] in values:
            self.loaded.append(values[self.LOADED[tag]])
        if tag == "link" and values.get("rel") in ("stylesheet", "icon", "preload", "preconnect"):
            self.loaded.append(values["href"])


@pytest.fixture(scope="module")
def documents(site: Path) -> dict[str, Document]:
    pages = sorted(path for path in site.rglob("*.html") if path.name != "404.html")
    return {path.relative_to(site).as_posix(): Document(path) for path in pages}


def target(page: str, link: str) -> str:
    r"""The file that a link leads to, from the root of the site."""
    path = unquote(urlsplit(link).path)
    joined = Path("/", Path(page).parent, path) if path else Path("/", page)
    parts: list[str] = []
    for part in joined.parts[1:]:
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    whole = "/".join(parts)
    return f"{whole}/index.html".lstrip("/") if path.endswith(("/", ".")) or not whole else whole


def is_elsewhere(link: str) -> bool:
    return bool(urlsplit(link).scheme or urlsplit(link).netloc)


def test_every_source_has_its_page(documents: dict[str, Document], repository: Path) -> None:
    uris = load_site(load(repository)).uris.values()
    assert len(uris) > 15
    for uri in uris:
        page = uri.removesuffix("index.md").removesuffix(".md").rstrip("/")
        assert f"{page}/index.html".lstrip("/") in documents


def test_every_link_leads_to_a_file_and_an_anchor(
    site: Path, documents: dict[str, Document]
) -> None:
    checked = 0
    for page, document in documents.items():
        for link in document.links:
            if is_elsewhere(link):
                continue
            file = target(page, link)
            assert (site / file).is_file(), f"{page} links to {link}"
            anchor = unquote(urlsplit(link).fragment)
            # The theme's own anchors: the tabs of an index, the top of the page.
            if anchor and file in documents and not anchor.startswith("__"):
                assert anchor in documents[file].ids, f"{page} links to {link}"
            checked += 1
    assert checked > 1000


def test_no_id_stands_twice_on_a_page_and_each_has_one_title(
    documents: dict[str, Document],
) -> None:
    for page, document in documents.items():
        twice = {one for one in document.ids if document.ids.count(one) > 1}
        assert twice == set(), page
        assert document.headings == 1, page


def test_nothing_is_loaded_from_another_host(site: Path, documents: dict[str, Document]) -> None:
    for page, document in documents.items():
        for address in document.loaded:
            assert not is_elsewhere(address), f"{page} loads {address}"
            assert (site / target(page, address)).is_file(), f"{page} loads {address}"


def test_the_pages_follow_each_other_in_reading_order(documents: dict[str, Document]) -> None:
    page, order = "index.html", ["index.html"]
    while documents[page].next:
        page = target(page, documents[page].next)
        order.append(page)
    assert sorted(order) == sorted(documents)
    assert order[:3] == ["index.html", "transformers/index.html", "transformers/mha/index.html"]


def test_the_site_map_names_the_pages(site: Path, documents: dict[str, Document]) -> None:
    namespace = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
    entries = ET.parse(site / "sitemap.xml").getroot().findall(f"{namespace}url")
    assert len(entries) in (0, len(documents))


def test_every_page_with_code_of_tensors_is_measured(repository: Path) -> None:
    loaded = load_site(load(repository))
    measured = measurements(loaded, loaded.sources.values(), lambda line: None)
    models = [path for path in loaded.sources if path.startswith("labml_nn/transformers/")]
    unmeasured = [path for path in models if path not in measured and "__init__" not in path]
    assert unmeasured == []


def test_the_commands_explain_themselves(repository: Path) -> None:
    names = ["check", "measure", "write", "notebooks", "snippet", "lighten", "policy"]
    for command in [[], *([name] for name in names)]:
        asked = subprocess.run(
            [sys.executable, "-m", "literate", *command, "--help"],
            cwd=repository,
            capture_output=True,
            text=True,
            check=True,
        )
        assert asked.stdout.startswith("usage: python -m literate")
    wrong = subprocess.run(
        [sys.executable, "-m", "literate", "no-such-command"],
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )
    assert wrong.returncode == 2
    assert all(f"'{name}'" in wrong.stderr for name in names)
