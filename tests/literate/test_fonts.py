r"""The fonts of a site hold what its formulas are set in, and each page asks for its own."""

from pathlib import Path

import pytest
from fontTools.ttLib import TTFont

from literate.fonts import SCRIPT, cut_fonts

FONTS = Path(__file__).parents[2] / "node_modules" / "katex" / "dist" / "fonts"
NAMES = ["Main-Regular", "Main-Bold", "Math-Italic", "Size1-Regular"]
CSS = (
    "@font-face{font-family:KaTeX_Main;font-style:normal;font-weight:400;"
    'src:url(fonts/KaTeX_Main-Regular.woff2) format("woff2"),'
    'url(fonts/KaTeX_Main-Regular.ttf) format("truetype")}'
    "@font-face{font-family:KaTeX_Main;font-style:normal;font-weight:700;"
    'src:url(fonts/KaTeX_Main-Bold.woff2) format("woff2")}'
    '@font-face{font-family:"KaTeX_Math";font-style:italic;font-weight:400;'
    'src:url(fonts/KaTeX_Math-Italic.woff2) format("woff2")}'
    "@font-face{font-family:KaTeX_Size1;font-style:normal;font-weight:400;"
    'src:url(fonts/KaTeX_Size1-Regular.woff2) format("woff2")}'
    ".katex .bold{font-weight:700}.katex .mathnormal{font-family:KaTeX_Math;font-style:italic}"
    ".katex .big.one>span{font-family:KaTeX_Size1}p,.katex .own{font-family:serif}"
)
HEAD = '<link rel="stylesheet" href="s.css"><p>R</p>'


def formula(inside: str) -> str:
    return f'<span class="katex"><span class="katex-html" aria-hidden="true">{inside}</span></span>'


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    (tmp_path / "styles/fonts").mkdir(parents=True)
    for name in NAMES:
        file = f"KaTeX_{name}.woff2"
        (tmp_path / "styles/fonts" / file).write_bytes((FONTS / file).read_bytes())
    return tmp_path / "styles/katex.css"


def characters(sheet: Path) -> dict[str, str]:
    found = {}
    for path in sorted((sheet.parent / "fonts").iterdir()):
        with TTFont(path) as font:
            found[path.name.split(".")[0]] = "".join(sorted(map(chr, font.getBestCmap())))
    return found


def test_fonts_hold_what_stands_in_them_and_the_others_go(sheet: Path) -> None:
    first = formula('a<b class="mathnormal x">Q<svg><path d="M0"/></svg>&#75;</b>b')
    first += formula('<b class="own">y</b>') + "zz"
    second = formula('<b class="big one"><b>\u2211</b><b>\u200b</b></b>')
    pages = {Path("a.html"): HEAD + first, Path("b.html"): HEAD + second}
    css, _ = cut_fonts(sheet, CSS, pages)
    assert characters(sheet) == {
        "KaTeX_Main-Regular": "ab",
        "KaTeX_Math-Italic": "KQ",
        "KaTeX_Size1-Regular": "\u2211",
    }
    assert css.count("@font-face") == 3 and "Bold" not in css and "truetype" not in css
    assert all(f"url(fonts/{path.name})" in css for path in (sheet.parent / "fonts").iterdir())


def test_only_a_page_with_formulas_hides_them_until_its_fonts_are_there(
    sheet: Path, tmp_path: Path
) -> None:
    (sheet.parent.parent / SCRIPT).write_text("")
    pages = {
        tmp_path / "index.html": HEAD,
        tmp_path / "a/b/index.html": HEAD + formula("a"),
    }
    _, asking = cut_fonts(sheet, CSS, pages)
    assert asking[tmp_path / "index.html"] == HEAD
    text = asking[tmp_path / "a/b/index.html"]
    script = f'<script async blocking="render" src="../../{SCRIPT}"></script>'
    assert text.count("<script") == text.count(script) == 1
    assert text.index('rel="stylesheet"') < text.index(script)
    # A font that is asked for early would hold back the page.
    assert "preload" not in text and ".woff2" not in text


def test_a_cut_font_is_named_after_its_content_and_stays(sheet: Path) -> None:
    pages = {Path("a.html"): HEAD + formula("a")}
    whole = (sheet.parent / "fonts/KaTeX_Main-Regular.woff2").read_bytes()
    once = cut_fonts(sheet, CSS, pages)
    files = {path.name: path.read_bytes() for path in (sheet.parent / "fonts").iterdir()}
    assert cut_fonts(sheet, *once) == once
    assert {path.name: path.read_bytes() for path in (sheet.parent / "fonts").iterdir()} == files
    (sheet.parent / "fonts/KaTeX_Main-Regular.woff2").write_bytes(whole)
    again = cut_fonts(sheet, CSS, pages)
    assert again == once
    (sheet.parent / "fonts/KaTeX_Main-Regular.woff2").write_bytes(whole)
    assert cut_fonts(sheet, CSS, {Path("a.html"): HEAD + formula("b")})[0] != once[0]


def test_a_style_sheet_without_fonts_stays_as_it_is(tmp_path: Path) -> None:
    pages = {Path("a.html"): HEAD + formula("a")}
    assert cut_fonts(tmp_path / "a.css", "p{top:0}", pages) == ("p{top:0}", pages)


def test_a_font_that_was_cut_once_is_kept(sheet: Path, tmp_path: Path) -> None:
    fonts, kept = sheet.parent / "fonts", tmp_path / "kept"
    whole = (fonts / "KaTeX_Main-Regular.woff2").read_bytes()

    def cut(text: str) -> bytes:
        for path in fonts.iterdir():
            path.unlink()
        (fonts / "KaTeX_Main-Regular.woff2").write_bytes(whole)
        cut_fonts(sheet, CSS, {Path("a.html"): HEAD + formula(text)}, kept)
        (font,) = fonts.iterdir()
        return font.read_bytes()

    first = cut("a")
    (file,) = kept.iterdir()
    assert file.read_bytes() == first
    # What is kept is taken as it is, and for the same characters alone.
    file.write_bytes(b"kept")
    assert cut("a") == b"kept"
    assert cut("b") not in (b"kept", first)
    assert len(list(kept.iterdir())) == 2
