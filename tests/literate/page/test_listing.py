r"""The code of a row: numbers, anchors, links and shapes, and where definitions are used."""

import re
from pathlib import Path

from literate.measuring.measure import Measurement, Tensor
from literate.page.links import Links
from literate.page.listing import MOST_USES, NARROW, Listing, indentation
from literate.python.references import network
from literate.reading.rows import rows
from literate.reading.source import Source, parse

CODE = "import torch\n\n\ndef scale(x):\n    return torch.sqrt(x)\n\n\ny = scale(1)\n"


def listing(sources: list[Source], measurement: Measurement | None = None) -> Listing:
    pages = {one.path: one for one in sources}
    uris = {path: path.replace(".py", ".md") for path in pages}
    links = Links(pages, uris, Path("."), "docs")
    return Listing(sources[0], links, network(sources), measurement)


def tensor(name: str, *axes: str) -> Tensor:
    return Tensor(name, (tuple(range(2, 2 + len(axes))),), axes, "float32")


def test_a_line_has_its_links_its_anchor_and_its_shape_which_is_not_in_its_text() -> None:
    source = parse(CODE, "a.py")
    one = listing([source], Measurement({"n": (2,)}, {5: (tensor("return", "n", "3"),)}, {}))
    html = "\n".join(one.of(row, "") for row in rows(source))
    assert re.findall(r'<a href="([^"]*)">([^<]*)</a>', html) == [
        ("https://docs.pytorch.org/docs/stable/generated/torch.sqrt.html", "sqrt"),
        ("#scale", "scale"),
    ]
    assert '<span class="line" id="L4"><a id="scale"></a>' in html
    (line,) = [one for one in html.split("\n") if 'id="L5"' in one]
    full = "return: [n, 3]"
    assert (
        '<i class="shape" data-shape="→ n 3" '
        f'title="{full}" role="img" aria-label="{full}"></i><span>' in line
    )
    assert html.count("data-shape") == 1
    assert "data-shape" not in "".join(listing([source]).of(row, "") for row in rows(source))


def test_the_legend_stands_below_the_first_code_with_a_shape() -> None:
    source = parse(CODE, "a.py")
    measurement = Measurement({"batch_size": (2,), "n": (3,)}, {8: (tensor("y", "n"),)}, {})
    one = listing([source], measurement)
    assert [one.legend(row) for row in rows(source)] == [{}, {"n": "n"}]
    assert [one.legend(row) for row in rows(source)] == [{}, {}]


def test_uses_are_listed_once_for_each_definition_that_uses() -> None:
    user = (
        "from a import scale\n\n\nclass B:\n    def f(self):\n        return scale(scale(1))\n\n\n"
        "z = scale\n"
    )
    uses = listing([parse(CODE, "a.py"), parse(user, "b.py")]).uses("scale")
    assert uses.places == (("the module", "#L8"), ("b.B.f", "../b/#L6"), ("b", "../b/#L9"))
    assert uses.more == 0
    # A package has a name, and of several modules with one name each has more.
    users = [parse(user, path) for path in ("b/__init__.py", "b/c.py", "b/d/c.py", "b/d/a.py")]
    uses = listing([parse(CODE, "a.py"), *users]).uses("scale")
    others = [label for label, _ in uses.places if label.endswith(".B.f")]
    assert others == ["b.B.f", "b.c.B.f", "d.c.B.f", "d.a.B.f"]
    # A page does not grow with the uses.
    users = [parse(user, f"user{number}.py") for number in range(50)]
    uses = listing([parse(CODE, "a.py"), *users]).uses("scale")
    assert (len(uses.places), uses.more) == (MOST_USES, 101 - MOST_USES)


def test_a_line_that_goes_on_below_is_indented_and_what_fits_is_not() -> None:
    line = " " * 8 + "x" * (NARROW - 8)
    # At the limit, beyond it, and beyond it with its shape.
    assert [indentation(line), indentation(line + "x"), indentation(line, "i")] == [0, 8, 8]
