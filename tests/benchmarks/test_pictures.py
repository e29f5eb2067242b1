r"""Pictures are the same bytes each time, keep their letters, and take the colours of the page."""

import re

from benchmarks.pictures import ACCENT, SECOND, heat_map, new, svg
from tests.literate.recorded import result


def drawn(name: str) -> str:
    figure, (axes,) = new(3, 2)
    heat_map(axes, [[0.0, 1.0], [-0.5, 0.25]], ["a", "b"], ["<", "&"], numbers=True)
    axes.plot([0, 1], [1, 2], color=SECOND)
    axes.text(0, 0, "1.65 or 0.025")
    axes.set_title("2.0578")
    axes.fill_between([0, 1], [1, 2], color=ACCENT)
    return svg(figure, name)


def test_a_picture_is_the_same_each_time_and_has_ids_of_its_own() -> None:
    one, other = drawn("one"), drawn("other")
    assert one == drawn("one")
    assert one.replace("one-", "other-") == other
    ids = re.findall(r'id="([^"]*)"', one)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="|url\()#([^")]*)', one)) <= set(ids)


def test_letters_stay_letters_and_colours_are_those_of_the_page() -> None:
    text = drawn("one")
    assert ">.25</text>" in text
    # Coordinates are rounded, and numbers that are read are not.
    assert ">1.65 or 0.025</text>" in text
    assert not re.search(r'[xd]="[^"]*\d\.\d\d', text)
    assert ">2.0578</text>" in text
    assert ">&lt;</text>" in text
    assert "style=" not in text
    assert "#123456" not in text
    assert {"fill-accent", "fill-second", "stroke-second"} <= set(
        re.findall(r"[a-z]+-(?:accent|second)", text)
    )


def test_a_result_takes_it() -> None:
    figures = {"seen": {"title": "What is seen", "picture": drawn("one")}}
    assert result(figures=figures).figures["seen"].picture == drawn("one")
