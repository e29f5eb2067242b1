r"""
---
title: Plain text
summary: A note without the marks of Markdown, for programs that read words and not pages.
---

A search compares words, and shows them where no Markdown is rendered. It needs what a reader of the
page reads: of a link its words, of emphasis the words without the stars, of a formula its letters
and signs.
"""

import re
from collections.abc import Iterable

from literate.reading.notes import Note, Words

# The letters and signs of TeX that one letter of Unicode shows; what is named after its sound, such
# as `\ln`, stays as the word.
_SIGNS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "eta": "η",
    "theta": "θ", "lambda": "λ", "mu": "μ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ",
    "phi": "φ", "omega": "ω", "Delta": "Δ", "Sigma": "Σ", "ell": "ℓ",
    "cdot": "·", "times": "×", "odot": "⊙", "pm": "±", "approx": "≈", "le": "≤", "ge": "≥",
    "ne": "≠", "in": "∈", "infty": "∞", "sum": "∑", "partial": "∂", "nabla": "∇", "sqrt": "√",
    "dots": "…", "ldots": "…", "mid": "|", "leftarrow": "←", "to": "→", "top": "ᵀ",
    "lfloor": "⌊", "rfloor": "⌋", "bmod": "mod",
}  # fmt: skip
# Two arguments, of which none has braces inside another pair of braces.
_ARGUMENT = r"\{((?:[^{}]|\{[^{}]*\})*)\}"
_FRACTION = re.compile(rf"\\[td]?frac(?:{_ARGUMENT}{_ARGUMENT}|(\d)(\d))")
_COMMAND = re.compile(r"\\([A-Za-z]+)")
# What only changes the looks: blanks of all widths, brackets that grow, upright letters.
_LAYOUT = re.compile(
    r"\\(?:operatorname|mathrm|mathbf|text|left|right|big|quad|bar|hat|tilde)(?![A-Za-z]) ?\*?"
    r"|\\[,;:! ]"
)


def plain(note: Note) -> str:
    r"""
    ## The words of a note, on one line

    A formula on lines of its own is left out: its TeX is no text that anybody reads.
    """
    return seen(note.parsed.words).removeprefix("· ")


def seen(words: Iterable[Words]) -> str:
    r"""
    ## The same of words that were found in a note
    """
    text = "".join(readable(each.text) if each.is_formula else each.text for each in words)
    return " ".join(text.split())


def readable(tex: str) -> str:
    r"""
    ## A formula without TeX

    As somebody would type it who has no TeX: `\sqrt{d_k}` becomes “√d_k”, and `\frac{a}{r}`
    becomes “a/r”. An index of several letters keeps its braces' content only.
    """
    text = _FRACTION.sub(
        lambda match: "/".join(_grouped(part) for part in match.groups() if part), tex
    )
    text = re.sub(rf"\\sqrt{_ARGUMENT}", lambda match: "√" + _grouped(match[1]), text)
    text = re.sub(rf"\\binom{_ARGUMENT}{_ARGUMENT}", r"\1 choose \2", text)
    text = re.sub(
        r"\^\\top", "ᵀ", _LAYOUT.sub(lambda match: " " * (match[0] in ("\\ ", "\\;")), text)
    )
    text = re.sub(rf"\^{_ARGUMENT}", lambda match: "^" + _grouped(match[1]), text)
    text = _COMMAND.sub(lambda match: _SIGNS.get(match[1], match[1]), text)
    text = text.replace("\\|", "‖").replace("\\{", "{").replace("\\}", "}")
    return re.sub(r"[{}]", "", text)


def _grouped(part: str) -> str:
    r"""
    A part of a formula that stays together where its braces are gone.
    """
    return f"({part})" if re.search(r"[-+*/ ]", part.strip()) else part
