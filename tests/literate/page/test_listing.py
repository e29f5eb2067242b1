r"""The code of a row: numbers, anchors, links and shapes, and where definitions are used."""

import re
from pathlib import Path

from literate.measuring.measure import Measurement, Tensor
from literate.page.links import Links
from literate.page.listing import MOST_USES, Listing
from literate.python.references import network
from literate.reading.rows import rows
from literate.reading.source import Source, parse

CODE = "import torch\n\n\ndef scale(x):\n    return torch.sqrt(x)\n\n\ny = scale(1)\n"


def listing(sources: list[Source], measurement: Measurement | None = None) -> Listing:
    pages = {one.path: one for one in sources}
    uris = {path: path.replace(".py", ".md") for path in pages}
    links = Links(pages, uris, Path("."), "docs")
    return Listing(sources[0], links, network(sources), measurement)


def shown(measurement: Measurement | None = None) -> str:
    source = parse(CODE, "a.py")
    one = listing([source], measurement)
    return "\n".join(one.of(row, "") for row in rows(source))


def tensor(name: str, *axes: str) -> Tensor:
    return Tensor(name, (tuple(range(2, 2 + len(axes))),), axes, "float32")


def test_names_lead_to_definitions_and_to_the_documentation_of_pytorch() -> None:
    found = re.findall(r'<a href="([^"]*)">([^<]*)</a>', shown())
    assert found == [
        ("https://docs.pytorch.org/docs/stable/generated/torch.sqrt.html", "sqrt"),
        ("#scale", "scale"),
    ]


def test_a_definition_without_a_heading_has_its_anchor_in_the_code() -> None:
    assert '<span class="line" id="L4"><a id="scale"></a>' in shown()


def test_a_shape_stands_on_its_line_and_not_in_its_text() -> None:
    html = shown(Measurement({"n": (2,)}, {5: (tensor("return", "n", "3"),)}, {}))
    (line,) = [one for one in html.split("\n") if 'id="L5"' in one]
    full = "return: [n, 3]"
    assert (
        '<i class="shape" data-shape="→ n 3" '
        f'title="{full}" role="img" aria-label="{full}"></i><span>' in line
    )
    assert html.count("data-shape") == 1


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
    assert uses.places == (
        ("the module", "#L8"),
        ("b.B.f", "../b/#L6"),
        ("b", "../b/#L9"),
    )
    assert uses.more == 0


def test_a_page_does_not_grow_with_the_uses() -> None:
    users = [
        parse("from a import scale\n\nz = scale\n", f"user{number:03}.py") for number in range(50)
    ]
    uses = listing([parse(CODE, "a.py"), *users]).uses("scale")
    assert len(uses.places) == MOST_USES
    assert uses.more == 51 - MOST_USES
