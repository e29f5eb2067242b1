r"""
---
title: Symbols
summary: A formula is cut into the symbols that mean something each time they occur.
---

A reader who points at $d_k$ wants to see every other $d_k$, in the formulas and in the code. So the
symbols of a formula are found in its TeX, each with a *key* that is the same wherever it is the
same symbol: `d_{model}` and `d_{\text{model}}` have the key `d_model`, which is also the name in
the code.

This is not a parser of TeX. Whatever is not understood is no symbol, and lights nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2s

# Commands that set their argument upright: the argument is a word, and its letters are no symbols.
_WORDS = {"text", "mathrm", "mathit", "operatorname", "textit", "mathsf"}
# Commands that make another symbol of their argument.
_DECORATIONS = {
    *("mathbf", "mathcal", "mathbb", "boldsymbol", "hat", "widehat", "tilde", "widetilde"),
    *("bar", "overline", "vec", "dot", "ddot"),
}
_LETTERS = set(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi "
    "pi rho sigma tau phi varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega "
    "ell".split()
)
# What these commands take are no formulas.
_OPAQUE = {"begin", "end", "tag", "color", "textcolor", "hspace", "vspace", "phantom", "href"}
# The bracket behind one of these is its own.
_BRACKETS = {"left", "right", "big", "Big", "bigg", "Bigg", "bigl", "bigr", "Bigl", "Bigr"}
# Formulas in themselves, which can be repeated as a whole.
_WHOLES = {"frac": 2, "dfrac": 2, "tfrac": 2, "sqrt": 1}

_COMMAND = re.compile(r"\\(?:([a-zA-Z]+)\*?|.)\s*", re.DOTALL)
_SAFE = re.compile(r"[A-Za-z0-9_^.-]+")


@dataclass(frozen=True)
class Symbol:
    r"""
    ## A symbol in a formula

    `start` and `end` are its place in the TeX. A symbol can lie inside another: that of
    $\sqrt{d_k}$ holds that of $d_k$.
    """

    start: int
    end: int
    key: str


def symbols(formula: str) -> list[Symbol]:
    r"""
    ## The symbols of a formula

    In the order in which they begin.
    """
    found = list(_within(formula, 0, len(formula)))
    return sorted(found, key=lambda one: (one.start, -one.end))


def marked(formula: str, keys: frozenset[str]) -> str:
    r"""
    ## Mark the symbols that have one of the keys

    With KaTeX's `\htmlData`, which puts the key on the element.
    """
    edits: list[tuple[int, int, str]] = []
    for order, one in enumerate(symbols(formula)):
        if one.key in keys:
            edits.append((one.start, order + 1, rf"\htmlData{{s={one.key}}}{{"))
            edits.append((one.end, -order, "}"))
    pieces = []
    position = 0
    # At one place, what ends there comes before what begins, and the inner ends before the outer.
    for at, _, text in sorted(edits):
        pieces += [formula[position:at], text]
        position = at
    return "".join(pieces) + formula[position:]


def _within(formula: str, position: int, end: int) -> Iterator[Symbol]:
    while position < end:
        character = formula[position]
        if character in "_^":
            # The script of something that is no symbol, `\sum_{i}`.
            position = _argument(formula, position + 1)
        elif character == "\\":
            name, after = _command(formula, position)
            if name in _LETTERS | _WORDS | _DECORATIONS:
                yield (symbol := _symbol(formula, position))
                position = symbol.end
            elif name in _WHOLES:
                last = _arguments(formula, after, _WHOLES[name])
                yield Symbol(position, last, _number(formula[position:last]))
                yield from _within(formula, after, last)
                position = last
            elif name in _OPAQUE | _BRACKETS:
                position = _argument(formula, after)
            else:
                position = after
        elif character.isalpha():
            yield (symbol := _symbol(formula, position))
            position = symbol.end
        else:
            position += 1


def _symbol(formula: str, start: int) -> Symbol:
    r"""
    A letter or a word with all that hangs on it.
    """
    end = _argument(formula, start)
    while True:
        after = _blanks(formula, end)
        if formula.startswith(("_", "^"), after):
            end = _argument(formula, after + 1)
        elif formula.startswith("'", after):
            end = after + 1
        else:
            return Symbol(start, end, _key(formula[start:end]))


def _argument(formula: str, position: int) -> int:
    r"""
    Where the argument ends that begins here: a group, a command with its own, or a character.
    """
    position = _blanks(formula, position)
    if formula.startswith("{", position):
        return _closing(formula, position)
    if formula.startswith("\\", position):
        name, after = _command(formula, position)
        count = _WHOLES.get(name, 1 if name in _WORDS | _DECORATIONS else 0)
        return _arguments(formula, after, count) if count else _command_end(formula, position)
    return min(position + 1, len(formula))


def _arguments(formula: str, position: int, count: int) -> int:
    if formula.startswith("[", position):
        position = formula.find("]", position) + 1 or len(formula)
    for _ in range(count):
        position = _argument(formula, position)
    return position


def _command(formula: str, position: int) -> tuple[str, int]:
    match = _COMMAND.match(formula, position)
    return (match[1] or "", match.end()) if match else ("", position + 1)


def _command_end(formula: str, position: int) -> int:
    # Blanks behind a command belong to nothing that follows.
    return position + len(formula[position : _command(formula, position)[1]].rstrip())


def _blanks(formula: str, position: int) -> int:
    while formula[position : position + 1].isspace():
        position += 1
    return position


def _closing(formula: str, position: int) -> int:
    depth = 0
    while position < len(formula):
        character = formula[position]
        if character == "\\":
            position += 1
        elif character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if not depth:
                return position + 1
        position += 1
    return len(formula)


def _key(text: str) -> str:
    r"""
    The text without what only says how it is set.
    """
    words = "|".join(sorted(_WORDS))
    plain = re.sub(rf"\\(?:{words})\s*(?=\{{)", "", text)
    plain = re.sub(r"\\([a-zA-Z]+)\s*(?=\{)", r"\1-", plain)
    plain = re.sub(r"[\\\s{}]", "", plain).replace("'", "-prime")
    return plain if _SAFE.fullmatch(plain) else _number(text)


def _number(text: str) -> str:
    r"""
    A key for what can't stand in an attribute of KaTeX as it is.
    """
    plain = re.sub(r"\s+", "", text)
    return "f." + blake2s(plain.encode(), digest_size=4).hexdigest()
