r"""The style sheets of a site become one that says the same."""

from pathlib import Path

import pytest

from literate.joined import join, part

LINK = '<link rel="stylesheet" href="{}">'


@pytest.fixture
def sheets(tmp_path: Path) -> dict[Path, str]:
    texts = {
        tmp_path / "styles/a.css": '@charset "utf-8";a{background:url(a.png)}',
        tmp_path / "more/fonts/b.css": (
            '@charset "utf-8";b{src:url(b.woff2),url("../c.woff2");'
            'background:url("data:x,(y)"),url(#d),url(/e.png),url(https://f.org/g.png)}'
        ),
        tmp_path / "later.css": "i{top:0}",
    }
    for path in texts:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        path.with_name(f"{path.name}.map").touch()
    return texts


def test_one_file_holds_the_rules_in_their_order(tmp_path: Path, sheets: dict[Path, str]) -> None:
    pages = {
        tmp_path / "index.html": LINK.format("styles/a.css") + LINK.format("more/fonts/b.css"),
        # As the page for what is not found links, from the root of the host.
        tmp_path / "404.html": LINK.format("/x/styles/a.css") + LINK.format("/x/more/fonts/b.css"),
        tmp_path / "moved.html": "elsewhere",
    }
    joined, linked = join(tmp_path, sheets, pages)
    assert joined == {
        tmp_path / "styles/a.css": (
            '@charset "utf-8";a{background:url(a.png)}'
            "b{src:url(../more/fonts/b.woff2),url(../more/c.woff2);"
            'background:url("data:x,(y)"),url(#d),url(/e.png),url(https://f.org/g.png)}'
        ),
        tmp_path / "later.css": "i{top:0}",
    }
    assert linked == {
        tmp_path / "index.html": LINK.format("styles/a.css"),
        tmp_path / "404.html": LINK.format("/x/styles/a.css"),
        tmp_path / "moved.html": "elsewhere",
    }
    left = sorted(path.name for path in tmp_path.rglob("*.*"))
    assert left == ["a.css", "a.css.map", "later.css", "later.css.map"]
    assert join(tmp_path, joined, linked) == (joined, linked)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["styles/a.css", "later.css"], ["later.css", "styles/a.css"]),
        (["styles/a.css", "https://f.org/g.css"], ["styles/a.css", "https://f.org/g.css"]),
    ],
)
def test_what_pages_do_not_share_is_not_joined(
    tmp_path: Path, sheets: dict[Path, str], one: list[str], other: list[str]
) -> None:
    pages = {
        tmp_path / f"{name}.html": "".join(map(LINK.format, links))
        for name, links in {"one": one, "other": other}.items()
    }
    assert join(tmp_path, sheets, pages) == (sheets, pages)
    assert all(path.exists() for path in sheets)


def test_a_sheet_that_imports_another_is_not_joined(
    tmp_path: Path, sheets: dict[Path, str]
) -> None:
    sheets[tmp_path / "later.css"] = '@import "a.css";'
    links = LINK.format("styles/a.css") + LINK.format("later.css")
    pages = {tmp_path / "index.html": links}
    assert join(tmp_path, sheets, pages) == (sheets, pages)


def test_each_page_has_the_sizes_of_its_own_formulas(tmp_path: Path) -> None:
    sizes = {name: f".katex .{name}.{name}{{height:1em;}}" for name in ("k00000001", "k0000000a")}
    one, two = sizes.values()
    sheet = tmp_path / "styles/a.css"
    texts = {
        "x/index.html": '<i class="k00000001 x">',
        "y/index.html": '<i class="k00000001">',
        "z/index.html": '<i class="x k0000000a"><i class="k00000001"><i class="k99999999">',
        "plain.html": "k",
    }
    links = dict.fromkeys(texts, "../styles/a.css") | {"plain.html": "/below/styles/a.css"}
    pages = {tmp_path / name: LINK.format(links[name]) + texts[name] for name in texts}
    sheets, linked = part(tmp_path, {sheet: f"a{{top:0}}{one}\n{two}\nb{{top:0}}"}, pages)
    assert sheets.pop(sheet) == "a{top:0}b{top:0}"
    # Pages with the same sizes share them.
    assert sorted(sheets.values()) == [one, one + two]
    for path, page in pages.items():
        own = [file for file in sheets if f"/{file.name}" in linked[path]]
        assert len(own) == (path.name == "index.html")
        if own:
            used = [rule for name, rule in sizes.items() if name in page]
            assert sheets[own[0]] == "".join(used)
            beside = LINK.format(f"../styles/{own[0].name}")
            link = LINK.format("../styles/a.css")
            assert linked[path].replace("\n      ", "") == page.replace(link, link + beside)
        else:
            assert linked[path] == page
    # Sheets that have been parted stay as they are.
    again = sheets | {sheet: "a{top:0}b{top:0}"}
    assert part(tmp_path, again, linked) == (again, linked)


def test_other_sizes_have_another_name(tmp_path: Path) -> None:
    sheet = tmp_path / "a.css"
    page = {tmp_path / "index.html": LINK.format("a.css") + '<i class="k00000001">'}
    rule = ".katex .k00000001.k00000001{{height:{}em;}}"
    first, second = (part(tmp_path, {sheet: rule.format(size)}, page)[0] for size in "12")
    assert first.keys() & second.keys() == {sheet}
