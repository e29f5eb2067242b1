r"""Small sites built by Zensical: its settings, what stops it, what it leaves alone."""

import os
import re
from pathlib import Path

import pytest

from literate import settings, site
from literate.engines import zensical
from literate.problems import LiterateError
from tests.literate.projects import SETTINGS, contents, run, succeed, write

# What MkDocs says of a file that takes the place of another.
REPLACED = "error:To replace an existing file:DeprecationWarning"

HOME = '''r"""
---
title: Start & <b>
summary: Where "it" starts.
---

Read [other](other.py#double).
"""

from pkg.other import double


def four() -> int:
    return double(2)
'''

OTHER = '''r"""
# Other

Twice as much.
"""

from pkg import four


def double(number: int) -> int:
    r"""
    ## Double
    """
    return 2 * number
'''

MKDOCS = """
site_name: Case
site_url: !ENV [SITE_URL, ""]
theme: { name: material, font: false }
plugins: [literate]
markdown_extensions: [md_in_html]
nav: [index.md, other.md, news.md, guide.md]
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    files = {
        "pyproject.toml": SETTINGS + 'documents = { "NEWS.md" = "news.md" }\n',
        "mkdocs.yml": MKDOCS,
        "NEWS.md": "# News\n\nAbout [double](pkg/other.py#double).\n",
        "docs/guide.md": "# Guide\n\nSee [news](../NEWS.md), [start](../pkg/__init__.py).\n",
        "pkg/__init__.py": HOME,
        "pkg/other.py": OTHER,
    }
    write(tmp_path, files)
    monkeypatch.delenv("SITE_URL", raising=False)
    return tmp_path


def build(project: Path, *command: str) -> None:
    succeed(project, *(command or ("literate", "zensical")), PYTHONWARNINGS=REPLACED)


def pages(project: Path) -> dict[str, str]:
    r"""The pages of the site that was built."""
    site = project / "site"
    return {one.relative_to(site).as_posix(): one.read_text() for one in site.rglob("*.html")}


def derived(project: Path, text: str = MKDOCS) -> dict[str, object]:
    r"""What the settings for Zensical have otherwise."""
    (project / "mkdocs.yml").write_text(text)
    known = zensical.read(project / "mkdocs.yml")
    return zensical.derived(known, project, project / ".cache" / "z", 3)


@pytest.mark.parametrize("engine", [("literate", "zensical"), ("mkdocs", "build", "--strict")])
def test_only_with_an_address_a_site_has_a_map_and_it_is_escaped(
    project: Path, engine: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    build(project, *engine)
    found = pages(project)
    names = [f"{name}index.html" for name in ("", "other/", "news/", "guide/")]
    assert set(found) == {*names, "404.html"}
    assert not list((project / "site").glob("sitemap*"))
    assert not [text for text in found.values() if "canonical" in text or "og:" in text]
    assert "<title>Start &amp; &lt;b&gt; - Case</title>" in found["index.html"]
    assert 'content="Where &quot;it&quot; starts."' in found["index.html"]
    monkeypatch.setenv("SITE_URL", "https://example.org/a&b")
    build(project, *engine)
    places = (project / "site" / "sitemap.xml").read_text()
    assert places.count("<loc>https://example.org/a&amp;b/") == 4
    assert not (project / "site" / "sitemap.xml.gz").exists()
    home = pages(project)["index.html"]
    assert '<meta property="og:title" content="Start &amp; &lt;b&gt;">' in home
    assert '<meta property="og:description" content="Where &quot;it&quot; starts.">' in home


def test_the_settings_are_those_of_mkdocs_but_for_what_differs(project: Path) -> None:
    found = derived(project)
    # What pages need is added, but for what is named already.
    added = [{name: one} for name, one in site.EXTENSIONS.items() if name != "md_in_html"]
    assert found == {
        "INHERIT": "../../mkdocs.yml",
        "site_url": None,
        "theme": {
            "name": "material",
            "variant": "classic",
            "custom_dir": os.path.relpath(site.THEME, project / ".cache" / "z"),
            "features": ["toc.integrate"],
        },
        "plugins": [{"search": {"enabled": False}}],
        "markdown_extensions": added,
        "extra_css": list(site.SHEETS),
        "extra_javascript": list(site.SCRIPTS),
        "docs_dir": "docs",
        "site_dir": "site",
    }


def test_the_site_chooses_the_search_and_may_have_overrides_of_its_own(project: Path) -> None:
    found = derived(project, MKDOCS.replace("[literate]", "[search, literate]"))
    assert found["plugins"] == [{"search": {"enabled": True}}]
    tool = os.path.relpath(site.THEME, project / ".cache" / "z")
    themes = {"material": tool, "{ name: material, custom_dir: own }": "../../own"}
    for theme, custom in themes.items():
        found = derived(project, f"site_name: Case\ntheme: {theme}\n")["theme"]
        assert (found["variant"], found["custom_dir"]) == ("classic", custom)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("https://a.org/b/", "https://a.org/b/"),
        ("https://a.org/b", "https://a.org/b/"),
        ("!ENV SITE_URL", "https://c.org/"),
        ("!ENV [NOT_SET_AT_ALL, SITE_URL, https://d.org]", "https://c.org/"),
        ("!ENV [NOT_SET_AT_ALL, https://d.org]", "https://d.org/"),
        ('!ENV [NOT_SET_AT_ALL, ""]', None),
        ("!ENV NOT_SET_AT_ALL", None),
        ('""', None),
        ("", None),
    ],
)
def test_the_address_ends_with_a_slash_or_is_none(
    project: Path, monkeypatch: pytest.MonkeyPatch, value: str, expected: str | None
) -> None:
    monkeypatch.setenv("SITE_URL", "https://c.org")
    assert derived(project, f"site_name: Case\nsite_url: {value}\n").get("site_url") == expected


def test_a_site_that_fails_leaves_the_last_one_and_a_page_that_is_gone_is_gone(
    project: Path,
) -> None:
    build(project)
    before = pages(project)
    wrong = {
        "NEWS.md": "# News\n\nNew [part](#part-that-is-not).\n",
        "pkg/other.py": OTHER.replace("## Double", "# Double"),
    }
    said = [
        ["mkdocs.yml:1: Zensical did not build the site", "anchor does not exist", "news.md"],
        ["pkg/other.py:12: a heading of the first level"],
    ]
    for (path, text), words in zip(wrong.items(), said, strict=True):
        right = (project / path).read_text()
        (project / path).write_text(text)
        failed = run(project, "literate", "zensical", PYTHONWARNINGS=REPLACED)
        assert failed.returncode == 1
        assert all(one in failed.stderr for one in words) and "Traceback" not in failed.stderr
        (project / path).write_text(right)
    assert pages(project) == before
    (project / "docs" / "guide.md").unlink()
    (project / "mkdocs.yml").write_text(MKDOCS.replace(", guide.md", ""))
    build(project)
    assert before.keys() - pages(project).keys() == {"guide/index.html"}


@pytest.mark.parametrize(
    ("folder", "sentence"),
    [
        ("mine", "mine:1: is no site"),
        # By its name alone, a file isn't one of ours.
        ("web", "web:1: is no site"),
        ("NEWS.md", "NEWS.md:1: is no site"),
        (".", ".:1: holds this project"),
        ("..", "..:1: holds this project"),
        ("docs/site", "docs/site:1: is in `docs`"),
        ("pkg", "pkg:1: is in `pkg`"),
    ],
)
def test_a_folder_that_holds_something_else_is_left_alone(
    project: Path, monkeypatch: pytest.MonkeyPatch, folder: str, sentence: str
) -> None:
    write(project, {"mine/letter.txt": "Dear", "web/index.html": "", "index.html": ""})
    before = contents(project)
    monkeypatch.chdir(project)
    with pytest.raises(LiterateError, match=f"^{re.escape(sentence)}"):
        zensical.build(site.load(settings.load(project)), Path(folder), print)
    assert contents(project) == before


def test_settings_that_are_none_are_named(project: Path) -> None:
    loaded = site.load(settings.load(project))
    (project / "mkdocs.yml").unlink()
    wrong = {"nav: [": "is not YAML", "": "has no settings", "- a": "has no settings"}
    for text, words in {None: "there is no such file", **wrong}.items():
        if text is not None:
            (project / "mkdocs.yml").write_text(text)
        with pytest.raises(LiterateError, match=f"mkdocs.yml:1: {words}"):
            zensical.build(loaded, project / "site", print)
