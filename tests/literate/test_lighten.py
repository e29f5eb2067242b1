r"""What no page needs is taken out of a built site, and nothing else."""

import re
import shutil
from pathlib import Path

import pytest

from literate.lighten import lighten, reduced

PAGE = (
    '<html dir="ltr"><body class="md-typeset on" id="top"><p data-kind="note"><a>x</a></p></body>'
)
TAGS = {"html", "dir", "ltr", "body", "class", "md-typeset", "on", "id", "top", "p", "a"}
TAGS |= {"data-kind", "note"}


def one(css: str, *more: str) -> str:
    return reduced([css], TAGS | set(more), TAGS)[0]


@pytest.mark.parametrize(
    "css",
    [
        "p{margin:0}",
        ".on{margin:0}",
        "#top>p~a{margin:0}",
        "body .md-typeset:hover p::before{content:'}'}",
        ":not(.gone) a,:is(.gone,.on){color:red}",
        "[data-kind=note]{color:red}",
        '[data-kind="note"] a{color:red}',
        "[dir=ltr] p{float:left}",
        "*{margin:0}",
        ":root{--a:1px}p{margin:var(--a)}",
        '@charset "utf-8";p{margin:0}',
        "@media (width>1px){p{margin:0}}",
        "@supports (top:0){@media print{p{margin:0}}}",
        "@font-face{font-family:A;src:url(a.woff2)}",
        "@keyframes move{0%{top:0}to{top:1px}}",
        "p{background:url(data:image/svg+xml;charset=utf-8,<svg x='{'/>)}a{color:red}",
        "/*! A licence; kept { */p{margin:0}",
    ],
)
def test_a_rule_that_can_apply_stays_as_it_is(css: str) -> None:
    assert one(css) == css


@pytest.mark.parametrize(
    ("css", "left"),
    [
        (".gone{margin:0}p{margin:0}", "p{margin:0}"),
        ("p .gone,a{margin:0}", "a{margin:0}"),
        ("table td{margin:0}", ""),
        ("#gone{margin:0}", ""),
        (r".gone\:x{margin:0}", ""),
        ("p.on.gone{margin:0}", ""),
        ("[data-gone] p{margin:0}", ""),
        ("[data-kind=gone]{margin:0}", ""),
        ("[dir=rtl] p{float:right}", ""),
        ("@media print{.gone{margin:0}}a{top:0}", "a{top:0}"),
        ("/* a remark; { */p{margin:0}", "p{margin:0}"),
        (":root{--gone:1px;--a:2px}p{margin:var(--a)}", ":root{--a:2px}p{margin:var(--a)}"),
        (":root{--b:url('x;y');--a:var(--b)}", ""),
        ("@media print{:root{--gone:1px}}p{top:0}", "p{top:0}"),
    ],
)
def test_a_rule_that_cannot_apply_goes(css: str, left: str) -> None:
    assert one(css) == left


def test_a_name_that_only_a_script_has_counts_as_used() -> None:
    css = ".made{top:0}:root{--asked:1px}"
    assert one(css) == ""
    assert one(css, "made", "--asked") == css


def test_a_direction_that_only_a_script_names_is_not_the_page_s() -> None:
    assert one("[dir=rtl] p{float:right}", "rtl") == ""


def test_a_property_is_kept_for_another_style_sheet() -> None:
    sheets = [":root{--a:1px;--b:1px}", "p{margin:var( --a)}"]
    assert reduced(sheets, TAGS, TAGS) == [":root{--a:1px;}", sheets[1]]


@pytest.fixture
def built(tmp_path: Path) -> Path:
    site = tmp_path / "a site"
    (site / "styles").mkdir(parents=True)
    (site / "styles/main.0123abcd.min.css").write_text("p{top:0}.gone{top:0}.made{top:0}")
    (site / "styles/main.0123abcd.min.css.map").write_text("{}")
    (site / "styles/own.css").write_text(".gone{top:0}a{top:0}")
    (site / "script.js").write_text("document.body.classList.add('made')")
    (site / "index.html").write_text(
        '<link rel="stylesheet" href="styles/main.0123abcd.min.css">'
        f'<script>const a = "<b>"</script>{PAGE}<script src="script.js"></script>\n'
    )
    return site


def test_a_built_site_is_lightened(built: Path) -> None:
    lighten(built)
    files = sorted(path.relative_to(built).as_posix() for path in built.rglob("*.*"))
    assert (built / "styles/own.css").read_text() == "a{top:0}"
    (main,) = (name for name in files if name.startswith("styles/main"))
    assert files == ["index.html", "script.js", main, "styles/own.css"]
    assert main != "styles/main.0123abcd.min.css"
    assert (built / main).read_text() == "p{top:0}.made{top:0}"
    assert (built / "index.html").read_text() == (
        f'<link rel="stylesheet" href="{main}"><script>const a = "<b>"</script>'
        f'{PAGE}<script defer src="script.js"></script>\n'
    )


def test_the_theme_s_script_does_not_find_the_form_for_the_colours(built: Path) -> None:
    page = built / "index.html"
    # In a text about it, it stays.
    text = '<p>a data-md-component="palette"</p><a data-md-component="b">'
    page.write_text(f'<form class="o" data-md-component="palette"></form>{text}')
    lighten(built)
    assert page.read_text() == f'<form class="o"></form>{text}'


@pytest.mark.parametrize("name", ["search-notes.js", "workers/search.js", "lunr/min/lunr.da.js"])
def test_words_of_scripts_that_make_nothing_are_no_names(built: Path, name: str) -> None:
    (built / name).parent.mkdir(parents=True, exist_ok=True)
    (built / "script.js").rename(built / name)
    lighten(built)
    (main,) = (built / "styles").glob("main.*")
    assert main.read_text() == "p{top:0}"


@pytest.mark.parametrize(
    ("selector", "asking"),
    [
        (".md-tooltip2__inner", '"features": ["navigation.tabs", "content.tooltips"]'),
        (".md-annotation", '"features": ["content.code.annotate"]'),
        (".md-version__list", '"version": {"provider": "mike"}'),
        (".tabbed-control", '<div class="tabbed-set">'),
        (".md-source__fact", '<a class="md-source">'),
    ],
)
def test_what_a_script_makes_on_demand_has_rules_where_it_is_asked_for(
    built: Path, selector: str, asking: str
) -> None:
    (built / "script.js").write_text(f"make('{selector}')")
    (built / "styles/own.css").write_text(f"{selector}{{top:0}}")
    page = built / "index.html"
    text = page.read_text()
    page.write_text(f'{text}"features": ["navigation.tabs"], "version": null')
    whole = built.with_name("whole")
    shutil.copytree(built, whole)
    lighten(built)
    assert (built / "styles/own.css").read_text() == ""
    (whole / "index.html").write_text(text + asking)
    lighten(whole)
    assert (whole / "styles/own.css").read_text() == f"{selector}{{top:0}}"


def test_a_light_site_stays_as_it_is(built: Path) -> None:
    lighten(built)
    once = {path: path.read_bytes() for path in built.rglob("*.*")}
    lighten(built)
    assert {path: path.read_bytes() for path in built.rglob("*.*")} == once


def test_every_page_of_the_site_finds_its_style_sheets_lightened(site: Path) -> None:
    (sheet,) = (site / "assets/stylesheets").glob("main.*")
    assert sheet.stat().st_size < 110_000
    for name in ("index.html", "transformers/mha/index.html", "404.html"):
        page = (site / name).read_text(encoding="utf-8")
        assert "<script src" not in page
        sheets = re.findall(r'rel="stylesheet" href="([^"]*)"', page)
        assert any(one.endswith(f"assets/stylesheets/{sheet.name}") for one in sheets)
        files = [site / name.rpartition("/")[0] / one for one in sheets if name != "404.html"]
        rules = "".join(path.read_text(encoding="utf-8") for path in files)
        asked = re.findall(r"\bk[0-9a-f]{8}\b", " ".join(re.findall(r'class="([^"]*)"', page)))
        assert name == "404.html" or set(asked) <= set(re.findall(r"\bk[0-9a-f]{8}\b", rules))


def test_the_fonts_of_the_site_are_light(site: Path) -> None:
    fonts = [*(site / "assets/katex/fonts").iterdir()]
    assert len(fonts) > 3
    assert sum(path.stat().st_size for path in fonts) < 20_000
