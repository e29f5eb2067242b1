r"""What a notebook gave, on a page: as source is data, so are outputs."""

from io import BytesIO
from pathlib import Path

from PIL import Image, ImageChops, ImageDraw

from literate.links import Links
from literate.outcome import Outcome, Part, light, sentence, show
from tests.literate.test_executed import png

LINKS = Links({}, {}, Path(), "docs", {}, False)


def test_a_picture_is_a_file_beside_the_page_with_its_size_and_a_text() -> None:
    pictures = (png(7, 5), png(2, 3))
    part = Part("Loss curves", "Of both.", "", pictures)
    shown = show(Outcome((), (part,)), "deep/page.md", LINKS)
    assert shown.files == {
        "deep/page/outcome-1.png": light(pictures[0]),
        "deep/page/outcome-2.png": light(pictures[1]),
    }
    assert shown.figures == tuple(
        f'<figure><img src="outcome-{number}.png" width="{width}" height="{height}" '
        'alt="Loss curves: drawn by the notebook in this run" fetchpriority="low"><figcaption>'
        "<strong>Loss curves</strong> Of both.</figcaption></figure>"
        for number, width, height in [(1, 7, 5), (2, 2, 3)]
    )


def test_a_wide_picture_gets_the_whole_width() -> None:
    part = Part("Heads", "", "", (png(9, 3), png(10, 3)))
    first, second = show(Outcome((), (part,)), "page.md", LINKS).figures
    assert first.startswith("<figure><img")
    assert second.startswith('<figure class="across"><img')


def plot() -> Image.Image:
    r"""Lines of several colours on nothing, smoothed as those of a plot are."""
    large = Image.new("RGBA", (1600, 1200))
    draw = ImageDraw.Draw(large)
    for number, colour in enumerate(["#1f77b4", "#ff7f0e", "#2ca02c", "#000000"]):
        points = [(x, (x * x // (number + 2)) % 1200) for x in range(0, 1600, 40)]
        draw.line(points, fill=colour, width=9)
    return large.resize((400, 300), Image.Resampling.LANCZOS)


def test_a_plot_becomes_lighter_and_looks_the_same_on_white() -> None:
    written = BytesIO()
    plot().save(written, "PNG")
    found = light(written.getvalue())
    assert len(found) < len(written.getvalue()) / 2
    paper = Image.new("RGBA", (400, 300), "white")
    paper.alpha_composite(plot())
    with Image.open(BytesIO(found)) as shown:
        difference = ImageChops.difference(shown.convert("RGB"), paper.convert("RGB"))
    histogram = difference.convert("L").histogram()
    assert max(at for at, count in enumerate(histogram) if count) < 40
    assert sum(at * count for at, count in enumerate(histogram)) / (400 * 300) < 1
    # What can't become lighter stays.
    assert light(found) == found


def test_what_was_printed_is_text_and_not_html() -> None:
    part = Part("A <b>", "x & y", "<script>\n*1*\n\n\u202ereversed", ())
    shown = show(Outcome(('a = "<b>"',), (part,)), "page.md", LINKS)
    assert shown.values == "<code>a = &quot;&lt;b&gt;&quot;</code>"
    (figure,) = shown.figures
    assert "<script>" not in figure
    assert "<b>" not in figure
    assert "&lt;script&gt;&#10;" in figure
    assert 'data-number="U+202E"' in figure
    assert "x &amp; y" in figure
    # Nothing on the page can take it apart.
    assert "\n\n" not in figure


def test_a_notebook_without_a_form_was_run_as_it_is() -> None:
    assert sentence(()) == "The outputs are those of a run when this site was built."
