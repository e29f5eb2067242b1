r"""The symbols of a formula: their places and keys."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from literate.page.symbols import marked, symbols


def found(formula: str) -> list[tuple[str, str]]:
    return [(formula[one.start : one.end], one.key) for one in symbols(formula)]


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("d_k", [("d_k", "d_k")]),
        ("d_{k}", [("d_{k}", "d_k")]),
        ("d _ k", [("d _ k", "d_k")]),
        (r"d_{\text{model}}", [(r"d_{\text{model}}", "d_model")]),
        (r"\mathrm{head}_i", [(r"\mathrm{head}_i", "head_i")]),
        (r"\theta_i \cdot 2", [(r"\theta_i", "theta_i")]),
        # What only looks alike is another symbol.
        (r"\mathbf{x} x \hat{x}", [(r"\mathbf{x}", "mathbf-x"), ("x", "x"), (r"\hat{x}", "hat-x")]),
        # The scripts of an operator hold no symbols, and neither does an environment's name.
        (r"\sum_{i=1}^n x_i", [("x_i", "x_i")]),
        (r"\begin{pmatrix} a \end{pmatrix}", [("a", "a")]),
        (r"\left( a \right)", [("a", "a")]),
        ("2 + 3", []),
        ("", []),
    ],
)
def test_symbols_have_keys(formula: str, expected: list[tuple[str, str]]) -> None:
    assert found(formula) == expected


def test_a_fraction_is_a_symbol_and_holds_symbols() -> None:
    pieces = [text for text, _ in found(r"\frac{Q K^\top}{\sqrt{d_k}}")]
    assert pieces == [r"\frac{Q K^\top}{\sqrt{d_k}}", "Q", r"K^\top", r"\sqrt{d_k}", "d_k"]


def test_whole_fractions_are_equal_when_their_texts_are() -> None:
    one, two, other = (
        found(formula)[0][1] for formula in (r"\frac{1}{23}", r"\frac{1} {23}", r"\frac{12}{3}")
    )
    assert one == two != other


def test_only_the_wanted_symbols_are_marked() -> None:
    assert marked("x + d_k x", frozenset(["d_k"])) == r"x + \htmlData{s=d_k}{d_k} x"
    nested = marked(r"\sqrt{x}", frozenset(one.key for one in symbols(r"\sqrt{x}")))
    assert re.fullmatch(r"\\htmlData\{s=f\.\w{8}\}\{\\sqrt\{\\htmlData\{s=x\}\{x\}\}\}", nested)
    assert marked("x", frozenset()) == "x"


PARTS = [*r"\{}[]_^' 12ab+&", r"\frac", r"\text", r"\hat ", r"\left"]
TEX = st.lists(st.sampled_from(PARTS)).map("".join)


@given(TEX)
def test_whatever_stands_there_nothing_is_lost(formula: str) -> None:
    every = symbols(formula)
    keys = frozenset(one.key for one in every)
    for one in every:
        assert 0 <= one.start < one.end <= len(formula)
        assert re.fullmatch(r"[A-Za-z0-9_^.-]+", one.key)
    # They lie beside or inside one another.
    for one in every:
        for two in every:
            apart = one.end <= two.start or two.end <= one.start
            inside = one.start <= two.start and two.end <= one.end
            around = two.start <= one.start and one.end <= two.end
            assert apart or inside or around
    opened = re.sub(r"\\htmlData\{s=[^}]*\}\{", "\x00", marked(formula, keys))
    assert opened.count("\x00") == len(every)
    assert opened.replace("\x00", "").count("}") == formula.count("}") + len(every)
