r"""Formulas become HTML and MathML that Markdown leaves alone."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import markdown
import pytest

from literate.page.formulas import FormulaError, Formulas
from literate.problems import LiterateError
from tests.literate.projects import KATEX


@pytest.fixture(scope="module")
def formulas() -> Iterator[Formulas]:
    with Formulas(KATEX) as one:
        yield one


def mathml(rendered: str) -> ET.Element:
    found = re.search(r"<math.*?</math>", rendered)
    return ET.fromstring(re.sub(r' xmlns="[^"]*"', "", found[0]))


def test_a_formula_has_mathml_for_readers_and_html_for_eyes(formulas: Formulas) -> None:
    rendered = formulas.render("\\frac{a}\n{b}", display=False)
    assert "\n" not in rendered
    fraction = mathml(rendered).find(".//mfrac")
    assert [child.text for child in fraction] == ["a", "b"]
    assert 'class="katex-html" aria-hidden="true"' in rendered
    assert mathml(rendered).get("display") is None
    assert mathml(formulas.render("x", display=True)).get("display") == "block"


@pytest.mark.parametrize(
    "formula",
    [
        r"S_{ijbh} = \sum_d Q_{ibhd} K_{jbhd}",
        r"a * b * c ~ [x](y)",
        r"\sqrt{d_k} < \sqrt{d_{model}} + 1",
        r"\begin{pmatrix} a & b \\ c & d \end{pmatrix}",
        r"\text{a\_b*c*}",
    ],
)
def test_markdown_leaves_a_formula_as_it_is(formulas: Formulas, formula: str) -> None:
    rendered = formulas.render(formula, display=False)
    page = markdown.markdown(f"before {rendered} after", extensions=["md_in_html", "tables"])
    assert page == f"<p>before {rendered} after</p>"
    # The formula can be copied as it was written.
    assert mathml(page).find(".//annotation").text == formula


@pytest.mark.parametrize(
    ("written", "known"),
    [
        (r"(B, \text{max_len}_y, \mbox{a\_b})", r"(B, \text{max\_len}_y, \mbox{a\_b})"),
        (r"x^{'} + y_{''}", r"x^{\prime} + y_{\prime\prime}"),
        (
            r"\begin{eqnarray*} a &=& b \\ c &=& d \end{eqnarray*}",
            r"\begin{darray}{rcl} a &=& b \\ c &=& d \end{darray}",
        ),
        (r"\begin{multline} a \\ b \end{multline}", r"\begin{gathered} a \\ b \end{gathered}"),
        (r"\begin{flalign*} a &= b \end{flalign*}", r"\begin{aligned} a &= b \end{aligned}"),
    ],
)
def test_what_others_set_is_set(formulas: Formulas, written: str, known: str) -> None:
    rendered = formulas.render(written, display=True)
    assert rendered == formulas.render(known, display=True)
    # An index inside of words stays one.
    assert "<msub>" in formulas.render(r"\text{of $x_1$}", display=True)


def text_of(rendered: str) -> str:
    return re.sub(r"<[^>]*>", "", rendered.split("</math>")[1])


def test_a_formula_can_be_broken_at_a_wide_space_and_nowhere_else(formulas: Formulas) -> None:
    first, second = formulas.render(r"a = b \qquad \sin c = d", display=True).split("<br>")
    assert text_of(first) == "a=b" and re.sub(r"<[^>]*>|\W", "", second) == "sincd"


@pytest.mark.parametrize(
    ("formula", "keys"),
    [
        (r"\sqrt{d_k} d_{\text{k}} + d", ["d_k", "d_k"]),
        (r"W^O_i x_{t-1}' \hat{y}", ["W_i^O", "x_t-1-prime", "hat-y"]),
        (r"\begin{aligned} a &= \left( \mathrm{head}_i \right) \end{aligned}", ["head_i"]),
        (r"\underbrace{\frac{Q K^\top}{Z}}_{Q} \sum_{i=1}^n x_i", ["Q", "K^top", "Z", "x_i"]),
        (r"\lVert q \rVert_2 \cdot \mathbf{q}", ["q", "mathbf-q"]),
    ],
)
def test_the_marked_symbols_carry_their_keys_and_nothing_else_changes(
    formulas: Formulas, formula: str, keys: list[str]
) -> None:
    plain = formulas.render(formula, display=True)
    marked = formulas.render(formula, display=True, keys=frozenset(keys))
    assert sorted(re.findall(r'data-s="([^"]*)"', marked)) == sorted(keys)
    assert ET.tostring(mathml(marked)) == ET.tostring(mathml(plain))
    assert text_of(marked) == text_of(plain)
    # The marks take no room: every other element, with its style, is the same.
    assert re.findall(r'style="[^"]*"', marked) == re.findall(r'style="[^"]*"', plain)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("d _ {k}", ["d_k"]),
        # What only looks alike is another symbol; the scripts come in one order.
        (r"\mathbf{x} x \hat{x}", ["mathbf-x", "x", "hat-x"]),
        (r"x_i^2 + x^2_i \Gamma \infty", ["x_i^2", "x_i^2", "Gamma"]),
        (r"n \bmod \mathop h\limits_i", ["n", "h"]),
        ("2 + 3", []),
        (r"\frac{a}{b", []),
    ],
)
def test_symbols_have_keys(formulas: Formulas, formula: str, expected: list[str]) -> None:
    assert formulas.keys(formula, display=True) == expected


def test_fractions_are_symbols_and_equal_when_they_say_the_same(formulas: Formulas) -> None:
    one, inside = formulas.keys(r"\sqrt{\text{x}}", display=False)
    assert inside == "x" and re.fullmatch(r"f\.\w{8}", one)
    keys = formulas.keys(r"\frac{1}{23} \frac{1} {23} \frac{12}{3}", display=False)
    assert keys[0] == keys[1] != keys[2]


def test_a_wrong_formula_is_named(formulas: Formulas) -> None:
    wrong = {
        r"\nosuch": "Undefined control sequence",
        r"\frac{a}{b": "expected '}'",
        # An author can't set attributes.
        r"\htmlData{s=x}{x}": "HTML extension is disabled",
    }
    for formula, said in wrong.items():
        with pytest.raises(FormulaError, match=said):
            formulas.render(formula, display=False)
    # After a wrong one the next is set all the same.
    assert "<math" in formulas.render("y", display=False)


def test_a_missing_katex_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(LiterateError, match="KaTeX is not installed there; `npm ci` brings it"),
        Formulas(tmp_path) as formulas,
    ):
        formulas.render("x", display=False)
