r"""The whole website, as files: every link leads somewhere, nothing comes from another host."""

import json
import os
import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from literate.page.head import resource_of
from literate.settings import load
from literate.site import load as load_site
from literate.site import measurements
from tests.conftest import SITE_URL
from tests.literate.projects import run, succeed
from tests.literate.shown import Shown


class Document:
    r"""The ids, the links, what is loaded, the link to the next page, what it says of itself."""

    def __init__(self, path: Path) -> None:
        page = Shown(path.read_text(encoding="utf-8"))
        self.ids = page.values("id")
        self.links = page.values("href", ".//a")
        self.headings = len(page.texts(".//h1"))
        self.next = "".join(page.values("href", ".//link[@rel='next']"))
        # At the foot of the page; that of a step of the course leads to the next step.
        onward = [one for one in page.all.iter("a") if "--next" in one.get("class", "")]
        self.onward = onward[0].attrib["href"] if onward else ""
        self.canonical = page.values("href", ".//link[@rel='canonical']")
        # What a browser loads by itself.
        self.loaded = [
            *(one for tag in ("script", "img", "iframe", "source", "video")
              for one in page.values("src", f".//{tag}")),
            *(one for kind in ("stylesheet", "icon", "preload", "preconnect")
              for one in page.values("href", f".//link[@rel='{kind}']")),
        ]  # fmt: skip
        self.stated: dict[str, list[str]] = {}
        for one in page.all.iter("meta"):
            name = one.get("property") or one.get("name", "")
            self.stated.setdefault(name, []).append(one.get("content", ""))


def documents_of(site: Path) -> dict[str, Document]:
    r"""The pages of a site, by their files."""
    pages = sorted(path for path in site.rglob("*.html") if path.name != "404.html")
    return {path.relative_to(site).as_posix(): Document(path) for path in pages}


@pytest.fixture(scope="module")
def documents(site: Path) -> dict[str, Document]:
    return documents_of(site)


def target(page: str, link: str) -> str:
    r"""The file that a link leads to, from the root of the site."""
    path = unquote(urlsplit(link).path)
    whole = os.path.normpath(Path("/", Path(page).parent, path) if path else f"/{page}")[1:]
    return f"{whole}/index.html".lstrip("/") if path.endswith(("/", ".")) or not whole else whole


def address_of(page: str) -> str:
    return SITE_URL + page.removesuffix("index.html")


def is_elsewhere(link: str) -> bool:
    return bool(urlsplit(link).scheme or urlsplit(link).netloc)


def dead_links(site: Path, documents: dict[str, Document]) -> list[str]:
    r"""The links to no file, or to no anchor in it."""
    dead = []
    for page, document in documents.items():
        for link in document.links:
            file, anchor = target(page, link), unquote(urlsplit(link).fragment)
            # The theme's own anchors: the tabs of an index, the top of the page.
            theirs = anchor.startswith("__") or file not in documents
            found = not anchor or theirs or anchor in documents[file].ids
            if not is_elsewhere(link) and not ((site / file).is_file() and found):
                dead.append(f"{page} links to {link}")
    return dead


def test_every_link_leads_to_a_file_and_an_anchor_and_nothing_is_loaded_from_another_host(
    site: Path, documents: dict[str, Document]
) -> None:
    assert dead_links(site, documents) == []
    assert sum(len(document.links) for document in documents.values()) > 1000
    for page, document in documents.items():
        assert len(set(document.ids)) == len(document.ids), page
        assert document.headings == 1, page
        for address in document.loaded:
            assert not is_elsewhere(address), f"{page} loads {address}"
            assert (site / target(page, address)).is_file(), f"{page} loads {address}"


# Each is a page.
STEPS_OF_COURSE = (
    "training/data",
    "training/counting",
    "training/loop",
    "course/one_attention",
    "transformers/ways/one_head_at_a_time",
    "transformers/positional_encoding",
    "transformers/mha",
    "transformers/feed_forward",
    "transformers/models",
    "transformers/basic/autoregressive_experiment",
    "transformers/kv_cache",
    "transformers/modern/model",
)


def test_every_source_has_a_page_and_they_follow_each_other_in_reading_order(
    documents: dict[str, Document], repository: Path
) -> None:
    for uri in load_site(load(repository)).uris.values():
        page = uri.removesuffix("index.md").removesuffix(".md").rstrip("/")
        assert f"{page}/index.html".lstrip("/") in documents
    page, order = "index.html", ["index.html"]
    while documents[page].next:
        page = target(page, documents[page].next)
        order.append(page)
    # Links to it lead to the page of a result.
    aside = [one for one in documents if re.fullmatch(r"results/[^/]+/index\.html", one)]
    assert sorted([*order, *aside]) == sorted(documents)
    basics = ["", "autograd/", "autograd_experiment/", "strides/", "byte_pairs/"]
    first = ["", "course/", *(f"basics/{one}" for one in basics)]
    # Then the steps of the course, as its page lists them, and what has all of them at once.
    first += [f"{one}/" for one in STEPS_OF_COURSE]
    first += [f"course/{one}/" for one in ("steps", "experiment", "train_here")] + ["transformers/"]
    assert order[: len(first)] == [f"{one}index.html" for one in first]


def test_the_foot_of_a_step_leads_to_the_next_step_and_of_another_page_to_the_next_page(
    documents: dict[str, Document],
) -> None:
    steps = dict(pairwise(STEPS_OF_COURSE))
    for page, document in documents.items():
        if page.removesuffix("/index.html") in steps:
            onward = f"{steps[page.removesuffix('/index.html')]}/index.html"
            assert target(page, urlsplit(document.onward).path) == onward
        else:
            assert document.onward == document.next
    # After the last one come the doors to what is next.
    last = documents[f"{STEPS_OF_COURSE[-1]}/index.html"]
    assert any(link.endswith("course/#step-12") for link in last.links)


def test_the_site_map_names_each_page_once_and_nothing_else(
    site: Path, documents: dict[str, Document]
) -> None:
    names = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
    root = ET.parse(site / "sitemap.xml").getroot()
    assert {one.tag for one in root.iter()} == {f"{names}{tag}" for tag in ("urlset", "url", "loc")}
    named = [one.text for one in root.iterfind(f"{names}url/{names}loc")]
    assert sorted(named) == sorted(map(address_of, documents))


def test_every_page_has_a_card_in_words_of_its_own(
    site: Path, documents: dict[str, Document]
) -> None:
    said: list[str] = []
    for page, document in documents.items():
        stated = {name: values[0] for name, values in document.stated.items() if len(values) == 1}
        said += [stated["og:title"], stated["description"]]
        assert 10 < len(stated["description"]) < 200, page
        assert [stated["og:url"]] == document.canonical == [address_of(page)]
        assert stated["og:type"] == ("website" if page == "index.html" else "article")
        assert stated["og:description"] == stated["description"]
        assert stated["og:image:alt"] == f"{stated['og:title']}: {stated['description']}"
        assert stated["twitter:card"] == "summary_large_image"
        # A page of a source has a picture of its own, and every picture the size that is stated.
        picture = site / stated["og:image"].removeprefix(SITE_URL)
        own = "application/ld+json" in (site / page).read_text(encoding="utf-8")
        assert picture == (
            (site / page).with_name("share.png") if own else site / "images/page.png"
        )
        header = picture.read_bytes()[16:24]
        named = stated["og:image:width"], stated["og:image:height"]
        assert named == tuple(str(int.from_bytes(header[at : at + 4])) for at in (0, 4)), page
        assert picture.stat().st_size < 30_000 or not own
    assert {one for one in said if said.count(one) > 1} == set()
    # What is no page is not to be found.
    missing = Document(site / "404.html")
    assert missing.canonical == [] and "og:url" not in missing.stated


def test_a_page_says_what_it_teaches_and_from_which_paper(site: Path) -> None:
    page = (site / "transformers/mha/index.html").read_text(encoding="utf-8")
    (text,) = re.findall(r'(?s)<script type="application/ld\+json">(.*?)</script>', page)
    said = json.loads(text)
    assert (said["@type"], said["name"]) == ("LearningResource", "Multi-Head Attention")
    assert said["citation"]["url"] == "https://arxiv.org/abs/1706.03762"
    # What has no paper is about none.
    assert "citation" not in json.loads(json.loads(resource_of("</script>", "A page", {})))
    assert "<" not in resource_of("</script>", "A page", {})


def test_every_page_with_code_of_tensors_is_measured(repository: Path) -> None:
    loaded = load_site(load(repository))
    measured, _ = measurements(loaded, loaded.sources.values(), lambda line: None)
    unmeasured = [
        path
        for path in loaded.sources.keys() - measured
        if path.startswith(("labml_nn/transformers/", "wrongline/"))
        and "Tensor" in (repository / path).read_text(encoding="utf-8")
        # What labml runs is told to it by options, and has no example.
        and not path.endswith(("__init__.py", "labml_experiment.py", "wrongline/command.py"))
    ]
    assert unmeasured == []


def test_the_commands_explain_themselves(repository: Path) -> None:
    commands = [
        "new",
        "check",
        "measure",
        "count",
        "reasons",
        "write",
        "zensical",
        "notebooks",
        "snippet",
    ]
    for command in [[], *([one] for one in commands)]:
        asked = succeed(repository, "literate", *command, "--help")
        assert asked.startswith("Usage: python -m literate")
    wrong = run(repository, "literate", "no-such-command")
    assert wrong.returncode == 2
    assert "No such command 'no-such-command'" in wrong.stderr


def test_a_served_notebook_leads_to_the_pages_that_it_is_made_from(site: Path) -> None:
    text = (site / "notebooks" / "transformers" / "mha.ipynb").read_text(encoding="utf-8")
    links = set(re.findall(rf"\]\({re.escape(SITE_URL)}([^)]*)\)", text))
    # Its own page, a page below its heading for what follows, and one that a note links.
    assert {"transformers/mha/", "training/loop/", "training/data/"} <= links
    for link in links:
        path, _, anchor = link.partition("#")
        page = Document(site / path / "index.html")
        assert not anchor or anchor in page.ids, link
